"""What the elements of a feed mean, whatever namespace, prefix or markup they come in."""

from __future__ import annotations

import json
from base64 import b64encode
from codecs import BOM_UTF8
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from feed_documents import atom, rss
from hypothesis import given
from hypothesis import strategies as st

from catchment.parse.entry import ParsedEnclosure
from catchment.parse.feed import MAX_ENTRIES, parse_feed
from catchment.parse.html import MAX_HTML_BYTES, HtmlCleaner

URL = "https://example.com/feed"
MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ATOM = "xmlns:atom='http://www.w3.org/2005/Atom'"
DC = "xmlns:dc='http://purl.org/dc/elements/1.1/'"


def entry_of(document: bytes):
    (entry,) = parse_feed(document, url=URL).entries
    return entry


@pytest.mark.proves("R-05")
class TestElementsOfOtherVocabularies:
    def test_a_link_of_atom_beside_a_plain_one_does_not_hide_it(self):
        item = f"<item {ATOM}><atom:link rel='standout' href='https://x.org/s'/><link>https://x.org/1</link></item>"
        assert entry_of(rss(item)).link == "https://x.org/1"

    def test_an_item_of_rss_may_be_written_in_atom(self):
        item = f"""<item {ATOM}><title>T</title><atom:id>7</atom:id><atom:link href='https://x.org/1'/>
          <atom:link rel='enclosure' href='https://x.org/a.mp3' type='audio/mpeg' length='5'/>
          <atom:author><atom:name>Ann</atom:name></atom:author><atom:published>2026-01-02T03:04:05Z</atom:published>
          <atom:updated>2026-01-03T03:04:05Z</atom:updated><atom:content type='html'>&lt;p>C&lt;/p></atom:content></item>"""
        entry = entry_of(rss(item))
        assert (entry.id, entry.link, entry.author) == ("7", "https://x.org/1", "Ann")
        assert (entry.published, entry.updated) == (MOMENT, MOMENT + timedelta(days=1))
        assert entry.content == "<p>C</p>"
        assert entry.enclosures == (ParsedEnclosure("https://x.org/a.mp3", "audio/mpeg", 5),)

    def test_an_item_of_rss_may_be_written_in_dublin_core(self):
        item = f"""<item {DC}><dc:title>T</dc:title><link>https://x.org/1</link><dc:creator>Ann</dc:creator>
          <dc:date>2026-01-02T03:04:05Z</dc:date><dc:subject>x</dc:subject><dc:description>D</dc:description></item>"""
        entry = entry_of(rss(item))
        assert (entry.title, entry.author, entry.published, entry.tags) == ("T", "Ann", MOMENT, ("x",))
        assert entry.content == "D"

    def test_a_channel_may_be_written_in_dublin_core(self):
        channel = f"<dc:title {DC}>T</dc:title><dc:creator {DC}>Ann</dc:creator>"
        feed = parse_feed(rss("<item><title>a</title></item>", channel=channel))
        assert (feed.title, feed.entries[0].author) == ("T", "Ann")

    def test_dublin_core_has_another_name(self):
        other = "xmlns:dc='http://dublincore.org/documents/dcmi-namespace/'"
        assert entry_of(rss(f"<item {other}><title>a</title><dc:creator>Ann</dc:creator></item>")).author == "Ann"

    def test_an_author_of_dublin_core_is_one(self):
        assert entry_of(rss(f"<item {DC}><title>a</title><dc:author>Ann</dc:author></item>")).author == "Ann"

    def test_a_link_that_holds_another_one_leads_where_it_says_itself(self):
        inner = (
            "<x:link xmlns:x='http://www.w3.org/1999/xhtml' rel='alternate' media='handheld' href='https://m.x.org/1'/>"
        )
        entry = f"<entry><id>1</id><link rel='alternate' href='https://x.org/1'>\n{inner}\n</link></entry>"
        assert entry_of(atom(entry)).link == "https://x.org/1"
        assert entry_of(rss("<item><link><b>https://x.org/1</b></link></item>")).link == "https://x.org/1"

    @pytest.mark.parametrize("name", ["fullitem", "body"])
    def test_the_full_text_by_its_old_names_is_the_content(self, name: str):
        item = f"<item><title>a</title><description>Lead</description><{name}>&lt;p>All&lt;/p></{name}></item>"
        assert entry_of(rss(item)).content == "<p>All</p>"

    def test_keywords_of_podcasts_and_media_are_tags(self):
        item = """<item xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd'
          xmlns:media='http://search.yahoo.com/mrss/'><title>T</title><category>news</category>
          <itunes:keywords>red wine, cheese,,news</itunes:keywords><media:keywords>bread</media:keywords></item>"""
        assert entry_of(rss(item)).tags == ("news", "red wine", "cheese", "bread")

    @pytest.mark.parametrize(
        "namespace",
        ["http://backend.userland.com/rss2", "http://www.w3.org/2005/Atom", "http://example.com/anything"],
    )
    def test_rss_in_a_default_namespace_keeps_everything(self, namespace: str):
        item = """<item><title>T</title><link>https://x.org/1</link><guid>7</guid><description>D</description>
          <pubDate>Fri, 02 Jan 2026 03:04:05 GMT</pubDate><enclosure url='https://x.org/a.mp3' type='a/b' length='5'/></item>"""
        plain = rss(item)
        named = plain.replace(b"<rss", f"<rss xmlns='{namespace}'".encode())
        assert parse_feed(named, url=URL) == parse_feed(plain, url=URL)
        assert entry_of(named).enclosures == (ParsedEnclosure("https://x.org/a.mp3", "a/b", 5),)

    def test_prefixes_that_nobody_declared_mean_what_they_usually_mean(self):
        item = (
            "<item><title>T</title><dc:creator>Ann</dc:creator><content:encoded>&lt;p>C&lt;/p></content:encoded></item>"
        )
        assert (entry_of(rss(item)).author, entry_of(rss(item)).content) == ("Ann", "<p>C</p>")


