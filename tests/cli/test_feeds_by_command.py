from __future__ import annotations

import sqlite3
from asyncio import to_thread
from pathlib import Path

import feedparser
import pytest
from command import Command

from feed_site import FeedSite
from s3_store import ACCESS, REGION, SECRET, S3Store

BASE = "https://static.example/feeds"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def bucket_settings(s3: S3Store) -> dict[str, str]:
    return {
        "CATCHMENT_S3_ENDPOINT": s3.url,
        "CATCHMENT_S3_BUCKET": "bucket",
        "CATCHMENT_S3_REGION": REGION,
        "CATCHMENT_S3_ACCESS_KEY": ACCESS,
        "CATCHMENT_S3_SECRET_KEY": SECRET,
        "CATCHMENT_PUBLIC_URL": "https://x.example",
    }


async def collected(catchment: Command, site: FeedSite, *ids: str) -> None:
    """The one source of the test is collected once more; its feed has these items now."""
    site.feed(*ids)
    assert (await catchment.aside("collect", "--source", "1")).exit_code == 0


def test_feeds_are_created_listed_shown_and_removed(catchment: Command) -> None:
    made = catchment.json(
        "feeds", "create", "news", "--tag", "news", "--type", "rss", "--search", "a b", "--limit", "5"
    )
    assert made["filter"] == {"types": ["rss"], "tags": ["news"], "search": "a b", "limit": 5}
    assert len(made["token"]) > 30
    catchment.json("feeds", "create", "all", "--public", "--filter", '{"since_days": 7}')
    assert [(one["slug"], one["public"]) for one in catchment.json("feeds", "list")] == [("all", True), ("news", False)]
    shown = catchment.json("feeds", "show", "all")
    assert shown["filter"] == {"since_days": 7, "limit": 50}
    assert "token" not in shown
    assert "since_days" in catchment("feeds", "show", "all").stdout
    assert "news" in catchment("feeds", "list").stdout
    assert catchment.json("feeds", "remove", "news") == {"slug": "news", "removed": True}
    assert "Removed feed all." in catchment("feeds", "remove", "all").stdout
    assert catchment.json("feeds", "list") == []


def test_a_token_is_told_once_to_whoever_creates_a_private_feed(catchment: Command) -> None:
    assert "Token (shown only now): " in catchment("feeds", "create", "mine").stdout
    assert "Token" not in catchment("feeds", "create", "everybodys", "--public").stdout


@pytest.mark.parametrize(
    "words",
    [
        ["create", "Not A Slug"],
        ["create", "x", "--filter", "{"],
        ["create", "x", "--filter", "[]"],
        ["create", "x", "--filter", '{"colour": 1}'],
        ["show", "none"],
        ["remove", "none"],
        ["write", "out"],
        ["write", "out", "--base-url", "ftp://x"],
        ["write", "out", "--base-url", BASE, "--slug", "none"],
    ],
)
def test_what_cannot_be_is_a_clear_error(catchment: Command, words: list[str]) -> None:
    result = catchment("feeds", *words)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.proves("B-10")
async def test_files_are_written_for_public_feeds_and_again_only_when_they_changed(
    catchment: Command, site: FeedSite
) -> None:
    await to_thread(catchment.json, "add", site.feed("1", "2"))
    await collected(catchment, site, "1", "2")
    await to_thread(catchment.json, "feeds", "create", "news", "--public", "--title", "News")
    await to_thread(catchment.json, "feeds", "create", "mine")
    folder = catchment.home / "deep" / "out"

    async def write(*more: str) -> dict[str, list[str]]:
        answer: dict[str, list[str]] = await to_thread(
            catchment.json, "feeds", "write", str(folder), "--base-url", BASE + "/", *more
        )
        return answer

    every = ["news.rss", "news.atom", "news.json"]
    assert await write() == {"written": every, "unchanged": []}
    assert names(folder) == sorted(every)
    before = {name: (folder / name).read_bytes() for name in every}
    parsed = feedparser.parse(before["news.rss"])
    assert not parsed.bozo
    assert len(parsed.entries) == 2
    assert parsed.feed.links[-1].href == f"{BASE}/news.rss"

    # A run without changes leaves every byte, and every file, as it was.
    times = [(folder / name).stat().st_mtime_ns for name in every]
    await collected(catchment, site, "1", "2")
    assert await write() == {"written": [], "unchanged": every}
    assert [(folder / name).stat().st_mtime_ns for name in every] == times

    # A run that finds one more keeps the rest.
    await collected(catchment, site, "3")
    assert (await write())["written"] == every
    assert len(feedparser.parse((folder / "news.atom").read_bytes()).entries) == 3
    assert (await write("--slug", "mine"))["written"] == ["mine.rss", "mine.atom", "mine.json"]
    assert not [name for name in names(folder) if name.startswith(".")]


