"""Where a request may go: zones, strict URLs, and a corpus of tricks of which none gets through."""

import ipaddress
import random
import socket
from collections.abc import Iterator

import pytest

from memory_mesh.model.errors import ForbiddenAddress, NetworkError
from memory_mesh.models.http import address
from memory_mesh.models.http.address import Zone
from memory_mesh.models.http.client import Client, Limits
from tests.servers import Reply, Request, serve

BAD = [
    "169.254.169.254", "169.254.170.2", "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1",
    "192.168.1.1", "100.64.0.1", "100.100.100.200", "192.0.0.192", "168.63.129.16", "0.0.0.0",
    "224.0.0.1", "240.0.0.1", "255.255.255.255", "198.18.0.1", "192.88.99.1",
]  # fmt: skip
BAD_6 = [
    "::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "fd20:ce::254", "ff02::1", "2001:db8::1",
    "2001::1", "2002:a9fe:a9fe::1", "64:ff9b:1::a9fe:a9fe", "3fff::1", "100::1", "5f00::1",
    "2600::5efe:a9fe:a9fe", "2600::200:5efe:a9fe:a9fe", "::ffff:0:7f00:1",
]  # fmt: skip
NAMES = [
    "localhost", "localhost.", "LOCALHOST", "foo.localhost", "metadata.google.internal",
    "rebind.example.com", "127.0.0.1.nip.example", "ollama", "printer.local", "xn--lgbbat1ad8j",
]  # fmt: skip


@pytest.mark.parametrize(
    ("ip", "zone"),
    [
        ("8.8.8.8", Zone.PUBLIC),
        ("2606:4700::1111", Zone.PUBLIC),
        ("::ffff:8.8.8.8", Zone.PUBLIC),
        ("64:ff9b::808:808", Zone.PUBLIC),  # NAT64: how an IPv6-only machine sees 8.8.8.8
        ("127.0.0.1", Zone.LOOPBACK),
        ("::1", Zone.LOOPBACK),
        ("::ffff:127.0.0.1", Zone.LOOPBACK),
        ("64:ff9b::7f00:1", Zone.LOOPBACK),
        ("192.168.0.7", Zone.PRIVATE),
        ("100.64.0.1", Zone.PRIVATE),
        ("fd12::1", Zone.PRIVATE),
        ("169.254.169.254", Zone.FORBIDDEN),
        ("::ffff:169.254.169.254", Zone.FORBIDDEN),
        ("64:ff9b::a9fe:a9fe", Zone.FORBIDDEN),
        ("192.0.0.192", Zone.FORBIDDEN),
        ("fe80::1%eth0", Zone.FORBIDDEN),
        ("fd00:ec2::254", Zone.FORBIDDEN),
        ("::127.0.0.1", Zone.FORBIDDEN),
        ("no address", Zone.FORBIDDEN),
    ],
)
def test_an_address_has_a_zone(ip, zone):
    assert address.zone_of(ip) is zone


@pytest.mark.parametrize("ip", [*BAD, *BAD_6])
def test_nothing_near_or_special_is_public(ip):
    assert address.zone_of(ip) is not Zone.PUBLIC


def test_whatever_the_library_calls_not_global_is_not_public():
    chance = random.Random(3)
    for _ in range(20_000):
        four = ipaddress.IPv4Address(chance.getrandbits(32))
        assert four.is_global or address.zone_of(str(four)) is not Zone.PUBLIC
        six = ipaddress.IPv6Address(chance.getrandbits(128))
        assert six.is_global or address.zone_of(str(six)) is not Zone.PUBLIC


@pytest.mark.parametrize(
    ("url", "whole"),
    [
        ("HTTPS://API.Example.COM", "https://api.example.com/"),
        ("https://api.example.com./v1", "https://api.example.com/v1"),
        ("http://[::1]:11434/api", "http://[::1]:11434/api"),
        ("http://[0:0:0:0:0:0:0:1]/", "http://[::1]/"),
        ("https://h.example:443/a?signature=secret", "https://h.example/a"),
    ],
)
def test_a_url_is_normalised_and_shown_without_its_query(url, whole):
    assert str(address.parse(url)) == whole


@pytest.mark.parametrize(
    ("host", "reach"),
    [
        ("api.openai.com", {Zone.PUBLIC}),
        ("8.8.8.8", {Zone.PUBLIC}),
        ("localhost", {Zone.LOOPBACK}),
        ("127.0.0.1", {Zone.LOOPBACK}),
        ("192.168.1.9", {Zone.PRIVATE}),
        ("169.254.169.254", set()),
        ("ollama", {Zone.LOOPBACK, Zone.PRIVATE, Zone.PUBLIC}),
        ("nas.local", {Zone.LOOPBACK, Zone.PRIVATE, Zone.PUBLIC}),
    ],
)
def test_only_a_name_that_says_so_is_near(host, reach):
    assert address.reach_of(host) == reach


