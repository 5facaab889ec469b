"""What agents note all day and nobody needs to hide: numbers, ids, code, words about secrets."""

import uuid
from collections.abc import Callable, Iterator
from random import Random

from tests.corpora.plain_facts import CODE, WORDS

PER_KIND = 40
PLACES = (
    "",
    "The run used  and passed.",
    "Remember:  is the one to keep",
    "see `` in the log",
    '{"value": ""}',
    "- \n- done",
    "()",
    "用的是这个",
    "before , after that nothing",
    "set to “” last week",
    "We compared  with the old one; 3 of 12 differed",
)


def harmless(rng: Random) -> Iterator[tuple[str, str]]:
    """Kind and text of every negative."""
    for kind, make in NUMBERS.items():
        for _ in range(PER_KIND):
            yield kind, rng.choice(PLACES).replace("", make(rng))
    for text in CODE:
        yield "code", text
        yield "code", f"```python\n{text}\n```"
    for text in WORDS:
        yield "words", text
        yield "words", f"- {text}\n- another line"


def _hex(rng: Random, count: int) -> str:
    return f"{rng.getrandbits(4 * count):0{count}x}"


def _date(rng: Random) -> str:
    year, month, day = rng.randrange(1990, 2030), rng.randrange(1, 13), rng.randrange(1, 29)
    form = rng.choice(
        [
            "{0}-{1:02}-{2:02}",
            "{2:02}.{1:02}.{0}",
            "{1:02}/{2:02}/{0}",
            "{0}{1:02}{2:02}",
            "{0}/{1:02}/{2:02}",
            "{0}-{1:02}-{2:02}T08:15:30Z",
            "{0}-{1:02}-{2:02} 08:15:30.123456",
            "{0}-{1:02}-{2:02}T08:15:30+02:00",
        ]
    )
    return form.format(year, month, day)


def _isbn(rng: Random) -> str:
    body = "978" + f"{rng.randrange(10**9):09}"
    total = sum(int(digit) * (3 if at % 2 else 1) for at, digit in enumerate(body))
    whole = body + str(-total % 10)
    return rng.choice(
        [whole, f"{whole[:3]}-{whole[3]}-{whole[4:7]}-{whole[7:12]}-{whole[12]}", f"ISBN {whole}"]
    )


def _version(rng: Random) -> str:
    a, b, c, d = rng.randrange(30), rng.randrange(40), rng.randrange(60), rng.randrange(200)
    return rng.choice(
        [
            f"v{a}.{b}.{c}",
            f"{a}.{b}.{c}",
            f"{a}.{b}.{c}-rc.{d}",
            f"{a}.{b}.{c}+build.{d}",
            f"python3.{b}",
            f"{a}.{b}",
            f"^{a}.{b}.{c}",
            f"~={a}.{b}",
            f">={a}.{b},<{a + 1}",
            f"{a}.{b}.x || >={a + 1}.0.0",
            f"react@{a}.{b}.{c}",
            f"@types/node@{a}.{b}.{c}",
            f"numpy=={a}.{b}.{c}",
            f"node:{a}-alpine",
        ]
    )


def _four_part_version(rng: Random) -> str:
    parts = f"{rng.randrange(1, 20)}.{rng.randrange(20)}.{rng.randrange(60)}.{rng.randrange(200)}"
    return rng.choice(
        [
            f"version {parts}",
            f"v{parts}",
            f"Version: {parts}",
            f"release {parts}",
            f"opencv-python=={parts}",
            f"AssemblyVersion {parts}",
            f"build {parts}",
            f"Chrome/{rng.randrange(90, 140)}.0.{rng.randrange(4000, 7000)}.88",
            f"firmware {parts}",
            f"driver version {parts}",
            f"app-{parts}.tar.gz",
            f"{parts}-beta",
            f"upgraded to version {parts}",
        ]
    )


def _quiet_address(rng: Random) -> str:
    octet = rng.randrange(1, 255)
    return rng.choice(
        [
            "127.0.0.1",
            "0.0.0.0",
            "localhost:8080",
            f"10.0.{octet}.{octet}",
            f"192.168.{octet}.1",
            f"172.16.{octet}.9",
            "::1",
            f"fe80::{octet:x}",
            f"2001:db8::{octet:x}",
            f"192.0.2.{octet}",
            f"203.0.113.{octet}",
            "255.255.255.0",
            f"127.0.0.1:{8000 + octet}",
            "224.0.0.1",
            f"10.{octet}.0.0/16",
            "http://localhost:3000",
            f"169.254.169.{octet}",
        ]
    )


