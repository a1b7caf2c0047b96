"""What an item of a feed is known by stays, whatever else is learned of it."""

from __future__ import annotations

import pytest

from catchment.domain.item import Item, make_item
from catchment.sources.items import read_items


def item_of(body: bytes) -> Item:
    (item,) = read_items(body, url="https://example.org/feed", content_type="application/xml").items
    return item


@pytest.mark.proves("R-07")
def test_chinese_that_was_stored_in_wrong_characters_is_the_same_item_in_right_ones():
    words = "<title>今日新闻：中文标题</title><description>这是一条没有编号的消息。</description>"
    feed = f"<?xml version='1.0' encoding='%s'?><rss><channel><item>{words}</item></channel></rss>"
    said, stored = ((feed % name).encode("gbk") for name in ("utf-8", "windows-1252"))
    item, before = item_of(said), item_of(stored)
    assert (item.title, before.title) == ("今日新闻：中文标题", "½ñÈÕÐÂÎÅ£ºÖÐÎÄ±êÌâ")
    assert item.key == before.key
    assert item.key != make_item(title=item.title, content=item.content).key


@pytest.mark.proves("A-31")
@pytest.mark.parametrize(
    "words",
    [
        "<title>T</title><description>D</description>",
        "<guid isPermaLink='false'>7</guid><title>T</title>",
        "<enclosure url='https://x.org/a.mp3'/>",
    ],
    ids=["neither id nor link", "no link", "but a file"],
)
def test_files_of_media_rss_make_no_other_item_of_an_entry(words: str):
    media = "<media:content url='https://x.org/p.jpg'/><media:thumbnail url='https://x.org/t.jpg'/>"
    feed = "<rss xmlns:media='http://search.yahoo.com/mrss/'><channel><item>%s</item></channel></rss>"
    plain, attached = (item_of((feed % text).encode()) for text in (words, media + words))
    assert "https://x.org/p.jpg" in {file["url"] for file in attached.metadata["enclosures"]}
    assert attached._replace(metadata=plain.metadata) == plain
