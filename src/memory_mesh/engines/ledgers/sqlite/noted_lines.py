"""Records of reads as lines of JSON, and back; a line that is not one of ours is damaged."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from memory_mesh.engines.ledgers.sql import rows
from memory_mesh.engines.ledgers.sql.noted import Noted
from memory_mesh.model import Entry, Json, Operation, Scope
from memory_mesh.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory_mesh.model.pack import Injected, Injection

_DAMAGED = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
_LARGEST = 1 << 62


def line(batch: str, number: int, noted: Noted) -> bytes:
    """One record as a line: its batch, its place there, and what it says."""
    values: dict[str, Json] = {"batch": batch, "number": number}
    if noted.entry is not None:
        values["entry"] = _entry_values(noted.entry)
    if noted.injection is not None:
        values["injection"] = _injection_values(noted.injection)
    if noted.at is not None:
        values |= {"used": list(noted.used), "at": rows.micros(noted.at)}
    return json.dumps(values, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def batches(data: bytes) -> tuple[dict[str, dict[int, Noted]], int]:
    """The records of each batch by their number, and how many lines are damaged.

    A line may be there twice, where a file was removed while somebody appended to it.
    """
    found: dict[str, dict[int, Noted]] = {}
    damaged = 0
    *lines, rest = data.split(b"\n")
    for text in lines:
        try:
            if text:
                batch, number, noted = _read(text)
                found.setdefault(batch, {})[number] = noted
        except _DAMAGED:
            damaged += 1
    return found, damaged + bool(rest)


def _read(text: bytes) -> tuple[str, int, Noted]:
    values = json.loads(text)
    used, at = values.get("used", ()), values.get("at")
    noted = Noted(
        _entry(values["entry"]) if "entry" in values else None,
        _injection(values["injection"]) if "injection" in values else None,
        tuple(map(_text, used)),
        None if at is None else _moment(at),
    )
    return _text(values["batch"]), _number(values["number"]), noted


def _entry_values(entry: Entry) -> dict[str, Json]:
    return {
        "id": entry.id,
        "agent": entry.agent,
        "at": rows.micros(entry.at),
        "memories": list(entry.memories),
        "wire": entry.wire,
        "metadata": dict(entry.metadata),
    }


def _entry(values: Mapping[str, Any]) -> Entry:
    metadata = values["metadata"]
    json.dumps(metadata, allow_nan=False, ensure_ascii=False).encode()  # or no transaction takes it
    return Entry(
        _text(values["id"]),
        Operation.RECALL,
        _optional(values["agent"]),
        _moment(values["at"]),
        tuple(map(_text, values["memories"])),
        _optional(values["wire"]),
        {_text(name): value for name, value in metadata.items()},
    )


def _injection_values(injection: "Injection") -> dict[str, Json]:
    reader = injection.reader
    return {
        "id": injection.id,
        "at": rows.micros(injection.at),
        "reader": [reader.project, reader.agent, reader.session],
        "texts": [injection.question, injection.format, injection.fence],
        "tokens": [injection.tokens, injection.max_tokens],
        "memories": [
            [one.memory, rows.micros(one.recorded), one.section, one.tokens, one.score]
            for one in injection.memories
        ],
        "agent": injection.agent,
    }


def _injection(values: Mapping[str, Any]) -> "Injection":
    from memory_mesh.model.pack import Injection

    question, format_, fence = map(_text, values["texts"])
    tokens, max_tokens = map(_number, values["tokens"])
    return Injection(
        id=_text(values["id"]),
        at=_moment(values["at"]),
        reader=Scope(*map(_optional, values["reader"])),
        question=question,
        format=format_,
        fence=fence,
        tokens=tokens,
        max_tokens=max_tokens,
        memories=tuple(map(_injected, values["memories"])),
        agent=_optional(values["agent"]),
    )


def _injected(values: Sequence[Any]) -> "Injected":
    from memory_mesh.model.pack import Injected

    memory, recorded, section, tokens, score = values
    score = None if score is None else float(score)
    return Injected(_text(memory), _moment(recorded), _text(section), _number(tokens), score)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode()  # a lone surrogate cannot be stored
    return value


def _optional(value: object) -> str | None:
    return None if value is None else _text(value)


def _number(value: object) -> int:
    if not isinstance(value, int) or not -_LARGEST < value < _LARGEST:
        raise TypeError
    return value


def _moment(value: object) -> datetime:
    return rows.since_epoch(_number(value))