@pytest.mark.proves("R-05")
def test_an_entry_that_is_but_a_file_is_kept():
    entry = entry_of(rss("<item><enclosure url='https://x.org/a.mp3'/></item>"))
    assert entry.enclosures == (ParsedEnclosure("https://x.org/a.mp3", "", 0),)


@pytest.mark.proves("R-05")
@pytest.mark.parametrize(
    ("item", "content"),
    [
        ("<i:subtitle>S</i:subtitle><i:summary>L</i:summary>", "L"),
        ("<i:subtitle>S</i:subtitle><p:description>L</p:description>", "L"),
        ("<i:subtitle>S</i:subtitle>", "S"),
        ("<p:description>L</p:description><description>D</description>", "D"),
    ],
)
def test_what_a_podcast_says_of_an_episode_is_its_content(item: str, content: str):
    itunes = (
        "xmlns:i='http://www.itunes.com/dtds/podcast-1.0.dtd' xmlns:p='http://www.google.com/schemas/play-podcasts/1.0'"
    )
    entry = entry_of(rss(f"<item {itunes}><guid>1</guid>{item}<p:author>Ann</p:author></item>"))
    assert (entry.content, entry.author) == (content, "Ann")


@pytest.mark.proves("R-05")
def test_the_categories_of_a_podcast_are_tags():
    itunes = "xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd'"
    inner = "<itunes:category text='Gadgets'/>"
    item = f"<item {itunes}><title>a</title><itunes:category text='Technology'>{inner}</itunes:category></item>"
    assert entry_of(rss(item)).tags == ("Technology", "Gadgets")


@pytest.mark.proves("R-05")
@pytest.mark.parametrize(
    "file",
    [
        "<enc:enclosure resource='https://x.org/a.mp3' type='audio/mpeg' length='5'/>",
        "<enc:enclosure rdf:resource='https://x.org/a.mp3' enc:type='audio/mpeg' enc:length='5'/>",
        """<enc:enclosure><enc:Enclosure><enc:type>audio/mpeg</enc:type><enc:length>5</enc:length>
          <enc:url> https://x.org/a.mp3 </enc:url></enc:Enclosure></enc:enclosure>""",
    ],
)
def test_the_files_of_rss_1_0_are_read(file: str):
    document = f"""<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'
      xmlns:enc='http://purl.oclc.org/net/rss_2.0/enc#'><item rdf:about='https://x.org/1'>{file}</item></rdf:RDF>"""
    assert entry_of(document.encode()).enclosures == (ParsedEnclosure("https://x.org/a.mp3", "audio/mpeg", 5),)


