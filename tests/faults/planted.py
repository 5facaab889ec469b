"""Secrets that are known by their bytes, and the search for them in whatever was written.

Every secret holds one of two marks, so that a folder is searched once for all of them: letters
that no word has, or the first digits of every card. What stands beside the mark tells where the
secret was planted.
"""

import base64
import hashlib
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from memory_mesh.ledgers.shared import rows

LETTERS = "qzvxjk"  # in every key, password and address
DIGITS = "473519"  # every card begins with them
KINDS = ("key", "password", "card", "mail")
_UNIQUE = 8  # characters that tell one secret from another


@dataclass(frozen=True)
class Secret:
    """What is searched for, and the words in which a person would write it."""

    kind: str
    value: str
    said: str

    @property
    def alone(self) -> str:
        """The least that can be known for a secret; a password is one by the words beside it."""
        return self.said if self.kind in {"password", "card"} else self.value


@dataclass
class Planted:
    """Every secret that was planted, by the place where it was."""

    places: dict[str, str] = field(default_factory=dict)

    def secret(self, kind: str, place: str) -> Secret:
        """A secret of this kind that is planted in this place and nowhere else."""
        number = int.from_bytes(hashlib.sha256(f"{kind} {place}".encode()).digest()[:8], "big")
        value, said = _MADE[kind](number)
        self.places[_mark(value)] = place
        return Secret(kind, value, said)

    def found(self, data: bytes) -> list[str]:
        """The places whose secrets are in some data, in any of the forms that text takes."""
        said = sorted({mark for view in _views(data) for mark in _marks(view)})
        return [
            self.places.get(mark, f"a secret of {mark}")
            for mark in said
            if mark in self.places or not mark.startswith(DIGITS)  # numbers side by side, by chance
        ]


def everything_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every file, the names of files, and what the ledgers say in SQL."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        yield "the name of a file", name.encode()
        if path.is_file():
            yield name, path.read_bytes()
        if path.suffix == ".db" and path.is_file():
            yield f"{name} in SQL", b"\n".join(_values(path))


def _values(path: Path) -> Iterator[bytes]:
    """Every value of every table, for a long one is spread over pages, and every indexed term."""
    with closing(sqlite3.connect(path)) as db:
        tables = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall()
        for name, _ in tables:
            for row in db.execute(f'SELECT * FROM "{name}"'):
                yield from map(_bytes, row)
        for wire, metadata, *named in db.execute("SELECT wire, metadata, memories, at FROM block"):
            yield _bytes(rows.unpacked(wire, *named))
            yield _bytes(rows.unpacked(metadata, *named))
        for name, sql in tables:
            if "fts5" in sql.lower():  # an index keeps of a term what the one before it lacks
                db.execute("DROP TABLE IF EXISTS temp.seen")
                db.execute(f"CREATE VIRTUAL TABLE temp.seen USING fts5vocab (main, {name}, row)")
                yield from (_bytes(term) for (term,) in db.execute("SELECT term FROM temp.seen"))


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def _views(data: bytes) -> Iterator[bytes]:
    """The data as it is, and as it would read in another encoding; all in lower case."""
    plain = data.lower()
    yield plain
    yield plain.replace(b"\0", b"")  # UTF-16 and UTF-32
    yield re.sub(rb"[\s\-_.+/\\]|%20|\\u00", b"", plain)  # taken apart by a tokenizer
    yield from _decoded(data)
    for start in (match.start() for match in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", data)):
        with suppress(zlib.error):
            yield zlib.decompressobj().decompress(data[start:], 1 << 20).lower()


def _decoded(data: bytes) -> Iterator[bytes]:
    for run in re.findall(rb"[A-Za-z0-9+/_-]{16,}={0,2}", data):
        standard = run.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
        for skipped in range(4):
            part = standard[skipped:]
            whole = part[: len(part) - len(part) % 4]
            with suppress(ValueError):
                yield base64.b64decode(whole).lower()
    for run in re.findall(rb"(?:[0-9a-fA-F]{2}){8,}", data):
        yield bytes.fromhex(run.decode()).lower()
        if len(run) > 2:
            yield bytes.fromhex(run[1:-1].decode()).lower()


_LETTERED = re.compile(rf"{LETTERS}([0-9a-f]{{0,{_UNIQUE}}})".encode())
_NUMBERED = re.compile(rf"{DIGITS}(\d{{{_UNIQUE}}})".encode())


def _marks(view: bytes) -> Iterator[str]:
    for pattern, mark in ((_LETTERED, LETTERS), (_NUMBERED, DIGITS)):
        for match in pattern.finditer(view):
            yield mark + match[1].decode()


def _mark(value: str) -> str:
    return next(_marks(value.encode()))


def _key(number: int) -> tuple[str, str]:
    value = f"sk-{LETTERS}{_hex(number)}Ab{number % 10**16:016d}Zw"
    return value, value


def _password(number: int) -> tuple[str, str]:
    value = f"{LETTERS}{_hex(number)}W9"
    return value, f"the password is {value}"


def _card(number: int) -> tuple[str, str]:
    value = f"{DIGITS}{number % 10**_UNIQUE:0{_UNIQUE}d}{number % 7}"
    value += str(next(check for check in range(10) if _luhn(f"{value}{check}")))
    return value, f"card {value}"


def _mail(number: int) -> tuple[str, str]:
    value = f"{LETTERS}{_hex(number)}.doe@example.com"
    return value, value


_MADE: Mapping[str, Callable[[int], tuple[str, str]]] = {
    "key": _key,
    "password": _password,
    "card": _card,
    "mail": _mail,
}


def _hex(number: int) -> str:
    return f"{number:016x}"[:_UNIQUE]


def _luhn(digits: str) -> bool:
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0
