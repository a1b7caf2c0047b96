"""What a pasted text is taken for: by exact hosts, never by a part of one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.sources.config import web_address
from service_visits import registry

pytestmark = pytest.mark.proves("A-32")
REGISTRY = registry()


def hackernews(name: str, score: int) -> tuple[str, dict[str, object]]:
    return "hackernews", {"filter": name, "min_score": score}


def reddit(name: str, sort: str = "hot") -> tuple[str, dict[str, object]]:
    return "reddit", {"subreddit": name, "sort": sort, "limit": 20}


def trending(language: str = "", since: str = "daily", **more: str) -> tuple[str, dict[str, object]]:
    return "github_trending", {"language": language, "since": since, **more}


@pytest.mark.parametrize(
    ("pasted", "meant"),
    [
        ("hn", hackernews("top", 100)),
        (" HackerNews ", hackernews("top", 100)),
        ("https://news.ycombinator.com/", hackernews("top", 100)),
        ("news.ycombinator.com", hackernews("top", 100)),
        ("https://news.ycombinator.com/newest", hackernews("new", 0)),
        ("https://news.ycombinator.com/best", hackernews("best", 100)),
        ("https://news.ycombinator.com/ask", hackernews("ask", 0)),
        ("https://news.ycombinator.com/show", hackernews("show", 0)),
        ("https://news.ycombinator.com/jobs", hackernews("job", 0)),
        ("r/python", reddit("python")),
        ("/r/python/", reddit("python")),
        ("https://www.reddit.com/r/Python", reddit("Python")),
        ("http://old.reddit.com/r/python/new/", reddit("python", "new")),
        ("reddit.com/r/python/top/?t=week", reddit("python", "top")),
        ("https://np.reddit.com/r/python+rust/rising", reddit("python+rust", "rising")),
        ("HTTPS://WWW.REDDIT.COM/r/python", reddit("python")),
        ("https://github.com/trending", trending()),
        ("github.com/trending/rust?since=weekly", trending("rust", "weekly")),
        ("https://github.com/trending/c++?since=never", trending("c++")),
        (
            "https://github.com/trending/go?since=monthly&spoken_language_code=zh",
            trending("go", "monthly", spoken_language="zh"),
        ),
    ],
)
def test_addresses_and_names_of_services_are_known(pasted, meant):
    suggestion = REGISTRY.recognise(pasted)
    assert (suggestion.type, suggestion.config) == meant
    assert suggestion.name
    assert suggestion.why.endswith(".")
    assert REGISTRY.get(suggestion.type).identity(suggestion.config), "it can be added as it is"


@pytest.mark.parametrize(
    "pasted",
    [
        "",
        "hn.example",
        "https://news.ycombinator.com.evil.example/",
        "https://evil.example/news.ycombinator.com/newest",
        "https://news.ycombinator.com/rss",
        "https://news.ycombinator.com/item?id=1",
        "https://notreddit.com/r/python",
        "https://reddit.com.evil.example/r/python",
        "https://www.reddit.com@evil.example/r/python",
        "https://user:pw@www.reddit.com/r/python",
        "http://127.0.0.1\\@www.reddit.com/r/python",
        "https://www.reddit.com:8443/r/python",
        "https://www.reddit.com/r/python/comments/1abc/title/",
        "https://www.reddit.com/r/python/.rss",
        "https://www.reddit.com/r/a%2F..%2Fb",
        "ftp://www.reddit.com/r/python",
        "r/",
        "r/py thon",
        "https://gist.github.com/trending",
        "https://github.com.evil.example/trending",
        "https://github.com/trending/developers",
        "https://github.com/trending/rust/extra",
        "https://github.com/trendingrepo",
        "javascript:alert(1)//github.com/trending",
        "http://[::1",
    ],
)
def test_whatever_only_looks_like_a_service_is_not_taken_for_it(pasted):
    assert REGISTRY.recognise(pasted) is None


@given(st.text(max_size=80) | st.from_regex(r"(https?://)?(www\.)?(reddit|github)\.com/(r|trending)/.{0,20}"))
def test_any_text_is_a_suggestion_that_can_be_added_or_nothing(pasted):
    suggestion = REGISTRY.recognise(pasted)
    if suggestion is not None:
        REGISTRY.identity(suggestion.type, suggestion.config)


@given(st.text(max_size=60))
def test_any_text_is_a_web_address_or_none(pasted):
    url = web_address(pasted)
    assert url is None or (url.scheme in {"http", "https"} and url.host and url.user is None)
