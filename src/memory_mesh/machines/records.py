"""The record of changes: what one commit or a few of them did, as the other machines read it.

::

    header   origin, seq, hash of the record before, clock, key, what was seen, a line per change
    bodies   a text of JSON per change, with a salt; the header has a digest of each

The header is signed. A body can be taken away (what was erased is gone) and the record still shows
that nothing else of it was altered. Its line in the header says which memory it was about, so that
only an erased one may be missing. Nothing here reads a clock, a file or a random number.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from memory_mesh.base.digests import sha256
from memory_mesh.base.typed import Any, TypeAlias, dataclass, fields
from memory_mesh.model import (
    Claim,
    Draft,
    InvalidInput,
    Json,
    Kind,
    Memory,
    Scope,
    Source,
    Statement,
    Status,
)
from memory_mesh.model.memory import (
    Channel,
    SourceKind,
    Tier,
    heritage_json,
    lesson_json,
    read_heritage,
    read_lesson,
)
from memory_mesh.rules.arguments import MEMORY_CHARS

FORMAT = 1
Stamp: TypeAlias = tuple[str, int, int]  # origin, seq of the record, number of the change in it
Place: TypeAlias = tuple[str, str]  # namespace and id of a memory
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)
_TIMES = ("occurred_at", "valid_from", "valid_until")
_PLAIN = (
    "text", "label", "speaker", "role", "order", "importance", "confidence", "pinned", "skill",
)  # fmt: skip
_DEFAULTS = {field.name: getattr(Statement(text=""), field.name) for field in fields(Statement)}
_DIGEST = 40  # hexadecimal digits of a body's SHA-256: nobody finds a second text for 160 bits
_TAG = 16  # hexadecimal digits that say which memory a change is about


@dataclass(frozen=True, slots=True)
class PutChange:
    """A memory as one change left it, and the change that it was made upon."""

    namespace: str
    id: str
    created: str
    status: str
    said: Mapping[str, Json]  # what `said_of` gives
    after: Stamp | None = None
    successor: str | None = None
    let_in: bool | None = None  # its person knew that the words were erased, and let them in again

    @property
    def place(self) -> Place:
        """The memory that it is about."""
        return self.namespace, self.id

    @property
    def is_deleted(self) -> bool:
        """Whether the memory is deleted from then on."""
        return self.status == Status.DELETED

    def says(self, other: "PutChange") -> bool:
        """Whether both leave the memory the same; when it was made and on what may differ."""
        return self.status == other.status and self.said == other.said


@dataclass(frozen=True, slots=True)
class EraseChange:
    """A memory is erased: its text is nowhere in the record."""

    namespace: str
    id: str

    @property
    def place(self) -> Place:
        """The memory that it is about."""
        return self.namespace, self.id


@dataclass(frozen=True, slots=True)
class KeepOutChange:
    """The keyed digest of words that must not come back."""

    namespace: str
    digest: str
    why: str


@dataclass(frozen=True, slots=True)
class StoreKeyChange:
    """A key of tombstones and placeholders: a line of a key file."""

    line: str


@dataclass(frozen=True, slots=True)
class DeviceChange:
    """A machine that its person paired with: its name and its full public key."""

    name: str
    key: str


@dataclass(frozen=True, slots=True)
class RevokeChange:
    """A key counts no more, but for the records of its origins up to these."""

    key: str
    up_to: Mapping[str, int]


Change: TypeAlias = (
    PutChange | EraseChange | KeepOutChange | StoreKeyChange | DeviceChange | RevokeChange
)
_KINDS: dict[str, type[Any]] = {
    "put": PutChange,
    "erase": EraseChange,
    "keep out": KeepOutChange,
    "store key": StoreKeyChange,
    "device": DeviceChange,
    "revoke": RevokeChange,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


@dataclass(frozen=True, slots=True)
class RecordHeader:
    """What of a record is signed."""

    origin: str
    seq: int
    before: str  # SHA-256 of the header before; empty for the first
    clock: int  # above every clock that its machine had seen: orders concurrent changes
    key: str  # the public key that signed it
    seen: Mapping[str, int]  # how far its machine had come with each other origin
    lines: tuple[str, ...]  # of each change the digest of its body, and which memory it is about


@dataclass(frozen=True, slots=True)
class Record:
    """A header and its changes; None for one whose body was taken away."""

    header: RecordHeader
    changes: tuple[Change | None, ...]

    @property
    def number(self) -> tuple[str, int]:
        """Origin and seq: never used twice."""
        return self.header.origin, self.header.seq


def body(change: Change, salt: str) -> str:
    """A change as a text; the salt keeps anybody from guessing at a digest."""
    plain = {field.name: getattr(change, field.name) for field in fields(type(change))}
    given = {name: value for name, value in plain.items() if value is not None}
    return _ENCODER.encode({"do": _NAMES[type(change)], "salt": salt, **given})


def read_body(text: str) -> Change:
    """The change that a body is; InvalidInput for any other text."""
    try:
        plain: dict[str, Any] = json.loads(text)
        kind = _KINDS[plain.pop("do")]
        plain.pop("salt")
        if plain.get("after") is not None:
            origin, seq, number = plain["after"]
            plain["after"] = (str(origin), int(seq), int(number))
        made: Change = kind(**plain)
        sound = not isinstance(made, PutChange) or 0 < len(draft_of(made).text) <= MEMORY_CHARS
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput("a change of the record cannot be read") from error
    if not sound:
        raise InvalidInput("a change of the record is too long or empty")
    return made


def line(change: Change, text: str) -> str:
    """What the header says of a change and its body."""
    about = tag(change.place) if isinstance(change, PutChange | EraseChange) else "-"
    return f"{_digest(text)} {about}"


def tag(place: Place) -> str:
    """Which memory a change is about, for who knows the memory."""
    return sha256("\0".join(place).encode()).hexdigest()[:_TAG]


def fits(said: str, text: str) -> bool:
    """Whether a body is the one that a line of the header names."""
    return said.partition(" ")[0] == _digest(text)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_DIGEST]


def header_bytes(header: RecordHeader) -> bytes:
    """The header as it is signed and hashed: always the same bytes."""
    plain = {field.name: getattr(header, field.name) for field in fields(RecordHeader)}
    return _ENCODER.encode({"format": FORMAT, **plain}).encode()


def read_header(data: bytes) -> RecordHeader:
    """The header that these bytes are; InvalidInput for any others."""
    try:
        plain: dict[str, Any] = json.loads(data)
        if plain.pop("format") != FORMAT:
            raise InvalidInput("a newer version wrote it; upgrade memory-mesh on this machine")
        header = RecordHeader(**{**plain, "lines": tuple(plain["lines"])})
        numbers = (header.seq, header.clock, *header.seen.values())
        sound = all(type(each) is int and each >= 0 for each in numbers) and header.seq > 0
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput("its header cannot be read") from error
    if not sound or header_bytes(header) != data:
        raise InvalidInput("its header cannot be read")
    return header


def hash_of(data: bytes) -> str:
    """What the next record of the same origin names as the one before."""
    return sha256(data).hexdigest()


# A memory as a value of JSON: what a person or an agent said, without what each machine makes.


def said_of(memory: Memory) -> dict[str, Json]:
    """What a memory states; what was read from its text, its counters and vectors stay here."""
    found: dict[str, Json] = {
        name: getattr(memory, name) for name in _PLAIN if getattr(memory, name) != _DEFAULTS[name]
    }
    found |= {
        name: value.astimezone(UTC).isoformat()
        for name in _TIMES
        if (value := getattr(memory, name)) is not None
    }
    source, claim = memory.source, memory.claim
    found |= {"kind": memory.kind.value, "tier": memory.tier.value}
    found["source"] = [
        source.kind.value, source.channel.value, source.agent, source.ref, source.stated,
    ]  # fmt: skip
    more: dict[str, Json] = {
        "scope": list(memory.scope.parts) if any(memory.scope.parts) else None,
        "tags": list(memory.tags),
        "triggers": list(memory.triggers),
        "extra": dict(memory.extra),
        "lesson": None if memory.lesson is None else lesson_json(memory.lesson),
        "heritage": None if memory.heritage is None else heritage_json(memory.heritage),
        "claim": None if claim is None or claim.read else _claim_json(claim),
    }
    found |= {name: value for name, value in more.items() if value}
    plain: dict[str, Json] = json.loads(_ENCODER.encode(found))
    return plain


def draft_of(put: PutChange) -> Draft:
    """What a change says as a draft, which every gate of this machine looks at."""
    said: dict[str, Any] = dict(put.said)
    kind, channel, agent, ref, stated = said.pop("source")
    said["source"] = Source(SourceKind(kind), Channel(channel), agent, ref, stated is True)
    said["kind"], said["tier"] = Kind(said["kind"]), Tier(said["tier"])
    for name in _TIMES:
        if name in said:
            said[name] = datetime.fromisoformat(said[name])
    if "scope" in said:
        said["scope"] = Scope(*said["scope"])
    for name in ("tags", "triggers"):
        said[name] = tuple(said.get(name, ()))
    if "lesson" in said:
        said["lesson"] = read_lesson(said["lesson"])
    if "heritage" in said:
        said["heritage"] = read_heritage(said["heritage"])
    if "claim" in said:
        said["claim"] = Claim(**said["claim"])
    Status(put.status)
    datetime.fromisoformat(put.created)
    return Draft(**said)


def _claim_json(claim: Claim) -> dict[str, Json]:
    return {field.name: getattr(claim, field.name) for field in fields(Claim)}


def put_of(namespace: str, memory: Memory, after: Stamp | None) -> PutChange:
    """The change that a memory as it is now stands for."""
    return PutChange(
        namespace,
        memory.id,
        memory.created.astimezone(UTC).isoformat(),
        memory.status.value,
        said_of(memory),
        after,
        memory.successor,
    )


def next_header(
    before: bytes | None, origin: str, *, clock: int, key: str, seen: Mapping[str, int]
) -> RecordHeader:
    """The header of the record that follows these bytes, or of an origin's first one."""
    seq = 1 if before is None else read_header(before).seq + 1
    return RecordHeader(
        origin, seq, "" if before is None else hash_of(before), clock, key, seen, ()
    )


def latest_clock(records: Iterable[Record]) -> int:
    """The highest clock of some records."""
    return max((record.header.clock for record in records), default=0)
