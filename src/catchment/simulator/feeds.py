"""The feed sites as a place on the web: home page, feed with validators, and a page for each post."""

from __future__ import annotations

import gzip
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from html import escape
from http import HTTPStatus

from catchment.simulator.formats import XML_TYPE, link_to, write_feed
from catchment.simulator.messages import Answer, Headers, IncomingRequest, not_found, page
from catchment.simulator.world import Edition, SimulatedSite, World

CACHE_BYTES = 192 << 20
A_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An edition ready to send."""

    edition: Edition
    etag: str | None
    last_modified: datetime | None
    #: Dates in headers have no fractions: until the second of the change is over, another change could
    #: bear the same date, so the date is left out.
    settled: bool
    plain: Answer
    packed: Answer | None
    not_modified: Answer

    @property
    def size(self) -> int:
        return len(self.plain.body) + (len(self.packed.body) if self.packed else 0)

    def fits(self, story: float, *, settled: bool) -> bool:
        return self.edition.first <= story < self.edition.until and self.settled == settled


def show(site: SimulatedSite, home: str, at: datetime) -> Shown:
    edition = site.edition(at)
    channel = site.channel(home)
    body = write_feed(site.style.format, site.style.encoding, channel, edition.posts, edition.changed_at)
    settled = is_settled(edition, at)
    modified = edition.changed_at if site.abilities.last_modified and settled else None
    etag = f'"{hashlib.sha256(body).hexdigest()[:24]}"' if site.abilities.etag else None
    validators = _validators(site, etag, modified)
    plain = Answer(headers=(("Content-Type", XML_TYPE[site.style.format]), *validators), body=body)
    return Shown(
        edition=edition,
        etag=etag,
        last_modified=modified,
        settled=settled,
        plain=plain,
        packed=_packed(plain) if site.abilities.gzip else None,
        not_modified=Answer(status=HTTPStatus.NOT_MODIFIED, headers=validators),
    )


def is_settled(edition: Edition, at: datetime) -> bool:
    return at >= edition.changed_at + A_SECOND


def _validators(site: SimulatedSite, etag: str | None, modified: datetime | None) -> Headers:
    max_age = site.abilities.max_age_seconds
    known = (
        ("ETag", etag),
        ("Last-Modified", None if modified is None else format_datetime(modified, usegmt=True)),
        ("Cache-Control", None if max_age is None else f"max-age={max_age}"),
        ("Vary", "Accept-Encoding" if site.abilities.gzip else None),
    )
    return tuple((name, value) for name, value in known if value is not None)


def _packed(plain: Answer) -> Answer:
    body = gzip.compress(plain.body, compresslevel=6, mtime=0)
    return replace(plain, body=body, headers=(*plain.headers, ("Content-Encoding", "gzip")))


def knows_already(request: IncomingRequest, shown: Shown) -> bool:
    """Whether the request's conditions say that the visitor has this edition; an ETag outweighs a date."""
    known = request.headers.get("if-none-match")
    if known is not None and shown.etag is not None:
        return shown.etag in {tag.strip().removeprefix("W/") for tag in known.split(",")}
    since = request.headers.get("if-modified-since")
    if since is None or shown.last_modified is None:
        return False
    try:
        return parsedate_to_datetime(since) >= shown.last_modified.replace(microsecond=0)
    except ValueError:
        return False  # a date that cannot be read is no condition


class FeedSites:
    """Answers for every site of a world, at `/s/{number}/`."""

    def __init__(self, world: World, home_of: Callable[[int], str], *, cache_bytes: int = CACHE_BYTES) -> None:
        self._world = world
        self._home_of = home_of
        self._cache_bytes = cache_bytes
        self._cached: OrderedDict[int, Shown] = OrderedDict()
        self._cached_bytes = 0

    def __call__(self, request: IncomingRequest) -> Answer:
        _, _, number, rest = (*request.path.split("/", 3), "", "")[:4]
        if not number.isdecimal() or int(number) >= len(self._world.sites):
            return not_found(request)
        site = self._world.sites[int(number)]
        if rest == site.style.file_name:
            return self._feed(site, request)
        if rest == "":
            return self._home_page(site, request)
        return self._post_page(site, rest, request)

    def warm(self, at: datetime) -> None:
        for site in self._world.sites:
            self._shown(site, at)

    def _feed(self, site: SimulatedSite, request: IncomingRequest) -> Answer:
        shown = self._shown(site, request.at)
        if knows_already(request, shown):
            return shown.not_modified
        if shown.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            return shown.packed
        return shown.plain

    def _shown(self, site: SimulatedSite, at: datetime) -> Shown:
        known = self._cached.get(site.number)
        if known is not None and known.fits(site.timeline.story(at), settled=is_settled(known.edition, at)):
            self._cached.move_to_end(site.number)
            return known
        fresh = show(site, self._home_of(site.number), at)
        self._keep(site.number, fresh)
        return fresh

    def _keep(self, number: int, shown: Shown) -> None:
        former = self._cached.pop(number, None)
        self._cached_bytes += shown.size - (former.size if former else 0)
        self._cached[number] = shown
        while self._cached_bytes > self._cache_bytes and len(self._cached) > 1:
            _, oldest = self._cached.popitem(last=False)
            self._cached_bytes -= oldest.size

    def _home_page(self, site: SimulatedSite, request: IncomingRequest) -> Answer:
        channel = site.channel(self._home_of(site.number))
        rows = "".join(
            f'<li><a href="{link_to(channel.home, post.number)}">{escape(post.title)}</a></li>'
            for post in site.posts(request.at)
        )
        return page(
            f'<!doctype html><html lang="{channel.language}"><title>{escape(channel.title)}</title>'
            f'<link rel="alternate" type="{XML_TYPE[site.style.format]}" href="{channel.feed_url}">'
            f"<h1>{escape(channel.title)}</h1><ul>{rows}</ul></html>"
        )

    def _post_page(self, site: SimulatedSite, rest: str, request: IncomingRequest) -> Answer:
        folder, _, number = rest.partition("/")
        post = site.post(int(number), request.at) if folder == "posts" and number.isdecimal() else None
        if post is None:
            return not_found(request)
        home = self._home_of(site.number)
        return page(
            f'<!doctype html><html lang="{site.vocabulary.code}"><title>{escape(post.title)}</title>'
            f'<base href="{home}"><article><h1>{escape(post.title)}</h1>'
            f"<address>{escape(post.author)}</address>"
            f'<time datetime="{post.published.isoformat()}"></time>{post.body}</article></html>'
        )
