"""A trace as Markdown with frontmatter, and back: parse(render(trace)) is the same trace.

::

    ---
    trace_id: trace-1767225600000-0a1b2c
    timestamp: "2026-01-01T00:00:00.000Z"
    goal: "Fix the login"
    status: success
    duration_ms: 12345
    tools_used:
      - pytest
    files_created: []
    ---

    # Execution Trace: Fix the login

    ## Plan
    …
    ## Steps Executed
    1. Read the log - success
    ## Results
    …
    ## Learnings
    - Read the log first

A text that its place cannot hold as it is (an empty item, several lines in one, white space at an
end) is written as a JSON string. A line of a text that looks like one of our headings or like the
line before a frontmatter gets a backslash in front.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import Any
from memory_mesh.formats import yaml_text
from memory_mesh.model import Json
from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.model.times import iso
from memory_mesh.model.trace import TIES, Step, Trace, TraceStatus

MAX_CHARACTERS = 400_000  # of one trace: a goal of 100,000, as much again around it, escapes
_TITLE = "# Execution Trace: "
_PLAN, _STEPS, _RESULTS, _LEARNINGS = "Plan", "Steps Executed", "Results", "Learnings"
_SECTIONS = (_PLAN, _STEPS, _RESULTS, _LEARNINGS)
_BETWEEN = " - "  # step and status


def render(trace: Trace) -> str:
    """Returns the text of a trace file."""
    title = _control().sub(" ", trace.goal.strip().partition("\n")[0]).strip()
    steps = [f"{number}. {_step_text(step)}" for number, step in enumerate(trace.steps, start=1)]
    bullets = [f"- {_in_one_line(learning)}" for learning in trace.learnings]
    parts = [
        "---",
        *_head(trace),
        "---",
        "",
        _TITLE + title,
        *_section(_PLAN, _free_text(trace.plan)),
        *_section(_STEPS, "\n".join(steps)),
        *_section(_RESULTS, _free_text(trace.results)),
        *_section(_LEARNINGS, "\n".join(bullets)),
    ]
    return "\n".join(parts) + "\n"


def render_all(traces: Sequence[Trace]) -> str:
    """Returns one text with several traces, one after the other."""
    return "\n".join(map(render, traces))


def parse(text: str) -> Trace:
    """Returns the one trace of a file; InvalidInput says what is wrong with it."""
    found = parse_all(text)
    if len(found) != 1:
        raise InvalidInput(f"the file has {len(found)} traces, not one")
    return found[0]


def parse_all(text: str) -> list[Trace]:
    """Returns the traces of a file in their order."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").lstrip("\n")
    text = _comment().sub("", text, count=1)
    if not text.startswith("---\n"):
        raise InvalidInput("this is no trace file: it must begin with a line ---, then trace_id: …")
    starts = [0, *(found.start() for found in _next_start().finditer(text))]
    ends = [*starts[1:], len(text)]
    return [_parsed(text[start:end]) for start, end in zip(starts, ends, strict=True)]


