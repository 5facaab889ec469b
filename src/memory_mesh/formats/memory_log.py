"""The log of experiences of specification 002: entries between `---` lines, each a YAML map.

`render` writes the form of the specification. `parse` reads that form, the one in which such logs
are found (bullets with bold keys), and any text without raising: what is no entry is passed over,
and a broken entry is a fault with its line. `entries` reads line by line, so that a log of any
length needs the memory of one entry.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from memory_mesh.base.typed import TypeAlias, dataclass
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model.errors import shown
from memory_mesh.model.learning import Experience, FinalOutcome

_SHORTEST = 3  # backticks of a fence
_RUNS = re.compile("`+")
_VALUE_CHARS = 500

Value: TypeAlias = "str | tuple[str, ...]"
_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_./()+,' -]*[A-Za-z0-9_/()+.])?\Z")
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_ ]{0,39}?)\s*+:(?:[ \t]++(.*))?\Z")
_BULLET = re.compile(
    r"\s{0,3}(?:[-*]\s++)?\*\*([A-Za-z][A-Za-z0-9_ ]{0,39}?)\s*+:?\*\*\s*+:?\s*+(.*)\Z"
)
_ITEM = re.compile(r"\s*+[-*]\s++(.*)\Z")
_HEADER = re.compile(r"[|>](?:([+-])?([1-9])?|([1-9])([+-])?)\s*+(?:#.*)?\Z")
_UNSEEN = re.compile(  # what YAML does not take as it is, or would break a line at
    r"[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_NAMED = {
    "n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "/": "/", "0": "\0", "a": "\a",
    "b": "\b", "e": "\x1b", "f": "\f", "v": "\v", " ": " ", "N": "\x85", "_": "\xa0",
    "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_INDENT = "  "

DELIMITER = "---"
MAX_ENTRY_LINES = 5_000  # of one entry; a longer one is a fault
_ID = re.compile(r"exp_([0-9]{1,18})\Z")
_STARTS = re.compile(r" ?(?:[-*]\s+)?(?:\*\*)?experience[_ ]id(?:\*\*)?\s*:", re.IGNORECASE)
_COUNT = re.compile(r"[0-9]{1,18}\Z")

Found: TypeAlias = "Experience | LogFault"


@dataclass(frozen=True, slots=True)
class LogFault:
    """An entry that cannot be read: the line it starts in, and why."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class ParsedLog:
    """What a log holds, in its order."""

    entries: tuple[Experience, ...]
    faults: tuple[LogFault, ...]


def render(entry: Experience) -> str:
    """Returns one entry with its delimiters."""
    lines = [
        DELIMITER,
        f"experience_id: {entry.experience_id}",
        f"project_name: {scalar(entry.project_name)}",
        f"primary_goal: {scalar(entry.primary_goal)}",
        f"final_outcome: {entry.final_outcome.value}",
        "components_used:" if entry.components_used else "components_used: []",
        *(f"  - {scalar(name)}" for name in entry.components_used),
        f"files_created: {entry.files_created}",
        f"output_summary: {scalar(entry.output_summary)}",
        f"execution_time_ms: {entry.execution_time_ms}",
        f"learnings_or_issues: {block(entry.learnings_or_issues)}",
        f'timestamp: "{_iso(entry.timestamp)}"',
        DELIMITER,
    ]
    return "\n".join(lines) + "\n"


def render_all(entries: Iterable[Experience]) -> Iterator[str]:
    """Yields the texts of a log, one entry at a time, with a blank line between two."""
    yield from (("\n" if number else "") + render(entry) for number, entry in enumerate(entries))


def parse(text: str) -> ParsedLog:
    """Returns the entries and faults of a log; never raises."""
    found = list(entries(text.split("\n")))
    return ParsedLog(
        tuple(one for one in found if isinstance(one, Experience)),
        tuple(one for one in found if isinstance(one, LogFault)),
    )


def entries(lines: Iterable[str]) -> Iterator[Found]:
    """Yields each entry, or its fault, as soon as its last line was read."""
    for start, chunk in _chunks(lines):
        if len(chunk) > MAX_ENTRY_LINES:
            yield LogFault(start, f"the entry has more than {MAX_ENTRY_LINES} lines")
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
    values = read(chunk)
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
        return LogFault(start, str(error))


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
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# The YAML of a log's entries: plain and quoted texts, lists, block scalars; nothing nested.
#
# Written by hand, so that reading takes linear time on any text, never raises and takes no word for
# a boolean, a date or a number. What is written here is valid YAML 1.2 and YAML 1.1.


def scalar(text: str) -> str:
    """Returns a text as YAML in one line: plain where nobody can misread it, else quoted."""
    if _PLAIN.match(text) and text.lower() not in _WORDS and not re.search(r"\s{2}", text):
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """Returns a text in double quotes, without halves of surrogate pairs: no file can hold them."""
    whole = _SURROGATE.sub("\ufffd", text)
    escaped = "".join(_ESCAPES.get(letter, letter) for letter in whole)
    return '"' + _UNSEEN.sub(_escaped, escaped) + '"'


def block(text: str) -> str:
    """Returns a text as a block scalar from its header on; quoted where YAML allows no block."""
    if not text:
        return "|"
    if not text.strip() or _UNSEEN.search(text) or _SURROGATE.search(text):
        return quoted(text)
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    chomping = ("-", "")[ends] if ends <= 1 else "+"
    indent = "2" if body[0] in " \t\n" else ""
    lines = [_INDENT + line if line else "" for line in body.split("\n")]
    return "\n".join((f"|{indent}{chomping}", *lines, *[""] * (ends - 1)))


