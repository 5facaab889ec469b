"""Makes a plan of what memory knows: what worked, what failed and what to avoid, each cited.

::

    learnings of several traces ──▶ recommended approach ▶ worked      anti-patterns ▶ avoid
    similar executions, nearest first
        success ──▶ its steps or plan, its learnings ▶ worked
        failure ──▶ where it failed ▶ failed           its learnings ▶ avoid
    steps that failed on the way to a success ▶ avoid
    lessons ──▶ their rules ▶ avoid
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from memory_mesh.base.typed import TypeAlias
from memory_mesh.formats.project_memory import NOTHING
from memory_mesh.formats.trace_file import items, sections
from memory_mesh.learn.rules import trace_learnings
from memory_mesh.learn.rules.trace_groups import (
    approach,
    match_of,
    normalised,
    numbered,
    step_failed,
)
from memory_mesh.model import Memory
from memory_mesh.model.trace import Advice, Plan, Trace

_RECOMMENDED, _ANTI_PATTERNS = "Recommended Approach", "Anti-Patterns"
_RESULT_CHARS = 200  # of a failure's results
Said: TypeAlias = tuple[str, str]  # a text and the id of who says it


def plan_of(
    goal: str, similar: Sequence[tuple[Trace, float]], learned: Sequence[Memory], limit: int
) -> Plan:
    """Returns the plan for a goal from similar executions and from what was learned, best first."""
    traces = [trace for trace, _ in similar]
    good = [trace for trace in traces if trace.success]
    bad = [trace for trace in traces if not trace.success]
    tools = Counter(tool for trace in good for tool in dict.fromkeys(trace.tools_used))
    return Plan(
        goal,
        worked=_cited([*_recommended(learned), *_approaches(good), *_learnings(good)], limit),
        failed=_cited(((_failure(trace), trace.trace_id) for trace in bad), limit),
        avoid=_cited([*_warnings(learned), *_learnings(bad), *_failed_steps(good)], limit),
        tools=tuple(tool for tool, _ in tools.most_common(limit)),
        matches=tuple(match_of(trace, near) for trace, near in similar),
    )


def _recommended(learned: Sequence[Memory]) -> Iterable[Said]:
    for memory in learned:
        text = sections(memory.text, (_RECOMMENDED, _ANTI_PATTERNS)).get(_RECOMMENDED, "")
        listed = _said(text)
        if memory.lesson is not None or not listed:
            continue
        if trace_learnings.read(memory) is None:
            yield text, memory.id
            continue
        steps = [_found(memory, item) for item in listed]
        said = numbered([step.text for step in steps])
        evidence = (id_ for step in steps for id_ in step.traces)
        yield from ((said, id_) for id_ in (memory.id, *evidence))


def _warnings(learned: Sequence[Memory]) -> Iterable[Said]:
    for memory in learned:
        if memory.lesson is not None:
            yield memory.lesson.rule, memory.id
            continue
        listed = sections(memory.text, (_RECOMMENDED, _ANTI_PATTERNS)).get(_ANTI_PATTERNS, "")
        for item in _said(listed):
            found = _found(memory, item)
            yield from ((found.text, id_) for id_ in (memory.id, *found.traces))


def _said(text: str) -> list[str]:
    """The items of a list, without the one that says that there is none."""
    return [item for item in items(text) if normalised(item) != normalised(NOTHING)]


def _found(memory: Memory, item: str) -> trace_learnings.TraceFinding:
    """An item of a learning; one that consolidation wrote names its evidence."""
    return (
        trace_learnings.TraceFinding(item, ())
        if trace_learnings.read(memory) is None
        else trace_learnings.evidence_in(item)
    )


def _approaches(traces: Sequence[Trace]) -> Iterable[Said]:
    for trace in traces:
        if (text := approach(trace)) is not None:
            yield text, trace.trace_id


def _learnings(traces: Sequence[Trace]) -> Iterable[Said]:
    return ((text, trace.trace_id) for trace in traces for text in trace.learnings)


def _failed_steps(traces: Sequence[Trace]) -> Iterable[Said]:
    for trace in traces:
        for step in trace.steps:
            if step_failed(step.status):
                yield f"{step.text} ({step.status})", trace.trace_id


def _failure(trace: Trace) -> str:
    """Where an execution failed, in a line."""
    step = next((step.text for step in trace.steps if step_failed(step.status)), None)
    result = " ".join(trace.results.split())
    cut = result if len(result) <= _RESULT_CHARS else f"{result[:_RESULT_CHARS].rstrip()} …"
    parts = [trace.goal, *([f"failed at: {step}"] if step else []), *([cut] if cut else [])]
    return " - ".join(" ".join(part.split()) for part in parts)


def _cited(said: Iterable[Said], limit: int) -> tuple[Advice, ...]:
    """The first different texts, each with all who say it."""
    texts: dict[str, str] = {}
    cites: dict[str, dict[str, None]] = {}
    for text, id_ in said:
        if not (key := normalised(text)):
            continue
        texts.setdefault(key, text.strip())
        cites.setdefault(key, {})[id_] = None
    return tuple(Advice(text, tuple(cites[key])) for key, text in list(texts.items())[:limit])