def sections(body: str, names: Sequence[str] = _SECTIONS) -> dict[str, str]:
    """Returns the text below each of these second-level headings."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in body.split("\n"):
        name = line.removeprefix("## ").rstrip(" \t")
        if line.startswith("## ") and name in names and name not in found:
            current = found[name] = []
        else:
            current.append(line)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def items(text: str) -> list[str]:
    """Returns the items of a list, numbered or not; an indented line belongs to the one before."""
    found: list[str] = []
    for line in text.split("\n"):
        if found and line.startswith("  ") and line.strip():
            found[-1] += f"\n{line.strip()}"
        elif line.strip():
            marker = _marker().match(line)
            found.append(line[marker.end() if marker else 0 :].strip())
    return found


def _head(trace: Trace) -> Iterator[str]:
    yield f"trace_id: {yaml_text.plain(trace.trace_id)}"
    if trace.timestamp is not None:
        yield f'timestamp: "{iso(trace.timestamp)}"'
    yield f"goal: {yaml_text.quoted(trace.goal)}"
    yield f"status: {trace.status.value}"
    yield f"duration_ms: {trace.duration_ms}"
    yield from _listed("tools_used", trace.tools_used)
    yield from _listed("files_created", trace.files_created)
    for tie in TIES:
        if getattr(trace, tie):
            yield from _listed(tie, getattr(trace, tie))


def _listed(name: str, values: Sequence[str]) -> Iterator[str]:
    yield f"{name}:" if values else f"{name}: []"
    yield from (f"  - {yaml_text.plain(value)}" for value in values)


def _section(name: str, text: str) -> list[str]:
    return ["", f"## {name}", *([text] if text else [])]


def _step_text(step: Step) -> str:
    text = _in_one_line(step.text)
    if not step.status:
        return _without_hyphens(step.text) if _BETWEEN in text else text
    plain = _plain_status().fullmatch(step.status)
    return f"{text}{_BETWEEN}{step.status if plain else _without_hyphens(step.status)}"


def _in_one_line(text: str) -> str:
    return text if text and "\n" not in text and _is_plain(text) else _quoted(text)


def _free_text(text: str) -> str:
    """A text of several lines; one that looks like our own gets a backslash in front."""
    return _own_line().sub(r"\\\g<0>", text) if _is_plain(text) else _quoted(text)


def _is_plain(text: str) -> bool:
    """True if the text can be read back from between other lines."""
    quoted = text.startswith('"') and text.endswith('"')
    return text == text.strip() and not quoted and not _control().search(text)


def _quoted(text: str) -> str:
    """The text as a JSON string, without what an editor may hide or break a line at."""
    return _control().sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False)
    )


def _without_hyphens(text: str) -> str:
    """The text in quotes; nothing in it can be taken for what stands between step and status."""
    return _quoted(text).replace("-", "\\u002d")


def _parsed(text: str) -> Trace:
    if len(text) > MAX_CHARACTERS:
        raise InvalidInput(f"the trace has more than {MAX_CHARACTERS} characters")
    head, *bodies = _closing().split(text.removeprefix("---\n"), maxsplit=1)
    if not bodies:
        raise InvalidInput("the frontmatter of the trace has no closing line ---")
    given, body = _read_head(head), bodies[0]
    parts = sections(body)
    values: dict[str, Any] = {
        name: _texts(name, given.get(name)) for name in ("tools_used", "files_created", *TIES)
    }
    return Trace(
        _goal(given, body),
        _status(given.get("status")),
        _duration(given.get("duration_ms", 0)),
        plan=_read_text(parts.get(_PLAN, "")),
        steps=tuple(map(_read_step, items(parts.get(_STEPS, "")))),
        results=_read_text(parts.get(_RESULTS, "")),
        learnings=tuple(map(_unquoted, items(parts.get(_LEARNINGS, "")))),
        timestamp=_moment(given.get("timestamp")),
        trace_id=_text("trace_id", given.get("trace_id") or ""),
        **values,
    )


def _read_head(text: str) -> dict[str, Json]:
    try:
        return yaml_text.read_map(text, texts=_TEXTS).values
    except yaml_text.YamlFault as fault:
        raise InvalidInput(f"line {fault.line + 2} of the trace: {fault}") from None


def _goal(given: Mapping[str, Json], body: str) -> str:
    """The goal of the frontmatter, else of the title."""
    if given.get("goal") is not None:
        return _text("goal", given["goal"])
    title = next((line for line in body.split("\n") if line.startswith(_TITLE)), "")
    if not title:
        raise InvalidInput("the trace has no goal: add a line goal: … to its frontmatter")
    return title.removeprefix(_TITLE).strip()


def _status(value: Json) -> TraceStatus:
    if value not in set(TraceStatus):
        raise InvalidInput(f"the status of a trace is success or failure, not {shown(value)}")
    return TraceStatus(str(value))


def _duration(value: Json) -> int:
    if type(value) is not int or value < 0:
        raise InvalidInput(f"duration_ms must be a whole number from 0 on, not {shown(value)}")
    return value


def _moment(value: Json) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(str(value))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(
            f'timestamp must be like "2026-01-01T12:00:00.000Z", not {shown(value)}'
        ) from None


def _texts(name: str, value: Json) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Sequence):
        raise InvalidInput(f"{name} must be a list of texts")
    return tuple(_text(name, each) for each in value)


def _text(name: str, value: Json) -> str:
    if isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, str)):
        raise InvalidInput(f"{name} must be text; put it in quotes")
    return json.dumps(value) if not isinstance(value, str) else value


def _read_step(item: str) -> Step:
    text, between, status = item.rpartition(_BETWEEN)
    return Step(_unquoted(text), _unquoted(status)) if between else Step(_unquoted(item), "")


def _read_text(text: str) -> str:
    unquoted = _unquoted(text)
    return unquoted if unquoted != text else _escaped_line().sub(r"\1", text)


def _unquoted(text: str) -> str:
    if not (text.startswith('"') and text.endswith('"')):
        return text
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, str) else text


_TEXTS = frozenset({"trace_id", "timestamp", "goal", "tools_used", "files_created", *TIES})


_next_start = lazy_pattern(r"(?<=\n)---\n(?=trace_id:)")


_closing = lazy_pattern(r"\n---[ \t]*(?:\n|\Z)")


_comment = lazy_pattern(r"\A<!--[^\n]*-->\n+")


_marker = lazy_pattern(r"(?:[-*+]|\d+[.)])(?: |$)")


_plain_status = lazy_pattern(r"[A-Za-z0-9_]+(?: [A-Za-z0-9_]+)*")


_own_line = lazy_pattern(rf"^\\*(?:## (?:{'|'.join(_SECTIONS)})[ \t]*|---)$", re.MULTILINE)


_escaped_line = lazy_pattern(rf"^\\(\\*(?:## (?:{'|'.join(_SECTIONS)})[ \t]*|---))$", re.MULTILINE)


_control = lazy_pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\u2028\u2029]")
