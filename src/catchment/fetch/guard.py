"""The outbound guard: which URLs may be asked for and which addresses may be dialled.

Only public addresses are, unless `CATCHMENT_ALLOW_NETWORKS` lets one through. A URL is judged by its
text before anything happens; an address is judged where it is dialled, so that a name which answers
differently the second time gains nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

from yarl import URL

from catchment.errors import RefusedAddress, SettingsError
from catchment.redact import redact_url

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_MAX_URL_CHARS: Final = 8192
_SHOWN_CHARS: Final = 200
_AUTHORITY: Final = re.compile(r"https?://([^/?#]+)", re.IGNORECASE)
_MAX_PORT: Final = 65_535
_HOST_NAME: Final = re.compile(r"(?=.{1,253}\Z)(?:(?!-)[a-z0-9_-]{1,63}\.)*(?!-)[a-z0-9_-]{1,63}\Z")
# A last label like this makes resolvers read the whole host as a number: 2130706433, 0x7f.1, 127.1
_NUMERIC_LABEL: Final = re.compile(r"(?:\d+|0x[0-9a-f]*)\Z")

# What `is_global` does not say, or does not say in every version of Python that we support.
_NEVER_PUBLIC: Final[tuple[Network, ...]] = (
    ip_network("192.0.0.0/24"),  # protocol assignments
    ip_network("192.88.99.0/24"),  # relays of 6to4
    ip_network("224.0.0.0/3"),  # multicast and reserved
    ip_network("2001::/23"),  # Teredo and other tunnels
    ip_network("2002::/16"),  # 6to4, which carries any IPv4 address inside
    ip_network("3fff::/20"),  # documentation
)
# What a user may vouch for: networks at home. Link-local is not among them: clouds keep their secrets there.
_AT_HOME: Final = "127.0.0.0/8, 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, ::1, fc00::/7"
_GLOBAL_UNICAST: Final = ip_network("2000::/3")
_NAT64: Final = ip_network("64:ff9b::/96")
_WEB_PORTS: Final = frozenset({443, *range(80, 90)})
_FIRST_FREE_PORT: Final = 1024
# Services above 1024 that take HTTP for commands.
_SERVICE_PORTS: Final = frozenset(
    {1433, 1521, 2049, 3306, 3389, 4444, 5060, 5061, 5432, 5900, 6000, 6379, *range(6665, 6670), 11211, 27017}
)


def is_public(address: Address) -> bool:
    """Whether an address is one that anybody on the internet may dial."""
    address = _inner(address)
    if isinstance(address, IPv6Address) and (address not in _GLOBAL_UNICAST or address.scope_id):
        return False
    return address.is_global and not any(address in network for network in _NEVER_PUBLIC)


def _inner(address: Address) -> Address:
    """The IPv4 address that a mapped or NAT64 address really leads to."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """One entry of the setting: a network or a host name, on any port or on one."""

    target: Network | str
    port: int | None = None

    def covers_address(self, address: Address, port: int) -> bool:
        return self._covers_port(port) and not isinstance(self.target, str) and address in self.target

    def covers_name(self, host: str, port: int) -> bool:
        return self._covers_port(port) and self.target == host

    def _covers_port(self, port: int) -> bool:
        return self.port is None or self.port == port


class AddressGuard:
    def __init__(self, exemptions: Iterable[Exemption] = ()) -> None:
        self._exemptions = tuple(exemptions)
        # Feeds are visited again and again: judging a host once is enough, its address is judged anew.
        self._judged_host = lru_cache(maxsize=4096)(self._judge_host)
        self._is_exempt = lru_cache(maxsize=4096)(self._judge_exempt)
        self._checked_url = lru_cache(maxsize=4096)(self._check_url)

    @classmethod
    def parse(cls, text: str) -> AddressGuard:
        """From `CATCHMENT_ALLOW_NETWORKS`: networks, addresses, hosts or host:port, split by commas."""
        return cls(_parse_exemptions(text))

    def with_private(self) -> AddressGuard:
        """A guard that lets private networks through as well."""
        return AddressGuard([*self._exemptions, *_parse_exemptions(_AT_HOME)])

    def check_url(self, url: str) -> URL:
        """The URL as it may be asked for, or RefusedAddress with the reason."""
        return self._checked_url(url)

    def _check_url(self, url: str) -> URL:
        parsed = _parse_url(url)
        reason = self._judged_host(parsed.raw_host or "", parsed.port or 0)
        if reason:
            raise _refused(url, reason)
        return parsed

    def check_address(self, host: str, port: int, address: str) -> None:
        """Raise RefusedAddress unless `address`, found for `host`, may be dialled."""
        if not (self._is_exempt(host, port, address) or is_public(ip_address(address))):
            raise RefusedAddress(f"{host} {_why_not_public(address, ip_address(address))}")

    def dialable(self, host: str, port: int, addresses: Sequence[str]) -> list[str]:
        """The addresses of a name that may be dialled.

        One that is not public spoils the name, unless the user let the name or another of its addresses
        through: `localhost` is often both 127.0.0.1 and ::1, of which only one may be in the setting.
        """
        exempt = [text for text in addresses if self._is_exempt(host, port, text)]
        if exempt:
            return exempt
        for address in addresses:
            self.check_address(host, port, address)
        return list(addresses)

    def is_allowed(self, host: str, port: int) -> bool:
        """Whether the setting, not being public, is what lets this host through."""
        return self._is_exempt(host, port, host)

    def exempts(self, host: str) -> bool:
        """Whether the setting lets this host through on some port."""
        return any(self.is_allowed(host, rule.port or 0) for rule in self._exemptions)

    def _judge_exempt(self, host: str, port: int, address: str) -> bool:
        if not self._exemptions:
            return False
        name = host.rstrip(".")
        dialled = _as_address(address)
        inner = None if dialled is None else _inner(dialled)
        return any(
            rule.covers_name(name, port) or (inner is not None and rule.covers_address(inner, port))
            for rule in self._exemptions
        )

    def _judge_host(self, host: str, port: int) -> str | None:
        """Why this host may not be asked, or None."""
        if port and self._is_exempt(host, port, host):
            return None
        address = _as_address(host)
        if not port or not _is_web_port(port):
            return f"asks for port {port}, which is not one that web servers use"
        if address is not None and not is_public(address):
            return _why_not_public(host, address)
        if address is not None:
            return None
        return _fault_of_name(host)


def _why_not_public(written: str, address: Address) -> str:
    """Nobody is advised to let link-local addresses through: clouds keep their secrets there."""
    said = f"leads to {written}, which is not a public address"
    if _inner(address).is_link_local:
        return f"{said} but a link-local one, which machines keep for themselves"
    return f"{said}; if it is yours, add it to CATCHMENT_ALLOW_NETWORKS, and start Catchment again"


def _parse_url(url: str) -> URL:
    if len(url) > _MAX_URL_CHARS or not url.isprintable() or "\\" in url.partition("?")[0]:
        raise _refused(url, "is too long or holds characters that no URL may hold")
    written = _AUTHORITY.match(url)
    if written is None:
        raise _refused(url, "is not an http:// or https:// address with a host")
    authority = written[1]
    if "@" in authority:
        raise _refused(url, "holds a user or password; put credentials into headers instead")
    try:
        parsed = URL(url)
        # What is said of an address names its host as people read it (`xn--` is no name at all).
        is_named = bool(parsed.host)
    except ValueError as error:
        raise _refused(url, "is not a URL that can be read") from error
    if not is_named or not parsed.raw_host or ("[" in authority and ":" not in parsed.raw_host):
        raise _refused(url, "has no valid host name")
    return parsed


def _refused(url: str, reason: str) -> RefusedAddress:
    return RefusedAddress(f"{redact_url(url[:_SHOWN_CHARS])!r} {reason}")


def _as_address(host: str) -> Address | None:
    """The address that a host stands for by its text alone."""
    name = host.rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return IPv4Address("127.0.0.1")
    return written_address(host)


@lru_cache(maxsize=4096)
def written_address(host: str) -> Address | None:
    """The address that is written where a name could be; one of IPv4 ends with a digit."""
    if not (":" in host or host[-1:].isdigit()):
        return None
    try:
        return ip_address(host)
    except ValueError:
        return None


def _fault_of_name(host: str) -> str | None:
    name = host.removesuffix(".")
    if not _HOST_NAME.match(name):
        return "has no valid host name"
    if _NUMERIC_LABEL.match(name.rpartition(".")[2]):
        return "disguises an address; write it in its plain form, like 192.0.2.1"
    return None


def _is_web_port(port: int) -> bool:
    return port in _WEB_PORTS or (port >= _FIRST_FREE_PORT and port not in _SERVICE_PORTS)


def _parse_exemptions(text: str) -> list[Exemption]:
    return [_parse_exemption(entry) for entry in map(str.strip, text.split(",")) if entry]


def _parse_exemption(entry: str) -> Exemption:
    network = _as_network(entry)
    if network is not None:
        return Exemption(target=network)
    host, colon, port_text = entry.rpartition(":")
    if not colon:
        return Exemption(target=_target(entry, entry=entry))
    if not (port_text.isascii() and port_text.isdigit() and 0 < int(port_text) <= _MAX_PORT):
        raise _bad_entry(entry)
    return Exemption(target=_target(host, entry=entry), port=int(port_text))


def _target(host: str, *, entry: str) -> Network | str:
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    network = _as_network(bare)
    if network is not None:
        return network
    name = host.lower().removesuffix(".")
    if _fault_of_name(name):
        raise _bad_entry(entry)
    return name


def _as_network(text: str) -> Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def _bad_entry(entry: str) -> SettingsError:
    return SettingsError(
        f"CATCHMENT_ALLOW_NETWORKS: {entry!r} is no network, host or host:port "
        "(examples: 192.168.0.0/16, nas.home, localhost:8080)"
    )
