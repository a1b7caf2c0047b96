from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.errors import InvalidInput
from catchment.parse.opml import MAX_BYTES, MAX_DEPTH, FeedOutline, read_opml

REAL = Path(os.environ.get("CATCHMENT_REAL_DATA", "../shared/data/real")) / "opml"
FILES = sorted(REAL.glob("*")) if REAL.is_dir() else []


def opml(body: str) -> bytes:
    return f'<?xml version="1.0"?><opml version="2.0"><head/><body>{body}</body></opml>'.encode()


def feed(number: int) -> str:
    return f'<outline type="rss" text="Feed {number}" xmlUrl="https://example.org/{number}"/>'


def urls(body: bytes) -> list[str]:
    return [outline.url for outline in read_opml(body)]


@pytest.mark.skipif(not FILES, reason="the real captures are not on this machine")
def test_every_feed_of_every_real_file_is_found() -> None:
    for path in FILES:
        text = re.sub(rb"<!--.*?-->", b"", path.read_bytes(), flags=re.DOTALL)
        assert len(read_opml(path.read_bytes())) == text.count(b"xmlUrl="), path.name


def captured(name: str) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.name, one.url, one.tags) for one in read_opml((REAL / name).read_bytes())]


@pytest.mark.proves("A-33")
@pytest.mark.skipif(not FILES, reason="the real captures are not on this machine")
def test_real_files_are_read_as_a_person_would_read_them() -> None:
    for version in ("noversion", "v1.0", "v1.1", "v2.0"):
        expected = [("feed1", "https://hostname.local/commafeed/feed1.xml", ("out1",))]
        assert captured(f"commafeed_opml_{version}.xml") == expected
    assert captured("newsboat_category.opml") == [
        ("", "http://feeds.bbci.co.uk/news/business/rss.xml?edition=int", ("tag one", "tag_two", "tag/three"))
    ]
    assert captured("newsboat_example.opml")[4:] == [
        ("John's musings", "https://blogs.example.com/~john/posts.rss", ("Blogs",)),
        ("Notes by Mike", "https://blogs.example.com/~mike/.rss", ("Blogs", "friends")),
        ("Fred on everything", "https://fred.example.com/writing/index.php?type=rss", ("eloquent",)),
    ]
    assert [tags for _, _, tags in captured("newsboat_test-urls_.opml")] == [("tag1", "tag2"), (), ("tag1", "tag3"), ()]
    assert captured("newsboat_piped.opml")[0] == ("Birdsite search", "|~/fetch_tweets.py", ())
    assert captured("newsboat_body-element-missing.opml") == []
    # It calls itself something else, but a person sees two feeds in it.
    assert len(captured("newsboat_opml-element-missing.opml")) == 2
    with_tags = captured("awesome-rss-feeds_recommended__with_category__Programming.opml")
    without_tags = captured("awesome-rss-feeds_recommended__without_category__Programming.opml")
    assert {tags for _, _, tags in with_tags} == {("Programming",)}
    assert [one[:2] for one in with_tags] == [one[:2] for one in without_tags]
    # The same subscriptions as two programs wrote them: without titles the text is the name.
    names = {name for name, _, _ in captured("netnewswire_Subs.opml")}
    assert {name for name, _, _ in captured("netnewswire_SubsNoTitleAttributes.opml")} & names
    pages = {one.name: one.html_url for one in read_opml((REAL / "netnewswire_DefaultFeeds.opml").read_bytes())}
    assert pages["Julia Evans"] == "https://jvns.ca/"


def test_folders_and_categories_become_tags_from_the_outside_in() -> None:
    body = opml(
        '<outline text="Blogs" title="ignored"><outline title="friends">'
        '<outline xmlUrl="https://a.example/" title="A" category="reading,&quot;tea, coffee&quot;,Blogs"/>'
        '</outline><outline xmlUrl="https://b.example/" text="B"></outline></outline>'
        '<outline xmlUrl="https://c.example/"/>'
    )
    assert read_opml(body) == [
        FeedOutline(url="https://a.example/", name="A", tags=("Blogs", "friends", "reading", "tea, coffee"), line=1),
        FeedOutline(url="https://b.example/", name="B", tags=("Blogs",), line=1),
        FeedOutline(url="https://c.example/", name="", line=1),
    ]


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        # an address that nobody escaped
        ('<outline xmlUrl="https://a.example/?a=1&copy=2&b=3"/>', "https://a.example/?a=1&copy=2&b=3"),
        ('<outline text="T&C &eacute;" xmlUrl="https://a.example/"/>', "https://a.example/"),
        # markup with quotes of its own in an attribute
        ('<outline text="by <a href="https://x.example">x</a>" xmlUrl="https://a.example/"/>', "https://a.example/"),
        # single quotes, odd case, spaces and lines between
        ("<OUTLINE TYPE='rss'\n XMLURL = 'https://a.example/'\n/>", "https://a.example/"),
        # a tag that never ends
        ('<outline xmlUrl="https://a.example/">', "https://a.example/"),
    ],
)
def test_a_damaged_line_is_read_and_its_neighbours_stay_whole(damage: str, expected: str) -> None:
    body = opml(feed(1) + damage + feed(2))
    assert urls(body) == ["https://example.org/1", expected, "https://example.org/2"]


