"""Checks a trace before it is recorded, and lists what is tied to it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import Any, TypeVar, fields, replace
from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.model.trace import TIES, Step, Trace, TraceStatus
from memory_mesh.rules.arguments import METADATA_CHARS, check_text, member, moment

Item = TypeVar("Item")

MAX_CHARACTERS = METADATA_CHARS  # of everything but the goal
MAX_ITEMS = 1_000  # steps, tools, files, learnings and ties together
_MAX_DURATION = 2**63
_ROOM = MAX_CHARACTERS - 1_000  # the names of the fields take some
_STEP_CHARS = 20  # around each step
_GOAL_CHARS, _TEXT_CHARS = 10_000, 4_000  # of a goal and of an item that a recorder keeps
_END = 100  # items at each end of a list that a recorder keeps
_LISTS = ("tools_used", "files_created", "learnings", *TIES)


def trace_with(trace: Trace | str, given: Mapping[str, object]) -> Trace:
    """Returns a goal or a ready trace with these fields, checked; InvalidInput names the field."""
    base = trace if isinstance(trace, Trace) else Trace(check_text(trace, "goal"))
    known = {field.name: getattr(base, field.name) for field in fields(base)}
    return _checked(known | dict(given))


def fitted(trace: Trace) -> Trace:
    """Returns the trace cut to what may be recorded: long texts, and the middle of long lists."""
    chars = _TEXT_CHARS
    cut = trace
    while chars > 1:
        cut = _cut(trace, chars)
        if _size(cut)[1] <= _ROOM:
            break
        chars //= 2
    return cut


def recorder_goal(goal: object) -> str:
    """Returns a goal cut to what is compared and a recorder keeps: none takes minutes or breaks."""
    text = goal if isinstance(goal, str) else check_text(goal, "goal")
    return _shortened(text, _GOAL_CHARS).strip()


def check_trace_id(value: object) -> str:
    """Returns the id of a trace if it has the form of one."""
    text = check_text(value, "trace_id")
    if not _trace_id().fullmatch(text):
        raise InvalidInput(
            f"a trace_id is like trace-1767225600000-0a1b2c: trace-, a time and a random part, of "
            f"letters, digits and .:_+- only; not {shown(text, 60)}"
        )
    return text


def content_id(trace: Trace, digest: str) -> str:
    """Returns the id of a trace whose file states none: the same for the same content."""
    at = trace.timestamp
    return f"trace-{'undated' if at is None else f'{at:%Y%m%dT%H%M%SZ}'}-{digest[:12]}"


def _checked(given: Mapping[str, Any]) -> Trace:
    goal = check_text(given["goal"], "goal").strip()
    if not goal:
        raise InvalidInput("a trace needs a goal: say what was asked for")
    at = moment("timestamp", given["timestamp"])
    lists: dict[str, Any] = {
        name: tuple(check_text(each, f"an item of {name}") for each in _listed(name, given[name]))
        for name in _LISTS
    }
    trace = Trace(
        goal,
        member("status", TraceStatus, given["status"]),
        _duration(given["duration_ms"]),
        plan=check_text(given["plan"], "plan"),
        steps=tuple(map(_step, _listed("steps", given["steps"]))),
        results=check_text(given["results"], "results"),
        timestamp=None if at is None else milliseconds(at),
        trace_id=check_trace_id(given["trace_id"]) if given["trace_id"] else "",
    )
    trace = replace(trace, **lists)
    for tie in TIES:
        for id_ in getattr(trace, tie):
            check_trace_id(id_)
    _check_size(trace)
    return trace


def _check_size(trace: Trace) -> None:
    items, characters = _size(trace)
    if items > MAX_ITEMS or characters > _ROOM:
        raise InvalidInput(
            f"the trace has {items} items and {characters} characters beside its goal; the limits "
            f"are {MAX_ITEMS} and {_ROOM}. Shorten plan, steps and results, and keep long output "
            "in a file that files_created names"
        )


def _size(trace: Trace) -> tuple[int, int]:
    """The items and the characters of everything but the goal."""
    lists = [getattr(trace, name) for name in _LISTS]
    items = sum(map(len, lists)) + len(trace.steps)
    characters = len(trace.plan) + len(trace.results)
    characters += sum(len(text) for texts in lists for text in texts)
    characters += sum(len(step.text) + len(step.status) + _STEP_CHARS for step in trace.steps)
    return items, characters


def _cut(trace: Trace, chars: int) -> Trace:
    lists: dict[str, Any] = {
        name: tuple(_shortened(text, chars) for text in _ends(getattr(trace, name)))
        for name in ("tools_used", "files_created", "learnings")
    }
    steps = tuple(
        Step(_shortened(step.text, chars), _shortened(step.status, chars))
        for step in _ends(trace.steps)
    )
    texts: dict[str, Any] = {
        name: _shortened(getattr(trace, name), 5 * chars) for name in ("plan", "results")
    }
    return replace(trace, goal=recorder_goal(trace.goal), steps=steps, **texts, **lists)


def _ends(items: Sequence[Item]) -> list[Item]:
    """The items, without those in the middle of a long list."""
    return list(items) if len(items) <= 2 * _END else [*items[:_END], *items[-_END:]]


def _shortened(text: str, chars: int) -> str:
    text = text.replace("\0", "").encode("utf-8", "replace").decode()
    return text if len(text) <= chars else f"{text[:chars].rstrip()} …"


def _listed(name: str, value: object) -> Iterable[object]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInput(f"{name} must be a list")
    return value


def _step(given: object) -> Step:
    """A step from what a caller gave: a text, a pair of text and status, a mapping or a Step."""
    match given:
        case Step(text, status):
            pass
        case str(text):
            status = "success"
        case Mapping():
            text, status = given.get("text"), given.get("status", "success")
        case (text, status):
            pass
        case _:
            raise InvalidInput("a step is a text, or a pair of a text and its status")
    return Step(check_text(text, "a step"), check_text(status, "the status of a step"))


def _duration(value: object) -> int:
    if type(value) is not int or not 0 <= value < _MAX_DURATION:
        raise InvalidInput(f"duration_ms must be a whole number from 0 on, not {shown(value)}")
    return value


def milliseconds(at: datetime) -> datetime:
    """The time as a trace file writes it."""
    at = at.astimezone(UTC)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


_trace_id = lazy_pattern(r"trace-[0-9A-Za-z][0-9A-Za-z.:_+-]{0,127}")