@pytest.mark.proves("R-06")
@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("The <em>New York Times</em> piece", "The New York Times piece"),
        ("H<sub>2</sub>O", "H2O"),
        ("H&lt;sub&gt;2&lt;/sub&gt;O", "H2O"),
        ("<![CDATA[H<sub>2</sub>O]]>", "H2O"),
        ("<x:i xmlns:x='http://www.w3.org/1999/xhtml'>All</x:i> of it", "All of it"),
    ],
)
@pytest.mark.parametrize("fault", ["", "<"])
def test_a_title_with_markup_keeps_its_words(written: str, title: str, fault: str):
    items = f"<item><title>{written}</title></item><item><title>{fault}</title></item>"
    assert parse_feed(rss(items)).entries[0].title == title
    entries = f"<entry><id>1</id><title>{written}</title></entry><entry><id>2</id><title>{fault}</title></entry>"
    assert parse_feed(atom(entries)).entries[0].title == title


@pytest.mark.proves("R-07")
@pytest.mark.parametrize("declared", ["utf-8", "iso-8859-1", "windows-1251", "gb2312"])
@pytest.mark.parametrize("stray", [b"\xe9", b"\x92", b"\xff"])
@pytest.mark.parametrize("mark", [b"", BOM_UTF8], ids=["no mark", "marked"])
def test_utf8_with_a_stray_byte_is_utf8_whatever_it_declares(declared: str, stray: bytes, mark: bytes):
    items = "<item><title>Übergrößen, Čeština</title></item><item><title>X</title></item>"
    body = rss(items).replace(b'"UTF-8"', f'"{declared}"'.encode()).replace(b"<title>X", b"<title>" + stray)
    first, second = parse_feed(mark + body, content_type=f"text/xml; charset={declared}").entries
    assert first.title == "Übergrößen, Čeština"
    assert second.title == stray.decode("cp1252")


@pytest.mark.proves("R-07")
@pytest.mark.parametrize(
    "written", ["It\u0092s \u0093so\u0094", "It&#146;s &#147;so&#x94;", "<![CDATA[It&#146;s &#147;so&#148;]]>"]
)
def test_the_codes_of_windows_are_what_windows_means(written: str):
    entry = entry_of(rss(f"<item><title>{written}</title><description>{written}</description></item>"))
    assert (entry.title, entry.content) == ("It’s “so”", "It’s “so”")


