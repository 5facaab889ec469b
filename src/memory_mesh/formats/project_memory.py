"""The texts of a project's memory folder: log, learnings, patterns, decisions and context.

Each begins with a line that says who wrote it. A file without that line is somebody else's.
"""

from collections.abc import Sequence

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass
from memory_mesh.formats import trace_file
from memory_mesh.formats.looks import as_seen
from memory_mesh.formats.terminal import ESCAPE, safe_text
from memory_mesh.model import Memory, Skill, shown_type
from memory_mesh.model.times import iso
from memory_mesh.model.trace import Trace

NOTHING = "None observed"
_INSIGHTS, _APPROACH, _ANTI_PATTERNS = "Key Insights", "Recommended Approach", "Anti-Patterns"

MARK = "<!-- Written by memory-mesh from its store; an edit here is overwritten. -->"
_RULE = 3  # signs of a line across the page
_LINE = 200  # characters of a memory in a list


@dataclass(frozen=True, slots=True)
class Title:
    """The name of a project, and what tells it from another of the same name."""

    name: str
    of: str = ""  # this repository, or a digest; empty where the name says all

    @property
    def text(self) -> str:
        """The heading, and a line that a reader of the page does not see."""
        told = f"\n\n<!-- Project of: {self.of} -->" if self.of else ""
        return f"# Project: {_line(self.name)}{told}"


def is_ours(text: str) -> bool:
    """True if a file has the line that says that it is written from the store."""
    return text.startswith(MARK)


def is_of_another(text: str, title: Title) -> bool:
    """True if a context that we wrote is that of another project."""
    return is_ours(text) and not text.startswith(f"{MARK}\n\n{title.text}\n\n- ")


def execution_log(traces: Sequence[Trace]) -> str:
    """Returns the traces in the order of time, one document after the other."""
    return f"{MARK}\n\n{trace_file.render_all(traces)}" if traces else _page("Execution log", [])


def tool_results(trace: Trace) -> str:
    """Returns what came out of one execution, step by step."""
    tools = ", ".join(map(_line, trace.tools_used)) or "none"
    steps = [f"- {_line(step.text)}: {_line(step.status)}" for step in trace.steps]
    parts = [f"Tools: {tools}", *steps, "", safe_text(trace.results).strip()]
    return _page(f"Results of {trace.trace_id}", ["\n".join(parts).strip()])


def context_cache(memories: Sequence[Memory]) -> str:
    """Returns the newest memories, one line each."""
    return _page("Working memory", [_list(memories)])


def learnings(memories: Sequence[Memory]) -> str:
    """Returns the learnings in full."""
    texts = [f"{_cited(memory)}\n\n{_whole(memory.text)}" for memory in memories]
    return _page("Learnings", ["\n\n---\n\n".join(texts)])


def patterns(memories: Sequence[Memory], skills: Sequence[Skill]) -> str:
    """Returns patterns that were noticed, and skills."""
    named = [f"- **{_line(skill.name)}**: {_line(skill.intent)} ({skill.id})" for skill in skills]
    return _page("Patterns", [_list(memories), *_section("Skills", named)])


def decisions(memories: Sequence[Memory]) -> str:
    """Returns decisions with the reasons that were given for them."""
    lines: list[str] = []
    for memory in memories:
        lines.append(_item(memory))
        rationale = memory.metadata.get("rationale")
        if isinstance(rationale, str) and rationale.strip():
            lines.append(f"  - Rationale: {_line(rationale)}")
    return _page("Decisions", ["\n".join(lines)])


def context(
    title: Title, pinned: Sequence[Memory], preferences: Sequence[Memory], traces: Sequence[Trace]
) -> str:
    """Returns what holds for the whole project, and how its executions went."""
    done = sum(trace.success for trace in traces)
    rate = f"{round(100 * done / len(traces))}% of the last {len(traces)}" if traces else "none"
    tools = sorted({tool for trace in traces for tool in trace.tools_used})
    facts = [f"- Executions that reached their goal: {rate}"]
    if tools:
        facts.append(f"- Tools: {', '.join(map(_line, tools))}")
    return _page(
        title.text.removeprefix("# "),
        [
            "\n".join(facts),
            *_section("Pinned", [_item(memory) for memory in pinned]),
            *_section("Preferences", [_item(memory) for memory in preferences]),
        ],
    )


def _page(title: str, parts: Sequence[str]) -> str:
    return "\n\n".join([MARK, f"# {title}", *filter(None, parts)]) + "\n"


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"## {title}", "\n".join(lines)] if lines else []


