"""Writes and parses YAMO blocks (RFC-0011 section 3), the text of an audit entry.

`render` writes the section form of the RFC's examples; `parse` reads that and the ABNF form
(`meta: key;value;` lines, `- body;` constraints). A value can hold anything: `;`, line ends and
`%` are written as %3B, %0A, %0D and %25, so no value can add a field or a line. What a block
hashes, and where it is kept, is not known here.
"""

from collections.abc import Callable
from datetime import UTC, datetime

from memory_mesh.base.typed import NoReturn, TypeAlias, dataclass
from memory_mesh.model.errors import BlockError

Pairs: TypeAlias = tuple[tuple[str, str], ...]

PRIORITIES = ("critical", "high", "medium", "low")
_MORE = "…"  # after a text that was cut
CHANGES = (
    "update",
    "pin",
    "supersede",
    "merge",
    "delete",
    "restore",
    "review",
    "archive",
    "heritage",
    "vote",
    "link",
    "unlink",
    "sync",
    "propose",
    "refuse",
)
HYPOTHESIS = "This memory will be relevant to future queries"
_OBSERVATION = "Content stored"
_RFC = "Content vectorized and stored in LanceDB"  # what the RFC has in its place
PREVIEW_CHARS = 60
_INDENT = "  "
_BODY = "- "  # a constraint without a key
_CODES = (("%", "%25"), (";", "%3B"), ("\n", "%0A"), ("\r", "%0D"))


@dataclass(frozen=True, slots=True)
class YamoBlock:
    """One block; an empty section or priority is absent, a constraint may have an empty key."""

    agent: str
    intent: str
    context: Pairs = ()
    constraints: Pairs = ()
    priority: str = ""
    output: Pairs = ()
    meta: Pairs = ()
    log: tuple[str, ...] = ()
    handoff: str = "End"


def render(block: YamoBlock) -> str:
    """Returns the block's text; `parse` returns an equal block from it."""
    lines = [
        f"agent: {_name(block.agent, 'agent')};",
        f"intent: {_name(block.intent, 'intent')};",
        *_section("context", block.context),
        *_section("constraints", block.constraints),
        *([f"priority: {_priority(block.priority)};"] if block.priority else []),
        *_section("output", block.output),
        *_section("meta", block.meta),
        "log: " + "".join(f"{_escape(part)};" for part in block.log),
        f"handoff: {_escape(block.handoff)};",
    ]
    if not (block.meta and block.log and block.handoff):
        raise BlockError("A block needs a meta section, a log line and a handoff.")
    return "\n".join(lines) + "\n"


def parse(text: str) -> YamoBlock:
    """Parses a block in section or ABNF form; BlockError names the invalid line."""
    lines = _Lines(text)
    block = YamoBlock(
        agent=lines.checked("agent", _name),
        intent=lines.checked("intent", _name),
        context=lines.section("context"),
        constraints=lines.section("constraints"),
        priority=lines.checked("priority", _priority) if lines.starts("priority: ") else "",
        output=lines.section("output"),
        meta=lines.meta(),
        log=lines.fields("log"),
        handoff=lines.single("handoff"),
    )
    lines.expect_end()
    return block


def agent_name(agent_id: str) -> str:
    """Returns an agent id for the agent line: other characters than letters, digits, _ become _."""
    if _plain(agent_id):
        return "MemoryMesh_" + agent_id
    return "MemoryMesh_" + "".join(char if _plain(char) else "_" for char in agent_id)


def retain(
    memory_id: str,
    content: str,
    *,
    agent_id: str,
    memory_type: str,
    at: datetime,
    hypothesis: str = HYPOTHESIS,
) -> YamoBlock:
    """Returns the block of a stored memory (RFC-0011 section 3.2)."""
    when = timestamp(at)
    return YamoBlock(
        agent=agent_name(agent_id),
        intent="store_memory_for_future_retrieval",
        context=(
            ("memory_id", memory_id),
            ("memory_type", memory_type),
            ("timestamp", when),
            ("content_length", str(len(content.encode("utf-8", "surrogatepass")))),
        ),
        constraints=(("hypothesis", hypothesis),),
        priority="medium",
        output=(("memory_stored", memory_id), ("content_preview", preview(content))),
        meta=(
            ("rationale", "Memory persisted for semantic search and retrieval"),
            ("observation", _OBSERVATION),
            ("confidence", "1.0"),
        ),
        log=("memory_retained", "timestamp", when, "id", memory_id, "type", memory_type),
    )