def spellings(ip: str) -> Iterator[str]:
    """One IPv4 address in the forms that resolvers, proxies and people write it."""
    number = int(ipaddress.IPv4Address(ip))
    a, b, c, d = (number >> shift & 255 for shift in (24, 16, 8, 0))
    wide = str.maketrans("0123456789.", "０１２３４５６７８９。")
    yield from (ip, f"{ip}.", str(number), hex(number), f"0{number:o}", f"{number + 2**32}")
    yield from (f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}", f"0{a:o}.0{b:o}.0{c:o}.0{d:o}")
    yield from (f"{a}.{b}.{number & 0xFFFF}", f"{a}.{number & 0xFFFFFF}", f"00{a}.{b}.{c}.{d}")
    yield from (ip.translate(wide), ip.replace(".", "%2e"), ip.replace(".", "。"), f"{ip}%00")
    hexed = f"{number >> 16:x}:{number & 0xFFFF:x}"
    for form in ("::ffff:{}", "::{}", "64:ff9b::{}", "64:ff9b:1::{}", "2002:{}::", "::ffff:0:{}"):
        yield f"[{form.format(hexed)}]"
    yield f"[::ffff:{ip}]"
    yield f"[2001:0:{hexed}::{number ^ 0xFFFFFFFF:x}]" if number else "[2001::]"


def corpus() -> list[str]:
    """URLs that lead, or pretend not to lead, where nothing may go."""
    hosts = [host for ip in BAD for host in spellings(ip)]
    hosts += [f"[{ip}]" for ip in BAD_6] + ["[fe80::1%25eth0]", *NAMES]
    urls = [f"{scheme}://{host}/latest" for host in hosts for scheme in ("http", "https")]
    for ip in BAD[:4]:
        urls += [
            f"http://user:password@{ip}/", f"https://api.example.com@{ip}/",
            f"https://{ip}\\@api.example.com/", f"https://{ip}#@api.example.com/",
            f"https://api.example.com\t@{ip}/", f"https:{ip}", f"https:/{ip}/", f"//{ip}/",
            f"http://{ip}:0/", f"http://{ip}:99999/", f"http:// {ip}/", f"http://{ip}\n/",
            f"file://{ip}/etc/passwd", f"gopher://{ip}/", f"ftp://{ip}/", f"dict://{ip}/",
            f"http:///{ip}", f"javascript://{ip}/", f"ht\ntp://{ip}/", f"http://[{ip}]/",
        ]  # fmt: skip
    return urls


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every address that a connection was asked for."""
    found = list[object]()
    connect = socket.create_connection

    def recorded(target: tuple[str, int], timeout: float) -> socket.socket:
        found.append(target)
        return connect(target, timeout)

    monkeypatch.setattr(socket, "create_connection", recorded)
    return found


@pytest.mark.req("R-003-092", "R-003-093")
def test_no_url_of_the_corpus_gets_through_as_a_redirect(connected, tmp_path):
    """A server may send it; the client connects to that server and to nothing else."""
    urls = corpus()
    assert len(urls) >= 500

    def answer(_: Request) -> Reply:
        return Reply(status=302, headers={"Location": location})

    def resolve(host: str, _port: int) -> list[str]:
        return [host] if address.reach_of(host) != {Zone.PUBLIC} else ["169.254.169.254"]

    with serve(answer) as server:
        client = Client(server.url, redirects=3, resolve=resolve, sleep=lambda _: None)
        for url in urls:
            location = url.encode("ascii", "ignore").decode().translate({9: None, 10: None})
            connected.clear()
            with pytest.raises(NetworkError):
                client.download("start", tmp_path / "file")
            assert connected == [("127.0.0.1", server.port)], url


def test_no_url_of_the_corpus_gets_through_as_a_configured_one(connected):
    """What a user may name is this machine and the own network, in plain spelling only."""
    through = set[str]()
    for url in corpus():
        with pytest.raises(NetworkError):  # refused, or nobody listens there
            Client(url, resolve=lambda *_: ["192.0.0.192"], limits=Limits(attempts=1)).post_json(
                "", {}
            )
        if connected:
            through.add(url)
        connected.clear()
    assert not through


@pytest.mark.req("R-003-093")
@pytest.mark.parametrize("ip", [*BAD, *BAD_6])
def test_a_public_name_may_not_turn_out_to_be_near(ip):
    client = Client("https://api.example.com", resolve=lambda *_: ["8.8.8.8", ip])
    with pytest.raises(ForbiddenAddress):
        client.post_json("v1/embeddings", {})


@pytest.mark.req("R-003-092")
@pytest.mark.parametrize(
    "ip",
    [
        "169.254.169.254", "192.0.0.192", "fe80::1", "100.100.100.200", "168.63.129.16",
        "fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "64:ff9b::a9fe:a9fe",
    ],
)  # fmt: skip
def test_metadata_is_out_of_reach_even_for_a_near_name(ip):
    with pytest.raises(ForbiddenAddress, match="leads to a forbidden address"):
        Client("http://ollama:11434", resolve=lambda *_: [ip]).post_json("api/embed", {})


def test_without_encryption_nothing_goes_to_the_public():
    with pytest.raises(ForbiddenAddress, match="use https"):
        Client("http://8.8.8.8").post_json("x", {})
