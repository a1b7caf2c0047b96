"""Small feeds to wrap entries in."""

from __future__ import annotations


def rss(items: str = "", *, channel: str = "<title>T</title><link>https://example.com/</link>") -> bytes:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel>{channel}{items}</channel></rss>'.encode()
    )


def atom(entries: str = "", *, head: str = "<title>T</title>", attributes: str = "") -> bytes:
    return f'<feed xmlns="http://www.w3.org/2005/Atom" {attributes}>{head}{entries}</feed>'.encode()
