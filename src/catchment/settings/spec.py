"""What a setting is, how the texts that settings come as are read, and which variables only look like settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final, TypeVar

from catchment.errors import InvalidInput

_EXPECTED: dict[Callable[[str], Any], str] = {}


N = TypeVar("N", int, float)
Read = TypeVar("Read", bound=Callable[[str], Any])


def expecting(words: str) -> Callable[[Read], Read]:
    """Says of a reader what it takes, for whoever gave it something else."""

    def note(read: Read) -> Read:
        _EXPECTED[read] = words
        return read

    return note


def any_text(value: str) -> str:
    return value


def path(value: str) -> Path:
    return Path(value).expanduser()


@expecting("true or false")
def flag(value: str) -> bool:
    words = ("0", "false", "no", "off", "1", "true", "yes", "on")
    return words.index(value.lower()) >= len(words) // 2


def one_of(*words: str, fold: Callable[[str], str] = str.lower) -> Callable[[str], str]:
    @expecting(f"{', '.join(words[:-1])} or {words[-1]}")
    def read(value: str) -> str:
        if fold(value) not in words:
            raise ValueError(value)
        return fold(value)

    return read


def characters(least: int, *, length: Callable[[str], int] = len) -> Callable[[str], str]:
    """Text that is long enough for a secret."""

    @expecting(f"at least {least} characters")
    def read(value: str) -> str:
        if length(value) < least:
            raise ValueError(value)
        return value

    return read


@expecting("an http:// or https:// address")
def base_url(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError(value)
    return value.rstrip("/")


def variables(value: str) -> str:
    names = [name.strip() for name in value.split(",") if name.strip()]
    if not all(name.isascii() and name.isidentifier() for name in names):
        raise ValueError(value)
    return ",".join(names)


def schemes(value: str) -> str:
    """Names of services, as addresses begin with them."""
    names = [part.strip().lower().removesuffix("://") for part in value.split(",") if part.strip()]
    if not all(name.isascii() and name.isalnum() for name in names):
        raise ValueError(value)
    return ",".join(names)


def networks(value: str) -> str:
    """Addresses and networks, each as it is usually written."""
    return ",".join(str(ip_network(part.strip())) for part in value.split(",") if part.strip())


def whole(least: int, most: int, unit: str = "a whole number") -> Callable[[str], int]:
    return _between(int, least, most, unit)


def number(least: float, most: float, unit: str) -> Callable[[str], float]:
    return _between(float, least, most, unit)


def _between(kind: Callable[[str], N], least: float, most: float, unit: str) -> Callable[[str], N]:
    @expecting(f"{unit}, {least:.15g} to {most:.15g}")
    def read(value: str) -> N:
        number = kind(value)
        if not least <= number <= most:
            raise ValueError(value)
        return number

    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What is known about one setting before any value is read."""

    names: tuple[str, ...]
    help: str
    read: Callable[[str], Any]
    expects: str
    secret: bool


def setting(
    name: str,
    default: Any,
    help: str,  # noqa: A002 - the word for it everywhere
    read: Callable[[str], Any] | None = None,
    *,
    also: str = "",
    expects: str = "",
    secret: bool = False,
) -> Any:
    """A setting by its variable and, `also`, an older one. What reads its text follows from its default, mostly."""
    read = read or (flag if isinstance(default, bool) else any_text)
    names = (name, also) if also else (name,)
    spec = Spec(names=names, help=help, read=read, expects=expects or _EXPECTED.get(read, "text"), secret=secret)
    return field(default=default, repr=not secret, metadata={"spec": spec})


#: Nobody else's variables begin like this.
OWN_PREFIX: Final = "CATCHMENT_"
#: Other programs may have variables that begin like these: one of them is named only if it is nearly one of ours.
SHARED_PREFIXES: Final = ("COLLECTOR_", "SCRAPER_", "TWITTER_", "FEISHU_", "AUTO_SUMMARIZATION_")
#: Ours, but read by n8n and by the tests.
ELSEWHERE: Final = frozenset({"CATCHMENT_URL", "CATCHMENT_API_KEY", "CATCHMENT_REAL_DATA"})
LIKENESS: Final = 0.75
#: Of a name that is not known, so much is said back.
MAX_QUOTED: Final = 100


def unknown_variables(names: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Those that are no setting, each with the setting that is likely meant, or ""."""
    strangers = [name for name in names if name not in known and name not in ELSEWHERE]
    ours = [name for name in strangers if name.startswith((OWN_PREFIX, *SHARED_PREFIXES))]
    likely = {name: _likely_variable(name, known) for name in ours}
    return {name: meant for name, meant in sorted(likely.items()) if meant or name.startswith(OWN_PREFIX)}


def worded_unknown(name: str, meant: str) -> str:
    return f"{name} is no setting and is ignored" + (f"; did you mean {meant}?" if meant else ".")


def _likely_variable(name: str, known: Collection[str]) -> str:
    """Among those that begin alike: what they share makes none likelier."""
    prefix = name.partition("_")[0] + "_"
    meant = likely_one(name.removeprefix(prefix), [one.removeprefix(prefix) for one in known if one.startswith(prefix)])
    return meant and prefix + meant


def likely_one(name: str, known: Iterable[str]) -> str:
    """What was likely meant by a name that is not known, or ""."""
    return next(iter(get_close_matches(name, known, n=1, cutoff=LIKENESS)), "")


def refuse_unknown(what: str, given: Iterable[str], known: Collection[str]) -> None:
    """InvalidInput for the first key that is none, with the one that is likely meant, or with all that there are."""
    for key in sorted(set(given).difference(known)):
        meant = likely_one(key, known)
        hint = f"did you mean {meant!r}?" if meant else f"there are {', '.join(known)}."
        raise InvalidInput(f"{what} has no {key[:MAX_QUOTED]!r}; {hint}", field=key[:MAX_QUOTED])
