from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catchment.parse.robots import Robots

pytestmark = pytest.mark.proves("B-01")

AGENT = "Catchment/1.0 (+https://example.org)"


def allowed(rules: str, path: str, agent: str = AGENT) -> bool:
    return Robots.parse(rules.encode()).allows(agent, f"https://example.org{path}")


# The table of RFC 9309 and of those who brought wildcards in; each row: rule, what it forbids, what it does not.
PATTERNS = [
    ("/", ["/", "/a", "/?q"], []),
    ("", [], ["/", "/a"]),
    ("/fish", ["/fish", "/fish.html", "/fishheads/y", "/fish?id=1"], ["/Fish", "/catfish", "/"]),
    ("/fish/", ["/fish/", "/fish/a"], ["/fish", "/fish.html"]),
    ("/*.php", ["/a.php", "/dir/a.php?x", "/a.php5"], ["/", "/windows.PHP"]),
    ("/*.php$", ["/a.php", "/dir/a.php"], ["/a.php?x", "/a.php/", "/a.php5"]),
    ("/fish*.php", ["/fish.php", "/fishheads/cat.php?x"], ["/Fish.php"]),
    ("*/private", ["/private", "/a/private/x"], ["/a/privat"]),
    ("/a$", ["/a"], ["/ab", "/a/"]),
    ("/*a*a$", ["/aa", "/aba"], ["/a", "/ab"]),
    ("/caf%C3%A9", ["/caf%c3%a9", "/café"], ["/cafe"]),
    ("/%7Ejoe", ["/~joe", "/%7ejoe"], ["/joe"]),
    ("/a%2Fb", ["/a%2fb"], ["/a/b"]),
    ("private", [], ["/private"]),
]


@pytest.mark.parametrize(("rule", "forbidden", "free"), PATTERNS)
def test_a_rule_forbids_what_it_matches_and_nothing_else(rule: str, forbidden: list[str], free: list[str]):
    text = f"User-agent: *\nDisallow: {rule}"
    assert [path for path in forbidden if allowed(text, path)] == []
    assert [path for path in free if not allowed(text, path)] == []


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        ("Allow: /p\nDisallow: /", "/page", True),  # the longest counts
        ("Allow: /folder\nDisallow: /folder", "/folder/a", True),  # of equals the friendly one
        ("Allow: /page\nDisallow: /*.htm", "/page.htm", False),
        ("Disallow: /a\nDisallow: /a/b\nAllow: /a/b/c", "/a/b/c/d", True),
        ("Disallow: /", "/robots.txt", True),  # always
    ],
)
def test_of_several_rules_the_longest_counts(rules: str, path: str, expected: bool):
    assert allowed(f"User-agent: *\n{rules}", path) is expected


def test_a_visitor_follows_the_groups_that_name_it_and_else_those_for_everyone():
    text = """
    User-Agent: other
    User-agent: CATCHMENT   # that is us

    Disallow: /one
    Sitemap: https://example.org/map.xml
    User-agent: *
    Disallow: /
    User-agent: catchment/2.0
    Disallow: /two
    """
    assert [allowed(text, path) for path in ("/one", "/two", "/three")] == [False, False, True]
    assert not allowed(text, "/three", agent="Stranger/1.0")
    assert allowed(text, "/two", agent="Other")


@pytest.mark.parametrize(
    "text", ["", "<html><body>Not found</body></html>", "Disallow: /", "User-agent: other\nDisallow: /"]
)
def test_whoever_is_not_addressed_is_free(text: str):
    assert allowed(text, "/anything")


@pytest.mark.parametrize("other", ["008", "360Spider", "*bot", ""])
def test_rules_for_a_visitor_whose_name_is_no_word_are_not_for_everyone(other: str):
    rules = f"User-agent: {other}\nDisallow: /\nUser-agent: *  \nDisallow: /private"
    assert allowed(rules, "/page")
    assert not allowed(rules, "/private")
    assert not allowed(rules, "/private", agent="360Spider")


