"""What pasted text stands for, by the text alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.settings import Settings
from catchment.sources.base import Parts
from catchment.sources.registry import Registry
from catchment.sources.shortcuts import _BY_HOST, _BY_PARENT, Services, address_in, podcast_id, recognise, unnamed_feeds

SERVICES = Services.of(Settings())
TYPES = Registry(parts=Parts(settings=Settings()))
KNOWN = sorted([*_BY_HOST, "x.com", "www.x.com", "mobile.twitter.com"])
labels = st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True)
paths = st.sampled_from(
    ["/jack", "/i/lists/7", "/python/cpython/releases", "/@ada", "/channel/UC1", "/user/ada", "/s/news"]
)


@pytest.mark.proves("A-32")
@given(st.sampled_from([*KNOWN, *_BY_PARENT]), labels, paths)
def test_only_the_exact_host_of_a_service_counts(host: str, label: str, path: str) -> None:
    for other in (f"{label}{host}", f"{host}.{label}.example", f"{host}{label}", f"{label}.example/{host}"):
        name = other.partition("/")[0]
        # `0www.medium.com` is somebody's own place at Medium, like any other name beneath it.
        if name not in _BY_HOST and name.partition(".")[2] not in _BY_PARENT:
            assert TYPES.recognise(f"https://{other}{path}") is None
    assert TYPES.recognise(f"https://{label}.example{path}?u=https://{host}{path}") is None
    assert TYPES.recognise(f"https://{host}\\@{label}.example{path}") is None
    assert TYPES.recognise(f"https://{host}@{label}.example{path}") is None
    assert TYPES.recognise(f"ftp://{host}{path}") is None


@pytest.mark.proves("A-32")
@given(st.sampled_from(KNOWN), paths)
def test_spelling_makes_no_difference(host: str, path: str) -> None:
    plain = TYPES.recognise(f"https://{host}{path}")
    for spelt in (
        f"HTTP://{host.upper()}{path}/",
        f"{host}{path}",
        f"https://{host}.:443{path}?utm=1#top",
        f"//{host}{path}",
    ):
        assert TYPES.recognise(spelt) == plain


@pytest.mark.proves("A-32")
@pytest.mark.parametrize(
    "page",
    [
        *(
            f"https://x.com/{name}"
            for name in ["i", "search", "explore", "home", "notifications", "messages", "settings", "hashtag"]
        ),
        "https://x.com/intent/follow?screen_name=x",
        "https://x.com/share?url=x",
        "https://x.com/a-name-that-is-none",
        "https://x.com/i/lists/latest",
        "https://github.com/topics/python",
        "https://github.com/python",
        "https://github.com/python/cpython/issues/1",
        "https://t.me/+AAAA",
        "https://t.me/c/123/4",
        "https://medium.com/",
        "https://medium.com/me/stories",
        "https://www.youtube.com/watch?v=1",
        "https://www.youtube.com/@handle",
        "https://www.substack.com/",
        "https://a.b.substack.com/",
        "https://mastodon.social/about",
    ],
)
def test_pages_of_the_services_themselves_are_no_shortcuts(page: str) -> None:
    assert TYPES.recognise(page) is None


def test_services_are_asked_where_the_settings_say() -> None:
    services = Services(
        github="http://g", reddit="http://r", youtube="http://y", telegram="http://t", apple_podcasts=""
    )
    pasted = ["github.com/a/b", "u/ada", "youtube.com/user/ada", "t.me/harbour"]
    addresses = [found.config["url"] for text in pasted if (found := recognise(text, services))]
    assert addresses == [
        "http://g/a/b/releases.atom",
        "http://r/user/ada.rss",
        "http://y/feeds/videos.xml?user=ada",
        "http://t/s/harbour",
    ]


def test_podcasts_are_known_by_a_number() -> None:
    assert podcast_id("https://podcasts.apple.com/us/podcast/a-show/id1234567890?i=7") == "1234567890"
    assert podcast_id("https://overcast.fm/itunes617416468/accidental-tech-podcast") is None
    assert podcast_id("https://overcast.fm/itunes617416468") == "617416468"
    assert podcast_id("https://podcasts.apple.com.evil.example/id1") is None


def test_accounts_of_the_fediverse_have_a_feed_even_if_unnamed() -> None:
    assert unnamed_feeds("https://a.example/@ada/") == ("https://a.example/@ada.rss",)
    assert unnamed_feeds("https://a.example/@ada/posts") == ()


@given(st.text(max_size=60) | st.text("@:/.x #?\\[]%", max_size=12))
def test_any_text_may_be_pasted(text: str) -> None:
    address = address_in(text)
    assert address is None or ":" in address
    recognise(text, SERVICES)


@pytest.mark.proves("R-10", "A-32")
@pytest.mark.parametrize(
    "text", ["192.168.1.5/feed", "feed://192.168.1.5/feed", "192.168.1.50/feed", "//192.168.1.5/feed"]
)
def test_a_host_that_is_a_number_needs_no_scheme_either(text: str):
    assert address_in(text) in {"https://192.168.1.5/feed", "https://192.168.1.50/feed"}
    assert address_in("10.0.0.7:8080/feed") == "https://10.0.0.7:8080/feed"
    assert address_in("1.2.3.4.5") is None
