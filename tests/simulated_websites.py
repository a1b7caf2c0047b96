"""Web sites of every kind that people paste: with a feed, with a sitemap, with neither, and a few well-known services.

Each is a place for `SimulatedWeb(places=websites())`; what changes on them follows the clock of the request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from catchment.simulator.messages import Answer, IncomingRequest, Place, not_found, page
from catchment.simulator.services.places import NEWS, blog, rss_answer

#: A notice is rewritten so often.
NOTICE_SECONDS = 3600
CHANNEL = "harbour_news"
MESSAGES = 12
YOUTUBE_CHANNEL = "UCharbourlights0000000000"
PODCAST_ID = "1234567890"


def websites() -> Mapping[str, Place]:
    """The places, by the prefix of their paths."""
    return {
        "/blog": blog,
        "/broken": broken,
        "/shop": shop,
        "/robots.txt": robots,
        "/notice": notice,
        "/clock": clock,
        "/": front,
        "/@ada": account,
        "/@ada.rss": account_feed,
        "/telegram": telegram,
        "/youtube": youtube,
        "/podcasts": podcasts,
    }


def broken(request: IncomingRequest) -> Answer:
    """Names a feed that is not there."""
    if request.path != "/broken/":
        return not_found(request)
    return page(
        "<!doctype html><title>An old page</title><link rel=alternate type=application/rss+xml href=/broken/feed.xml>"
        "<main><p>Nobody has looked after this page for years.</p></main>"
    )


def shop(request: IncomingRequest) -> Answer:
    """No feed, but a sitemap beside the front page."""
    if request.path == "/shop/sitemap.xml":
        urls = "".join(f"<url><loc>{_root(request)}/shop/boats/{number}</loc></url>" for number in range(8))
        body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
        return Answer(headers=(("Content-Type", "application/xml"),), body=body.encode())
    if request.path == "/shop/" or request.path.startswith("/shop/boats/"):
        return page("<!doctype html><title>Boats &amp; Oars</title><main><h1>Boats</h1><p>Ask inside.</p></main>")
    return not_found(request)


def robots(request: IncomingRequest) -> Answer:
    text = f"User-agent: *\nDisallow: /private\nSitemap: {_root(request)}/shop/sitemap.xml\n"
    return Answer(headers=(("Content-Type", "text/plain"),), body=text.encode())


def notice(request: IncomingRequest) -> Answer:
    """A page whose main text is rewritten every hour."""
    number = int(request.at.timestamp()) // NOTICE_SECONDS
    return page(_surrounded(f"<main><h1>Notice</h1><p>{NEWS[number % len(NEWS)]} ({number}).</p></main>", request.at))


def clock(request: IncomingRequest) -> Answer:
    """A page on which only what stands around the text changes, and how the markup is laid out."""
    blanks = " " * (1 + request.at.microsecond % 7)
    text = f"<main><h1>Rules</h1>{blanks}<p>Mind{blanks}the{blanks}step.</p></main>"
    return page(_surrounded(text, request.at))


def front(_request: IncomingRequest) -> Answer:
    """A front page without a feed; robots.txt tells of a sitemap."""
    return page("<!doctype html><title>The Harbour</title><main><p>Come in.</p></main>")


def account(_request: IncomingRequest) -> Answer:
    """An account of a server that has a feed for each, and says so nowhere."""
    return page("<!doctype html><title>Ada (@ada)</title><div id=app></div>")


def account_feed(_request: IncomingRequest) -> Answer:
    return rss_answer("Ada", NEWS)


def telegram(request: IncomingRequest) -> Answer:
    """The public page of one channel."""
    if request.path != f"/telegram/s/{CHANNEL}":
        return not_found(request)
    messages = "".join(_message(number, request.at) for number in range(1, MESSAGES + 1))
    return page(f"<!doctype html><title>Harbour News – Telegram</title><main class=tgme_main>{messages}</main>")


def youtube(request: IncomingRequest) -> Answer:
    """The page of a handle, which names the feed of its channel, and the feed."""
    if request.path == "/youtube/feeds/videos.xml" and YOUTUBE_CHANNEL in request.query:
        return rss_answer("Harbour Lights", NEWS)
    if request.path == "/youtube/@harbourlights":
        feed = f"/youtube/feeds/videos.xml?channel_id={YOUTUBE_CHANNEL}"
        link = f"<link rel=alternate type=application/rss+xml href={feed}>"
        return page(f"<!doctype html><title>Harbour Lights - YouTube</title>{link}")
    return not_found(request)


def podcasts(request: IncomingRequest) -> Answer:
    """The directory that tells the feed of a podcast, and the feed."""
    if request.path == "/podcasts/feed.xml":
        return rss_answer("Fog Signals", NEWS)
    if request.path != "/podcasts/lookup":
        return not_found(request)
    known = f"id={PODCAST_ID}" in request.query
    found = [{"collectionName": "Fog Signals", "feedUrl": f"{_root(request)}/podcasts/feed.xml"}] if known else []
    body = json.dumps({"resultCount": len(found), "results": found})
    return Answer(headers=(("Content-Type", "text/javascript"),), body=body.encode())


def _surrounded(text: str, at: datetime) -> str:
    """A page with what changes by itself around the text: a clock, an advertisement, a counter, a token."""
    now = at.isoformat()
    return (
        f"<!doctype html><html><head><title>The Harbour</title><meta name=csrf content={now}></head><body>"
        f"<header><nav><a href=/>Home</a></nav><p>Now {now}</p></header><div class='top-banner ad'>Oars! {now}</div>"
        f"{text}<aside>Visitors: {at.timestamp()}</aside><script>var now='{now}'</script><footer>{now}</footer></body>"
    )


def _message(number: int, at: datetime) -> str:
    link, at_minute = f"https://t.me/{CHANNEL}/{number}", f"2026-03-01T08:{number:02}:00+00:00"
    return (
        f'<div class="tgme_widget_message_wrap"><div class="tgme_widget_message" data-post="{CHANNEL}/{number}">'
        f'<a class="tgme_widget_message_owner_name" href="https://t.me/{CHANNEL}"><span>Harbour News</span></a>'
        f'<div class="tgme_widget_message_text">{NEWS[number % len(NEWS)]}<br>Message <b>{number}</b></div>'
        f'<span class="tgme_widget_message_views">{int(at.timestamp())}</span>'
        f'<a class="tgme_widget_message_date" href="{link}"><time datetime="{at_minute}">8</time>'
        "</a></div></div>"
    )


def _root(request: IncomingRequest) -> str:
    return f"http://{request.headers['host']}"