def _path(rng: Random) -> str:
    name = rng.choice(
        ["report", "token_counter", "password_reset", "secrets", "user_email", "card_view"]
    )
    return rng.choice(
        [
            f"/var/log/{name}/{_hex(rng, 8)}.log",
            f"src/{name}.py:{rng.randrange(900)}",
            f"C:\\work\\{name}\\main.rs",
            f"~/.config/{name}/settings.toml",
            f"./{name}/__init__.py",
            f"s3://bucket/{name}/2024/01/02/part-0000{rng.randrange(9)}.parquet",
            f"{name}@2x.png",
            f"img_{rng.randrange(10**8):08}.jpg",
            f"data:image/png;name={name}.png",
            f"{name}_b64_{_hex(rng, 12)}.png",
        ]
    )


def _order(rng: Random) -> str:
    return rng.choice(
        [
            f"order #{rng.randrange(10**6)}",
            f"ORD-2024-{rng.randrange(10**5):05}",
            f"invoice INV{rng.randrange(10**8):08}",
            f"ticket 20{rng.randrange(10**6):06}",
            f"SKU {rng.randrange(10**4)}-{rng.randrange(100):02}",
            f"order {rng.randrange(10**9, 10**10)}",
            f"PO {rng.randrange(10**9, 10**10)}",
            f"tracking 1Z{_hex(rng, 8).upper()}{rng.randrange(10**6):06}",
        ]
    )


def _id(rng: Random) -> str:
    ms = 1_600_000_000_000 + rng.randrange(2 * 10**11)
    return rng.choice(
        [
            f"mem_{ms}_{_hex(rng, 6)}",
            f"skill_{ms}_{_hex(rng, 6)}",
            f"lesson_{_hex(rng, 12)}",
            f"run-{_hex(rng, 10)}",
            f"session_{ms}",
            f"msg_{_hex(rng, 24)}",
            f"req_{_hex(rng, 24)}",
            f"task-{rng.randrange(10**5)}",
            f"pod/api-{_hex(rng, 10)}-{_hex(rng, 5)}",
            f"{rng.randrange(11 * 10**17, 14 * 10**17)}",
            f"arn:aws:s3:::bucket-{_hex(rng, 6)}",
            f"i-{_hex(rng, 17)}",
        ]
    )


def _amount(rng: Random) -> str:
    whole, cents = rng.randrange(10**5), rng.randrange(100)
    return rng.choice(
        [
            f"${whole}.{cents:02}",
            f"€ {whole:,}.{cents:02}",
            f"{whole} EUR",
            f"CHF {whole}.-",
            f"¥{whole * 100:,}",
            f"{whole / 7:.6f} BTC",
            f"{rng.randrange(10**9, 10**11):,} tokens",
            f"{rng.randrange(10**6, 10**9)} rows",
            f"0.{rng.randrange(10**12)}",
        ]
    )


def _time(rng: Random) -> str:
    return rng.choice(
        [
            f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}",
            f"PT{rng.randrange(60)}M",
            f"{rng.randrange(10**5)} ms",
        ]
    )


def _coordinates(rng: Random) -> str:
    return f"{rng.uniform(-90, 90):.{rng.randrange(4, 8)}f}, {rng.uniform(-180, 180):.6f}"


def _mac(rng: Random) -> str:
    return ":".join(_hex(rng, 2) for _ in range(6))


NUMBERS: dict[str, Callable[[Random], str]] = {
    "uuid": lambda rng: str(uuid.UUID(int=rng.getrandbits(128), version=rng.choice([1, 4]))),
    "git hash": lambda rng: _hex(rng, rng.choice([7, 8, 12, 40])),
    "timestamp ms": lambda rng: str(1_500_000_000_000 + rng.randrange(4 * 10**11)),
    "timestamp s": lambda rng: str(1_500_000_000 + rng.randrange(4 * 10**8)),
    "timestamp us": lambda rng: str(
        10**6 * (1_500_000_000 + rng.randrange(4 * 10**8)) + rng.randrange(10**6)
    ),
    "rfc": lambda rng: f"RFC{rng.choice('- ')}{rng.randrange(1, 9999):04}",
    "id": _id,
    "version": _version,
    "four-part version": _four_part_version,
    "port": lambda rng: rng.choice(["port {}", "localhost:{}", "host:{}", ":{}"]).format(
        rng.randrange(1, 65536)
    ),
    "quiet address": _quiet_address,
    "price": _amount,
    "order": _order,
    "isbn": _isbn,
    "date": _date,
    "sha256": lambda rng: rng.choice(["", "sha256:"]) + _hex(rng, 64),
    "digest": lambda rng: rng.choice(["md5 {}", "etag {}", "{}"]).format(_hex(rng, 32)),
    "path": _path,
    "colour": lambda rng: f"#{_hex(rng, rng.choice([3, 6, 8]))}",
    "issue": lambda rng: rng.choice(["#{}", "GH-{}", "JIRA-{}", "issue {}"]).format(
        rng.randrange(1, 99999)
    ),
    "coordinates": _coordinates,
    "time": _time,
    "mac": _mac,
}
