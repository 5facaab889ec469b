"""What only a store of our own can say of a memory: trust, votes, pin and status, under a seal.

An export is a file, and anybody can write one. So what would raise trust is read back only from a
row whose seal fits: `memory_mesh.kept` in its metadata, sealed together with every column of the
row but the vector and the rounded importance. Without it the row is a document.
"""

import json
import math
from collections.abc import Callable, Mapping

from memory_mesh.compat.rfc11.rows import OURS, Row, compact
from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import fields, replace
from memory_mesh.model import (
    Channel,
    Claim,
    Draft,
    Json,
    Kept,
    Memory,
    SourceKind,
    Status,
    Tier,
)
from memory_mesh.policy.arguments import check_share, check_whole
from memory_mesh.policy.writing.metadata import check_metadata
from memory_mesh.typed import Any, TypeAlias

Seal: TypeAlias = Callable[[str], str]
Fits: TypeAlias = Callable[[str, str], bool]  # text and seal
_UNSEALED = frozenset({"vector", "importance_score", "metadata"})
_COUNTS = tuple(field.name for field in fields(Kept) if field.name not in {"status", "successor"})


def sealed(row: Mapping[str, object], memory: Memory, seal: Seal) -> dict[str, object]:
    """The row of a memory with what only we can say of it, and a seal on all of it."""
    said = json.loads(str(row["metadata"]))
    ours = said.setdefault(OURS, {})
    if not isinstance(ours, dict):  # a caller's own value under our name
        return dict(row)
    ours["kept"] = _kept(memory)
    try:
        check_metadata(said | {OURS: {**ours, "seal": ""}})
    except InvalidInput:  # metadata at its limit: the row says what it can
        return dict(row)
    ours["seal"] = seal(_text(row, said))
    return {**row, "metadata": compact(said)}


def read_back(row: Row, draft: Draft, fits: Fits) -> tuple[Draft, bool | None]:
    """The draft of a row with what its seal vouches for, and whether it does.

    None instead of True or False means that the row does not claim to be of our own.
    """
    try:
        said = json.loads(str(row.get("metadata") or "{}"))
    except (ValueError, RecursionError):
        return draft, None
    ours = said.get(OURS) if isinstance(said, dict) else None
    if not isinstance(ours, dict) or not isinstance(ours.get("kept"), dict):
        return draft, None
    seal = ours.pop("seal", None)
    if not fits(_text(row, said), seal if isinstance(seal, str) else ""):
        return _lowered(draft, ours["kept"].get("status")), False
    try:
        return _restored(draft, ours["kept"]), True
    except (KeyError, TypeError, ValueError):
        raise InvalidInput("what the row says of its trust and votes cannot be read") from None


def _lowered(draft: Draft, status: Json) -> Draft:
    """A document that says it was not active waits for review; that needs no trust."""
    known = isinstance(status, str) and status in set(Status)
    if not known or status in {Status.ACTIVE, Status.EXPIRED}:
        return draft
    return replace(draft, quarantine=f"it was {status} in the store that it comes from")


def _text(row: Row, said: Mapping[str, Json]) -> str:
    """What is sealed: the columns and the metadata in one spelling."""
    columns = {
        name: value for name, value in row.items() if name not in _UNSEALED and value is not None
    }
    return json.dumps([columns, said], sort_keys=True, separators=(",", ":"))


def _kept(memory: Memory) -> dict[str, Json]:
    claim = memory.claim
    return {
        "source_kind": memory.source.kind.value,
        "channel": memory.source.channel.value,
        "stated": memory.source.stated,
        "importance": memory.importance,
        "pinned": memory.pinned,
        "tier": memory.tier.value,
        "triggers": list(memory.triggers),
        "status": memory.status.value,
        "successor": memory.successor,
        "claim": None
        if claim is None or claim.read
        else {field.name: getattr(claim, field.name) for field in fields(Claim)},
        **{name: getattr(memory, name) for name in _COUNTS},
    }


def _restored(draft: Draft, kept: Mapping[str, Any]) -> Draft:
    """The draft as the export knew the memory; KeyError, TypeError, ValueError if it is damaged."""
    if draft.origin is None:
        raise ValueError("a row without an id")
    source = replace(
        draft.source,
        kind=SourceKind(kept["source_kind"]),
        channel=Channel(kept["channel"]),
        stated=bool(kept["stated"]),
    )
    status = Status(kept["status"])
    counters: dict[str, Any] = {name: _count(name, kept[name]) for name in _COUNTS}
    return replace(
        draft,
        source=source,
        importance=_share("importance", kept["importance"]),
        pinned=bool(kept["pinned"]),
        tier=Tier(kept["tier"]),
        triggers=tuple(kept.get("triggers", ())),  # exports before 0.2 have none
        claim=None if kept["claim"] is None else Claim(**kept["claim"]),
        origin=replace(
            draft.origin,
            kept=Kept(
                status=Status.ACTIVE if status is Status.EXPIRED else status,
                successor=kept["successor"],
                **counters,
            ),
        ),
    )


def _count(name: str, value: object) -> float:
    """A counter of votes; the weight that they make is the only fraction."""
    if name == "usefulness" and isinstance(value, float) and math.isfinite(value):
        return value
    return check_whole(value, name, least=0)


def _share(name: str, value: object) -> float | None:
    return None if value is None else check_share(value, name)
