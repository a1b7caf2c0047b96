"""The page of trending repositories, read by its structure: headings, links and marks, not by how it looks."""

from __future__ import annotations

from dataclasses import dataclass

from catchment.errors import ParseError
from catchment.parse.tree import Element, read_tree, text_of

MAX_ROWS = 100
_ROWS = "//article"
# In the heading of a row: links above it lead to a login or a sponsor.
_HEADING_LINKS = ".//*[self::h1 or self::h2 or self::h3]//a/@href"
_MAX_DIGITS = 9
_NOTHING_TODAY = "any trending repositories"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    owner: str
    name: str
    description: str = ""
    language: str = ""
    stars: int = 0
    forks: int = 0
    #: In the day, week or month that the page is about.
    stars_gained: int = 0


def read_rows(body: bytes, content_type: str = "") -> list[Repository | None]:
    """Every row of the page in its order, none where it says so itself; None for one that is no repository."""
    page = read_tree(body, content_type)
    found = [_repository(row) for row in page.xpath(_ROWS)[:MAX_ROWS]]
    if not any(found) and not _says_there_is_nothing(page):
        raise ParseError("this is not the page of trending repositories, or its structure has changed")
    return found


def _repository(row: Element) -> Repository | None:
    name = next((parts for href in row.xpath(_HEADING_LINKS) if (parts := _owner_and_name(href))), None)
    if name is None:
        return None
    home = "/".join(("", *name))
    return Repository(
        owner=name[0],
        name=name[1],
        description=_first_text(row, ".//p"),
        language=_first_text(row, ".//*[@itemprop='programmingLanguage']"),
        stars=_count_of_link(row, f"{home}/stargazers"),
        forks=_count_of_link(row, f"{home}/forks") or _count_of_link(row, f"{home}/network/members"),
        stars_gained=_stars_gained(row),
    )


def _owner_and_name(href: str) -> tuple[str, str] | None:
    """Of `/owner/name`; what has more or fewer parts, a query or a host is another page."""
    match href.strip().split("/"):
        case ["", owner, name] if owner and name and not set("?#:") & set(href):
            return owner, name
    return None


def _first_text(row: Element, path: str) -> str:
    return next((text_of(element) for element in row.xpath(path)), "")


def _count_of_link(row: Element, href: str) -> int:
    return next((_count(text_of(link)) for link in row.xpath(".//a") if link.get("href") == href), 0)


def _stars_gained(row: Element) -> int:
    """Of the one text that reads like "1,582 stars today"."""
    for element in row.xpath(".//span"):
        match text_of(element).split():
            case [count, "star" | "stars", "today" | "this", *_]:
                return _count(count)
    return 0


def _count(text: str) -> int:
    digits = text.replace(",", "").strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS else 0


def _says_there_is_nothing(page: Element) -> bool:
    headings = page.xpath("//*[self::h1 or self::h2 or self::h3 or self::p]")
    return any(_NOTHING_TODAY in text_of(heading) for heading in headings)