def retained(
    memory_id: str,
    content: str,
    *,
    agent_id: str,
    memory_type: str,
    at: datetime,
    hypothesis: str = HYPOTHESIS,
) -> str:
    """Returns the text of `retain`'s block without making the block: every add writes one."""
    id_, kind, when = _escape(memory_id), _escape(memory_type), timestamp(at)
    return (
        f"agent: {_name(agent_name(agent_id), 'agent')};\n"
        "intent: store_memory_for_future_retrieval;\n"
        f"context:\n  memory_id;{id_};\n  memory_type;{kind};\n  timestamp;{when};\n"
        f"  content_length;{len(content.encode('utf-8', 'surrogatepass'))};\n"
        f"constraints:\n  hypothesis;{_escape(hypothesis)};\npriority: medium;\n"
        f"output:\n  memory_stored;{id_};\n  content_preview;{_escape(preview(content))};\n"
        "meta:\n  rationale;Memory persisted for semantic search and retrieval;\n"
        f"  observation;{_OBSERVATION};\n  confidence;1.0;\n"
        f"log: memory_retained;timestamp;{when};id;{id_};type;{kind};\nhandoff: End;\n"
    )


def as_rfc(wire: str) -> str:
    """A block's text in RFC-0011's own wording, which names the store of the original."""
    return wire.replace(f"\n  observation;{_OBSERVATION};\n", f"\n  observation;{_RFC};\n", 1)


def recall(
    query: str,
    *,
    agent_id: str,
    limit: int,
    results: int,
    top_score: float,
    at: datetime,
    filter: str | None = None,
) -> YamoBlock:
    """Returns the block of a search (RFC-0011 section 3.3)."""
    when = timestamp(at)
    score = str(round(float(top_score), 4))
    return YamoBlock(
        agent=agent_name(agent_id),
        intent="recall_relevant_memories",
        context=(
            ("query", query),
            ("limit", str(limit)),
            ("filter", filter or "none"),
            ("timestamp", when),
        ),
        output=(("results_found", str(results)), ("top_score", score)),
        meta=(
            ("rationale", "Retrieved most semantically relevant memories for current context"),
            ("confidence", score),
        ),
        log=("memory_recalled", "timestamp", when, "query", query, "results", str(results)),
    )


def change(
    memory_id: str,
    change: str,
    *,
    agent_id: str,
    reason: str,
    at: datetime,
) -> YamoBlock:
    """Returns the block of a changed memory, an operation that the RFC does not define."""
    if change not in CHANGES:
        raise BlockError(f"A change is one of {', '.join(CHANGES)}, not {change[:40]!a}.")
    when = timestamp(at)
    return YamoBlock(
        agent=agent_name(agent_id),
        intent="change_memory",
        context=(("memory_id", memory_id), ("change", change), ("timestamp", when)),
        output=(("memory_changed", memory_id),),
        meta=(("rationale", reason), ("confidence", "1.0")),
        log=("memory_changed", "timestamp", when, "id", memory_id, "change", change),
    )


def timestamp(at: datetime) -> str:
    """Returns a time as ISO 8601 in UTC with milliseconds and Z."""
    if at.tzinfo is None:
        raise BlockError("A block's time needs a time zone.")
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def preview(content: str) -> str:
    """Returns the first 60 characters on one line."""
    return " ".join(content[:PREVIEW_CHARS].splitlines())


def cut(text: str, chars: int, wire_bytes: int) -> str:
    """Returns the text, or its beginning and `…` if it is longer than either limit in a block."""
    if len(text) <= chars and _wire_bytes(text) <= wire_bytes:
        return text
    kept = text[: chars - 1]
    while kept and _wire_bytes(kept) > wire_bytes - _wire_bytes(_MORE):
        kept = kept[:-1]
    return kept + _MORE


def _wire_bytes(text: str) -> int:
    return len(_escape(text).encode("utf-8", "surrogatepass"))


def _section(name: str, pairs: Pairs) -> list[str]:
    """Returns the lines of one section; none if it is empty."""
    if not pairs:
        return []
    return [f"{name}:", *(_INDENT + _pair(name, key, value) for key, value in pairs)]


