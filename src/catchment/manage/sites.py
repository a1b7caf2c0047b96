"""Sites that are to become feeds: as a command or a flow names one, or as a file lists them.

defaults:
  options: {max_items: 30}
sites:
  harbour:
    sitemap_url: https://example.org/sitemap.xml
    schedule: "0 */6 * * *"
    channel_config: {title: The harbour}
    filter_config: {include_patterns: [/news/]}
    output: {local_file: feeds/harbour.xml}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from yarl import URL

from catchment.domain.options import INTERVAL_KEY
from catchment.domain.source import CHANNEL_KEY
from catchment.errors import BadConfig, InvalidInput, SettingsError
from catchment.parse.source_lists import read_document
from catchment.schedule.intervals import MAX_MINUTES
from catchment.schedule.jobs import Cron
from catchment.sources.config import choice, flag, mapping, text, whole

SITEMAP = "sitemap"
SCHEDULE, MAX_ITEMS = "0 */2 * * *", 20
MAX_SITES = 1000
#: Of a schedule so many runs are looked at to know how far they are apart.
_RUNS = 60
_ANY_DAY = datetime(2026, 1, 1, tzinfo=UTC)

SECTIONS = {
    "channel_config": ("title", "link", "description", "language", "ttl", "self_url"),
    "filter_config": ("include_patterns", "exclude_patterns", "max_items"),
    "options": ("fetch_titles", "extract_content", "respect_robots", "sort_by_date", "max_items", "upload_method"),
    "incremental_config": (
        "db_path",
        "max_history_days",
        "baseline_items",
        "cleanup_interval_days",
        "retry_failed_urls",
    ),
    "output": ("local_file", "r2_object_key"),
}
#: Options that may stand in the site itself, as the flow takes them.
_INLINE = ("max_items", "fetch_titles")
_KEYS = ("enabled", "sitemap_url", "site_name", "schedule", "enable_incremental", *_INLINE, *SECTIONS)
#: Under which of these a file has its sites; one that has none of them is the mapping itself.
_ROOTS = ("sites", "INCREMENTAL_CONFIGS")
#: What a source does where nobody says otherwise: a file that no longer says otherwise goes back to it.
_USUAL: Mapping[str, Any] = {
    "include_patterns": [],
    "exclude_patterns": [],
    "fetch_titles": True,
    "extract_content": True,
    "respect_robots": True,
    "max_history_days": 30,
    "baseline_items": 10,
    "cleanup_interval_days": 7,
    "retry_failed_urls": True,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where a feed goes; what is empty is left out."""

    local_file: str = ""
    #: In the bucket that the settings name.
    r2_object_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    sitemap_url: str
    #: Names its state: under another address it is the same site still. Empty for one known by its address alone.
    name: str = ""
    #: How its feed presents itself: title, link, description, language, ttl, self_url.
    channel: Mapping[str, Any] = field(default_factory=dict)
    #: What its source is told besides: patterns, fetch_titles, baseline_items and so on.
    config: Mapping[str, Any] = field(default_factory=dict)
    max_items: int = 50
    #: False for the order of the sitemap; in full runs only.
    sort_by_date: bool = True
    is_incremental: bool = True
    is_enabled: bool = True
    #: A crontab line; empty when nobody but the caller says when.
    schedule: str = ""
    output: Output = field(default_factory=Output)
    #: What its file calls it, where that is not its name.
    key: str = ""
    #: A file or database of its own for its state; empty for the store of the caller.
    state_db: str = ""

    def source_config(self) -> dict[str, Any]:
        """What the site says of its source, and nothing of what only its feed is concerned with."""
        named = {"site_name": self.name} if self.name else {}
        channel = {CHANNEL_KEY: dict(self.channel)} if self.channel else {}
        paced = {INTERVAL_KEY: minutes_between(self.schedule)} if self.schedule else {}
        return {"url": self.sitemap_url, **named, **channel, **paced, **self.config}

    @property
    def title(self) -> str:
        """What it is called where people look at it."""
        return self.key or self.name or _host(self.sitemap_url) or self.sitemap_url


def _host(address: str) -> str | None:
    try:
        return URL(address).host
    except ValueError:  # it is told apart when somebody asks for it
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class BadSite:
    """A site of a file that cannot be followed, and why."""

    name: str
    reason: str


