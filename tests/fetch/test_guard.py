from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from catchment.errors import RefusedAddress, SettingsError
from catchment.fetch.failures import status_error
from catchment.fetch.guard import AddressGuard, is_public, written_address

pytestmark = pytest.mark.proves("F-05")

NOBODY = AddressGuard.parse("")

REFUSED_URLS = [
    # other schemes and no scheme
    "file:///etc/passwd",
    "ftp://example.com/feed",
    "gopher://example.com:70/",
    "javascript:alert(1)",
    "example.com/feed",
    "//example.com/feed",
    "http:example.com",
    "http:///path",
    "http://",
    "",
    # the machine itself, by name
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://localhost../",
    "http://feed.localhost/",
    "http://a.b.localhost./",
    "http://ℓocalhost/",
    # the machine itself, by number
    "http://127.0.0.1/",
    "http://127.0.0.1./",
    "http://127.255.255.254/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://0x7f.0.0.1/",
    "http://0x7f000001/",
    "http://0x7F.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0/",
    "http://0.0.0.0/",
    "http://１２７.0.0.1/",
    "http://①②⑦.0.0.1/",
    "http://127。0。0。1/",
    "http://%31%32%37.0.0.1/",
    "http://127.0.0.1%00.example.com/",
    # IPv6 and what it can carry inside
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::808:808]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[2606:4700::1%25eth0]/",
    "http://[fec0::1]/",
    "http://[fc00::1]/",
    "http://[fd12:3456::1]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://[v1.x]/",
    # the neighbours
    "http://10.1.2.3/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://192.0.0.8/",
    "http://192.0.2.1/",
    "http://198.18.0.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    # two readings of one text
    "http://127.0.0.1\\@example.com/",
    "http://example.com\\@127.0.0.1/",
    "http://example.com\\.evil.example/",
    "http:\\\\example.com/",
    "http://example.com/\\evil.example/",
    "http://user:secret@example.com/",
    "http://example.com@127.0.0.1/",
    "http://@example.com/",
    "http://exa\tmple.com/",
    "http://exa\r\nmple.com/",
    " http://example.com/",
    "http://exa mple.com/",
    "http://example.com\x00.evil.example/",
    # no host name at all
    "http://a..b/",
    "http://xn--/",
    "http://-a.example/",
    "http://" + "a" * 64 + ".example/",
    "http://" + "a." * 130 + "example/",
    "http://a,b.example/",
    "http://exa%6dple.com/",
    "http://example.com/" + "a" * 9000,
    # ports
    "http://example.com:0/",
    "http://example.com:99999/",
    "http://example.com:port/",
    "http://example.com:22/",
    "http://example.com:25/",
    "http://example.com:6379/",
]


@pytest.mark.parametrize("url", REFUSED_URLS)
def test_a_url_that_is_junk_or_leads_inside_is_refused(url: str) -> None:
    with pytest.raises(RefusedAddress):
        NOBODY.check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/feed",
        "https://example.com:8443/feed?a=b#c",
        "https://EXAMPLE.com./",
        "https://例え.jp/フィード",
        "https://my_blog.example.com/rss",
        "http://93.184.216.34/",
        "http://[2606:2800:220:1:248:1893:25c8:1946]/",
        "http://example.com/a b/c?q=back\\slash",
        "http://example.com/user@host/feed",
        "http://1and1.example/",
        "http://[64:ff9b::93.184.216.34]/",
    ],
)
def test_a_url_of_the_public_web_is_let_through(url: str) -> None:
    assert NOBODY.check_url(url).raw_host


@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254"])
def test_nobody_is_advised_to_let_a_link_local_address_through(address: str) -> None:
    url = f"http://[{address}]/" if ":" in address else f"http://{address}/"
    for look in (lambda: NOBODY.check_url(url), lambda: NOBODY.check_address("a.example", 80, address)):
        with pytest.raises(RefusedAddress, match=r"a link-local one, which machines keep for themselves$"):
            look()
    with pytest.raises(RefusedAddress, match="add it to CATCHMENT_ALLOW_NETWORKS, and start Catchment again"):
        NOBODY.check_url("http://10.0.0.1/")


def test_a_refusal_does_not_repeat_the_password() -> None:
    with pytest.raises(RefusedAddress) as refusal:
        NOBODY.check_url("http://user:hunter2@example.com/?token=abc123")
    assert "hunter2" not in str(refusal.value)
    assert "abc123" not in str(refusal.value)


INSIDE = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4", "::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:db8::/32", "2002::/16",
    "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
]  # fmt: skip

inside_v4 = st.sampled_from([n for n in INSIDE if ":" not in n]).flatmap(
    lambda text: st.ip_addresses(v=4, network=text)
)
inside_v6 = st.sampled_from([n for n in INSIDE if ":" in n]).flatmap(lambda text: st.ip_addresses(v=6, network=text))


