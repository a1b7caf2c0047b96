from __future__ import annotations

import gzip
import tracemalloc
import zlib
from contextlib import suppress
from functools import partial

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.errors import BadBody
from catchment.fetch.body import decode

pytestmark = pytest.mark.proves("F-05")

PACKERS = {"gzip": gzip.compress, "deflate": zlib.compress, "br": partial(brotli.compress, quality=4)}
encodings = st.sampled_from(sorted(PACKERS))


def unpacked(packed: bytes, encoding: str, max_bytes: int = 10_000_000) -> bytes:
    return decode(packed, encoding, max_bytes=max_bytes, max_ratio=200)


@given(body=st.binary(max_size=5000), names=st.lists(encodings, max_size=3))
def test_what_was_packed_comes_out_as_it_was(body: bytes, names: list[str]) -> None:
    packed = body
    for name in names:
        packed = PACKERS[name](packed)
    assert unpacked(packed, ", ".join(names)) == body


@given(body=st.binary(min_size=1, max_size=2000), name=encodings, data=st.data())
def test_a_cut_body_is_never_taken_for_whole(body: bytes, name: str, data: st.DataObject) -> None:
    packed = PACKERS[name](body)
    cut = packed[: data.draw(st.integers(1, len(packed) - 1))]
    with suppress(BadBody):
        assert unpacked(cut, name) == body  # brotli's last byte may hold nothing


@given(junk=st.binary(max_size=300), name=st.sampled_from([*PACKERS, "zstd", "", "gzip,br", ",,"]))
def test_junk_is_bad_or_a_body_and_nothing_else(junk: bytes, name: str) -> None:
    with suppress(BadBody):
        assert isinstance(unpacked(junk, name), bytes)


def test_members_of_gzip_follow_each_other_and_padding_is_no_member() -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two") + b"\0\0\0"
    assert unpacked(packed, "gzip") == b"one two"


@pytest.mark.timeout(30)
@pytest.mark.proves("A-31")
def test_megabytes_of_tiny_members_are_soon_unpacked() -> None:
    count = 8 * 2**20 // len(gzip.compress(b""))
    assert unpacked(gzip.compress(b"") * count + gzip.compress(b"one"), "gzip") == b"one"


@given(sizes=st.lists(st.integers(0, 40_000), min_size=1, max_size=5), level=st.sampled_from([0, 9]))
def test_members_of_any_size_give_all_that_was_packed(sizes: list[int], level: int) -> None:
    bodies = [bytes([number]) * size for number, size in enumerate(sizes)]
    packed = b"".join(gzip.compress(body, level) for body in bodies)
    assert unpacked(packed, "gzip") == b"".join(bodies)


def test_the_cap_is_exact() -> None:
    packed = gzip.compress(b"x" * 1000)
    assert len(unpacked(packed, "gzip", max_bytes=1000)) == 1000
    with pytest.raises(BadBody, match="more than 999"):
        unpacked(packed, "gzip", max_bytes=999)


@pytest.mark.parametrize("name", sorted(PACKERS))
def test_a_bomb_is_refused_before_it_fills_the_memory(name: str) -> None:
    packed = PACKERS[name](bytes(50_000_000))
    tracemalloc.start()
    with pytest.raises(BadBody):
        unpacked(packed, name)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 25_000_000
