"""A platform's cookie: whose turn it may be, what a request says about it, and the table of its states.

    active ──(errors in a row)──→ cooling ──(its time is over)──→ active
      │                             │
      │(errors in all)              │(an error while it cools)
      ↓                             ↓
    invalid                       banned

Invalid and banned are left only when a person resets the cookie or gives it a new value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from types import MappingProxyType

from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import Platform

#: Without these parts, or with another value where one is named, a platform takes a cookie for nobody's.
NEEDED_PARTS: Mapping[Platform, tuple[str, ...]] = MappingProxyType(
    {Platform.XHS: ("a1", "web_session", "webId"), Platform.WEIBO: ("SUB",), Platform.DOUYIN: ("LOGIN_STATUS=1",)}
)


def parts_of(cookie: str) -> dict[str, str]:
    """The parts of a cookie as a browser sends it, by name; of two of one name the last stands."""
    pairs = (part.strip().partition("=") for part in cookie.split(";"))
    return {name: value for name, _, value in pairs if name}


def missing_parts(cookie: str, platform: Platform) -> list[str]:
    parts = parts_of(cookie)
    needed = ((part, *part.partition("=")) for part in NEEDED_PARTS[platform])
    return [part for part, name, _, value in needed if not parts.get(name) or value not in {"", parts[name]}]


#: Where a CrawlError says in its details why the platform refused.
CAUSE = "cause"


class Refusal(StrEnum):
    """Causes for which the cookie is to blame, whatever the code is; an address that is blocked is not among them."""

    CAPTCHA = "captcha"
    ACCESS = "access"


class CookieStatus(StrEnum):
    ACTIVE = "active"
    COOLING = "cooling"
    INVALID = "invalid"
    BANNED = "banned"


#: Out of use until a person does something.
LOST = frozenset({CookieStatus.INVALID, CookieStatus.BANNED})


@dataclass(frozen=True, slots=True, kw_only=True)
class CookiePolicy:
    #: Errors in a row after which a cookie cools down, and errors in all after which it is invalid.
    most_in_a_row: int = 3
    most_in_all: int = 10
    cooling: timedelta = timedelta(minutes=30)
    #: At whose midnight a cookie's daily use starts anew.
    zone: tzinfo = UTC
    #: Between two uses of one cookie.
    spacing: timedelta = timedelta()

    def today(self, now: datetime) -> date:
        return now.astimezone(self.zone).date()

    def midnight(self, now: datetime) -> datetime:
        """The next one."""
        tomorrow = self.today(now) + timedelta(days=1)
        return datetime.combine(tomorrow, time(), self.zone).astimezone(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cookie:
    name: str
    platform: Platform
    #: Its value; opened only while it is lent.
    sealed: str = field(repr=False)
    key_id: str
    created_at: datetime
    updated_at: datetime
    #: Since when its errors are counted: since it was added, got a new value, or was reset.
    counted_since: datetime
    description: str = ""
    status: CookieStatus = CookieStatus.ACTIVE
    is_enabled: bool = True
    priority: int = 1
    daily_limit: int = 100
    #: Uses on the day `used_on`; of another day they count for nothing.
    daily_used: int = 0
    used_on: date | None = None
    consecutive_errors: int = 0
    total_used: int = 0
    total_errors: int = 0
    #: When it last began to cool down, even if that is over; `cooling_until` is set only while it lasts.
    cooling_since: datetime | None = None
    cooling_until: datetime | None = None
    last_used_at: datetime | None = None
    last_error_at: datetime | None = None

    def used_on_day(self, day: date) -> int:
        return self.daily_used if self.used_on == day else 0


class CookieEvent(StrEnum):
    ERRORS_IN_A_ROW = "errors_in_a_row"
    ERRORS_IN_ALL = "errors_in_all"
    #: An error of a request that was begun while the cookie cooled down.
    ERROR_WHILE_COOLING = "error_while_cooling"
    #: The platform says that the account is banned.
    BAN = "ban"
    #: The platform was asked, and knows nobody by this cookie.
    REFUSED = "refused"
    RESTED = "rested"
    #: A person reset it, or gave it a new value.
    RENEWED = "renewed"


_S, _E = CookieStatus, CookieEvent
#: Where an event leads from a state; an event that is not here changes nothing.
TRANSITIONS: Mapping[tuple[CookieStatus, CookieEvent], CookieStatus] = MappingProxyType(
    {
        (_S.ACTIVE, _E.ERRORS_IN_A_ROW): _S.COOLING,
        (_S.ACTIVE, _E.ERRORS_IN_ALL): _S.INVALID,
        (_S.ACTIVE, _E.REFUSED): _S.INVALID,
        (_S.ACTIVE, _E.BAN): _S.BANNED,
        (_S.COOLING, _E.RESTED): _S.ACTIVE,
        (_S.COOLING, _E.ERROR_WHILE_COOLING): _S.BANNED,
        (_S.COOLING, _E.REFUSED): _S.BANNED,
        (_S.COOLING, _E.BAN): _S.BANNED,
        (_S.COOLING, _E.RENEWED): _S.ACTIVE,
        (_S.INVALID, _E.RENEWED): _S.ACTIVE,
        (_S.BANNED, _E.RENEWED): _S.ACTIVE,
    }
)


class Outcome(StrEnum):
    """What a request says about the cookie it was made with."""

    GOOD = "good"
    FAULT = "fault"
    BAN = "ban"
    REFUSED = "refused"
    #: Nothing: it timed out, the network failed, the note is gone.
    NEITHER = "neither"


_BLAMED: Mapping[Code, Outcome] = MappingProxyType(
    {Code.COOKIE_INVALID: Outcome.FAULT, Code.ACCOUNT_BANNED: Outcome.BAN}
)


def outcome_of(error: CrawlError) -> Outcome:
    usual = Outcome.FAULT if error.details.get(CAUSE) in set(Refusal) else Outcome.NEITHER
    return _BLAMED.get(error.code, usual)


def cause_of(error: CrawlError) -> str:
    """By this the failures of one batch are told apart."""
    return str(error.details.get(CAUSE, error.code))


def after(cookie: Cookie, outcome: Outcome, *, acquired_at: datetime, now: datetime, policy: CookiePolicy) -> Cookie:
    """The cookie once a request is over that was begun at `acquired_at`."""
    # What is said of a value that was replaced meanwhile is not said of this one.
    is_of_earlier_value = acquired_at < cookie.counted_since
    if outcome is Outcome.NEITHER or is_of_earlier_value or cookie.status in LOST:
        return cookie
    cookie = rested(cookie, acquired_at)
    if outcome is Outcome.GOOD:
        return replace(cookie, consecutive_errors=0)
    return _after_error(cookie, outcome, acquired_at=acquired_at, now=now, policy=policy)


def rested(cookie: Cookie, at: datetime) -> Cookie:
    """Back to active if it has cooled down by then."""
    is_over = cookie.cooling_until is not None and cookie.cooling_until <= at
    return _moved(cookie, CookieEvent.RESTED) if is_over else cookie


def as_of(cookie: Cookie, now: datetime, policy: CookiePolicy) -> Cookie:
    """The cookie as it is by now: rest and midnight take effect whether or not anybody wrote it down."""
    today = policy.today(now)
    return replace(rested(cookie, now), daily_used=cookie.used_on_day(today), used_on=today)


def used(cookie: Cookie, now: datetime, policy: CookiePolicy) -> Cookie:
    """The cookie when it is lent once more."""
    current = as_of(cookie, now, policy)
    return replace(
        current, daily_used=current.daily_used + 1, total_used=current.total_used + 1, last_used_at=now, updated_at=now
    )


def renewed(cookie: Cookie, now: datetime) -> Cookie:
    """As good as new, but for how much it was used: the platform counts that by the account."""
    return replace(
        _moved(cookie, CookieEvent.RENEWED),
        consecutive_errors=0,
        total_errors=0,
        cooling_since=None,
        counted_since=now,
        updated_at=now,
    )


def _after_error(
    cookie: Cookie, outcome: Outcome, *, acquired_at: datetime, now: datetime, policy: CookiePolicy
) -> Cookie:
    is_late = cookie.cooling_since is not None and acquired_at <= cookie.cooling_since
    if is_late and outcome is Outcome.FAULT:
        # It was on its way when others made the cookie cool down.
        return cookie
    counted = replace(
        cookie,
        consecutive_errors=cookie.consecutive_errors + 1,
        total_errors=cookie.total_errors + 1,
        last_error_at=now,
        updated_at=now,
    )
    event = _event_of(counted, outcome, policy)
    if event is None:
        return counted
    moved = _moved(counted, event)
    return _cooling(moved, now, policy) if moved.status is CookieStatus.COOLING else moved


def _event_of(counted: Cookie, outcome: Outcome, policy: CookiePolicy) -> CookieEvent | None:
    if outcome is not Outcome.FAULT:
        return CookieEvent.BAN if outcome is Outcome.BAN else CookieEvent.REFUSED
    if counted.status is CookieStatus.COOLING:
        return CookieEvent.ERROR_WHILE_COOLING
    # The graver one comes first: what is worn out need not rest.
    if counted.total_errors >= policy.most_in_all:
        return CookieEvent.ERRORS_IN_ALL
    return CookieEvent.ERRORS_IN_A_ROW if counted.consecutive_errors >= policy.most_in_a_row else None


def _moved(cookie: Cookie, event: CookieEvent) -> Cookie:
    status = TRANSITIONS.get((cookie.status, event), cookie.status)
    return replace(cookie, status=status, cooling_until=None) if status is not cookie.status else cookie


def _cooling(cookie: Cookie, now: datetime, policy: CookiePolicy) -> Cookie:
    return replace(cookie, consecutive_errors=0, cooling_since=now, cooling_until=now + policy.cooling)
