"""Entries are made field by field; that must give what entry by entry gives."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from catchment.parse.entry import EntryMaker, ParsedEnclosure, RawEntry, absolute
from catchment.parse.html import HtmlCleaner, plain_text, plain_texts

BASE = "https://base.example/feed"
NASTY = st.sampled_from(
    [
        "",
        " ",
        "plain",
        " padded ",
        "two  spaces",
        "<b>bold</b>",
        "a &amp; b",
        "&lt;b&gt;",
        "control \x01 and \x00",
        "line\nbreak",
        "nonc\uffffharacter",
        "half \ud800",
        "\ufffe",
        "ü 漢字 🙂",
        '<a href="/relative">r</a>',
        '<p onclick="x">p</p><script>x</script>',
        "<noscript><b>n</b></noscript>",
        "a <b@c.example> &#0;z",
        "l" * 501,
        "word " * 200,
        "<i>" * 3000,
    ]
)
TEXTS = st.one_of(NASTY, st.text(max_size=30))
LINKS = st.one_of(
    NASTY,
    st.sampled_from(
        [
            "https://a.example/1",
            "/2",
            "//b.example/3",
            "javascript:alert(1)",
            'https://a.example/"x',
            "http://[",
            "https://a.example/" + "l" * 9000,
        ]
    ),
)
FILES = st.lists(st.builds(ParsedEnclosure, url=LINKS, type=TEXTS, length=st.integers(0, 9)), max_size=2)
FOUND = st.builds(
    RawEntry,
    id=st.one_of(LINKS, st.just("i" * 3000)),
    link=LINKS,
    title=TEXTS,
    author=TEXTS,
    published=st.sampled_from([None, datetime(2026, 1, 1, tzinfo=UTC)]),
    updated=st.none(),
    summary=TEXTS,
    content=TEXTS,
    enclosures=FILES,
    tags=st.lists(TEXTS, max_size=3),
)


@given(st.lists(FOUND, max_size=4), st.booleans())
def test_entries_made_together_are_those_made_one_by_one(found, summaries):
    maker = EntryMaker(BASE, summaries=summaries)
    assert maker.make(found) == tuple(entry for one in found for entry in maker.make([one]))


@given(st.lists(LINKS, min_size=1, max_size=4))
def test_links_made_absolute_together_are_those_made_absolute_one_by_one(links):
    found = [RawEntry("", link, "", "", None, None, "", "") for link in links]
    entries = EntryMaker(BASE, summaries=False).make(found)
    assert [entry.link for entry in entries] == [absolute(link, BASE) for link in links]


@given(st.lists(st.one_of(LINKS, st.just("i" * 3000)), min_size=1, max_size=4))
def test_no_id_is_padded_unprintable_or_too_long_for_an_index(ids):
    found = [RawEntry(one, "", "", "", None, None, "", "") for one in ids]
    for entry in EntryMaker(BASE, summaries=False).make(found):
        assert entry.id == entry.id.strip()
        assert len(entry.id) <= 2048
        assert not set(entry.id.encode().decode()) & set("\x00\x01\ufffe\uffff")


@given(st.lists(TEXTS, max_size=4))
def test_titles_made_plain_together_are_those_made_plain_one_by_one(texts):
    assert plain_texts(texts, 60) == [plain_text(text, 60) for text in texts]


@given(st.lists(TEXTS, max_size=4))
def test_texts_cleaned_together_are_those_cleaned_one_by_one_and_can_be_stored(texts):
    cleaner = HtmlCleaner(BASE)
    cleaned = cleaner.clean_all(texts)
    assert cleaned == [cleaner.clean(text) for text in texts]
    assert not set("".join(cleaned).encode().decode()) & set("\x00\x01\x0b\x1f\ufffe\uffff")
