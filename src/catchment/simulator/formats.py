"""Feeds as they are written: the same posts in six formats.

RSS 0.91 and RSS 1.0 have no ids of their own, so there a post is identified by its link.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import format_datetime
from enum import StrEnum
from random import Random
from xml.sax.saxutils import escape, quoteattr


@dataclass(frozen=True, slots=True, kw_only=True)
class WelcomeSite:
    title: str
    language: str
    period: timedelta


def _site(title: str, language: str, minutes: int) -> WelcomeSite:
    return WelcomeSite(title=title, language=language, period=timedelta(minutes=minutes))


WELCOME_SITES = (
    _site("Harbour Light", "en", 12),
    _site("河畔笔记", "zh", 15),
    _site("The Slow Bicycle", "en", 25),
    _site("Hinterhof & Himmel", "de", 40),
    _site("夜航船日志", "zh", 30),
    _site("Sourdough Weather", "en", 18),
    _site("Carnet de la jetée", "fr", 50),
    _site("دفتر الفنار", "ar", 35),
    _site("桟橋だより", "ja", 45),
    _site("Maps for Rainy Days", "en", 20),
    _site("一盏茶的地图", "zh", 60),
    _site("Meadow Radio 📻", "en", 28),
)


class Dialect(StrEnum):
    RSS20 = "rss20"
    RSS091 = "rss091"
    RSS10 = "rss10"
    ATOM10 = "atom10"
    ATOM03 = "atom03"
    JSONFEED = "jsonfeed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    format: Dialect = Dialect.RSS20
    encoding: str = "utf-8"
    #: The languages that this encoding can carry.
    languages: tuple[str, ...] = ("en", "en", "en", "zh", "zh", "de", "fr", "ar", "ja")

    @property
    def file_name(self) -> str:
        return "feed.json" if self.format is Dialect.JSONFEED else "feed.xml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What a site's server can do. With neither validator, only the same bytes say that nothing changed."""

    etag: bool = False
    last_modified: bool = False
    max_age_seconds: int | None = None
    gzip: bool = False


WESTERN = ("de", "fr", "en")
#: Each with its weight: how common it is in a mixed world.
STYLES: tuple[tuple[Style, int], ...] = (
    (Style(), 45),
    (Style(format=Dialect.ATOM10), 25),
    (Style(format=Dialect.JSONFEED), 8),
    (Style(format=Dialect.RSS10), 6),
    (Style(format=Dialect.ATOM03), 3),
    (Style(format=Dialect.RSS091, encoding="iso-8859-1", languages=WESTERN), 3),
    (Style(encoding="iso-8859-1", languages=WESTERN), 3),
    (Style(encoding="gb18030", languages=("zh",)), 4),
    (Style(format=Dialect.ATOM10, encoding="gb18030", languages=("zh",)), 1),
    (Style(encoding="utf-16"), 2),
)
ABILITIES: tuple[tuple[Abilities, int], ...] = (
    (Abilities(etag=True, last_modified=True, gzip=True), 35),
    (Abilities(etag=True), 15),
    (Abilities(last_modified=True), 15),
    (Abilities(etag=True, max_age_seconds=300, gzip=True), 10),
    (Abilities(), 15),
    (Abilities(gzip=True), 10),
)
PERIODS_MINUTES = (20, 60, 60, 180, 180, 480, 1440, 10080)


def chosen_style(random: Random, styles: Sequence[Style] | None) -> Style:
    if styles is not None:
        return random.choice(styles)
    return random.choices([style for style, _ in STYLES], [weight for _, weight in STYLES])[0]


def chosen_abilities(random: Random) -> Abilities:
    return random.choices([abilities for abilities, _ in ABILITIES], [weight for _, weight in ABILITIES])[0]


def period_of(random: Random) -> timedelta:
    return timedelta(minutes=random.choice(PERIODS_MINUTES))


XML_TYPE = {
    Dialect.RSS20: "application/rss+xml",
    Dialect.RSS091: "text/xml",
    Dialect.RSS10: "application/rdf+xml",
    Dialect.ATOM10: "application/atom+xml",
    Dialect.ATOM03: "application/xml",
    Dialect.JSONFEED: "application/feed+json",
}
IDENTIFIED_BY_LINK = frozenset({Dialect.RSS091, Dialect.RSS10})


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    path: str
    media_type: str
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlogPost:
    number: int
    id: str
    title: str
    #: HTML; its links are relative to the site's home.
    body: str
    author: str
    tags: tuple[str, ...]
    published: datetime
    #: When the body was edited, once it has been.
    updated: datetime | None
    enclosure: Attachment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    title: str
    #: Ends with a slash.
    home: str
    feed_url: str
    language: str


