"""What a damaged or overlong feed does to what is stored of it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from collecting import add, collect, stored
from feed_site import rss
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

FIVE_HOURS = timedelta(hours=5)
BODY = "<![CDATA[<p>First <b>words</b> and more</p>]]>"
FAULT = "<item><guid>new</guid><title>1 < 2</title></item></channel>"


def with_body(text: str, *, fault: str = "</channel>") -> str:
    return rss("1", "2", body="@").replace("@ of 1", text).replace("@ of 2", BODY).replace("</channel>", fault)


async def content_of_first(system) -> str:
    return next(item.content for item in await stored(system) if item.url.endswith("/1"))


@pytest.mark.proves("R-01")
@pytest.mark.parametrize("lesser", ["First words", "First words and more", "<![CDATA[<p>First <b>wo]]>", ""])
async def test_a_damaged_feed_does_not_replace_a_text_by_less_of_it(system, site, clock, lesser):
    await add(system, site.serve(with_body(BODY)))
    await collect(system)
    before = await content_of_first(system)
    site.serve(with_body(lesser, fault=FAULT))
    clock.advance(FIVE_HOURS)
    [result] = await collect(system)
    assert (result.inserted, result.updated) == (1, 0)
    assert await content_of_first(system) == before == "<p>First <b>words</b> and more</p>"


@pytest.mark.proves("R-01")
async def test_in_a_feed_that_is_whole_a_shorter_text_is_an_edit(system, site, clock):
    await add(system, site.serve(with_body(BODY)))
    await collect(system)
    site.serve(with_body("First words"))
    clock.advance(FIVE_HOURS)
    [result] = await collect(system)
    assert result.updated == 1
    assert await content_of_first(system) == "First words"


@pytest.mark.proves("R-01", "A-30")
async def test_what_was_cut_off_is_asked_for_again_whatever_its_server_calls_it(system, site, clock):
    whole, named = rss("1", "2", "3"), {"ETag": '"v1"'}
    await add(system, site.serve(whole[: whole.rindex("<title>")], headers=named))
    await collect(system)
    assert len(await stored(system)) == 2
    site.serve(whole, headers=named)
    clock.advance(FIVE_HOURS)
    await collect(system)
    assert len(await stored(system)) == 3
    assert "If-None-Match" not in site.requests[-1].headers


@on_both_stores
@pytest.mark.proves("R-01")
async def test_a_text_with_other_words_is_an_edit_in_a_damaged_feed_as_well(system, site, clock):
    await add(system, site.serve(with_body(BODY)))
    await collect(system)
    site.serve(with_body("Quite another text", fault=FAULT))
    clock.advance(FIVE_HOURS)
    await collect(system)
    assert await content_of_first(system) == "Quite another text"


@on_both_stores
@pytest.mark.proves("R-01")
@pytest.mark.parametrize(
    ("whole", "broken"),
    [
        ("<guid isPermaLink='false'>1</guid>", "<gu<id isPermaLink='false'>1</guid>"),
        ("<guid isPermaLink='false'>1</guid>", "<guid isPermaLink='false'>1]]></guid>"),
        ("<title>Title 1</title>", "<ti<tle>Title 1</title>"),
        ("<link>https://example.org/1</link>", "<link>https://example.org/1<</link>"),
        ("<link>https://example.org/1</link>", "<link>&nosuchthing;https://example.org/1</link>"),
        ("Words of 1", "Words &nosuchthing;of 1"),
    ],
    ids=["the tag of its id", "its id", "the tag of its title", "its link", "before its link", "its text"],
)
async def test_an_item_that_breaks_is_neither_harmed_nor_doubled(system, site, clock, whole, broken):
    document = rss("1", "2")
    await add(system, site.serve(document))
    await collect(system)
    before = await stored(system)
    site.serve(document.replace(whole, broken))
    clock.advance(FIVE_HOURS)
    [result] = await collect(system)
    assert (result.error, result.fetched) == (None, 2)
    assert await stored(system) == before


@pytest.mark.proves("R-03")
async def test_an_entry_appended_to_a_long_feed_is_collected_and_what_was_cut_is_said(system, site, clock, log):
    def listing(number: int) -> str:
        days = "".join(
            f"<item><guid>{one}</guid><pubDate>2026-01-01T{one // 60:02}:{one % 60:02}:00Z</pubDate></item>"
            for one in range(number)
        )
        return f"<rss version='2.0'><channel><title>Long</title>{days}</channel></rss>"

    await add(system, site.serve(listing(1_045)))
    await collect(system)
    site.serve(listing(1_046))
    clock.advance(FIVE_HOURS)
    [result] = await collect(system)
    assert (result.fetched, result.inserted) == (500, 1)
    assert any("1046 entries: the newest 500 were read, 546 left out" in line for line in log)