def test_a_folder_that_cannot_be_written_is_a_clear_error(catchment: Command) -> None:
    catchment.json("feeds", "create", "news", "--public")
    (catchment.home / "file").write_text("in the way")
    result = catchment("feeds", "write", "file/out", CATCHMENT_PUBLIC_URL="https://x.example")
    assert result.exit_code == 1
    assert "cannot be written" in result.stderr


async def test_feeds_are_uploaded_to_a_bucket_and_again_only_when_they_changed(
    catchment: Command, site: FeedSite
) -> None:
    await to_thread(catchment.json, "add", site.feed("1"))
    await collected(catchment, site, "1")
    await to_thread(catchment.json, "feeds", "create", "news", "--public")
    async with S3Store() as s3:
        settings = {**bucket_settings(s3), "CATCHMENT_S3_PREFIX": "out"}
        first = await to_thread(catchment.json, "feeds", "upload", **settings)
        again = await to_thread(catchment.json, "feeds", "upload", **settings)
        assert first["sent"] == again["unchanged"] == ["news.rss", "news.atom", "news.json"]
        body, headers = s3.objects["/bucket/out/news.json"]
        assert headers["Content-Type"] == "application/feed+json"
        assert b"https://x.example/feeds/news.json" in body
        await to_thread(catchment.json, "feeds", "create", "own")
        await to_thread(catchment.json, "feeds", "upload", "--slug", "own", **settings)
        kept = [s3.objects[f"/bucket/out/{slug}.json"][1]["Cache-Control"] for slug in ("news", "own")]
        assert kept == ["public, max-age=300", "private, max-age=300"]
        settings["CATCHMENT_S3_SECRET_KEY"] = "wrong"
        result = await to_thread(catchment, "feeds", "upload", **settings)
        assert (result.exit_code, "wrong" in result.stderr) == (1, False)


@pytest.mark.proves("R-43")
async def test_a_feed_that_cannot_be_sent_holds_up_no_other_and_the_exit_code_tells(catchment: Command) -> None:
    for slug in ("first", "second"):
        await to_thread(catchment.json, "feeds", "create", slug, "--public")
    async with S3Store() as s3, S3Store() as stranger:
        s3.script(status=301, headers={"Location": stranger.url}, times=3, path="first")
        result = await to_thread(catchment, "feeds", "upload", **bucket_settings(s3))
        assert result.exit_code == 1
        assert "first.rss was not sent" in result.stderr
        assert "3 sent, 0 unchanged, 3 failed." in result.stdout
        assert sorted(s3.objects) == ["/bucket/second.atom", "/bucket/second.json", "/bucket/second.rss"]
        assert stranger.requests == []


def test_an_upload_without_its_settings_says_which_are_missing(catchment: Command) -> None:
    result = catchment("feeds", "upload", CATCHMENT_PUBLIC_URL="https://x.example")
    assert result.exit_code == 2
    assert "CATCHMENT_S3_ENDPOINT" in result.stderr


def test_a_stored_token_is_a_hash(catchment: Command) -> None:
    token = catchment.json("feeds", "create", "mine")["token"]
    [(kept,)] = sqlite3.connect(catchment.home / "catchment.sqlite3").execute("SELECT token_hash FROM feeds").fetchall()
    assert kept != token
    assert token not in (catchment.home / "catchment.sqlite3").read_bytes().decode("latin-1")
