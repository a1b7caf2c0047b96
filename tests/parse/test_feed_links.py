"""Links as feeds write them."""

from __future__ import annotations

import pytest
from feed_documents import rss

from catchment.parse.entry import absolute
from catchment.parse.feed import parse_feed


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("https://a.example/1", "https://a.example/1"),
        ("/2", "https://base.example/2"),
        ('https://a.example/"onclick="x', "https://a.example/%22onclick=%22x"),
        ("https://a.example/<script>", "https://a.example/%3Cscript%3E"),
        ("<script>x", "https://base.example/%3Cscript%3Ex"),
        ("javascript:alert(1)", ""),
    ],
)
def test_a_link_is_absolute_and_cannot_end_the_attribute_that_holds_it(link, expected):
    assert absolute(link, "https://base.example/") == expected


@pytest.mark.proves("R-05")
def test_a_link_that_was_escaped_twice_leads_where_it_should_unless_the_entry_is_known_by_it():
    link = "<link>https://x.org/?a=1&amp;amp;b=2</link>"
    named, nameless = parse_feed(rss(f"<item><guid>7</guid>{link}</item><item>{link}</item>")).entries
    assert (named.link, nameless.link) == ("https://x.org/?a=1&b=2", "https://x.org/?a=1&amp;b=2")