def link_to(home: str, number: int) -> str:
    return f"{home}posts/{number}"


def identity(feed_format: Dialect, post_id: str, home: str, number: int) -> str:
    """What a reader of the feed takes for the post's id."""
    return link_to(home, number) if feed_format in IDENTIFIED_BY_LINK else post_id


def write_feed(
    feed_format: Dialect, encoding: str, channel: Channel, posts: Sequence[BlogPost], changed_at: datetime
) -> bytes:
    """A character that the encoding lacks becomes a numeric reference."""
    if feed_format is Dialect.JSONFEED:
        return json.dumps(_json_feed(channel, posts), ensure_ascii=False, indent=1).encode()
    text = _WRITERS[feed_format](channel, posts, changed_at)
    return f'<?xml version="1.0" encoding="{encoding}"?>\n{text}'.encode(encoding, "xmlcharrefreplace")


def _tag(name: str, text: str, **attributes: str) -> str:
    spelled = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    return f"<{name}{spelled}>{escape(text)}</{name}>"


def _mail_date(at: datetime) -> str:
    return format_datetime(at, usegmt=True)


def _iso_date(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _full_body(channel: Channel, post: BlogPost) -> str:
    return post.body.replace('href="', f'href="{channel.home}')


def _summary(post: BlogPost) -> str:
    return post.body.partition("\n")[0]


def _rss20(channel: Channel, posts: Sequence[BlogPost], changed_at: datetime) -> str:
    items = "\n".join(_rss20_item(channel, post) for post in posts)
    return f"""<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" \
xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
{_tag("title", channel.title)}{_tag("link", channel.home)}{_tag("description", channel.title)}
{_tag("language", channel.language)}{_tag("lastBuildDate", _mail_date(changed_at))}
<atom:link rel="self" type="application/rss+xml" href={quoteattr(channel.feed_url)}/>
{items}
</channel></rss>"""


def _rss20_item(channel: Channel, post: BlogPost) -> str:
    tags = "".join(_tag("category", tag) for tag in post.tags)
    return f"""<item>{_tag("title", post.title)}{_tag("link", link_to(channel.home, post.number))}
{_tag("guid", post.id, isPermaLink="false")}{_tag("pubDate", _mail_date(post.published))}
{_tag("dc:creator", post.author)}{tags}{_rss20_enclosure(channel, post)}
{_tag("description", _summary(post))}
<content:encoded><![CDATA[{_full_body(channel, post)}]]></content:encoded></item>"""


def _rss20_enclosure(channel: Channel, post: BlogPost) -> str:
    if (file := post.enclosure) is None:
        return ""
    return f'<enclosure url="{channel.home}{file.path}" length="{file.length}" type="{file.media_type}"/>'


def _rss091(channel: Channel, posts: Sequence[BlogPost], _changed_at: datetime) -> str:
    items = "\n".join(
        f"<item>{_tag('title', post.title)}{_tag('link', link_to(channel.home, post.number))}"
        f"{_tag('description', _full_body(channel, post))}</item>"
        for post in posts
    )
    return f"""<rss version="0.91"><channel>
{_tag("title", channel.title)}{_tag("link", channel.home)}{_tag("description", channel.title)}
{_tag("language", channel.language)}
{items}
</channel></rss>"""


def _rss10(channel: Channel, posts: Sequence[BlogPost], changed_at: datetime) -> str:
    links = "".join(f"<rdf:li rdf:resource={quoteattr(link_to(channel.home, post.number))}/>" for post in posts)
    items = "\n".join(_rss10_item(channel, post) for post in posts)
    return f"""<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/" \
xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:content="http://purl.org/rss/1.0/modules/content/">
<channel rdf:about={quoteattr(channel.home)}>{_tag("title", channel.title)}{_tag("link", channel.home)}
{_tag("description", channel.title)}{_tag("dc:date", _iso_date(changed_at))}
<items><rdf:Seq>{links}</rdf:Seq></items></channel>
{items}
</rdf:RDF>"""


def _rss10_item(channel: Channel, post: BlogPost) -> str:
    link = link_to(channel.home, post.number)
    tags = "".join(_tag("dc:subject", tag) for tag in post.tags)
    return f"""<item rdf:about={quoteattr(link)}>{_tag("title", post.title)}{_tag("link", link)}
{_tag("dc:date", _iso_date(post.published))}{_tag("dc:creator", post.author)}{tags}
{_tag("description", _summary(post))}
{_tag("content:encoded", _full_body(channel, post))}</item>"""


def _atom10(channel: Channel, posts: Sequence[BlogPost], changed_at: datetime) -> str:
    entries = "\n".join(_atom10_entry(channel, post) for post in posts)
    return f"""<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{channel.language}">
{_tag("title", channel.title)}{_tag("id", channel.home)}{_tag("updated", _iso_date(changed_at))}
<link rel="alternate" type="text/html" href={quoteattr(channel.home)}/>
<link rel="self" href={quoteattr(channel.feed_url)}/>
{entries}
</feed>"""


def _atom10_entry(channel: Channel, post: BlogPost) -> str:
    tags = "".join(f"<category term={quoteattr(tag)}/>" for tag in post.tags)
    return f"""<entry>{_tag("title", post.title)}<link href={quoteattr(link_to(channel.home, post.number))}/>
{_tag("id", post.id)}{_tag("published", _iso_date(post.published))}
{_tag("updated", _iso_date(post.updated or post.published))}
<author>{_tag("name", post.author)}</author>{tags}{_atom10_enclosure(channel, post)}
{_tag("summary", _summary(post), type="html")}
{_tag("content", _full_body(channel, post), type="html")}</entry>"""


def _atom10_enclosure(channel: Channel, post: BlogPost) -> str:
    if (file := post.enclosure) is None:
        return ""
    return f'<link rel="enclosure" href="{channel.home}{file.path}" length="{file.length}" type="{file.media_type}"/>'


def _atom03(channel: Channel, posts: Sequence[BlogPost], changed_at: datetime) -> str:
    entries = "\n".join(_atom03_entry(channel, post) for post in posts)
    return f"""<feed version="0.3" xmlns="http://purl.org/atom/ns#" xml:lang="{channel.language}">
{_tag("title", channel.title)}{_tag("modified", _iso_date(changed_at))}
<link rel="alternate" type="text/html" href={quoteattr(channel.home)}/>
{entries}
</feed>"""


def _atom03_entry(channel: Channel, post: BlogPost) -> str:
    link = quoteattr(link_to(channel.home, post.number))
    return f"""<entry>{_tag("title", post.title)}<link rel="alternate" type="text/html" href={link}/>
{_tag("id", post.id)}{_tag("issued", _iso_date(post.published))}
{_tag("modified", _iso_date(post.updated or post.published))}
<author>{_tag("name", post.author)}</author>
{_tag("content", _full_body(channel, post), type="text/html", mode="escaped")}</entry>"""


def _json_feed(channel: Channel, posts: Sequence[BlogPost]) -> dict[str, object]:
    return {
        "version": "https://jsonfeed.org/version/1.1",
        "title": channel.title,
        "home_page_url": channel.home,
        "feed_url": channel.feed_url,
        "language": channel.language,
        "items": [_json_item(channel, post) for post in posts],
    }


def _json_item(channel: Channel, post: BlogPost) -> dict[str, object]:
    item: dict[str, object] = {
        "id": post.id,
        "url": link_to(channel.home, post.number),
        "title": post.title,
        "content_html": _full_body(channel, post),
        "date_published": _iso_date(post.published),
        "authors": [{"name": post.author}],
        "tags": list(post.tags),
    }
    if post.updated is not None:
        item["date_modified"] = _iso_date(post.updated)
    if (file := post.enclosure) is not None:
        attachment = {"url": channel.home + file.path, "mime_type": file.media_type}
        item["attachments"] = [{**attachment, "size_in_bytes": file.length}]
    return item


_WRITERS: Mapping[Dialect, Callable[[Channel, Sequence[BlogPost], datetime], str]] = {
    Dialect.RSS20: _rss20,
    Dialect.RSS091: _rss091,
    Dialect.RSS10: _rss10,
    Dialect.ATOM10: _atom10,
    Dialect.ATOM03: _atom03,
}
