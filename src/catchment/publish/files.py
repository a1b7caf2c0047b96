"""What is published as files: on disk, and in a bucket of any store that speaks S3."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

from catchment.clock import Clock
from catchment.errors import HttpError, InvalidInput, SettingsError, TimedOut, Unreachable, VisitError
from catchment.fetch.client import HttpClient, Request, Response
from catchment.settings import Settings

_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    access_key: str
    secret_key: str
    region: str
    service: str = "s3"


def sign(
    key: SigningKey, *, method: str, url: str, headers: Mapping[str, str], body: bytes, now: datetime
) -> dict[str, str]:
    """The headers with those that prove who sends them; all of them are signed. The path is taken as it is."""
    parts = urlsplit(url)
    payload = hashlib.sha256(body).hexdigest()
    moment = f"{now:%Y%m%dT%H%M%SZ}"
    given = {**headers, "X-Amz-Content-Sha256": payload, "X-Amz-Date": moment}
    signed = {name.lower(): " ".join(value.split()) for name, value in given.items()} | {"host": parts.netloc}
    names = ";".join(sorted(signed))
    canonical = "\n".join(
        [
            method,
            parts.path or "/",
            _canonical_query(parts.query),
            *(f"{name}:{signed[name]}" for name in sorted(signed)),
            "",
            names,
            payload,
        ]
    )
    scope = f"{now:%Y%m%d}/{key.region}/{key.service}/aws4_request"
    to_sign = "\n".join([_ALGORITHM, moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    signature = _mac(_derived(key, now), to_sign).hex()
    credential = f"Credential={key.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**given, "Authorization": f"{_ALGORITHM} {credential}"}


def _canonical_query(query: str) -> str:
    pairs = [(_escaped(name), _escaped(value)) for name, value in parse_qsl(query, keep_blank_values=True)]
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def _escaped(text: str) -> str:
    return quote(text, safe="-_.~")


def _derived(key: SigningKey, now: datetime) -> bytes:
    """A key for one day, region and service, so that the secret itself signs nothing."""
    derived = f"AWS4{key.secret_key}".encode()
    for step in (f"{now:%Y%m%d}", key.region, key.service, "aws4_request"):
        derived = _mac(derived, step)
    return derived


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def write_if_changed(path: Path, body: bytes) -> bool:
    """True if the file was written. Whoever reads it meanwhile has the old one or the new one, never a part."""
    try:
        if path.is_file() and path.read_bytes() == body:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, body)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from error
    return True


def _replace(path: Path, body: bytes) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("xb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


#: The address in the workflow files that we ship.
DEFAULT_URL = "http://127.0.0.1:8767"
_WORKFLOWS = Path(__file__).parent / "n8n"
WORKFLOW_FILES = ("media-crawler.json", "lock-recovery.json", "cookie-check.json")


def write_workflows(directory: Path, base_url: str = DEFAULT_URL) -> tuple[Path, ...]:
    """The workflows for n8n, for a Catchment at this address unless n8n's environment names another."""
    address = f'\\"{base_url.rstrip("/")}\\"'.encode()
    for name in WORKFLOW_FILES:
        body = (_WORKFLOWS / name).read_bytes()
        write_if_changed(directory / name, body.replace(f'\\"{DEFAULT_URL}\\"'.encode(), address))
    return tuple(directory / name for name in WORKFLOW_FILES)


#: Readers, and caches of what is public, may keep an object for so many seconds before they ask again.
_MAX_AGE = 300
#: Under which the hash of what lies there is kept, so that only what changed is sent.
_HASH_HEADER = "x-amz-meta-sha256"
#: Seconds between one try and the next; a store that asks for longer is given it up to the most.
_WAITS = (1.0, 4.0, 16.0)
MAX_WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketAddress:
    endpoint: str
    bucket: str
    prefix: str = ""

    def url(self, name: str) -> str:
        """By path rather than by host name, which every such store understands."""
        return f"{self.endpoint}/{quote('/'.join(filter(None, [self.bucket, self.prefix.strip('/'), name])))}"