def test_a_file_that_was_cut_off_gives_what_is_there() -> None:
    body = opml(feed(1) + '<outline type="rss" text="half" xmlUrl="https://exa')
    assert urls(body.removesuffix(b"</body></opml>"))[0] == "https://example.org/1"


def test_what_is_commented_out_is_not_there_but_its_lines_count() -> None:
    [found] = read_opml(opml(f"<!--\n{feed(1)}\n-->\n{feed(2)}"))
    assert (found.url, found.line) == ("https://example.org/2", 4)


def test_a_feed_without_an_address_is_told_and_a_note_is_not_a_feed() -> None:
    found = read_opml(opml('<outline type="rss" text="lost"/><outline text="just a note"/>'))
    assert [(outline.name, outline.url) for outline in found] == [("lost", "")]


@pytest.mark.proves("R-10")
def test_the_address_of_a_feed_may_be_called_url_and_that_of_a_page_is_none() -> None:
    body = opml(
        '<outline type="rss" text="A" url="https://a.example/"/>'
        '<outline type="atom" text="B" url="https://b.example/page" xmlUrl="https://b.example/"></outline>'
        '<outline type="link" text="a page" url="https://c.example/"/>'
    )
    assert urls(body) == ["https://a.example/", "https://b.example/"]


@pytest.mark.proves("R-10")
def test_a_folder_with_an_empty_address_is_a_folder() -> None:
    body = opml(f'<outline text="Blogs" type="rss" xmlUrl="">{feed(1)}</outline><outline text="lost" xmlUrl=""/>')
    assert [(one.name, one.url, one.tags) for one in read_opml(body)] == [
        (read_opml(opml(feed(1)))[0].name, "https://example.org/1", ("Blogs",)),
        ("lost", "", ()),
    ]


@pytest.mark.proves("R-10")
def test_elements_may_have_a_prefix() -> None:
    body = '<o:opml xmlns:o="urn:x"><o:body><o:outline text="A"><o:outline xmlUrl="https://a.example/"/></o:outline>'
    [found] = read_opml(f"{body}</o:body></o:opml>".encode())
    assert (found.url, found.tags) == ("https://a.example/", ("A",))


def test_the_declared_encoding_counts() -> None:
    body = '<?xml version="1.0" encoding="gb2312"?><opml><outline text="河畔笔记" xmlUrl="https://a.example/"/></opml>'
    assert read_opml(body.encode("gb2312"))[0].name == "河畔笔记"


def test_entities_are_neither_expanded_nor_fetched() -> None:
    bombs = "".join(f'<!ENTITY b{n + 1} "{f"&b{n};" * 10}">' for n in range(20))
    body = f'<!DOCTYPE opml [<!ENTITY b0 "x"><!ENTITY f SYSTEM "file:///etc/passwd">{bombs}]>' + opml(
        '<outline text="&b20; &f;" xmlUrl="https://a.example/"/>'
    ).decode().removeprefix('<?xml version="1.0"?>')
    assert read_opml(body.encode())[0].name == "&b20; &f;"


def test_size_count_and_depth_are_capped() -> None:
    with pytest.raises(InvalidInput, match="larger than 10 MiB"):
        read_opml(b" " * (MAX_BYTES + 1))
    with pytest.raises(InvalidInput, match="more than 50,000 feeds"):
        read_opml(opml('<outline xmlUrl="https://a.example/"/>' * 50_001))
    deep = opml('<outline text="f">' * (MAX_DEPTH + 1) + feed(1) + "</outline>" + feed(2))
    assert [outline.too_deep for outline in read_opml(deep)] == [True, False]
    # However deep it goes, nothing breaks.
    assert read_opml(opml('<outline text="f">' * 100_000 + feed(1)))[0].too_deep


@pytest.mark.parametrize("body", [b"", b"hello", b"<html><body>hi</body></html>", b"\x89PNG\r\n", b"<rss/>"])
def test_what_is_no_opml_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput, match="no OPML"):
        read_opml(body)


def test_an_empty_list_is_a_list() -> None:
    assert read_opml(opml("")) == []


@given(st.binary(max_size=300) | st.text(alphabet="<>/=\"'& outlinexmlUrl-!a\n", max_size=300).map(str.encode))
def test_whatever_the_bytes_are_nothing_but_our_own_error_is_raised(body: bytes) -> None:
    try:
        read_opml(b"<opml>" + body)
    except InvalidInput:
        pytest.fail("it says that it is OPML")


@pytest.mark.proves("R-10")
def test_a_sign_that_nobody_defined_is_told_of_its_line_and_of_no_other() -> None:
    body = opml(feed(1) + '<outline text="&harbour; &eacute;" xmlUrl="https://a.example/"/>' + feed(2))
    assert [one.undefined for one in read_opml(body)] == ["", "&harbour;", ""]