def read_sites(body: bytes) -> list[Site | BadSite]:
    """The sites of a file, each by itself: a bad one costs nothing but itself."""
    document = read_document(body)
    listed = _listed(document)
    if listed is None:
        raise InvalidInput("This is no list of sites: it has no mapping `sites` of names to sites.")
    if len(listed) > MAX_SITES:
        raise InvalidInput(f"The file lists more than {MAX_SITES} sites; split it.")
    defaults = {} if listed is document else document.get("defaults") or {}
    try:
        _check_site(defaults, "defaults")
    except BadConfig as error:
        raise InvalidInput(f"defaults: {error}") from error
    return [_site_or_not(name, value, defaults) for name, value in listed.items()]


def incremental_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """What `incremental_config` says of the source, each with its usual value where it says nothing."""
    return {key: _given(config, key) for key in SECTIONS["incremental_config"] if key in _USUAL}


def minutes_between(schedule: str) -> int:
    """The shortest time between two runs of a crontab line: a source is looked at that often."""
    try:
        cron = Cron(schedule)
    except SettingsError as error:
        raise InvalidInput(f"schedule: {schedule!r} is not a crontab line.", field="schedule") from error
    shortest, before = timedelta(minutes=MAX_MINUTES), cron.after(_ANY_DAY)
    for _ in range(_RUNS):
        if before is None or (after := cron.after(before + timedelta(seconds=1))) is None:
            break
        shortest, before = min(shortest, after - before), after
    return max(1, int(shortest / timedelta(minutes=1)))


def _site_or_not(name: str, value: Any, defaults: Mapping[str, Any]) -> Site | BadSite:
    try:
        _check_site(value, name)
        return _site(name, _merged(defaults, value))
    except (InvalidInput, BadConfig) as error:
        return BadSite(name=name, reason=str(error))


def _listed(document: Any) -> Mapping[str, Any] | None:
    """The sites of a document by name: under a key of their own, or as the document itself."""
    if not isinstance(document, Mapping):
        return None
    found = next((document[root] for root in _ROOTS if root in document), document)
    is_list = isinstance(found, Mapping) and (found is not document or any(map(_names_sitemap, found.values())))
    return found if is_list else None


def _names_sitemap(value: Any) -> bool:
    return isinstance(value, Mapping) and "sitemap_url" in value


def _site(key: str, said: Mapping[str, Any]) -> Site:
    channel, filters, options, state, output = (mapping(said, section) for section in SECTIONS)
    options = {**{name: said[name] for name in _INLINE if name in said}, **options}
    most = options.get("max_items", filters.get("max_items"))
    choice(options, "upload_method", ("direct", "file"), default="direct")
    schedule = text(said, "schedule", default=SCHEDULE)
    minutes_between(schedule)
    return Site(
        name=text(said, "site_name", default=key),
        key=key,
        state_db=text(state, "db_path", default=""),
        sitemap_url=text(said, "sitemap_url", example="https://example.org/sitemap.xml"),
        channel=dict(channel),
        config={key: _given({**filters, **options, **state}, key) for key in _USUAL},
        max_items=whole({"max_items": most}, "max_items", default=MAX_ITEMS, least=1, most=10_000),
        sort_by_date=flag(options, "sort_by_date", default=True),
        is_incremental=flag(said, "enable_incremental", default=True),
        is_enabled=flag(said, "enabled", default=True),
        schedule=schedule,
        output=Output(**{key: text(output, key, default="") for key in SECTIONS["output"]}),
    )


def _given(said: Mapping[str, Any], key: str) -> Any:
    value = said.get(key)
    return _USUAL[key] if value is None else value


def _merged(defaults: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A site's own word goes before the default, section by section."""
    sections = {name: {**mapping(defaults, name), **mapping(own, name)} for name in SECTIONS}
    return {**defaults, **own, **sections}


def _check_site(value: Any, name: str) -> None:
    """Refuse what nobody would heed, such as a key that is misspelt."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} is a mapping with {', '.join(_KEYS)}.")
    _check_keys(value, _KEYS, name)
    for section, known in SECTIONS.items():
        _check_keys(mapping(value, section), known, section)


def _check_keys(value: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in value:
        if key not in known:
            raise InvalidInput(f"{where} has no {key!r}; there are {', '.join(known)}.")