@pytest.mark.proves("R-08")
class TestTexts:
    clean = staticmethod(HtmlCleaner("https://x.org/").clean)

    def test_a_formula_keeps_its_text_once(self):
        formula = "<math><semantics><mrow><mi>K</mi><mo>=</mo><mn>64</mn></mrow><annotation>K=64</annotation></semantics></math>"
        assert self.clean(f"<p>Use {formula} or <b>more</b></p>") == "<p>Use K=64 or <b>more</b></p>"
        assert "K=64" in self.clean(f"<p>Use {formula}</p>" * 500)

    def test_what_is_shown_without_scripts_is_shown(self):
        shown = self.clean('<p>a<noscript><img src="/y.png" alt="y"></noscript></p>')
        assert shown == '<p>a<img src="https://x.org/y.png" alt="y"></p>'

    @pytest.mark.parametrize("end", ["</iframe>", ""])
    def test_what_stands_in_a_frame_is_markup(self, end: str):
        assert self.clean(f"<p>a</p><iframe src='https://v.org/'><p>No <b>frames</b>?</p>{end}").endswith(
            "<p>No <b>frames</b>?</p>"
        )

    @pytest.mark.parametrize("nothing", ["", " \n ", "<![CDATA[]]>", "<![CDATA[ \n]]>"])
    def test_an_empty_full_text_does_not_win_over_the_description(self, nothing: str):
        full = f"<c:encoded xmlns:c='http://purl.org/rss/1.0/modules/content/'>{nothing}</c:encoded>"
        for texts in (f"{full}<description>Lead</description>", f"<description>Lead</description>{full}"):
            assert entry_of(rss(f"<item><title>a</title>{texts}</item>")).content == "Lead"

    def test_the_cap_counts_what_is_kept(self):
        picture = f"<img src='data:image/png;base64,{'A' * 3_000_000}'>"
        styled = f"<p style='{'x' * 300_000}'>styled</p>"
        assert self.clean(f"{picture}{styled}<p>The end</p>") == "<img><p>styled</p><p>The end</p>"
        assert len(self.clean("<p>word</p>" * 100_000).encode()) <= MAX_HTML_BYTES

    def test_a_relative_link_of_a_channel_is_resolved_once(self):
        feed = parse_feed(rss("<item><link>a</link></item>", channel="<link>blog/</link>"), url="https://x.org/feeds/f")
        assert feed.link == "https://x.org/feeds/blog/"
        assert feed.entries[0].link == "https://x.org/feeds/blog/a"
        document = {"version": "https://jsonfeed.org/version/1", "home_page_url": "blog/", "items": []}
        assert parse_feed(json.dumps(document).encode(), url="https://x.org/f").link == "https://x.org/blog/"

    def test_a_link_of_a_channel_leads_where_its_own_base_says(self):
        feed = atom(
            "<entry><id>1</id><link href='1'/></entry>", head="<link href='.'/>", attributes="xml:base='/blog/x'"
        )
        read = parse_feed(feed, url="https://x.org/feeds/f")
        assert (read.link, read.entries[0].link) == ("https://x.org/blog/", "https://x.org/blog/1")

    @pytest.mark.parametrize("attributes", ["mode='base64' type='text/html'", "type='application/octet-stream'"])
    def test_a_text_in_base64_is_decoded(self, attributes: str):
        text = b64encode("<p>Grüße</p>".encode()).decode()
        assert (
            entry_of(atom(f"<entry><id>1</id><content {attributes}>{text}</content></entry>")).content == "<p>Grüße</p>"
        )
        title = f"<title {attributes}>{text}</title>"
        feed = parse_feed(atom(f"<entry><id>1</id>{title}</entry>", head=title))
        assert (feed.title, feed.entries[0].title) == ("Grüße", "Grüße")
        assert entry_of(atom("<entry><id>1</id><title type='html'>R2D2</title></entry>")).title == "R2D2"

    @pytest.mark.proves("S-01")
    @pytest.mark.parametrize("link", ["/a", "https://x.org/a"])
    def test_every_text_is_cleaned_once_whatever_its_links_are(self, link: str):
        cleaned = []
        cleaner = HtmlCleaner("https://x.org/")
        real = cleaner._without_media

        class Counting:
            def clean(self, text: str) -> str:
                cleaned.append(text)
                return real.clean(text)

        cleaner.__dict__["_without_media"] = Counting()
        texts = [f'<a href="{link}">x</a> <img src=b>', "<a href=a>y</a>"]
        assert 'href="https://x.org/a"' in cleaner.clean_all(texts)[0]
        assert cleaned == texts

    @pytest.mark.proves("R-03")
    @pytest.mark.parametrize("tag", ["audio", "VIDEO", "sOurce", "Picture"])
    def test_what_the_librarys_own_list_of_tags_lacks_is_kept_however_it_is_written(self, tag: str):
        texts = ["<b>a</b>", f'<p>b <{tag} src="c.mp4"></{tag}></p>']
        assert HtmlCleaner("https://x.org/").clean_all(texts)[1].count(f"<{tag.lower()}") == 1

    @given(st.lists(st.text(alphabet="<>/&;#= \"'avidsoupcrtehx\n\ud800", max_size=60), max_size=4))
    def test_texts_are_cleaned_together_as_each_is_by_itself(self, texts: list[str]):
        cleaner = HtmlCleaner("https://x.org/")
        assert cleaner.clean_all(texts) == [cleaner.clean(text) for text in texts]


def dated(place: int) -> str:
    return f"<pubDate>{format_datetime(MOMENT + timedelta(hours=place))}</pubDate>"


@pytest.mark.proves("R-03")
class TestMoreEntriesThanAreTaken:
    LISTED = 1_046

    def items(self, order: range, *, date=lambda place: "") -> bytes:
        return rss("".join(f"<item><link>https://x.org/{place}</link>{date(place)}</item>" for place in order))

    def kept(self, body: bytes) -> set[int]:
        feed = parse_feed(body)
        assert (len(feed.entries), feed.cut) == (MAX_ENTRIES, self.LISTED - MAX_ENTRIES)
        return {int(entry.link.rpartition("/")[2]) for entry in feed.entries}

    newest = frozenset(range(LISTED - MAX_ENTRIES, LISTED))

    @pytest.mark.parametrize("date", [dated, lambda place: dated(place) if place % 7 == 0 else "", lambda place: ""],
                             ids=["all dated", "some dated", "none dated"])  # fmt: skip
    @pytest.mark.parametrize("order", [range(LISTED), range(LISTED - 1, -1, -1)], ids=["oldest first", "newest first"])
    def test_the_newest_are_kept_whatever_their_order(self, order: range, date):
        assert self.kept(self.items(order, date=date)) == self.newest

    def test_the_newest_are_kept_in_no_order_at_all(self):
        shuffled = [place * 7 % self.LISTED for place in range(self.LISTED)]  # 7 divides it not
        assert self.kept(self.items(shuffled, date=dated)) == self.newest

    def test_without_dates_and_numbers_the_first_are_the_newest(self):
        body = rss(
            "".join(f"<item><guid>{'ab'[place % 2] * (place + 1)}</guid></item>" for place in range(self.LISTED))
        )
        assert len(parse_feed(body).entries[0].id) == 1

    def test_the_newest_of_a_json_feed_are_kept_as_well(self):
        items = [
            {"id": str(place), "date_published": (MOMENT + timedelta(hours=place)).isoformat()} for place in range(600)
        ]
        feed = parse_feed(json.dumps({"version": "https://jsonfeed.org/version/1", "items": items}).encode())
        assert (feed.entries[0].id, feed.entries[-1].id, feed.cut) == ("100", "599", 100)


