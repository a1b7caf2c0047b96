"""A store that speaks just enough S3, on a real socket. It works signatures out by itself, from the request as it came."""

from __future__ import annotations

import hashlib
import hmac
import re
from types import TracebackType
from typing import Self
from urllib.parse import quote, unquote

from aiohttp import web

ACCESS, SECRET, REGION = "the-access-key", "the/secret+key", "eu-test-1"
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})"
)


class S3Store:
    def __init__(self) -> None:
        #: By path: body and headers.
        self.objects: dict[str, tuple[bytes, dict[str, str]]] = {}
        self.requests: list[str] = []
        #: What is answered before anything else: a status and headers, so many times, to requests for such a path.
        self._scripted: list[tuple[int, dict[str, str], str]] = []
        self._runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=0.1)
        self.url = ""

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    def script(self, *, status: int, headers: dict[str, str] | None = None, times: int = 1, path: str = "") -> None:
        self._scripted += [(status, headers or {}, path)] * times

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        self.requests.append(f"{request.method} {request.path}")
        scripted = next((one for one in self._scripted if one[2] in request.path), None)
        if scripted is not None:
            self._scripted.remove(scripted)
            return web.Response(status=scripted[0], headers=scripted[1])
        if not is_signed(request, body):
            return web.Response(status=403, text="<Error><Code>SignatureDoesNotMatch</Code></Error>")
        if request.method == "PUT":
            kept = {name: request.headers[name] for name in ("Content-Type", "Cache-Control", "x-amz-meta-sha256")}
            self.objects[request.path] = (body, kept)
            return web.Response()
        if request.path not in self.objects:
            return web.Response(status=404)
        return web.Response(headers=self.objects[request.path][1])


def is_signed(request: web.BaseRequest, body: bytes) -> bool:
    given = _AUTHORIZATION.fullmatch(request.headers.get("Authorization", ""))
    if given is None:
        return False
    access, day, region, names, signature = given.groups()
    payload = hashlib.sha256(body).hexdigest()
    whole = (access, region, request.headers["x-amz-content-sha256"]) == (ACCESS, REGION, payload)
    lines = "".join(f"{name}:{request.headers[name].strip()}\n" for name in names.split(";"))
    path = quote(unquote(request.raw_path.partition("?")[0]), safe="/-_.~")
    canonical = f"{request.method}\n{path}\n\n{lines}\n{names}\n{payload}"
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{request.headers['x-amz-date']}\n{day}/{region}/s3/aws4_request\n{hashed}"
    key = ("AWS4" + SECRET).encode()
    for step in (day, region, "s3", "aws4_request", text):
        key = hmac.digest(key, step.encode(), "sha256")
    return whole and "host" in names.split(";") and key.hex() == signature