def test_sitemaps_are_found_wherever_they_stand_once_each():
    body = b"\xef\xbb\xbfSitemap: https://example.org/a.xml\r\nUser-agent: *\rSITEMAP: /b.xml\nsitemap:https://example.org/a.xml\nSitemap:"
    robots = Robots.parse(body, "https://example.org/robots.txt")
    assert robots.sitemaps == ("https://example.org/a.xml", "https://example.org/b.xml")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2", 2.0), ("0.5", 0.5), (".5", 0.5), ("soon", None), ("-1", None), ("1e9", None), ("999999", 3600.0)],
)
def test_a_crawl_delay_is_told_where_it_makes_sense(text: str, seconds: float | None):
    assert Robots.parse(f"User-agent: *\nCrawl-delay: {text}".encode()).crawl_delay(AGENT) == seconds


@pytest.mark.proves("R-11")
@pytest.mark.parametrize(
    ("said", "sitemaps"),
    [
        ("www.example.com/a.xml", ["https://www.example.com/a.xml"]),
        ("example.com/a.xml", ["https://example.com/a.xml"]),
        ('"https://example.com/a.xml"', ["https://example.com/a.xml"]),
        (
            "https://example.com/a.xml, https://example.com/b.xml",
            ["https://example.com/a.xml", "https://example.com/b.xml"],
        ),
        ("https://example.com/a b.xml", ["https://example.com/a b.xml"]),
        ("sub/a.xml", ["https://www.example.com/sub/a.xml"]),
    ],
)
def test_the_address_of_a_sitemap_is_read_as_people_write_it(said: str, sitemaps: list[str]):
    robots = Robots.parse(f"Sitemap: {said}".encode(), "https://www.example.com/robots.txt")
    assert list(robots.sitemaps) == sitemaps


def test_a_captured_file_is_read(real_sitemaps: Path):
    robots = Robots.parse((real_sitemaps / "advertools/robots.txt").read_bytes())
    assert robots.sitemaps == ("https://advertools.readthedocs.io/sitemap.xml",)
    assert robots.allows(AGENT, "https://example.org/a.php")
    assert not robots.allows("Googlebot/2.1", "https://example.org/a.php")
    assert robots.allows("Googlebot/2.1", "https://example.org/a.js")


LINES = st.sampled_from(
    [
        "User-agent: *",
        "Disallow: /",
        "Allow: /*a*$",
        "Crawl-delay: 9",
        "Sitemap: //[",
        ":",
        "#",
        "\0",
        "Disallow: /%",
        "Allow: /%zz*%41",
    ]
)


@settings(deadline=None)
@given(
    st.binary(max_size=300) | st.lists(LINES, max_size=12).map("\n".join).map(str.encode),
    st.text(max_size=30),
    st.text(max_size=60),
)
def test_no_file_agent_or_address_raises(body: bytes, agent: str, url: str):
    robots = Robots.parse(body, url)
    assert isinstance(robots.allows(agent, url), bool)
    assert robots.crawl_delay(agent) is None or robots.crawl_delay(agent) >= 0


@settings(deadline=None)
@given(st.text("ab/*$", max_size=12), st.text("ab/", max_size=12))
def test_a_rule_matches_what_its_meaning_as_a_pattern_matches(rule: str, path: str):
    import re

    body = "".join(".*" if part == "*" else re.escape(part) for part in rule.removesuffix("$"))
    expected = rule[:1] in {"/", "*"} and re.match(body + ("\\Z" if rule.endswith("$") else ""), "/" + path) is not None
    assert allowed(f"User-agent: *\nDisallow: {rule}", "/" + path) is not expected


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "body",
    [
        b"User-agent: a\n" * 20_000 + b"Disallow: /x\n" * 15_000,
        b"User-agent: *\n" + b"Disallow: /" + b"*a" * 1_000 + b"$\n" + b"Disallow: /a\n" * 20_000,
        b"User-agent: *\n" + b"Disallow: " + b"/*" * 250_000,
    ],
)
def test_hostile_files_take_no_minute(body: bytes):
    robots = Robots.parse(body)
    assert robots.allows(AGENT, "https://example.org/" + "a" * 8_000 + "b") in {True, False}


@pytest.mark.proves("R-44")
def test_of_a_file_with_tens_of_thousands_of_rules_the_first_two_thousand_count():
    lines = b"".join(b"Disallow: /%d/\n" % number for number in range(30_000))
    robots = Robots.parse(b"User-agent: *\n" + lines)
    assert not robots.allows("catchment", "https://example.org/1999/x")
    assert robots.allows("catchment", "https://example.org/2000/x")
