"""From a page of a sitemap to an item: with what the page says of itself, or with its address alone. Pure."""

from __future__ import annotations

from datetime import datetime
from html import escape
from typing import Any

from yarl import URL

from catchment.domain.candidate import Listed
from catchment.domain.item import Item, make_item
from catchment.parse.article import Article

UNTITLED = "Untitled"


def item_without_page(listed: Listed) -> Item:
    """What the sitemap alone says. The date is part of the text, so that a later one makes it a changed item."""
    return make_item(
        native_id=listed.native_id or listed.url,
        url=listed.url,
        title=_listed_title(listed) or title_from_url(listed.url),
        content=f"<p>Updated {listed.lastmod:%Y-%m-%d %H:%M} UTC</p>" if listed.lastmod else "",
        published_at=listed.lastmod,
    )


def item_of_page(listed: Listed, article: Article, *, with_content: bool) -> Item:
    """A page. Its date is that of its last change, so that a changed page rises in the feed."""
    content = article.html if with_content else ""
    return make_item(
        native_id=listed.native_id or listed.url,
        url=listed.url,
        title=article.title or _listed_title(listed) or title_from_url(listed.url),
        author=article.author,
        content=content or (f"<p>{escape(article.description)}</p>" if article.description else ""),
        published_at=listed.lastmod or article.modified or article.published,
        metadata=_metadata(listed, article),
    )


def title_from_url(url: str) -> str:
    """A title for people from the path: `/tech/python-tips.html` is "Tech - Python Tips"."""
    parts = [part for part in URL(url).path.split("/") if part]
    if parts:
        parts[-1] = parts[-1].rpartition(".")[0] or parts[-1]
    words = [" ".join(part.replace("-", " ").replace("_", " ").split()) for part in parts]
    return " - ".join(word.title() for word in words if word) or UNTITLED


def _listed_title(listed: Listed) -> str:
    return str(listed.facts["title"]) if listed.facts and listed.facts.get("title") else ""


def _metadata(listed: Listed, article: Article) -> dict[str, Any]:
    """What has no column of its own, where there is any."""
    said = {
        "description": article.description,
        "image": article.image,
        "canonical": article.canonical if article.canonical != listed.url else None,
        "published": _iso(article.published),
        "modified": _iso(article.modified),
    }
    return {name: value for name, value in said.items() if value}


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
