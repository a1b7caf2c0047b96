"""Which notes people mean by what they paste."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platform_visits import addresses

from catchment.domain.note import NoteRef, Platform
from catchment.sources.platforms.xhs_parser import ref_of, url_of

pytestmark = pytest.mark.proves("E-13")
SITE = "https://www.xiaohongshu.com"
NOTE = "69c4b106000000002003a15b"
XSEC_TOKEN = "ABYWEisRlB3NUzLrxnV1cMVfwQywNtYQ-9RW2GMJ-uNI4="
QUERY = f"xsec_token={XSEC_TOKEN}&xsec_source=pc_search"

BARE = NoteRef(platform=Platform.XHS, note_id=NOTE)
WITH_TOKEN = NoteRef(platform=Platform.XHS, note_id=NOTE, token=XSEC_TOKEN, token_source="pc_search")


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        (NOTE, BARE),
        (f"  {NOTE.upper()}\n", BARE),
        (f"{SITE}/explore/{NOTE}", BARE),
        (f"{SITE}/explore/{NOTE}/?{QUERY}", WITH_TOKEN),
        (f"http://xiaohongshu.com/discovery/item/{NOTE}?source=webshare&{QUERY}#comments", WITH_TOKEN),
        (f"{SITE}/search_result/{NOTE}?{QUERY}", WITH_TOKEN),
        (f"{SITE}/user/profile/5a3caffc11be101baff9ac7b/{NOTE}?{QUERY}", WITH_TOKEN),
        (f"www.rednote.com/explore/{NOTE}?{QUERY}", WITH_TOKEN),
        (f"{SITE}/explore/{NOTE}?xsec_token={XSEC_TOKEN.replace('=', '%3D')}", WITH_TOKEN),
        (f"春天要多吃的菜 {SITE}/discovery/item/{NOTE}?{QUERY} 复制后打开【小红书】查看", WITH_TOKEN),
        (f"{SITE}/explore/{NOTE}?xsec_token=<script>", BARE),
        ("http://xhslink.com/a/AbCdEf，复制本条信息", None),
        (f"{SITE}/user/profile/5a3caffc11be101baff9ac7b", None),
        (f"https://evil.example/explore/{NOTE}?{QUERY}", None),
        (f"https://xiaohongshu.com.evil.example/explore/{NOTE}", None),
        (f"{NOTE}0", None),
        ("https://[/explore/x", None),
        ("咖啡", None),
        ("", None),
    ],
)
def test_ids_and_addresses_of_notes_are_understood(given_text, expected):
    assert ref_of(given_text, site_url=SITE) == expected


def test_an_address_keeps_which_listing_its_token_is_from():
    ref = ref_of(f"{SITE}/explore/{NOTE}?xsec_token=ABc=&xsec_source=pc_user", site_url=SITE)
    assert (ref.token, ref.token_source) == ("ABc=", "pc_user")


def test_the_site_of_the_settings_counts_too():
    assert ref_of(f"http://127.0.0.1:8080/explore/{NOTE}", site_url="http://127.0.0.1:8080") == BARE
    assert ref_of(f"http://127.0.0.1:8080/explore/{NOTE}", site_url=SITE) is None


def test_an_address_is_written_as_the_platform_writes_it():
    assert url_of(WITH_TOKEN, site_url=SITE) == f"{SITE}/explore/{NOTE}?{QUERY}"
    assert url_of(BARE, site_url=SITE) == f"{SITE}/explore/{NOTE}"


@given(
    note=st.text("0123456789abcdef", min_size=24, max_size=24),
    token=st.from_regex(r"[A-Za-z0-9_=.-]{1,60}", fullmatch=True),
)
def test_an_address_leads_back_to_its_note(note, token):
    ref = NoteRef(platform=Platform.XHS, note_id=note, token=token, token_source="pc_search")
    assert ref_of(url_of(ref, site_url=SITE), site_url=SITE) == ref


@given(
    st.text(max_size=200)
    | st.text("htps:/.xiaonguexplr[]%0123456789abcdef?=&", max_size=120)
    | addresses(f"{SITE}/explore/{NOTE}?{QUERY}", NOTE)
)
def test_no_text_breaks_the_reading(text):
    ref = ref_of(text, site_url=SITE)
    assert ref is None or (len(ref.note_id) == 24 and ref.note_id.isascii())


@pytest.mark.timeout(20)
def test_a_text_without_any_address_is_soon_known_to_have_none():
    for _ in range(100):
        assert ref_of("a" * 10_000, site_url=SITE) is None