def read(lines: Sequence[str]) -> dict[str, Value]:
    """Returns the values of an entry by key; of a key that stands twice the first."""
    values: dict[str, Value] = {}
    at = 0
    while at < len(lines):
        bold = _BULLET.match(lines[at])
        match = bold or _KEY.match(lines[at])
        at += 1
        if match is None:
            continue
        key = match[1].strip().lower().replace(" ", "_")
        end = at
        while end < len(lines) and not _begins(lines[end], bold=bold is not None):
            end += 1
        values.setdefault(key, _value((match[2] or "").strip(), lines[at:end]))
        at = end
    return values


def _begins(line: str, *, bold: bool) -> bool:
    """Whether a line starts the next key: a bold one, or one that is not indented."""
    if bold:
        return _BULLET.match(line) is not None
    return _KEY.match(line) is not None


def _value(said: str, below: Sequence[str]) -> Value:
    if (header := _HEADER.match(said)) is not None:
        return _block(said[0], header, below)
    if said.startswith(('"', "'")):
        return _unquoted(said)
    if said.startswith("[") and said.endswith("]"):
        return tuple(_unquoted(part) for part in _parts(said[1:-1]))
    more = [line for line in below if line.strip() and not line.lstrip().startswith("#")]
    if not said and more and all(_ITEM.match(line) for line in more):
        items = [match[1].strip() for line in more if (match := _ITEM.match(line))]
        return tuple(_unquoted(item) for item in items)
    said = re.split(r"\s#", said, maxsplit=1)[0].rstrip()
    return " ".join([said, *(line.strip() for line in more)]).strip()


def _block(style: str, header: re.Match[str], below: Sequence[str]) -> str:
    """The text of a block scalar, by its indentation and what it says about its last lines."""
    chomping, stated = header[1] or header[4] or "", header[2] or header[3]
    first = next((line for line in below if line.strip(" ")), "")
    indent = int(stated) if stated else len(first) - len(first.lstrip(" "))
    lines = [line[indent:] if line.strip(" ") or len(line) > indent else "" for line in below]
    body = lines
    while body and not body[-1]:
        body = body[:-1]
    text = "\n".join(body) if style == "|" else _folded(body)
    if chomping == "+":
        return text + "\n" * (len(lines) - len(body) + bool(body))
    return text + "\n" if body and not chomping else text


def _folded(lines: Sequence[str]) -> str:
    """Lines of a folded block: a single line end is a space, a blank line ends a paragraph."""
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            paragraphs[-1].append(line.strip())
        else:
            paragraphs.append([])
    return "\n".join(" ".join(paragraph) for paragraph in paragraphs)


def _parts(inner: str) -> list[str]:
    """The items of a list in brackets, apart at commas outside of quotes."""
    parts = re.findall(r'\s*("(?:\\.|[^"\\])*"|\'(?:\'\'|[^\'])*\'|[^,]+)\s*(?:,|\Z)', inner)
    return [part.strip() for part in parts if part.strip()]


def _unquoted(said: str) -> str:
    if said.startswith('"'):
        end = re.match(r'"((?:\\.|[^"\\])*)', said, re.DOTALL)
        return _ESCAPE.sub(_unescaped, end[1]) if end else said
    if said.startswith("'"):
        end = re.match(r"'((?:''|[^'])*)", said)
        return end[1].replace("''", "'") if end else said
    return re.split(r"\s#", said, maxsplit=1)[0].rstrip()


def _escaped(match: re.Match[str]) -> str:
    point = ord(match[0])
    if point <= 0xFF:  # noqa: PLR2004 - two hexadecimal digits
        return f"\\x{point:02x}"
    return f"\\u{point:04x}"


def _unescaped(match: re.Match[str]) -> str:
    if match[4] is not None:
        return _NAMED.get(match[4], match[0])
    point = int(match[1] or match[2] or match[3], 16)
    return chr(point) if point <= 0x10FFFF else "\ufffd"  # noqa: PLR2004 - the last code point


# Entries of a Markdown log of what happened to memories.
#
# ::
#
#     ## 09:00:03 · store · `kuro`
#
#     ```text
#     the memory, as it was stored
#     ```
#
#     - id: `mem_1767225600000_3fa2c1`
#     - category: `decision`
#
# The text stands in a code block whose fence is longer than any run of backticks in it, so that no
# heading, link, image or HTML of a memory is one of the log. Everything invisible is shown as its
# code, and whatever stands outside of the block is in a code span on one line.


def entry(
    event: str, at: datetime, agent: str | None, text: str, facts: Mapping[str, str]
) -> bytes:
    """One entry with a blank line before it; facts without a value are left out."""
    shown = safe_text(text)
    longest = max((len(run) for run in _RUNS.findall(shown)), default=0)
    fence = "`" * max(_SHORTEST, longest + 1)
    heading = [f"{at.astimezone(UTC):%H:%M:%S}", event, *([_span(agent)] if agent else ())]
    listed = [f"- {name}: {_span(value)}" for name, value in facts.items() if value]
    lines = ["", f"## {' · '.join(heading)}", "", f"{fence}text", shown, fence, "", *listed, ""]
    return "\n".join(lines).encode("utf-8", "replace")


def _span(value: str) -> str:
    """A value as code on one line."""
    return f"`{safe_text(value[:_VALUE_CHARS], keep_newlines=False).replace('`', chr(39))}`"
