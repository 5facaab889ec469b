"""The log of experiences of specification 002: entries between `---` lines, each a YAML map.

`render` writes the form of the specification. `parse` reads that form, the one in which such logs
are found (bullets with bold keys), and any text without raising: what is no entry is passed over,
and a broken entry is a fault with its line. `entries` reads line by line, so that a log of any
length needs the memory of one entry.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from memory_mesh.errors import shown
from memory_mesh.fastdataclass import dataclass
from memory_mesh.formats import log_values
from memory_mesh.formats.log_values import Value
from memory_mesh.model.experience import Experience, FinalOutcome
from memory_mesh.typed import TypeAlias

DELIMITER = "---"
MAX_ENTRY_LINES = 5_000  # of one entry; a longer one is a fault
_ID = re.compile(r"exp_([0-9]{1,18})\Z")
_STARTS = re.compile(r" ?(?:[-*]\s+)?(?:\*\*)?experience[_ ]id(?:\*\*)?\s*:", re.IGNORECASE)
_COUNT = re.compile(r"[0-9]{1,18}\Z")

Found: TypeAlias = "Experience | Fault"


@dataclass(frozen=True, slots=True)
class Fault:
    """An entry that cannot be read: the line it starts in, and why."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class ParsedLog:
    """What a log holds, in its order."""

    entries: tuple[Experience, ...]
    faults: tuple[Fault, ...]


def render(entry: Experience) -> str:
    """Returns one entry with its delimiters."""
    lines = [
        DELIMITER,
        f"experience_id: {entry.experience_id}",
        f"project_name: {log_values.scalar(entry.project_name)}",
        f"primary_goal: {log_values.scalar(entry.primary_goal)}",
        f"final_outcome: {entry.final_outcome.value}",
        "components_used:" if entry.components_used else "components_used: []",
        *(f"  - {log_values.scalar(name)}" for name in entry.components_used),
        f"files_created: {entry.files_created}",
        f"output_summary: {log_values.scalar(entry.output_summary)}",
        f"execution_time_ms: {entry.execution_time_ms}",
        f"learnings_or_issues: {log_values.block(entry.learnings_or_issues)}",
        f'timestamp: "{_iso(entry.timestamp)}"',
        DELIMITER,
    ]
    return "\n".join(lines) + "\n"


def render_all(entries: Iterable[Experience]) -> Iterator[str]:
    """Yields the texts of a log, one entry at a time, with a blank line between two."""
    for number, entry in enumerate(entries):
        yield ("\n" if number else "") + render(entry)


def parse(text: str) -> ParsedLog:
    """Returns the entries and faults of a log; never raises."""
    found = list(entries(text.split("\n")))
    return ParsedLog(
        tuple(one for one in found if isinstance(one, Experience)),
        tuple(one for one in found if isinstance(one, Fault)),
    )


def entries(lines: Iterable[str]) -> Iterator[Found]:
    """Yields each entry, or its fault, as soon as its last line was read."""
    for start, chunk in _chunks(lines):
        if len(chunk) > MAX_ENTRY_LINES:
            yield Fault(start, f"the entry has more than {MAX_ENTRY_LINES} lines")
        else:
            yield _entry(start, chunk)


def _chunks(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """The lines of each entry, from its id to the next delimiter or id, with its first line."""
    chunk: list[str] = []
    start = 0
    for number, line in enumerate(lines, 1):
        plain = line.rstrip("\r\n").removeprefix("\ufeff")
        begins = _STARTS.match(plain) is not None
        if chunk and (begins or plain.rstrip() == DELIMITER):
            yield start, chunk
            chunk = []
        if begins:
            start = number
        if begins or (chunk and len(chunk) <= MAX_ENTRY_LINES):
            chunk.append(plain)
    if chunk:
        yield start, chunk


def _entry(start: int, chunk: Sequence[str]) -> Found:
    values = log_values.read(chunk)
    try:
        return Experience(
            number=_number(values),
            project_name=_text(values, "project_name"),
            primary_goal=_text(values, "primary_goal"),
            final_outcome=_outcome(values),
            components_used=_names(values),
            files_created=_count(values, "files_created"),
            output_summary=_text(values, "output_summary"),
            execution_time_ms=_count(values, "execution_time_ms"),
            learnings_or_issues=_text(values, "learnings_or_issues"),
            timestamp=_time(values),
        )
    except _Unreadable as error:
        return Fault(start, str(error))


class _Unreadable(Exception):
    """Says what is wrong with an entry; `_entry` turns it into a fault."""


def _number(values: dict[str, Value]) -> int:
    match = _ID.match(_text(values, "experience_id"))
    if match is None:
        raise _Unreadable("experience_id must be exp_ and a number")
    return int(match[1])


def _outcome(values: dict[str, Value]) -> FinalOutcome:
    said = _text(values, "final_outcome").strip().lower()
    try:
        return FinalOutcome(said)
    except ValueError:
        known = ", ".join(outcome.value for outcome in FinalOutcome)
        raise _Unreadable(f"final_outcome must be one of {known}, not {shown(said)}") from None


def _names(values: dict[str, Value]) -> tuple[str, ...]:
    named = values.get("components_used", ())
    if isinstance(named, str):
        return tuple(part.strip() for part in named.split(",") if part.strip())
    return tuple(named)


def _count(values: dict[str, Value], key: str) -> int:
    said = values.get(key, "0")
    if not isinstance(said, str):
        return len(said)  # a list of files, as in a trace
    if _COUNT.match(said) is None:
        raise _Unreadable(f"{key} must be a whole number, not {shown(said)}")
    return int(said)


def _time(values: dict[str, Value]) -> datetime:
    said = _text(values, "timestamp")
    try:
        found = datetime.fromisoformat(said)
    except ValueError:
        raise _Unreadable(f"timestamp must be an ISO 8601 time, not {shown(said)}") from None
    try:
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except OverflowError:
        raise _Unreadable(f"timestamp is out of range: {shown(said)}") from None


def _text(values: dict[str, Value], key: str) -> str:
    said = values.get(key, "")
    return said if isinstance(said, str) else "\n".join(said)


def _iso(moment: datetime) -> str:
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
