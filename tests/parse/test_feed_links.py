"""Links as feeds write them."""

from __future__ import annotations

import pytest

from catchment.parse.entry import absolute


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
