"""The parts that read the platforms which are searched by keyword, made for a system."""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from catchment.domain.cookie import CookiePolicy
from catchment.domain.note import Platform
from catchment.manage.cookies import Cookies
from catchment.settings import Settings

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.crypto import Vault
    from catchment.platforms.cookies import CookieSeal, StoredCookiePool
    from catchment.sources.platforms.reader import PlatformReader, ReadPolicy


class PlatformParts:
    def __init__(self, system: System) -> None:
        self._system = system
        self._settings = system.settings

    @cached_property
    def reader(self) -> PlatformReader:
        from catchment.platforms.cookies import RequestLog
        from catchment.sources.platforms.reader import PlatformReader
        from catchment.sources.platforms.registry import make_platforms
        from catchment.store import found_notes

        system = self._system

        async def known_address(platform: Platform, note_id: str) -> str | None:
            return await system.store.read(found_notes.address_of, platform, note_id)

        return PlatformReader(
            platforms=make_platforms(self._settings, system.clock),
            pool=self._cookie_pool,
            http=system.http,
            journal=RequestLog(store=system.store, clock=system.clock),
            known_address=known_address,
            policy=_read_policy(self._settings),
        )

    @cached_property
    def cookies(self) -> Cookies:
        system = self._system
        return Cookies(
            store=system.store,
            pool=lambda: self._cookie_pool,
            seal=lambda: self._cookie_seal,
            reader=lambda: self.reader,
            clock=system.clock,
            policy=cookie_policy(self._settings),
            wait_seconds=self._settings.detail_batch_timeout,
        )

    @cached_property
    def _cookie_seal(self) -> CookieSeal:
        from catchment.platforms.cookies import CookieSeal

        return CookieSeal(vault=_cookie_vault(self._settings), key_id=self._settings.cookie_key_id)

    @cached_property
    def _cookie_pool(self) -> StoredCookiePool:
        from catchment.platforms.cookies import StoredCookiePool

        system = self._system
        return StoredCookiePool(
            store=system.store,
            seal=self._cookie_seal,
            clock=system.clock,
            leases=system.new_leases(),
            policy=cookie_policy(self._settings),
        )


def cookie_policy(settings: Settings) -> CookiePolicy:
    return CookiePolicy(
        most_in_a_row=settings.max_consecutive_errors,
        most_in_all=settings.max_total_errors,
        cooling=timedelta(minutes=settings.cooling_duration_minutes),
        zone=ZoneInfo(settings.cookie_daily_tz),
        spacing=timedelta(seconds=settings.crawl_spacing_seconds),
    )


def _cookie_vault(settings: Settings) -> Vault | None:
    """None without a key; earlier keys open what they sealed until it is rotated."""
    if not settings.cookie_master_key:
        return None
    from catchment.crypto import Vault, derive_key

    passphrases = {**settings.cookie_earlier_keys, settings.cookie_key_id: settings.cookie_master_key}
    keys = {
        key_id: partial(derive_key, passphrase, settings.cookie_key_salt) for key_id, passphrase in passphrases.items()
    }
    return Vault(key_id=settings.cookie_key_id, keys=keys)


def _read_policy(settings: Settings) -> ReadPolicy:
    from catchment.sources.platforms.reader import ReadPolicy

    return ReadPolicy(
        search_seconds=settings.search_timeout,
        note_seconds=settings.detail_timeout,
        batch_seconds=settings.detail_batch_timeout,
        check_seconds=settings.cookie_validate_timeout,
        spacing_seconds=settings.crawl_spacing_seconds,
        at_once=settings.crawl_at_once,
        keep_authors=settings.crawl_keep_authors,
    )
