"""What a caller hands in: its limits, the types of arguments, metadata, and the ids of users.

Metadata is JSON of limited depth and size, without dangerous keys. A user is a namespace: `user.`
and the id, encoded so that it names a file anywhere. Lower-case letters, digits, `-` and `.` of a
short id stay as they are; every other byte becomes `_` and two hexadecimal digits. A long id
becomes `__` and its bytes in base 32. Two ids never have the same name, on file systems that ignore
case either, and the id can be read back. A plain namespace must not begin with `user.`, so that
none of them is a user's.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum

from memory_mesh.base.typed import Any, TypeVar
from memory_mesh.model import Json
from memory_mesh.model.errors import InvalidInput, shown

MEMORY_CHARS = 100_000  # of a memory's text: RFC-0011's implementation cuts off here
METADATA_DEPTH = 16
METADATA_ITEMS = 4_096
METADATA_CHARS = 65_536
METADATA_KEY_CHARS = 256
INTEGER = 2**63 - 1  # SQLite's largest whole number

WRITE_SLICE = 256  # drafts per transaction: no other writer waits longer than one slice takes
SKILL_CHARS = 100_000
RESTORABLE_DAYS = 30  # how long a deleted memory can be restored
MAX_TRIGGERS = 32  # patterns of one memory
MAX_TRIGGER_CHARS = 1_000
PROPOSAL_CHARS = 200_000  # of all that one proposal says: a text, metadata and some details
MAX_PROPOSALS = 100  # of one memory that wait at the same time

TEXT_CHARS = 10_000_000  # of any other text: a document is cut into memories before it is stored
NAME_CHARS = 512  # of a name: speaker, session, key, label, id …
REASON_CHARS = 2_000
QUERY_CHARS = 200_000  # a question may quote a whole memory
TAGS = 256  # of one memory
TAG_CHARS = 512
SOURCES = 10_000  # ids that one memory may be derived from

LONGEST = {  # characters of a text by the name of its argument; any other has TEXT_CHARS
    "query": QUERY_CHARS,
    "question": QUERY_CHARS,
    "topic": QUERY_CHARS,
    "reason": REASON_CHARS,
    "a tag": TAG_CHARS,
} | dict.fromkeys(
    (
        "agent_name", "collection", "episode_id", "id", "kind", "label", "memory_id", "namespace",
        "session", "source_id", "target_id", "the status of a step", "title", "trace_id",
        "user_id",
    ),
    NAME_CHARS,
)  # fmt: skip


def unfit(text: str) -> str | None:
    """Returns why a text can be no memory: it is empty or too long."""
    if not text.strip():
        return "the text is empty"
    long = f"the text has {len(text)} characters; the limit is {MEMORY_CHARS}: split it"
    return long if len(text) > MEMORY_CHARS else None


MAX_RESULTS = 1_000  # things one call may return
INTEGERS = 2**63  # a ledger's whole numbers are smaller


class NotGiven:
    """The type of NOT_GIVEN."""

    def __repr__(self) -> str:
        return "..."


NOT_GIVEN = NotGiven()  # the default of an option for which None means something


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without those that are None, which is as if they were not given."""
    return {name: value for name, value in options.items() if value is not None}


def check_limit(limit: int, name: str = "limit") -> int:
    """The limit, if it is a sensible one."""
    if type(limit) is not int or not 1 <= limit <= MAX_RESULTS:
        raise InvalidInput(
            f"{name} must be a whole number from 1 to {MAX_RESULTS}, not {shown(limit)}"
        )
    return limit


Member = TypeVar("Member", bound=StrEnum)


def moment(name: str, value: object) -> datetime | None:
    """A time that says its zone, as datetime or ISO 8601 text; a bare date is its midnight UTC."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            parsed = datetime.fromisoformat(value)
        except ValueError:
            typed = "yesterday, 7d, 'last week', 2026-11 or " if name.startswith("--") else ""
            raise InvalidInput(
                f"{name} must be {typed}an ISO 8601 time such as 2026-03-01T12:00:00Z, "
                f"not {shown(value)}"
            ) from None
        value = parsed.replace(tzinfo=UTC) if "T" not in value and " " not in value else parsed
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidInput(f"{name} must say its time zone, for example 2026-03-01T12:00:00Z")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{name} is out of the years 1 to 9999") from None


def member(name: str, kind: type[Member], value: object) -> Member:
    """One of an enum's words."""
    try:
        return kind(value) if isinstance(value, str) else kind(shown(value))
    except ValueError:
        words = ", ".join(kind)
        raise InvalidInput(f"{name} must be one of: {words}; not {shown(value)}") from None


