"""One fault in a feed costs nothing but itself, and nobody sees in an entry which way it was read."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from feed_documents import atom, rss
from hypothesis import given
from hypothesis import strategies as st

from broken_feeds import BREAKS, JUNK, captured_feeds
from catchment.errors import ParseError
from catchment.parse.feed import ParsedFeed, parse_feed
from catchment.parse.wellformed import well_formed

URL = "https://example.com/feed"
ENCODED = "xmlns:content='http://purl.org/rss/1.0/modules/content/'"
RICH = (
    f"<item><title>B</title><guid>b</guid><link>/b</link><content:encoded {ENCODED}>"
    "<![CDATA[<p>Long <a href='/x'>link</a></p>]]></content:encoded></item>"
)


def read(document: bytes, *, summaries: bool = False) -> ParsedFeed:
    return parse_feed(document, url=URL, summaries=summaries)


@pytest.mark.proves("R-01")
@pytest.mark.parametrize("junk", [*JUNK.values(), b"<b", b"<br>", b"</p>", b"<a href=x>", b"<a b='", b"<!-- ", b"<?"])
def test_what_breaks_one_title_leaves_every_other_entry_as_it_was(junk: bytes):
    whole = rss(f"<item><title>A</title><guid>a</guid><link>/a</link></item>{RICH}")
    broken = read(whole.replace(b"<title>A", b"<title>" + junk + b"A"))
    assert broken.entries[1:] == read(whole).entries[1:]
    assert [(entry.id, entry.link) for entry in broken.entries] == [
        ("a", "https://example.com/a"),
        ("b", "https://example.com/b"),
    ]


@pytest.mark.proves("R-01")
@pytest.mark.parametrize("junk", [b"<!-- ", b"<?", b"<![CDATA["])
@pytest.mark.parametrize("text", [b"<title><![CDATA[C <!-- ? -->]]></title>", b"<title>C &lt;!-- ?> --></title>"])
def test_what_opens_in_one_title_does_not_end_in_another_one(junk: bytes, text: bytes):
    whole = rss("<item><guid>a</guid><title>A</title></item><item><guid>b</guid></item><item><guid>c</guid></item>")
    whole = whole.replace(b"<guid>c", text + b"<guid>c")
    broken = read(whole.replace(b"<title>A", b"<title>A" + junk))
    assert broken.entries[1:] == read(whole).entries[1:]
    assert (broken.entries[0].id, broken.entries[0].title[:1]) == ("a", "A")
    assert broken.is_damaged


@pytest.mark.proves("R-01")
@pytest.mark.parametrize("junk", [b"<!-- ", b"<?", b"<![CDATA["])
@pytest.mark.parametrize("field", [b"pubDate", b"guid", b"link", b"category", b"author"])
def test_what_opens_in_a_field_ends_with_it(junk: bytes, field: bytes):
    first = b"<item><%b>A</%b><title>T</title></item>" % (field, field)
    whole = rss(f"{first.decode()}<item><title><![CDATA[B <!-- ? -->]]></title><guid>b</guid></item>{RICH}")
    broken = read(whole.replace(b">A<", b">A" + junk + b"<"))
    assert broken.entries[1:] == read(whole).entries[1:]
    assert broken.entries[0].title == "T"


@pytest.mark.proves("R-01", "R-02")
def test_lines_end_as_they_did_when_something_else_breaks():
    whole = rss(
        "<item><guid>a</guid><title>A</title><description>One&#xD;\nTwo&#13;&#10;Three&#9;</description></item>"
    )
    assert (
        read(whole.replace(b"</item>", b"</item><item><title>&nosuchthing;</title></item>")).entries[0]
        == (read(whole).entries[0])
    )


@pytest.mark.proves("R-01")
@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("1 < 2", "1 < 2"),
        ("a <b>c</b> <i>d", "a c d"),
        ("one]]>two", "one]]>two"),
        ("a&#0;b&#xD800;c\x0bd", "abcd"),
        ("&nosuchthing; &eacute;&nbsp;x", "&nosuchthing; é x"),
        ("<![CDATA[a]]> b]]>", "a]]> b"),
        ("&#146;&#x93;\u0085", "’“…"),
    ],
)
def test_a_broken_title_says_what_can_be_read_of_it(written: str, title: str):
    assert read(rss(f"<item><title>{written}</title></item>")).entries[0].title == title


@pytest.mark.proves("R-01", "R-02")
@pytest.mark.parametrize("junk", JUNK.values())
@pytest.mark.parametrize("place", [0, 2, 5, 6, 15, 19])
@pytest.mark.parametrize(
    "entry",
    [
        "<item><title>A</title><link>@</link></item>",
        "<item><title>A</title><guid>@</guid></item>",
        "<item rdf:about='@' xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><title>A</title></item>",
        "<item xmlns:a='http://www.w3.org/2005/Atom'><title>A</title><a:link href='@'/></item>",
    ],
    ids=["link", "guid", "about", "href"],
)
def test_what_breaks_an_address_or_an_id_is_no_part_of_it(entry: str, place: int, junk: bytes):
    address = "https://example.com/1"
    whole = rss(entry.replace("@", address))
    broken = whole.replace(address.encode(), address[:place].encode() + junk + address[place:].encode())
    [before], [after] = read(whole).entries, read(broken).entries
    assert (after.id, after.link, after.title) == (before.id, before.link, "A")


@pytest.mark.proves("R-01")
def test_in_a_query_something_that_looks_like_an_entity_may_be_a_parameter():
    (entry,) = read(rss("<item><title>a < b</title><link>http://x.org/?a=1&nosuchthing;b=2</link></item>")).entries
    assert entry.link == "http://x.org/?a=1&nosuchthing;b=2"


@pytest.mark.proves("R-01")
@pytest.mark.parametrize("junk", [junk for junk in JUNK.values() if junk != b"\x0b"])
@pytest.mark.parametrize("reference", ["&|amp;", "&am|p;", "&#82|17;", "&|#8217;", "&lt|;", "&#x20|1C;"])
def test_a_reference_that_something_was_put_into_is_still_one(reference: str, junk: bytes):
    text = f"<item><title>one {reference} two</title></item>"
    whole = read(rss(text.replace("|", ""))).entries[0].title
    broken = read(rss(text).replace(b"|", junk))
    assert broken.is_damaged
    assert broken.entries[0].title == whole


@pytest.mark.proves("R-01")
def test_tags_that_html_never_closes_stay_tags():
    text = '<p>Hello <br> world <b>x</b></p><img src="/a.png">'
    (entry,) = read(rss(f"<item><title>A</title><description>{text}</description></item>")).entries
    assert entry.content == '<p>Hello <br> world <b>x</b></p><img src="https://example.com/a.png">'


@pytest.mark.proves("R-01")
def test_any_number_of_tags_that_html_never_closes_stay_tags():
    text = "<b>x</b>" + "line<br>" * 300
    (entry,) = read(rss(f"<item><title>A</title><description>{text}</description></item>")).entries
    assert entry.content == text


@pytest.mark.proves("R-01")
@pytest.mark.parametrize("text", ["<p>one<br>two<p>three", "&lt;p>one<br>two&lt;p>three"])
def test_a_text_in_which_nothing_is_closed_is_html_as_it_stands(text: str):
    (entry,) = read(rss(f"<item><title>A</title><description>{text}</description></item>")).entries
    assert entry.content == "<p>one<br>two</p><p>three</p>"


@pytest.mark.proves("R-01")
@pytest.mark.parametrize(
    ("document", "titles"),
    [
        (rss("<item><title>a</title><item><title>b</title></item>"), ["a", "b"]),
        (rss("<item><title>a</title></item>") + b"<script>x</script>", ["a"]),
        (b"<br />\n<b>Warning</b>: x in y.php\n" + rss("<item><title>a</title></item>"), ["a"]),
        (rss("<item><title>a</title><description><![CDATA[x</description></item><item><title>b</title></item>"), ["a", "b"]),
        (rss("<item><title>a</title><x:y z:a='1'>c</x:y></item>"), ["a"]),
        (rss("<item><title>a</title></item>").replace(b'version="2.0"', b"version=2.0 version='x' nothing"), ["a"]),
        (b"<!DOCTYPE rss [<!ENTITY own 'mine'>]>" + rss("<item><title>&own; &agrave;</title></item>")[38:], ["mine à"]),
        (rss("<item><title>a</title><enclosure url='x<y' url='z'/></item>"), ["a"]),
        (rss("<item><title>a</title></item><item><title>b</title>")[:-25], ["a"]),
        (rss("<item xmlns:x=''><title>a</title><x:b/><é>c</é><xmlns:d/></item>"), ["a"]),
    ],
    ids=["not closed", "after the end", "before the start", "CDATA not closed", "prefixes", "root", "entities",
         "attributes", "cut off", "namespaces"],
)  # fmt: skip
def test_damage_of_the_document_itself_keeps_its_entries(document: bytes, titles: list[str]):
    assert [entry.title for entry in read(document).entries] == titles


@pytest.mark.proves("R-01")
def test_an_entry_in_which_the_document_ends_is_left_out_rather_than_read_by_half():
    whole = rss("<item><link>/a</link></item><item><link>https://example.com/long</link></item>")
    cut = whole[: whole.index(b"/long") + 2]
    assert [entry.link for entry in read(cut).entries] == ["https://example.com/a"]
    assert read(cut).is_damaged


@pytest.mark.proves("R-02")
@pytest.mark.parametrize("junk", [*JUNK.values(), b"<b>", b"</p>"])
@pytest.mark.parametrize(
    "document",
    [
        rss(
            "<item><guid>a</guid><x:list xmlns:x='urn:x'><item>1</item><item><guid>x</guid></item></x:list>"
            f"<title>A</title><link>/a</link></item>{RICH}"
        ),
        rss(f"<item><guid>a</guid><item><guid>x</guid></item><title>A</title><link>/a</link></item>{RICH}"),
        rss(f"<item><title>A</title><description><ol><item>1</item></ol></description><guid>a</guid></item>{RICH}"),
        rss(f"<item><x><y><item/><item>1</item></y></x><title>A</title><guid>a</guid></item>{RICH}"),
        atom(
            "<entry><x:related xmlns:x='urn:x'><entry><id>x</id><title>X</title></entry></x:related><id>a</id>"
            "<title>A</title></entry><entry><id>b</id><title>B</title></entry>"
        ),
    ],
)
def test_what_is_called_an_item_inside_an_item_is_none_also_when_the_document_breaks(document: bytes, junk: bytes):
    def known(feed: ParsedFeed) -> list[tuple[str, str]]:
        return [(entry.id, entry.link) for entry in feed.entries]

    whole = read(document)
    assert {"a", "b"} <= {entry.id for entry in whole.entries}
    for title in (b"<title>A", b"<title>B"):
        assert known(read(document.replace(title, title + junk))) == known(whole)


@pytest.mark.proves("R-02")
def test_a_document_that_ends_in_such_a_list_makes_no_entries_of_it():
    held = "<x:list xmlns:x='urn:x'><item><guid>1</guid></item><item><guid>2</guid></item></x:list>"
    whole = rss(f"{RICH}<item><guid>a</guid>{held}</item>")
    for end in range(whole.index(b"<x:list"), len(whole)):
        assert {entry.id for entry in read(whole[:end]).entries} <= {"a", "b"}


@pytest.mark.proves("R-01")
def test_only_what_could_not_be_read_as_meant_counts_as_damage():
    item = "<item><title>{}</title></item>"
    harmless = ["fish & chips", "caf&eacute;", "x\x0b", "<x:b>y</x:b>"]
    assert not any(read(rss(item.format(text))).is_damaged for text in harmless)
    assert all(read(rss(item.format(text))).is_damaged for text in ("1 < 2", "]]>", "&#0;", "&nosuchthing;", "<b>"))


@pytest.mark.proves("R-01")
def test_json_with_control_characters_and_line_breaks_in_its_texts_is_read():
    body = b'{"version": "https://jsonfeed.org/version/1", "items": [{"id": "1", "title": "a\x0b\nb"}]}'
    assert read(body).entries[0].title == "a b"


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ["<p>a <a href='/x'>b</a></p>", "AT&T", "a < b", "]]>", "<br>", "é", "&amp;", "&lt;i&gt;", "\x0b"]
)
NAMES = st.sampled_from(["1", "a/b", "https://x.org/1", "tag:x.org,2026:1", "/rel", ""])


def escaped(text: str) -> str:
    kept = "".join(character for character in text if character.isprintable() or character in "\n\t")
    return kept.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def as_cdata(text: str) -> str:
    kept = "".join(character for character in text if character.isprintable() or character in "\n\t")
    return f"<![CDATA[{kept.replace(']]>', '')}]]>"


@st.composite
def feeds(draw: st.DrawFn) -> bytes:
    """Well-formed, of any format."""
    write = draw(st.sampled_from([escaped, as_cdata]))
    entries = draw(st.lists(st.tuples(TEXTS, NAMES, NAMES, TEXTS), min_size=1, max_size=4))
    if draw(st.booleans()):
        prefix = draw(st.sampled_from(["", "a:"]))
        written = "".join(
            f"<{prefix}entry><{prefix}id>{name}</{prefix}id><{prefix}title>{write(title)}</{prefix}title>"
            f"<{prefix}link href='{link}'/><{prefix}content type='html'>{write(text)}</{prefix}content></{prefix}entry>"
            for title, name, link, text in entries
        )
        declared = f"xmlns{':a' if prefix else ''}='http://www.w3.org/2005/Atom'"
        return f"<{prefix}feed {declared}>{written}</{prefix}feed>".encode()
    return rss(
        "".join(
            f"<item><title>{write(title)}</title><guid>{name}</guid><link>{link}</link>"
            f"<description>{write(text)}</description></item>"
            for title, name, link, text in entries
        )
    )


@pytest.mark.proves("R-02")
@given(feeds())
def test_a_well_formed_feed_says_the_same_when_it_is_made_well_formed(document: bytes):
    mended = well_formed(document)
    assert read(mended.document) == read(document)
    assert not mended.is_damaged


@pytest.mark.proves("R-02")
@given(feeds(), st.sampled_from(list(JUNK.values())), st.integers(0, 3))
def test_a_feed_broken_in_a_title_has_the_same_ids_and_links(document: bytes, junk: bytes, chosen: int):
    titles = [match.end() for match in re.finditer(rb"<(?:a:)?title>", document)]
    place = titles[min(chosen, len(titles) - 1)]
    broken, whole = read(document[:place] + junk + document[place:]), read(document)
    assert [(e.id, e.link) for e in broken.entries] == [(e.id, e.link) for e in whole.entries]


@pytest.mark.captures
@pytest.mark.proves("R-02")
def test_every_captured_feed_says_the_same_when_it_is_made_well_formed():
    compared = 0
    for name, body in captured_feeds().items():
        try:
            whole = read(body)
        except ParseError:
            continue
        # Something in front of it, so that it is not well-formed.
        mended = read(body if whole.is_damaged or b"<" not in body[:10] else b"x" + body.lstrip(b"\xef\xbb\xbf \r\n"))
        assert replace(mended, is_damaged=whole.is_damaged) == whole, name
        compared += 1
    assert compared > 150


@pytest.mark.captures
@pytest.mark.proves("R-02")
@pytest.mark.parametrize("way", [way for way in BREAKS if " in the " in way])
def test_every_captured_feed_has_the_same_ids_and_links_when_it_breaks(way: str):
    for name, body in list(captured_feeds().items())[::5]:
        try:
            whole = read(body)
            broken = read(BREAKS[way](body))
        except ParseError:
            continue
        # What has neither is known by its words, and those may be broken.
        assert [(e.id, e.link) for e in broken.entries] == [(e.id, e.link) for e in whole.entries], name


@pytest.mark.proves("R-04")
@pytest.mark.parametrize("prefix", ["", "a:", "atom10:"])
def test_atom_is_read_with_any_prefix_dates_included(prefix: str):
    entry = """<{0}entry><{0}id>1</{0}id><{0}title>T</{0}title><{0}link href="/1"/><{0}author><{0}name>Ann</{0}name></{0}author>
      <{0}published>2026-01-02T03:04:05Z</{0}published><{0}updated>2026-01-03T03:04:05Z</{0}updated>
      <{0}category term="x"/><{0}summary>S</{0}summary><{0}content type="html">&lt;p>C&lt;/p></{0}content></{0}entry>"""
    declared = f"xmlns{':' + prefix[:-1] if prefix else ''}='http://www.w3.org/2005/Atom'"
    document = f"<{prefix}feed {declared}><{prefix}title>F</{prefix}title>{entry.format(prefix)}</{prefix}feed>"
    plain = atom(entry.format(""), head="<title>F</title>")
    assert read(document.encode(), summaries=True) == read(plain, summaries=True)
    assert read(plain).entries[0].published is not None
