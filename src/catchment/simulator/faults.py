"""What can go wrong at a place on the web. Each fault is a function of the request and the spoiled place."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from email.utils import format_datetime
from functools import cache
from http import HTTPStatus
from random import Random
from typing import Literal

from catchment.simulator.formats import WELCOME_SITES, Dialect
from catchment.simulator.messages import (
    Answer,
    Cut,
    Delivery,
    Drip,
    Flood,
    Headers,
    IncomingRequest,
    Place,
    Silence,
    Whole,
    page,
)
from catchment.simulator.world import SimulatedSite, World

MEBIBYTE = 1 << 20
#: Private, yet on no allow-list and on this machine: whoever follows it by mistake reaches nobody. Nothing
#: listens there.
PRIVATE_URL = "http://127.66.6.6:9/feed.xml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    name: str
    spoil: Callable[[IncomingRequest, Place], Answer]
    #: Makes sense only where the answer is XML.
    needs_xml: bool = False


def _instead(name: str, answer: Answer) -> Fault:
    return Fault(name=name, spoil=lambda _request, _place: answer)


def _delivered(name: str, delivery: Delivery) -> Fault:
    return Fault(name=name, spoil=lambda request, place: replace(place(request), delivery=delivery))


def _rewritten(name: str, rewrite: Callable[[str], str]) -> Fault:
    """Changes the text of the answer and keeps its encoding."""

    def spoil(request: IncomingRequest, place: Place) -> Answer:
        answer = _plain(request, place)
        encoding = declared_encoding(answer.body)
        return replace(answer, body=rewrite(answer.body.decode(encoding)).encode(encoding))

    return Fault(name=name, spoil=spoil, needs_xml=True)


def _plain(request: IncomingRequest, place: Place) -> Answer:
    """The whole answer, uncompressed: a spoiled document cannot be 'not modified'."""
    return place(replace(request, headers={}))


def declared_encoding(body: bytes) -> str:
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    prolog = re.match(rb'<\?xml[^>]*encoding="([\w-]+)"', body)
    return prolog[1].decode() if prolog else "utf-8"


# Refusals


def status(code: int) -> Fault:
    return _instead(f"status {code}", page(f"<h1>{code} {HTTPStatus(code).phrase}</h1>", status=code))


def gone() -> Fault:
    return status(HTTPStatus.GONE)


def told_to_wait(
    wait: timedelta, *, code: int = HTTPStatus.TOO_MANY_REQUESTS, form: Literal["seconds", "date"] = "seconds"
) -> Fault:
    def spoil(request: IncomingRequest, _place: Place) -> Answer:
        until = format_datetime(request.at + wait, usegmt=True)
        value = until if form == "date" else str(int(wait.total_seconds()))
        return page(f"<h1>{code}</h1>", status=code, headers=(("Retry-After", value),))

    return Fault(name=f"status {code}, retry after {form}", spoil=spoil)


def unasked_304() -> Fault:
    return _instead("304 unasked", Answer(status=HTTPStatus.NOT_MODIFIED))


# Trouble on the wire


def silence() -> Fault:
    return _delivered("silence", Silence())


def late(seconds: float) -> Fault:
    return _delivered("late", Whole(wait_seconds=seconds))


def drip(*, piece_bytes: int = 16, pause_seconds: float = 1.0) -> Fault:
    return _delivered("slow drip", Drip(piece_bytes=piece_bytes, pause_seconds=pause_seconds))


def cut_short() -> Fault:
    return _delivered("cut short", Cut(share=0.5))


def reset(*, share: float = 0.0) -> Fault:
    """A reset after part of the body, or before any of it."""
    return _delivered("connection reset", Cut(share=share, reset=True))


# Redirects


def redirect_loop() -> Fault:
    def spoil(request: IncomingRequest, _place: Place) -> Answer:
        return _redirect(HTTPStatus.FOUND, f"{request.path}?hop={_hop(request) + 1}")

    return Fault(name="redirect loop", spoil=spoil)


def redirect_chain(hops: int, *, code: int = HTTPStatus.MOVED_PERMANENTLY) -> Fault:
    """So many redirects, then the true answer."""

    def spoil(request: IncomingRequest, place: Place) -> Answer:
        hop = _hop(request) + 1
        return place(request) if hop > hops else _redirect(code, f"{request.path}?hop={hop}")

    return Fault(name=f"redirect chain, {code}", spoil=spoil)


def redirect_to(url: str = PRIVATE_URL) -> Fault:
    return _instead("redirect to a private address", _redirect(HTTPStatus.FOUND, url))


def _redirect(code: int, location: str) -> Answer:
    return Answer(status=code, headers=(("Location", location),))


def _hop(request: IncomingRequest) -> int:
    found = re.fullmatch(r"hop=(\d+)", request.query)
    return int(found[1]) if found else 0


# Documents that are not what they should be


def unclosed_tags() -> Fault:
    return _rewritten("unclosed tags", lambda text: text[: text.rindex("</")].replace("</link>", "", 1))


def bad_entities() -> Fault:
    return _rewritten("bad entities", lambda text: text.replace("<title>", "<title>Salt &amp &nosuch; & light: ", 2))


def leading_junk() -> Fault:
    return _rewritten("leading junk", lambda text: f"\n<br />\n<b>Warning</b>: headers already sent\n{text}")


def control_characters() -> Fault:
    return _rewritten("control characters", lambda text: text.replace("<title>", "<title>\x0b\x1f", 3))


def wrong_charset_in_header() -> Fault:
    def spoil(request: IncomingRequest, place: Place) -> Answer:
        answer = _plain(request, place)
        media_type = (answer.header("Content-Type") or "text/xml").partition(";")[0]
        headers = (*answer.without("Content-Type"), ("Content-Type", f"{media_type}; charset=iso-8859-7"))
        return replace(answer, headers=headers)

    return Fault(name="wrong charset in the header", spoil=spoil)


def wrong_charset_in_prolog() -> Fault:
    """The prolog stays, the bytes are GB 18030 (or UTF-8 where the prolog promises GB 18030)."""

    def spoil(request: IncomingRequest, place: Place) -> Answer:
        answer = _plain(request, place)
        promised = declared_encoding(answer.body)
        actual = "utf-8" if promised == "gb18030" else "gb18030"
        return replace(answer, body=answer.body.decode(promised).encode(actual))

    return Fault(name="wrong charset in the prolog", spoil=spoil, needs_xml=True)


def truncated_gzip() -> Fault:
    """Half of a gzip stream, announced with its own true length: only the decompressor can notice."""

    def spoil(request: IncomingRequest, place: Place) -> Answer:
        answer = _plain(request, place)
        packed = gzip.compress(answer.body, mtime=0)
        return replace(answer, body=packed[: len(packed) // 2], headers=_gzipped(answer.headers))

    return Fault(name="truncated gzip", spoil=spoil)


def huge(mebibytes: int = 12) -> Fault:
    flood = Flood(piece=b"<!-- %s -->\n" % (b"~" * (MEBIBYTE // 16)), times=mebibytes * 16)
    opening = b'<?xml version="1.0"?>\n<rss version="2.0"><channel><title>Too much</title>\n'
    answer = Answer(headers=(("Content-Type", "application/rss+xml"),), body=opening, delivery=flood)
    return _instead("huge body", answer)


def bomb(mebibytes: int = 64) -> Fault:
    """A small body that unpacks to a very large one."""

    def spoil(_request: IncomingRequest, _place: Place) -> Answer:
        headers = _gzipped((("Content-Type", "application/rss+xml"),))
        return Answer(headers=headers, body=packed_spaces(mebibytes))

    return Fault(name="compression bomb", spoil=spoil)


@cache
def packed_spaces(mebibytes: int) -> bytes:
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    opening = packer.compress(b'<?xml version="1.0"?>\n<rss version="2.0"><channel>')
    blank = b" " * MEBIBYTE
    return opening + b"".join(packer.compress(blank) for _ in range(mebibytes)) + packer.flush()


def _gzipped(headers: Headers) -> Headers:
    return (*headers, ("Content-Encoding", "gzip"))


def empty() -> Fault:
    return _instead("empty answer", Answer(headers=(("Content-Type", "application/rss+xml"),)))


def html_instead() -> Fault:
    return _instead("a page instead", page("<!doctype html><title>We have moved</title><p>See the new site."))


def challenge(kind: Literal["browser check", "captcha"] = "browser check", *, code: int = HTTPStatus.OK) -> Fault:
    if kind == "captcha":
        answer = page(
            "<!doctype html><title>Are you human?</title><form action='/verify'>"
            "<div class='g-recaptcha' data-sitekey='simulated'></div></form>",
            status=code,
        )
    else:
        answer = page(
            "<!doctype html><title>Just a moment...</title>"
            "<noscript>Enable JavaScript and cookies to continue</noscript>"
            "<script src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1'></script>",
            status=code,
            headers=(("Server", "cloudflare"), ("cf-mitigated", "challenge")),
        )
    return _instead(f"{kind}, status {code}", answer)


#: One of each, as strong as the demo and the soak want them.
FAULTS: tuple[Fault, ...] = (
    status(500),
    status(502),
    status(503),
    gone(),
    told_to_wait(timedelta(minutes=2)),
    told_to_wait(timedelta(minutes=3), form="date"),
    told_to_wait(timedelta(minutes=1), code=503),
    unasked_304(),
    silence(),
    drip(),
    cut_short(),
    reset(),
    redirect_loop(),
    redirect_chain(2),
    redirect_chain(2, code=302),
    redirect_to(),
    unclosed_tags(),
    bad_entities(),
    leading_junk(),
    control_characters(),
    wrong_charset_in_header(),
    wrong_charset_in_prolog(),
    truncated_gzip(),
    huge(),
    bomb(),
    empty(),
    html_instead(),
    challenge(),
    challenge("captcha"),
    challenge(code=403),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteTrouble:
    """A fault and when it strikes. Without bounds: always, from the beginning to the end."""

    fault: Fault
    since: datetime | None = None
    until: datetime | None = None
    #: Strikes at each visit of this number: 3 spoils the third, the sixth, and so on.
    every: int = 1

    def strikes(self, at: datetime, visit: int) -> bool:
        begun = self.since is None or self.since <= at
        over = self.until is not None and self.until <= at
        return begun and not over and visit % self.every == 0


class Troubled:
    """A place with troubles: the first that strikes spoils the visit."""

    def __init__(self, place: Place, troubles: Sequence[SiteTrouble]) -> None:
        self.place = place
        self.troubles = tuple(troubles)
        self.visits = 0
        #: How often each fault has struck, by its name.
        self.struck: Counter[str] = Counter()

    def __call__(self, request: IncomingRequest) -> Answer:
        self.visits += 1
        for trouble in self.troubles:
            if trouble.strikes(request.at, self.visits):
                self.struck[trouble.fault.name] += 1
                return trouble.fault.spoil(request, self.place)
        return self.place(request)


def scattered(world: World, share: float) -> Mapping[int, Sequence[SiteTrouble]]:
    """Troubles for a share of the sites, always the same for the same world. The welcome sites stay well."""
    random = Random(f"{world.seed}/troubles")
    candidates = range(min(len(WELCOME_SITES), len(world.sites)), len(world.sites))
    wanted = min(round(len(world.sites) * share), len(candidates))
    return {number: (_trouble(world.sites[number], random),) for number in random.sample(candidates, wanted)}


def _trouble(site: SimulatedSite, random: Random) -> SiteTrouble:
    is_xml = site.style.format is not Dialect.JSONFEED
    fault = random.choice([fault for fault in FAULTS if is_xml or not fault.needs_xml])
    lasting = random.choice((None, None, timedelta(minutes=random.randint(1, 30))))
    until = None if lasting is None else site.timeline.started_at + lasting
    return SiteTrouble(fault=fault, until=until, every=random.choice((1, 1, 1, 2, 3)))