def check_text(value: object, name: str) -> str:
    """The value as storable text: a str of limited length without NUL and lone surrogates."""
    if not isinstance(value, str):
        hint = _as_text(value) if name == "content" else ""
        raise InvalidInput(f"{name} must be text, not {type(value).__name__}{hint}")
    if len(value) > (most := LONGEST.get(name, TEXT_CHARS)):
        raise InvalidInput(f"{name} has {len(value)} characters; the limit is {most}: shorten it")
    if "\0" in value:
        raise InvalidInput(f"{name} holds a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{name} is not valid Unicode (a lone surrogate at {error.start})"
        ) from None
    return value


def _as_text(value: object) -> str:
    """How to store what is no text."""
    if isinstance(value, Mapping):
        return ". Give its text, and the rest as metadata: add(text, {...})"
    if isinstance(value, list | tuple):
        return '. Store each message by itself: add(message["content"], role=message["role"])'
    return ". Convert it: add(str(value))"


def check_whole(value: object, name: str, *, least: int = -INTEGERS) -> int:
    """The value as a whole number that a ledger can hold."""
    if type(value) is not int or not least <= value < INTEGERS:
        said = "must be a whole number below 2**63"
        raise InvalidInput(f"{name} {said}" + (f" and at least {least}" if least >= 0 else ""))
    return value


def check_share(value: object, name: str) -> float:
    """The value as a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be a number from 0 to 1, not {shown(value)}")
    return float(value)


def snake_case(name: str) -> str:
    """The name as Python writes it: minSimilarity is min_similarity."""
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


def near(word: str, known: Iterable[str]) -> str | None:
    """The known word that somebody most likely meant; dashes in front say nothing."""
    from difflib import get_close_matches  # only a mistake needs it

    bare = {one.lstrip("-"): one for one in known}
    return next((bare[one] for one in get_close_matches(word.lstrip("-"), bare, n=1)), None)


_NUMBER_BITS = 3_322  # a thousand digits
FORBIDDEN = frozenset({"__proto__", "constructor", "prototype"})


def check_metadata(value: object) -> dict[str, Json]:
    """Returns the metadata as plain JSON values; InvalidInput names the invalid place."""
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"metadata must be an object of keys and values, not {type(value).__name__}"
        )
    budget = _Budget()
    return {_key(key, "metadata"): _copy(item, str(key), 1, budget) for key, item in value.items()}


class _Budget:
    """Counts values and characters of one metadata object against the limits."""

    def __init__(self) -> None:
        self.items = METADATA_ITEMS
        self.characters = METADATA_CHARS

    def spend(self, characters: int) -> None:
        """Counts one value of this length."""
        self.items -= 1
        self.characters -= characters
        if self.items < 0 or self.characters < 0:
            raise InvalidInput(
                f"metadata is too large; the limits are {METADATA_ITEMS} values and "
                f"{METADATA_CHARS} characters"
            )


def is_forbidden(key: str) -> bool:
    """True for a key that metadata may not have."""
    return key in FORBIDDEN or (key.startswith("__") and key.endswith("__"))


def _key(key: object, path: str) -> str:
    text = check_text(key, f"a key of {path}")
    if is_forbidden(text):
        raise InvalidInput(f"the metadata key {text!r} is not allowed")
    if len(text) > METADATA_KEY_CHARS:
        raise InvalidInput(
            f"a metadata key has {len(text)} characters; the limit is {METADATA_KEY_CHARS}"
        )
    return text


def _copy(value: object, path: str, depth: int, budget: _Budget) -> Json:
    if depth > METADATA_DEPTH:
        raise InvalidInput(
            f"metadata is nested deeper than {METADATA_DEPTH} levels at {shown(path, 80)}"
        )
    if isinstance(value, str):
        budget.spend(len(value))
        return check_text(value, f"metadata {path!r}")
    if value is None or isinstance(value, bool | int):
        if value and value.bit_length() > _NUMBER_BITS:
            raise InvalidInput(f"metadata {path!r} is a number of more than 1,000 digits")
        budget.spend(1)
        if value is not None and not -INTEGER <= value <= INTEGER:
            raise InvalidInput(
                f"metadata {path[:80]!r} is a whole number that needs more than 64 bits; write it "
                "as text"
            )
        return value
    if isinstance(value, float) and math.isfinite(value):
        budget.spend(1)
        return value
    if isinstance(value, Mapping):
        budget.spend(1)
        return {
            _key(key, path): _copy(item, f"{path}.{key}", depth + 1, budget)
            for key, item in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        budget.spend(1)
        return [_copy(item, path, depth + 1, budget) for item in value]
    kind = type(value).__name__
    instead = "value.isoformat()" if hasattr(value, "isoformat") else "text, a number or a list"
    raise InvalidInput(f"metadata {path!r} is a {kind} that JSON cannot represent; give {instead}")


PREFIX = "user."
USER_WORDS = ("user_id", "userId", "user")  # as others name a user: options, keys of metadata
MAX_USER_BYTES = 128  # of an id in UTF-8; in base 32 it still fits into a file name
_READABLE_CHARS = 75  # an encoded id longer than this is written in base 32
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-.")
_LONG = "__"  # in a readable id two hexadecimal digits follow each _


def user_namespace(user_id: object) -> str:
    """Returns the namespace of a user; any text of 1 to 128 bytes is a user id, case matters."""
    data = check_text(user_id, "user_id").encode()
    if not 1 <= len(data) <= MAX_USER_BYTES:
        advice = "use a shorter id of the same user, such as a number or a hash"
        raise InvalidInput(
            f"a user id has 1 to {MAX_USER_BYTES} bytes in UTF-8, not {len(data)}; "
            f"{advice if data else 'leave the user out for memories of nobody in particular'}"
        )
    return PREFIX + _encoded(data)


def user_of(namespace: str) -> str | None:
    """Returns the id of the user whose namespace this is, or None if it is nobody's."""
    if not namespace.startswith(PREFIX):
        return None
    try:
        data = _decoded(namespace.removeprefix(PREFIX))
        user_id = data.decode()
    except ValueError:
        return None
    proper = 1 <= len(data) <= MAX_USER_BYTES and PREFIX + _encoded(data) == namespace
    return user_id if proper and "\0" not in user_id else None