def disguises(address: IPv4Address) -> list[str]:
    number = int(address)
    first, second, third, fourth = address.packed
    return [
        str(address),
        str(number),
        hex(number),
        f"0{number:o}",
        f"0{first:o}.{second}.{third}.{fourth}",
        f"{first:#x}.{second:#x}.{third:#x}.{fourth:#x}",
        f"{first}.{number & 0xFFFFFF}",
        f"{first}.{second}.{number & 0xFFFF}",
        f"{address}.",
        str(address).replace(".", "。"),
        str(address).translate({ord("0") + digit: 0xFF10 + digit for digit in range(10)}),
        f"[::ffff:{address}]",
        f"[::{address}]",
        f"[64:ff9b::{address}]",
        f"[{IPv6Address((0x2002 << 112) | (number << 80))}]",
    ]


@given(address=inside_v4, data=st.data())
def test_an_inside_address_is_refused_in_every_disguise(address: IPv4Address, data: st.DataObject) -> None:
    host = data.draw(st.sampled_from(disguises(address)))
    with pytest.raises(RefusedAddress):
        NOBODY.check_url(f"http://{host}/")


@given(address=inside_v4 | inside_v6)
def test_an_inside_address_is_never_dialled_whatever_name_it_hides_behind(
    address: IPv4Address | IPv6Address,
) -> None:
    assert not is_public(address)
    with pytest.raises(RefusedAddress):
        NOBODY.check_address("feeds.example.com", 443, str(address))


@given(st.ip_addresses())
def test_nothing_is_public_that_the_address_registry_calls_private(address: IPv4Address | IPv6Address) -> None:
    if not address.is_global or address.is_multicast:
        assert not is_public(address) or address in ip_network("64:ff9b::/96")


@given(st.text(max_size=60))
def test_any_text_is_either_refused_or_a_url_with_a_host(text: str) -> None:
    for url in (text, f"http://{text}", f"https://{text}/feed"):
        try:
            checked = NOBODY.check_url(url)
        except RefusedAddress:
            continue
        host = checked.raw_host or ""
        assert checked.scheme in {"http", "https"}
        assert host.isascii()
        assert not host.rstrip(".").endswith("localhost")


@pytest.mark.parametrize(
    ("setting", "url"),
    [
        ("127.0.0.0/8", "http://127.0.0.1:22/"),
        ("127.0.0.1", "http://127.0.0.1:8080/"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080/"),
        ("127.0.0.1", "http://localhost:8080/"),
        ("localhost:8080", "http://localhost:8080/"),
        ("nas.home", "http://nas.home/feed"),
        ("NAS.home.", "http://nas.home./feed"),
        ("10.0.0.0/8, ::1", "http://[::1]/"),
        ("[::1]:9000", "http://[::1]:9000/"),
        ("10.1.0.0/16", "http://[::ffff:10.1.2.3]/"),
    ],
)
def test_what_the_setting_names_is_let_through_and_known_as_such(setting: str, url: str) -> None:
    guard = AddressGuard.parse(setting)
    checked = guard.check_url(url)
    assert guard.is_allowed(checked.raw_host or "", checked.port or 0)


@pytest.mark.parametrize(
    ("setting", "url"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8081/"),
        ("127.0.0.1", "http://127.0.0.2/"),
        ("localhost:8080", "http://localhost/"),
        ("10.0.0.0/8", "http://192.168.0.1/"),
        ("127.0.0.1", "http://2130706433/"),
        ("127.0.0.1", "http://user@127.0.0.1/"),
        ("nas.home", "http://127.0.0.1/"),
    ],
)
def test_the_setting_lets_nothing_else_through(setting: str, url: str) -> None:
    with pytest.raises(RefusedAddress):
        AddressGuard.parse(setting).check_url(url)


@pytest.mark.parametrize(
    "setting", ["10.0.0.0/99", "nas home", "host:0", "host:99999", "host:http", "http://nas/", "a..b", "10.0.0", "[::1"]
)
def test_junk_in_the_setting_is_named(setting: str) -> None:
    with pytest.raises(SettingsError, match="CATCHMENT_ALLOW_NETWORKS"):
        AddressGuard.parse(f"127.0.0.1,{setting}")


def test_one_inside_address_spoils_a_name() -> None:
    with pytest.raises(RefusedAddress, match=r"10\.0\.0\.1"):
        NOBODY.dialable("feeds.example.com", 443, ["93.184.216.34", "10.0.0.1"])


def test_of_a_name_only_the_addresses_in_the_setting_are_dialled() -> None:
    guard = AddressGuard.parse("127.0.0.0/8")
    assert guard.dialable("localhost", 80, ["::1", "127.0.0.1"]) == ["127.0.0.1"]


def test_public_addresses_are_dialled() -> None:
    assert is_public(ip_address("93.184.216.34"))
    assert is_public(ip_address("2606:2800:220:1:248:1893:25c8:1946"))


@pytest.mark.parametrize("host", ["192.0.2.1", "::1", "fe80::1%eth0", "2001:db8::a"])
def test_an_address_is_known_by_how_it_is_written(host):
    assert str(written_address(host)) == host


@pytest.mark.parametrize("host", ["", "example.org", "node1", "1.2.3.4.5", "127.0.0.1.", "300.1.1.1"])
def test_what_only_looks_like_an_address_is_a_name(host):
    assert written_address(host) is None


def test_several_addresses_to_choose_from_are_not_called_a_refusal() -> None:
    error = status_error(300, URL("http://a.example/feed"), {}, datetime(2026, 1, 1, tzinfo=UTC))
    assert str(error).endswith("it offers several addresses instead of one: give the address of the one that is wanted")