class Bucket:
    def __init__(
        self,
        *,
        http: HttpClient,
        clock: Clock,
        address: BucketAddress,
        key: SigningKey,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._http = http
        self._clock = clock
        self._address = address
        self._key = key
        self._sleep = sleep

    def url(self, name: str) -> str:
        """Where the object is, for whoever may read it."""
        return self._address.url(name)

    async def put_if_changed(self, name: str, body: bytes, *, media_type: str, is_public: bool = True) -> bool:
        """True if the object was sent: it was not there, or not the same."""
        digest = hashlib.sha256(body).hexdigest()
        if await self._hash_there(name) == digest:
            return False
        kept = f"{'public' if is_public else 'private'}, max-age={_MAX_AGE}"
        headers = {"Content-Type": media_type, "Cache-Control": kept, _HASH_HEADER: digest}
        await self._send("PUT", name, headers, body)
        return True

    async def _hash_there(self, name: str) -> str | None:
        try:
            answer = await self._send("HEAD", name, {}, b"")
        except HttpError as error:
            # Whoever may not list a bucket is told that what is not there is forbidden.
            if error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN}:
                return None
            raise
        return answer.headers.get(_HASH_HEADER)

    async def _send(self, method: str, name: str, headers: dict[str, str], body: bytes) -> Response:
        """Several times, where the trouble may pass."""
        for wait in (*_WAITS, None):
            try:
                return await self._send_once(method, name, headers, body)
            except VisitError as error:
                if not _may_pass(error):
                    raise
                if wait is None:
                    error.args = (self._given_up(error),)
                    raise
                await self._sleep(max(wait, min(error.retry_after or 0.0, MAX_WAIT_SECONDS)))
        raise AssertionError("the last try ends it")

    def _given_up(self, error: VisitError) -> str:
        """What went wrong, without what a visit promises: nobody comes back for an upload."""
        host = urlsplit(self._address.endpoint).hostname
        status = f"{host} answered HTTP {error.status}" if isinstance(error, HttpError) else ""
        return f"{status or str(error).removesuffix('; tried again later')}; given up after {len(_WAITS) + 1} tries"

    async def _send_once(self, method: str, name: str, headers: dict[str, str], body: bytes) -> Response:
        url = self._address.url(name)
        signed = sign(self._key, method=method, url=url, headers=headers, body=body, now=self._clock.now())
        request = Request(
            url=url,
            method=method,
            headers=signed,
            body=body or None,
            # The operator's own: it may be in the house, and there is nobody to be polite to.
            allow_private=True,
            own_pace=True,
            follow_redirects=False,
        )
        return await self._http.send(request)


def _may_pass(error: VisitError) -> bool:
    if isinstance(error, HttpError):
        return error.status == HTTPStatus.TOO_MANY_REQUESTS or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return isinstance(error, TimedOut | Unreachable)


def open_bucket(settings: Settings, http: HttpClient, clock: Clock) -> Bucket:
    """The bucket that the settings name, or SettingsError that says which one is missing."""
    needed = {
        "CATCHMENT_S3_ENDPOINT": settings.s3_endpoint,
        "CATCHMENT_S3_BUCKET": settings.s3_bucket,
        "CATCHMENT_S3_ACCESS_KEY": settings.s3_access_key,
        "CATCHMENT_S3_SECRET_KEY": settings.s3_secret_key,
    }
    missing = [name for name, value in needed.items() if not value]
    if missing:
        raise SettingsError(f"To upload feeds, set {', '.join(missing)}.")
    return Bucket(
        http=http,
        clock=clock,
        address=BucketAddress(endpoint=settings.s3_endpoint, bucket=settings.s3_bucket, prefix=settings.s3_prefix),
        key=SigningKey(access_key=settings.s3_access_key, secret_key=settings.s3_secret_key, region=settings.s3_region),
    )