def shown_namespace(namespace: str) -> str:
    """Returns the name for people: of a user `user.` and the id as it was given."""
    user_id = user_of(namespace)
    return namespace if user_id is None else PREFIX + user_id


def check_plain_namespace(name: object) -> str:
    """Returns the name of a plain namespace; refuses one that begins as a user's does."""
    namespace = check_text(name, "namespace")
    if namespace.startswith(PREFIX):
        user_id = user_of(namespace) or namespace.removeprefix(PREFIX)
        raise InvalidInput(
            f"a namespace must not begin with {PREFIX!r}: such names belong to users. "
            f"Use {for_user_call(user_id)}, or --user on the command line"
        )
    return namespace


def refuse_user_option(options: Mapping[str, object]) -> None:
    """Refuses options that name a user, and says what to call instead."""
    for word in USER_WORDS:
        if word in options:
            raise InvalidInput(
                f"{word} is not an option here. Use {for_user_call(options[word])} to read and "
                f"write this user's memories; to only note who it was, put {word} into metadata"
            )


def for_user_call(user_id: object) -> str:
    """Returns the call that opens a user's memories, for messages."""
    import json

    shown = json.dumps(user_id, ensure_ascii=False) if isinstance(user_id, str) else repr(user_id)
    return f"mesh.for_user({shown[:99]})"


def _encoded(data: bytes) -> str:
    readable = "".join(chr(byte) if chr(byte) in _PLAIN else f"_{byte:02x}" for byte in data)
    if len(readable) <= _READABLE_CHARS:
        return readable
    from base64 import b32encode

    return _LONG + b32encode(data).decode().rstrip("=").lower()


def _decoded(name: str) -> bytes:
    """Returns the bytes behind an encoded id; raises ValueError for anything else."""
    if name.startswith(_LONG):
        from base64 import b32decode

        digits = name.removeprefix(_LONG).upper()
        return b32decode(digits + "=" * (-len(digits) % 8))
    plain, *escaped = name.split("_")
    return plain.encode() + b"".join(
        bytes([int(part[:2], 16)]) + part[2:].encode() for part in escaped
    )