MEDIA = "xmlns:media='http://search.yahoo.com/mrss/'"
PICTURE = "<media:content url='https://x.org/p.jpg' type='image/jpeg' fileSize='9'/>"
THUMBNAIL = "<media:thumbnail url='https://x.org/t?s=1'/>"
#: The files of an entry, by what Media RSS says of them.
ATTACHED = {
    "a file": (PICTURE, [("https://x.org/p.jpg", "image/jpeg", 9)]),
    "files in a group": (
        f"<media:group>{PICTURE}<media:content url='/v.webm' medium='video'/></media:group>",
        [("https://x.org/p.jpg", "image/jpeg", 9), ("https://example.com/v.webm", "video/webm", 0)],
    ),
    "a picture by its ending": ("<media:content url='https://x.org/p.JPG?w=9' width='460'/>", [("https://x.org/p.JPG?w=9", "image/jpeg", 0)]),
    "a picture by its medium": ("<media:content url='https://x.org/p' medium='image'/>", [("https://x.org/p", "image/*", 0)]),
    "a medium for a type": ("<media:content url='https://x.org/p.php' type='image'/>", [("https://x.org/p.php", "image/*", 0)]),
    "a medium beside another ending": ("<media:content url='https://x.org/p.mp4' medium='image'/>", [("https://x.org/p.mp4", "image/*", 0)]),
    "a type with parameters": ("<media:content url='https://x.org/p' type='Video/mp4; codecs=a'/>", [("https://x.org/p", "video/mp4", 0)]),
    "a file of which nothing is said": ("<media:content url='https://x.org/p'/>", [("https://x.org/p", "", 0)]),
    "what is nowhere": ("<media:content/><media:content url=' '/><media:thumbnail/>", []),
    "Flash": ("<media:content url='https://x.org/v' type='application/x-shockwave-flash'/><media:content url='/v.swf'/>", []),
    "a thumbnail": (THUMBNAIL, [("https://x.org/t?s=1", "image/*", 0)]),
    "a thumbnail of a video": (
        f"<media:group>{THUMBNAIL}<media:thumbnail url='/u.png'/><media:content url='/v.mp4'/></media:group>",
        [("https://example.com/v.mp4", "video/mp4", 0), ("https://x.org/t?s=1", "image/*", 0)],
    ),
    "a thumbnail in a picture": (
        f"<media:content url='/p.png'>{THUMBNAIL}</media:content>", [("https://example.com/p.png", "image/png", 0)]
    ),
    "a thumbnail beside an enclosed picture": (
        f"{THUMBNAIL}<enclosure url='https://x.org/p.gif'/>", [("https://x.org/p.gif", "", 0)]
    ),
    "what is enclosed already": (
        f"{PICTURE}<enclosure url='https://x.org/a.mp3' type='a/b'/><enclosure url='https://x.org/p.jpg' length='8'/>",
        [("https://x.org/a.mp3", "a/b", 0), ("https://x.org/p.jpg", "", 8)],
    ),
    "whoever wrote it": (
        "<media:content url='//0.gravatar.com/avatar/f' medium='image'/><media:thumbnail url='/u.png' width='30'/>",
        [],
    ),
    "what must not be followed": ("<media:content url='javascript:alert(1)'/>", []),
}  # fmt: skip


@pytest.mark.proves("R-05", "A-31")
@pytest.mark.parametrize(("media", "files"), ATTACHED.values(), ids=ATTACHED)
def test_files_of_media_rss_are_files_of_the_entry(media: str, files: list[tuple[str, str, int]]):
    bare = entry_of(rss("<item><title>T</title></item>"))
    entry = entry_of(rss(f"<item {MEDIA}><title>T</title>{media}</item>"))
    assert entry == bare._replace(enclosures=tuple(ParsedEnclosure(*file) for file in files))