def _list(memories: Sequence[Memory]) -> str:
    return "\n".join(map(_item, memories))


def _item(memory: Memory) -> str:
    return f"- {_line(memory.text)} ({memory.id}, {_line(shown_type(memory))})"


def _cited(memory: Memory) -> str:
    return f"<!-- {memory.id}, {iso(memory.created)} -->"


def _whole(text: str) -> str:
    """The text without control characters; none of its lines parts it or cites another memory."""
    lines = safe_text(text).strip().split("\n")
    return "\n".join(ESCAPE + line if _is_like_ours(line) else line for line in lines)


def _is_like_ours(line: str) -> bool:
    """True for a rule across the page and a comment, which tell one memory from the next."""
    seen = as_seen(line).strip()
    signs = seen.replace(" ", "")
    ruled = len(signs) >= _RULE and signs[0] in "-*_" and not signs.strip(signs[0])
    return ruled or seen.startswith("<!--")


def _line(text: str) -> str:
    """The text on one line, cut, without control characters."""
    line = " ".join(safe_text(text, keep_newlines=False).split())
    return line if len(line) <= _LINE else f"{line[:_LINE].rstrip()} …"


# The text of a learning, as seed 002 writes it, and back.
#
# ::
#
#     # Learning: {pattern name}
#     ## Context                  how often, with what success, with which tools
#     ## Key Insights             a numbered list
#     ## Recommended Approach     step by step
#     ## Anti-Patterns            bullets


@dataclass(frozen=True, slots=True)
class LearningFile:
    """What a learning says; every item is one line."""

    name: str
    count: int
    rate: int  # per cent of the executions that succeeded
    tools: tuple[str, ...] = ()
    insights: tuple[str, ...] = ()
    approach: tuple[str, ...] = ()
    anti_patterns: tuple[str, ...] = ()


def render(learning: LearningFile) -> str:
    """Returns the text of a learning."""
    tools = ", ".join(map(_learning_line, learning.tools)) or NOTHING
    return "\n".join(
        (
            f"# Learning: {_learning_line(learning.name)}",
            "",
            "## Context",
            f"- Observed in {learning.count} executions",
            f"- Success rate: {learning.rate}%",
            f"- Common tools: {tools}",
            "",
            f"## {_INSIGHTS}",
            *_numbered(learning.insights),
            "",
            f"## {_APPROACH}",
            *_numbered(learning.approach),
            "",
            f"## {_ANTI_PATTERNS}",
            *(f"- {_learning_line(item)}" for item in learning.anti_patterns or (NOTHING,)),
        )
    )


def parse(text: str) -> LearningFile | None:
    """Reads the text of a learning; None where its heading or its context is missing."""
    sections = _sections(text)
    name = next((head for head in sections if head.startswith("Learning:")), None)
    context = "\n".join(sections.get("Context", ()))
    counted, rated = _count().search(context), _rate().search(context)
    if name is None or counted is None or rated is None:
        return None
    tools = _tools().search(context)
    return LearningFile(
        name.removeprefix("Learning:").strip(),
        int(counted[1]),
        int(rated[1]),
        tuple(_real([one.strip() for one in (tools[1] if tools else "").split(", ")])),
        tuple(_items(sections.get(_INSIGHTS, ()))),
        tuple(_items(sections.get(_APPROACH, ()))),
        tuple(_items(sections.get(_ANTI_PATTERNS, ()))),
    )


def _sections(text: str) -> dict[str, list[str]]:
    """Returns the lines under each heading."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        heading = _headings().fullmatch(line.rstrip())
        if heading:
            lines = found.setdefault(heading[1].strip(), [])
        elif line.strip():
            lines.append(line.strip())
    return found


def _items(lines: Sequence[str]) -> list[str]:
    return _real([_markers().sub("", line, count=1) for line in lines])


def _real(items: Sequence[str]) -> list[str]:
    """Returns the items without the one that says that there is none."""
    return [item for item in items if item and item != NOTHING]


def _numbered(items: Sequence[str]) -> list[str]:
    return [
        f"{place}. {_learning_line(item)}"
        for place, item in enumerate(items or (NOTHING,), start=1)
    ]


def _learning_line(text: str) -> str:
    return " ".join(text.split())


_headings = lazy_pattern(r"#{1,2}\s++(.+)")


_markers = lazy_pattern(r"\A(?:\d+[.)]|[-*])\s+")


_count = lazy_pattern(r"Observed in (\d+) executions?")


_rate = lazy_pattern(r"Success rate: (\d+)%")


_tools = lazy_pattern(r"Common tools: (.+)")
