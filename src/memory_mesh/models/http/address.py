"""Where an outgoing request may go: addresses by zone, and URLs read strictly.

`ipaddress` calls 192.0.0.192 and 64:ff9b::a9fe:a9fe global, and both end at a cloud's metadata
service; so the zones are written down here. Nothing is resolved here: a caller resolves a name,
has every address checked, and connects to a checked one.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from memory_mesh.base.typed import dataclass
from memory_mesh.model.errors import ForbiddenAddress


class Zone(StrEnum):
    """How near an address is."""

    PUBLIC = "public"
    PRIVATE = "private"
    LOOPBACK = "loopback"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True, slots=True)
class Target:
    """An absolute http or https URL, taken apart."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> tuple[str, str, int]:
        """What two URLs of the same server share."""
        return self.scheme, self.host, self.port

    def __str__(self) -> str:
        """The URL without its query, which may hold a signature."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path.partition('?')[0]}"


PORTS = {"http": 80, "https": 443}
_LAST_PORT = 65535
_LONGEST_NAME, _LONGEST_LABEL = 253, 63  # RFC 1035
_URL = re.compile(
    r"(?P<scheme>https?)://"
    r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?\.?)"
    r"(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>[/?][A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?",
    re.IGNORECASE | re.ASCII,
)
_NUMERIC = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)", re.ASCII)  # what makes a resolver see an IPv4
_LOCAL_ENDINGS = (".local", ".lan", ".internal", ".intranet", ".home", ".home.arpa", ".localdomain")
_PUBLIC_ONLY = frozenset({Zone.PUBLIC})
_NEAR = frozenset({Zone.LOOPBACK, Zone.PRIVATE, Zone.PUBLIC})


def parse(url: str) -> Target:
    """The URL taken apart; whatever is not plainly http(s)://host[:port]/path is refused."""
    found = _URL.fullmatch(url)
    if found is None:
        raise ForbiddenAddress(
            "that is not an address of the form https://host[:port]/path, in plain ASCII and "
            "without user name or password"
        )
    scheme, host = found["scheme"].lower(), _host(found["host"].lower())
    port = int(found["port"]) if found["port"] else PORTS[scheme]
    if not 0 < port <= _LAST_PORT:
        raise ForbiddenAddress(f"there is no port {port}")
    path = found["path"] or "/"
    return Target(scheme, host, port, path if path.startswith("/") else f"/{path}")


def reach_of(host: str) -> frozenset[Zone]:
    """The zones that a host may lie in by its own name.

    A literal address, `localhost`, a bare name or one under `.local` and the like says openly that
    it is near; any other name must lead to the public internet.
    """
    if (literal := _literal(host)) is not None:
        return frozenset({zone_of(str(literal))}) - {Zone.FORBIDDEN}
    if host == "localhost" or host.endswith(".localhost"):
        return frozenset({Zone.LOOPBACK})
    return _NEAR if "." not in host or host.endswith(_LOCAL_ENDINGS) else _PUBLIC_ONLY


def refuse_near(target: Target, near_hosts: Iterable[str], doing: str) -> None:
    """Refuses a host that is not public by its own name unless it is listed."""
    reach = reach_of(target.host)
    if not reach:
        raise ForbiddenAddress(f"requests to {target.host} are not allowed: use another host")
    listed = {parse(f"http://{name}").host for name in near_hosts}
    if reach != _PUBLIC_ONLY and target.host not in listed:
        host = f"[{target.host}]" if ":" in target.host else target.host
        raise ForbiddenAddress(
            f"{target.host} is on this machine or in your network, where {doing} only hosts that "
            f'you list: near_hosts=["{host}"]'
        )


def check(target: Target, addresses: Iterable[str], reach: frozenset[Zone]) -> None:
    """Refuse unless there is an address and every one of them is within reach."""
    zones = {zone_of(address) for address in addresses}
    if not zones:
        raise ForbiddenAddress(f"{target.host} has no address")
    for zone in sorted(zones - reach):
        raise ForbiddenAddress(
            f"{target.host} leads to a {zone} address, which is refused. A service on this machine "
            "or in your network is named openly, as http://localhost:11434 or by its IP address"
        )
    if target.scheme == "http" and Zone.PUBLIC in zones:
        raise ForbiddenAddress(f"{target.host} is public: use https")


def zone_of(address: str) -> Zone:
    """The zone of an IP address, seen through every form that carries an IPv4 inside."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return Zone.FORBIDDEN
    return _zone_of_4(parsed) if isinstance(parsed, IPv4Address) else _zone_of_6(parsed)


def _zone_of_4(address: IPv4Address) -> Zone:
    if _within(address, _FORBIDDEN_4):
        return Zone.FORBIDDEN
    if _within(address, _LOOPBACK_4):
        return Zone.LOOPBACK
    return Zone.PRIVATE if _within(address, _PRIVATE_4) else Zone.PUBLIC


def _zone_of_6(address: IPv6Address) -> Zone:
    if _within(address, _CARRIES_4):
        return _zone_of_4(IPv4Address(int(address) & 0xFFFF_FFFF))
    if address == _LOOPBACK_6:
        return Zone.LOOPBACK
    if _within(address, _FORBIDDEN_6):
        return Zone.FORBIDDEN
    if _within(address, _PRIVATE_6):
        return Zone.PRIVATE
    isatap = (int(address) >> 32) & 0xFDFF_FFFF == _ISATAP
    return Zone.PUBLIC if _within(address, _PUBLIC_6) and not isatap else Zone.FORBIDDEN


def _host(host: str) -> str:
    """The host as it will be resolved; odd spellings of an IPv4 address are refused."""
    if host.startswith("["):
        try:
            return str(IPv6Address(host[1:-1]))
        except ValueError:
            raise ForbiddenAddress("that is no IPv6 address") from None
    host = host.removesuffix(".")
    labels = host.split(".")
    if len(host) > _LONGEST_NAME or not all(0 < len(label) <= _LONGEST_LABEL for label in labels):
        raise ForbiddenAddress("that is no host name")
    if _NUMERIC.fullmatch(labels[-1]) and _literal(host) is None:
        raise ForbiddenAddress("write an IPv4 address as four decimal numbers: 127.0.0.1")
    return host


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _within(
    address: IPv4Address | IPv6Address, networks: Iterable[IPv4Network | IPv6Network]
) -> bool:
    return any(address in network for network in networks)


def _networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(ip_network(word) for word in text.split())


# IANA's special-purpose registries, and the metadata addresses that clouds put elsewhere.
_FORBIDDEN_4 = _networks(
    "0.0.0.0/8 169.254.0.0/16 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 "
    "192.88.99.0/24 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 "
    "100.100.100.200/32 168.63.129.16/32"  # Alibaba and Azure
)
_LOOPBACK_4 = _networks("127.0.0.0/8")
_PRIVATE_4 = _networks("10.0.0.0/8 100.64.0.0/10 172.16.0.0/12 192.168.0.0/16")
_LOOPBACK_6 = IPv6Address("::1")
_CARRIES_4 = _networks("::ffff:0:0/96 64:ff9b::/96")  # IPv4-mapped; NAT64, which real hosts need
_FORBIDDEN_6 = _networks(
    "2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 "  # Teredo, examples, 6to4
    "fd00:ec2::/32 fd20:ce::/32 fd00:c1::/32"  # AWS, Google and Oracle metadata
)
_PRIVATE_6 = _networks("fc00::/7")
_PUBLIC_6 = _networks("2000::/3")
_ISATAP = 0x0000_5EFE  # its interface id carries an IPv4 address