def _pair(name: str, key: str, value: str) -> str:
    if key:
        return f"{_escape(key)};{_escape(value)};"
    if name != "constraints":
        raise BlockError(f"A key of the {name} section is empty.")
    return f"{_BODY}{_escape(value)};"


def _escape(value: str) -> str:
    for char, code in _CODES:  # the percent sign first, so that no code is coded again
        value = value.replace(char, code)
    return value


def _unescape(value: str) -> str:
    for char, code in reversed(_CODES):
        value = value.replace(code, char)
    return value


def _plain(name: str) -> bool:
    """True for one or more letters, digits and _."""
    return name.isascii() and name.replace("_", "0").isalnum()


def _name(value: str, line: str) -> str:
    if not _plain(value):
        raise BlockError(f"The {line} is made of letters, digits and _, not {value[:40]!a}.")
    return value


def _priority(value: str, line: str = "priority") -> str:
    if value not in PRIORITIES:
        known = ", ".join(PRIORITIES)
        raise BlockError(f"The {line} is one of {known}, not {value[:40]!a}.")
    return value


class _Lines:
    """Reads the lines of a block in the order of the grammar; only LF ends a line."""

    __slots__ = ("_at", "_lines")

    def __init__(self, text: str) -> None:
        self._lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
        self._at = 0

    def starts(self, prefix: str) -> bool:
        return self._at < len(self._lines) and self._lines[self._at].startswith(prefix)

    def checked(self, name: str, check: Callable[[str, str], str]) -> str:
        value = self.single(name)
        try:
            return check(value, name)
        except BlockError as error:
            raise BlockError(f"Line {self._at}: {error}") from None

    def single(self, name: str) -> str:
        """Returns the value of a line such as `handoff: End;`."""
        fields = self.fields(name)
        if len(fields) != 1 or not fields[0]:
            raise BlockError(f"Line {self._at}: expected `{name}: value;`.")
        return fields[0]

    def fields(self, name: str) -> tuple[str, ...]:
        """Returns the values of a line such as `log: a;b;`."""
        prefix = f"{name}: "
        if not self.starts(prefix):
            self._fail(f"`{prefix}...;`")
        return self._split(prefix)

    def section(self, name: str) -> Pairs:
        """Returns the pairs below `name:`; none if the section is absent."""
        if not self.starts(f"{name}:"):
            return ()
        if self._lines[self._at] != f"{name}:":
            self._fail(f"`{name}:` alone on its line")
        self._at += 1
        pairs: list[tuple[str, str]] = []
        while self.starts(_INDENT):
            pairs.append(self._pair(_INDENT, bare=name == "constraints"))
        return tuple(pairs) if pairs else self._fail(f"an indented line of {name}")

    def meta(self) -> Pairs:
        """Returns the pairs of the meta section or lines; at least one is required."""
        if not self.starts("meta: "):
            return self.section("meta") or self._fail("a meta section")
        pairs: list[tuple[str, str]] = []
        while self.starts("meta: "):
            pairs.append(self._pair("meta: ", bare=False))
        return tuple(pairs)

    def expect_end(self) -> None:
        if self._at < len(self._lines):
            self._fail("the end of the block")

    def _pair(self, prefix: str, *, bare: bool) -> tuple[str, str]:
        fields = self._split(prefix)
        if bare and len(fields) == 1 and fields[0].startswith(_BODY):
            return "", fields[0].removeprefix(_BODY)
        if len(fields) != 2 or not fields[0]:  # noqa: PLR2004 - a pair
            self._at -= 1
            self._fail("`key;value;`")
        return fields[0], fields[1]

    def _split(self, prefix: str) -> tuple[str, ...]:
        line = self._lines[self._at]
        if not line.endswith(";") or "\r" in line:
            self._fail("a line that ends in `;` and holds no carriage return")
        self._at += 1
        return tuple(map(_unescape, line.removeprefix(prefix).removesuffix(";").split(";")))

    def _fail(self, expected: str) -> NoReturn:
        found = ascii(self._lines[self._at][:40]) if self._at < len(self._lines) else "the end"
        raise BlockError(f"Line {self._at + 1}: expected {expected}, found {found}.")
