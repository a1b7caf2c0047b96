"""Requests signed as Amazon's services and those compatible with them want it (Signature Version 4). Pure."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qsl, quote, urlsplit

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
