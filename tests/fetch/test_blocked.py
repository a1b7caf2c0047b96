from __future__ import annotations

import pytest

from catchment.fetch.failures import block_reason

HTML = {"Content-Type": "text/html; charset=utf-8"}


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"cf-mitigated": "challenge"}, b""),
        (HTML, b"<html><head><title>Just a moment...</title>"),
        (HTML, b"<title>Attention Required! | Cloudflare</title>"),
        (HTML, b"<title>Access denied | shop.example used Cloudflare to restrict access</title>"),
        (HTML, b"<title lang='en'> Are you a robot? </title>"),
        (HTML, b"<html><script>window._cf_chl_opt={cvId: '3'}</script>"),
        (HTML, b"<script src='https://geo.captcha-delivery.com/captcha/?id=1'></script>"),
    ],
)
def test_a_page_in_front_of_the_content_is_recognised(headers: dict[str, str], body: bytes) -> None:
    assert block_reason(headers, body)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (HTML, b"<title>My blog</title><form><div class='g-recaptcha'></div></form>"),
        (HTML, b"<title>Access denied: how a border works</title>"),
        (HTML, b"<?xml version='1.0'?><rss><title>Just a moment...</title></rss>"),
        ({"Content-Type": "application/rss+xml"}, b"<rss><title>Just a moment...</title></rss>"),
        ({}, b"<title>Just a moment...</title>"),
        (HTML, b"<title>Just a moment...</title>" + b" " * 300_000),
    ],
)
def test_content_is_taken_for_content(headers: dict[str, str], body: bytes) -> None:
    assert block_reason(headers, body) is None


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece",
    [b"<title", b"/cdn-cgi/challenge-platform/", b"/_Incapsula_Resource?", b"<title>access denied|cloudflare"],
)
def test_a_page_that_only_looks_like_one_is_soon_let_pass(piece: bytes) -> None:
    for _ in range(50):
        assert block_reason(HTML, piece * (200_000 // len(piece))) is None
    assert block_reason(HTML, b"<title>access denied|" + b"cloudflare" * 20_000) is None
