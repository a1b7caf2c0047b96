"""Feeds in a bucket: signed as the documentation shows it, sent when they changed, and never otherwise."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

import pytest

from catchment.bootstrap import System, open_system
from catchment.clock import ManualClock
from catchment.errors import BadAnswer, HttpError, SettingsError, TimedOut
from catchment.fetch.client import Request, Response
from catchment.fetch.failures import too_slow
from catchment.publish.files import Bucket, BucketAddress, SigningKey, open_bucket, sign
from catchment.settings import Settings
from s3_store import ACCESS, REGION, SECRET, S3Store

#: The key, moment and signatures of the worked examples in Amazon's description of Signature Version 4 for S3.
EXAMPLE = SigningKey(
    access_key="AKIAIOSFODNN7EXAMPLE", secret_key="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region="us-east-1"
)
MOMENT = datetime(2013, 5, 24, tzinfo=UTC)
Sleep = Callable[[float], Awaitable[None]]
HOST = "https://examplebucket.s3.amazonaws.com"


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "signature"),
    [
        ("GET", "/test.txt", {"Range": "bytes=0-9"}, b"", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        (
            "PUT",
            "/test%24file.text",
            {"Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
            b"Welcome to Amazon S3.",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        ("GET", "/?lifecycle", {}, b"", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("GET", "/?prefix=J&max-keys=2", {}, b"", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ],
)  # fmt: skip
def test_a_signature_is_the_one_that_the_documentation_gives(
    method: str, path: str, headers: dict[str, str], body: bytes, signature: str
):
    signed = sign(EXAMPLE, method=method, url=HOST + path, headers=headers, body=body, now=MOMENT)
    assert signed["Authorization"].endswith(f"Signature={signature}")


@pytest.fixture
async def s3() -> AsyncIterator[S3Store]:
    async with S3Store() as store:
        yield store


@pytest.fixture
async def lean_system(sqlite_url: str, clock: ManualClock) -> AsyncIterator[System]:
    """Nothing is allowed here but what the operator named as the store."""
    async with open_system(Settings(database_url=sqlite_url), clock=clock) as system:
        yield system


async def no_sleep(_: float) -> None:
    pass


def bucket(s3: S3Store, system: System, *, secret: str = SECRET, prefix: str = "", sleep: Sleep = no_sleep) -> Bucket:
    return Bucket(
        http=system.http,
        clock=system.clock,
        address=BucketAddress(endpoint=s3.url, bucket="feeds", prefix=prefix),
        key=SigningKey(access_key=ACCESS, secret_key=secret, region=REGION),
        sleep=sleep,
    )


async def test_an_object_is_sent_with_its_type_and_once_as_long_as_it_is_the_same(s3: S3Store, lean_system: System):
    to = bucket(s3, lean_system, prefix="/a b/ü$/")
    assert await to.put_if_changed("news.rss", b"one", media_type="application/rss+xml")
    assert not await to.put_if_changed("news.rss", b"one", media_type="application/rss+xml")
    assert await to.put_if_changed("news.rss", b"two", media_type="application/rss+xml")
    [(path, (body, headers))] = s3.objects.items()
    assert (path, body) == ("/feeds/a b/ü$/news.rss", b"two")
    assert headers["Content-Type"] == "application/rss+xml"
    assert headers["Cache-Control"] == "public, max-age=300"
    assert [request.split()[0] for request in s3.requests] == ["HEAD", "PUT", "HEAD", "HEAD", "PUT"]


async def test_a_wrong_key_is_refused_with_the_status_and_stores_nothing(s3: S3Store, lean_system: System):
    with pytest.raises(HttpError, match="403"):
        await bucket(s3, lean_system, secret="wrong").put_if_changed("news.rss", b"x", media_type="text/xml")
    assert s3.objects == {}


async def test_many_objects_are_sent_without_waiting_for_a_hosts_budget(s3: S3Store, lean_system: System):
    to = bucket(s3, lean_system)
    for number in range(70):
        await to.put_if_changed(f"{number}.rss", b"x", media_type="text/xml")
    assert len(s3.objects) == 70


async def test_without_its_settings_there_is_no_bucket(lean_system: System):
    with pytest.raises(SettingsError, match="CATCHMENT_S3_BUCKET, CATCHMENT_S3_ACCESS_KEY"):
        open_bucket(Settings(s3_endpoint="https://s3.example"), lean_system.http, lean_system.clock)


@pytest.mark.proves("R-43")
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_an_upload_follows_no_redirect(s3: S3Store, lean_system: System, status: int):
    async with S3Store() as stranger:
        s3.script(status=status, headers={"Location": f"{stranger.url}/feeds/mine.rss"}, times=10)
        with pytest.raises(BadAnswer, match=f"redirects to {stranger.url}"):
            await bucket(s3, lean_system).put_if_changed("mine.rss", b"private", media_type="text/xml")
        assert stranger.requests == []


@pytest.mark.proves("R-43")
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_store_in_trouble_is_asked_again_with_growing_waits(s3: S3Store, lean_system: System, status: int):
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    s3.script(status=status, times=2)
    assert await bucket(s3, lean_system, sleep=sleep).put_if_changed("news.rss", b"x", media_type="text/xml")
    assert len(waits) == 2
    assert waits == sorted(set(waits))


@pytest.mark.proves("R-43")
async def test_a_store_that_stays_in_trouble_is_not_asked_for_ever(s3: S3Store, lean_system: System):
    s3.script(status=503, headers={"Retry-After": "7"}, times=100)
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    with pytest.raises(HttpError, match=r"answered HTTP 503; given up after 4 tries$"):
        await bucket(s3, lean_system, sleep=sleep).put_if_changed("news.rss", b"x", media_type="text/xml")
    assert waits == [7.0, 7.0, 16.0]


@pytest.mark.proves("R-43")
async def test_a_store_that_nobody_answers_for_is_given_up_and_not_said_to_be_tried_later(
    s3: S3Store, lean_system: System, monkeypatch: pytest.MonkeyPatch
):
    async def no_answer(_: Request) -> Response:
        raise too_slow("bucket.example")

    monkeypatch.setattr(lean_system.http, "send", no_answer)
    with pytest.raises(TimedOut, match=r"^bucket\.example took too long to answer; given up after 4 tries$"):
        await bucket(s3, lean_system).put_if_changed("news.rss", b"x", media_type="text/xml")


async def test_what_is_private_is_kept_by_no_cache_that_others_share(s3: S3Store, lean_system: System):
    await bucket(s3, lean_system).put_if_changed("own.rss", b"x", media_type="text/xml", is_public=False)
    [(_, headers)] = s3.objects.values()
    assert headers["Cache-Control"] == "private, max-age=300"
