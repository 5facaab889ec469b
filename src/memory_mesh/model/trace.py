"""A trace: what one execution was asked, did and learned; and what earlier ones say of a task."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from memory_mesh.base.typed import Any, TypeAlias, dataclass, replace
from memory_mesh.model.memory import Json, Memory
from memory_mesh.model.times import iso

LABEL = "trace"  # of the memory that a trace is
LEARNING_LABEL = "learning"  # of what several traces taught
PACKED = "packed"  # in it: the details, compressed
KEY = "trace"  # in the memory's extra: everything but the goal
TIES = ("follows", "part_of", "depends_on")  # the links between traces
Window: TypeAlias = tuple[datetime | str | None, datetime | str | None]  # from, to

_HEADS = ("status", "duration_ms", "tools_used")  # stay readable in a packed trace
_LINE = 76  # characters of compressed details in one text


class TraceStatus(StrEnum):
    """How an execution ended."""

    SUCCESS = "success"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an execution and how it ended, in a word."""

    text: str
    status: str = "success"


Steps: TypeAlias = Iterable[Step | str | tuple[str, str] | Mapping[str, str]]  # as callers give


@dataclass(frozen=True, slots=True)
class Trace:
    """What one execution was asked, did and learned.

    `trace_id` is also the id of the memory that holds it; it is empty until the trace is recorded.
    """

    goal: str
    status: TraceStatus = TraceStatus.SUCCESS
    duration_ms: int = 0
    tools_used: tuple[str, ...] = ()
    files_created: tuple[str, ...] = ()
    plan: str = ""
    steps: tuple[Step, ...] = ()
    results: str = ""
    learnings: tuple[str, ...] = ()
    timestamp: datetime | None = None  # when it began
    trace_id: str = ""
    follows: tuple[str, ...] = ()  # ids of the traces before it
    part_of: tuple[str, ...] = ()  # ids of the traces that it is a part of
    depends_on: tuple[str, ...] = ()  # ids of the traces that it needs

    @property
    def memory_id(self) -> str | None:
        """The id of the memory that holds it, once it is recorded."""
        return self.trace_id or None

    @property
    def success(self) -> bool:
        """True if the execution reached its goal."""
        return self.status is TraceStatus.SUCCESS


class TracePage(list[Trace]):
    """Part of a listing of traces; `cursor` asks for the rest and is None at the end."""

    def __init__(self, traces: Iterable[Trace] = (), cursor: str | None = None) -> None:
        super().__init__(traces)
        self.cursor = cursor


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """An earlier execution with a similar goal."""

    goal: str
    similarity: float  # 0 to 1
    tools_used: tuple[str, ...]
    success: bool
    trace_id: str
    suggested_approach: str | None = None

    def record(self) -> dict[str, Json]:
        """The match under the names of the interface, ready for JSON."""
        plain: dict[str, Json] = {
            "goal": self.goal,
            "similarity": round(self.similarity, 4),
            "toolsUsed": list(self.tools_used),
            "success": self.success,
            "traceId": self.trace_id,
        }
        if self.suggested_approach is not None:
            plain["suggestedApproach"] = self.suggested_approach
        return plain


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to do or to avoid, with the ids of the traces and memories that say so."""

    text: str
    cites: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What memory says before a task: what worked, what failed and what to avoid, each cited."""

    goal: str
    worked: tuple[Advice, ...] = ()
    failed: tuple[Advice, ...] = ()
    avoid: tuple[Advice, ...] = ()
    tools: tuple[str, ...] = ()  # that executions which worked used, the most used first
    matches: tuple[PatternMatch, ...] = ()  # the executions behind it

    def record(self) -> dict[str, Json]:
        """The plan ready for JSON."""
        parts = ("worked", "failed", "avoid")
        return {
            "goal": self.goal,
            **{
                part: [
                    {"text": each.text, "cites": list(each.cites)} for each in getattr(self, part)
                ]
                for part in parts
            },
            "tools": list(self.tools),
            "matches": [match.record() for match in self.matches],
        }


def is_trace(memory: Memory) -> bool:
    """True if the memory holds a trace."""
    return memory.label == LABEL and isinstance(memory.extra.get(KEY), Mapping)


def trace_json(trace: Trace) -> dict[str, Json]:
    """Everything but goal, id and time as plain JSON, without what is empty."""
    plain: dict[str, Json] = {
        "status": trace.status.value,
        "duration_ms": trace.duration_ms,
        "tools_used": list(trace.tools_used),
        "files_created": list(trace.files_created),
        "plan": trace.plan,
        "steps": [{"text": step.text, "status": step.status} for step in trace.steps],
        "results": trace.results,
        "learnings": list(trace.learnings),
        **{tie: list(getattr(trace, tie)) for tie in TIES},
    }
    return {key: value for key, value in plain.items() if value or key == "duration_ms"}


def trace_of(memory: Memory) -> Trace:
    """The trace that a memory holds; a value that redaction replaced is read as far as it can."""
    held = memory.extra.get(KEY)
    plain = unpacked(held) if isinstance(held, Mapping) else {}
    duration = plain.get("duration_ms", 0)
    trace = Trace(
        memory.text,
        TraceStatus.FAILURE if plain.get("status") == "failure" else TraceStatus.SUCCESS,
        duration if isinstance(duration, int) else 0,
        plan=str(plain.get("plan", "")),
        steps=tuple(_step(each) for each in _list(plain.get("steps"))),
        results=str(plain.get("results", "")),
        timestamp=memory.occurred_at or memory.created,
        trace_id=memory.id,
    )
    names = ("tools_used", "files_created", "learnings", *TIES)
    lists: dict[str, Any] = {name: tuple(map(str, _list(plain.get(name)))) for name in names}
    return replace(trace, **lists)


def packed(plain: Mapping[str, Json]) -> dict[str, Json] | None:
    """Returns a trace with its details compressed; None where that gains nothing."""
    import base64
    import zlib

    if PACKED in plain:
        return None
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    details = base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")
    heads = {name: plain[name] for name in _HEADS if name in plain}
    small = heads | {PACKED: [details[at : at + _LINE] for at in range(0, len(details), _LINE)]}
    return small if len(json.dumps(small)) < len(text) else None


def unpacked(plain: Mapping[str, Json]) -> Mapping[str, Json]:
    """Returns a trace with all its details; what cannot be unpacked is left out."""
    if PACKED not in plain:
        return plain
    import base64
    import zlib

    try:
        details = base64.b64decode("".join(map(str, _list(plain[PACKED]))), validate=True)
        found = json.loads(zlib.decompress(details))
    except (ValueError, zlib.error):
        return plain
    return found if isinstance(found, dict) else plain


def trace_record(trace: Trace) -> dict[str, Json]:
    """The whole trace as plain JSON."""
    return {
        "trace_id": trace.trace_id,
        "timestamp": None if trace.timestamp is None else iso(trace.timestamp),
        "goal": trace.goal,
        **trace_json(trace),
    }


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _step(plain: Json) -> Step:
    if isinstance(plain, Mapping):
        return Step(str(plain.get("text", "")), str(plain.get("status", "")))
    return Step(str(plain))
