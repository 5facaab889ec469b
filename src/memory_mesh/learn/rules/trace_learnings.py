"""What executions of one group teach: insights, an approach and what to avoid, each with evidence.

::

    learnings that say the same ──▶ one insight, or an anti-pattern where they warn
    steps of successes, in the same order ──▶ the approach
    steps that failed, tools of failures alone ──▶ anti-patterns

Everything is in the words of the traces. Evidence is the ids of the traces that say it.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass, replace
from memory_mesh.formats import project_memory
from memory_mesh.learn.rules.procedures import ProcedureStep, common, same, step_of
from memory_mesh.learn.rules.trace_groups import EXEMPLARS, shared_words
from memory_mesh.model import Json, Memory
from memory_mesh.model.trace import trace_of
from memory_mesh.text import analyzer

KEY = "learning"  # in the memory's extra
MATERIAL = 100  # traces whose words make the text
_EVIDENCE = 20  # ids that are kept with each finding
_TOOLS = 50
_LISTS = ("insights", "approach", "anti_patterns")

SHARED_STEPS = 2  # steps that successes must agree on before a skill is staged
MOST_ITEMS = 7  # insights, anti-patterns
MOST_STEPS = 20
COMPARED = 12  # successes, the newest, whose steps are compared with each other
NAME_CHARS = 80
_ALIKE = 0.6  # share of words from which two learnings say the same
_HALF = 2


@dataclass(frozen=True, slots=True)
class Execution:
    """One trace as consolidation reads it."""

    trace_id: str
    goal: str
    success: bool
    tools: tuple[str, ...] = ()
    steps: tuple[tuple[str, str], ...] = ()  # each with its status
    learnings: tuple[str, ...] = ()
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class TraceFinding:
    """One thing that traces teach, and the ids of those traces."""

    text: str
    traces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Findings:
    """What a group of executions teaches."""

    insights: tuple[TraceFinding, ...]
    approach: tuple[TraceFinding, ...]  # steps, in order
    anti_patterns: tuple[TraceFinding, ...]
    agreed: bool  # at least two successes take these steps, and there are enough of them


def findings(executions: Sequence[Execution]) -> Findings:
    """Returns what the executions teach; they come oldest first."""
    successes = [one for one in executions if one.success]
    failures = [one for one in executions if not one.success]
    said = _said_alike(
        (text, one.trace_id) for one in executions for text in one.learnings if text.strip()
    )
    warnings = [finding for finding in said if _warns(finding.text)]
    insights = [finding for finding in said if finding not in warnings]
    approach, agreed = _approach(successes)
    failed = _failed_steps(executions, [finding.text for finding in approach])
    return Findings(
        tuple(_best([*insights, *_telling_tools(successes, failures)])),
        tuple(approach[:MOST_STEPS]),
        tuple(_best([*warnings, *failed, *_failing_tools(successes, failures)])),
        agreed and len(approach) >= SHARED_STEPS,
    )


def pattern_name(goals: Sequence[str]) -> str:
    """Returns the goal that shares most words with the others, as the name of the pattern."""
    terms = [frozenset(analyzer.terms(goal)) for goal in goals]
    near = [sum(shared_words(one, other) for other in terms) for one in terms]
    goal = goals[
        max(range(len(goals)), key=lambda place: (near[place], -len(goals[place]), -place))
    ]
    line = " ".join(goal.split()).strip(" .:#*")
    if len(line) > NAME_CHARS:
        line = f"{line[:NAME_CHARS].rpartition(' ')[0] or line[: NAME_CHARS - 1]} …"
    return line[:1].upper() + line[1:]


def common_tools(counts: Mapping[str, int], executions: int) -> tuple[str, ...]:
    """Returns the tools that at least half of the executions used, the most used first."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(tool for tool, count in ranked if count * _HALF >= executions)


def rate(successes: int, executions: int) -> int:
    """Returns the share of successes in per cent; 0 and 100 only where that is true."""
    if not executions or successes in (0, executions):
        return 100 if executions and successes else 0
    return max(1, min(99, round(100 * successes / executions)))


def with_evidence(finding: TraceFinding, most: int = 3) -> str:
    """Returns a finding as one line, with the first ids of its evidence."""
    shown = ", ".join(finding.traces[:most])
    more = len(finding.traces) - most
    return f"{finding.text} [{shown}{f' and {more} more' if more > 0 else ''}]"


def evidence_in(line: str) -> TraceFinding:
    """Returns the finding of a line that `with_evidence` wrote, with the ids that it names."""
    text, found, shown = line.rpartition(" [")
    if not found or not shown.endswith("]"):
        return TraceFinding(line, ())
    return TraceFinding(text, tuple(_more().sub("", shown[:-1]).split(", ")))


def _said_alike(said: Iterable[tuple[str, str]]) -> list[TraceFinding]:
    """Joins what is said in nearly the same words, in the first words it was said in."""
    found: list[tuple[ProcedureStep, list[str]]] = []
    for text, trace in said:
        step = step_of(text)
        for known, traces in found:
            if same(known, step) or _worded_alike(known, step):
                traces.append(trace)
                break
        else:
            found.append((step, [trace]))
    return [TraceFinding(step.text, tuple(dict.fromkeys(traces))) for step, traces in found]


def _worded_alike(one: ProcedureStep, other: ProcedureStep) -> bool:
    return (
        shared_words(one.terms, other.terms) >= _ALIKE
        and one.command == other.command
        and _warns(one.text) is _warns(other.text)
        and _figures(one.text) == _figures(other.text)
    )


def _figures(text: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?", text)


def _approach(successes: Sequence[Execution]) -> tuple[list[TraceFinding], bool]:
    """Returns the steps that at least two, and half of, the successes take in the same order.

    Where none are shared, those of the newest success; False says that nobody confirms them.
    """
    told = [(one, tuple(_done(one))[: 2 * MOST_STEPS]) for one in successes]
    told = [(one, steps) for one, steps in told if steps][-COMPARED:]
    best: list[TraceFinding] = []
    for one, steps in told:
        support = [[one.trace_id] for _ in steps]
        for other, others in told:
            if other is not one:
                for place in common(steps, others):
                    support[place].append(other.trace_id)
        wanted = max(_HALF, (len(told) + 1) // _HALF)
        kept = [
            TraceFinding(step.text, tuple(sorted(traces)))
            for step, traces in zip(steps, support, strict=True)
            if len(set(traces)) >= wanted
        ]
        if len(kept) > len(best):
            best = kept
    if best:
        return best, True
    if not told:
        return [], False
    newest, steps = told[-1]
    return [TraceFinding(step.text, (newest.trace_id,)) for step in steps], False


def _done(execution: Execution) -> Iterable[ProcedureStep]:
    """The steps of an execution that did not fail."""
    return (step_of(text) for text, status in execution.steps if text.strip() and not _bad(status))


def _failed_steps(executions: Sequence[Execution], advised: Sequence[str]) -> list[TraceFinding]:
    """Steps that failed, but for those that are advised because they worked for others."""
    fine = list(map(step_of, advised))
    failed = _said_alike(
        (text, one.trace_id)
        for one in executions
        for text, status in one.steps
        if text.strip() and _bad(status)
    )
    return [
        TraceFinding(f"{one.text} (failed)", one.traces)
        for one in failed
        if not any(same(step, step_of(one.text)) for step in fine)
    ]


def _telling_tools(
    successes: Sequence[Execution], failures: Sequence[Execution]
) -> list[TraceFinding]:
    """Tools that every success used, and no failure: at least two against one."""
    if len(successes) < _HALF or not failures:
        return []
    always = set.intersection(*(set(one.tools) for one in successes))
    never = always - {tool for one in failures for tool in one.tools}
    ids = tuple(one.trace_id for one in (*successes, *failures))
    return [
        TraceFinding(f"Every success used {tool}, no failure did", ids) for tool in sorted(never)
    ]


def _failing_tools(
    successes: Sequence[Execution], failures: Sequence[Execution]
) -> list[TraceFinding]:
    """Tools that only failures used, two of them at least."""
    if not successes:
        return []
    counts = Counter(tool for one in failures for tool in set(one.tools))
    fine = {tool for one in successes for tool in one.tools}
    return [
        TraceFinding(
            f"Only executions that failed used {tool}",
            tuple(one.trace_id for one in failures if tool in one.tools),
        )
        for tool, count in sorted(counts.items())
        if count >= _HALF and tool not in fine
    ]


def _best(found: Sequence[TraceFinding]) -> list[TraceFinding]:
    """The findings with most evidence first; of equals the one said first."""
    once = {finding.text: finding for finding in reversed(found)}
    ordered = [finding for finding in found if once[finding.text] is finding]
    return sorted(ordered, key=lambda finding: -len(finding.traces))[:MOST_ITEMS]


def _bad(status: str) -> bool:
    return _failed().search(status) is not None


def _warns(text: str) -> bool:
    return _warning().search(text) is not None


_more = lazy_pattern(r" and \d+ more$")


@cache
def _failed() -> re.Pattern[str]:
    words = r"fail(?:ed|ure|s)?|errors?|errored|abort(?:ed)?|crash(?:ed)?"
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


@cache
def _warning() -> re.Pattern[str]:
    words = (
        r"avoid|do not|don['\u2019]?t|never|must not|should not|shouldn['\u2019]?t|stop\s+\w+ing|"
        r"fail(?:ed|s|ure)?|broke|breaks|wrong|mistake|too (?:slow|long|late|many|much)|"
        r"did not (?:work|help)|didn['\u2019]?t (?:work|help)"
    )
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


# What a learning remembers of its traces beside its text: counts, material and evidence.
#
# A learning grows: counts go on, the text is written anew from its newest traces. Counts are of all
# traces; what they say is read from the newest `MATERIAL` of them, so that a learning of thousands
# costs no more than one of a hundred.


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningRecord:
    """The pattern, its figures, the traces it is compared and written from, and its findings."""

    pattern: str
    count: int = 0
    successes: int = 0
    duration_ms: int = 0  # of all executions together
    tools: Mapping[str, int]
    exemplars: tuple[str, ...] = ()  # ids of traces that new ones are compared with
    traces: tuple[str, ...] = ()  # ids of the newest, oldest first
    merged: tuple[str, ...] = ()  # ids of learnings that became part of this one
    findings: Findings = Findings((), (), (), agreed=False)


def execution_of(memory: Memory) -> Execution:
    """Returns a trace as consolidation reads it."""
    trace = trace_of(memory)
    return Execution(
        memory.id,
        trace.goal,
        trace.success,
        trace.tools_used,
        tuple((step.text, step.status) for step in trace.steps),
        trace.learnings,
        trace.duration_ms,
    )


def grown(
    known: LearningRecord | None, new: Sequence[Execution], material: Sequence[Execution]
) -> LearningRecord:
    """Returns a learning with more executions; `material` is the newest of all."""
    if known is None:
        pattern = pattern_name([one.goal for one in new])
        known = LearningRecord(pattern=pattern, tools={})
    ids = tuple(one.trace_id for one in new)
    return replace(
        known,
        count=known.count + len(new),
        successes=known.successes + sum(one.success for one in new),
        duration_ms=known.duration_ms + sum(one.duration_ms for one in new),
        tools=_counted(known.tools, Counter(tool for one in new for tool in set(one.tools))),
        exemplars=(*known.exemplars, *ids)[:EXEMPLARS],
        traces=tuple(one.trace_id for one in material),
        findings=findings(material),
    )


def joined(
    one: LearningRecord, other: LearningRecord, other_id: str, material: Sequence[Execution]
) -> LearningRecord:
    """Returns one learning of two: the figures of both, the name of the first."""
    half = EXEMPLARS // 2
    return replace(
        one,
        count=one.count + other.count,
        successes=one.successes + other.successes,
        duration_ms=one.duration_ms + other.duration_ms,
        tools=_counted(one.tools, other.tools),
        exemplars=(*one.exemplars[:half], *other.exemplars[:half]),
        traces=tuple(each.trace_id for each in material),
        merged=(*one.merged, other_id, *other.merged),
        findings=findings(material),
    )


def text_of(record: LearningRecord) -> str:
    """Returns the text of a learning, in the format of seed 002, with evidence at each item."""
    found = record.findings
    insights, approach, anti_patterns = (
        tuple(map(with_evidence, each))
        for each in (found.insights, found.approach, found.anti_patterns)
    )
    return project_memory.render(
        project_memory.LearningFile(
            record.pattern,
            record.count,
            rate(record.successes, record.count),
            common_tools(record.tools, record.count),
            insights,
            approach,
            anti_patterns,
        )
    )


def steps_digest(record: LearningRecord) -> str:
    """Returns what tells whether the approach changed since a skill was staged from it."""
    steps = "\n".join(finding.text for finding in record.findings.approach)
    return hashlib.sha256(steps.encode()).hexdigest()


def plain(record: LearningRecord) -> dict[str, Json]:
    """Returns the record as JSON for the memory's extra; durations are only kept as their mean."""
    return {
        "pattern": record.pattern,
        "count": record.count,
        "successes": record.successes,
        "duration_ms": record.duration_ms,
        "mean_duration_ms": record.duration_ms // record.count if record.count else 0,
        "tools": dict(record.tools),
        "exemplars": list(record.exemplars),
        "traces": list(record.traces),
        "merged": list(record.merged),
        "agreed": record.findings.agreed,
        **{
            name: [
                {"text": one.text, "traces": list(one.traces[-_EVIDENCE:])}
                for one in getattr(record.findings, name)
            ]
            for name in _LISTS
        },
    }


def read(memory: Memory) -> LearningRecord | None:
    """Returns the record that a memory holds; None if consolidation did not make it."""
    held = memory.extra.get(KEY)
    if not isinstance(held, Mapping) or not isinstance(held.get("pattern"), str):
        return None
    found = {name: tuple(map(_finding, _list(held.get(name)))) for name in _LISTS}
    tools = held.get("tools")
    counts = tools.items() if isinstance(tools, Mapping) else ()
    return LearningRecord(
        pattern=str(held["pattern"]),
        count=_number(held.get("count")),
        successes=_number(held.get("successes")),
        duration_ms=_number(held.get("duration_ms")),
        tools={str(tool): _number(count) for tool, count in counts},
        exemplars=_ids(held.get("exemplars")),
        traces=_ids(held.get("traces")),
        merged=_ids(held.get("merged")),
        findings=Findings(
            found["insights"],
            found["approach"],
            found["anti_patterns"],
            agreed=held.get("agreed") is True,
        ),
    )


def _counted(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Adds up how often tools were used, and keeps those used most."""
    both = Counter(one) + Counter(other)
    return dict(sorted(both.items(), key=lambda item: (-item[1], item[0]))[:_TOOLS])


def _finding(plain: Json) -> TraceFinding:
    if not isinstance(plain, Mapping):
        return TraceFinding(str(plain), ())
    return TraceFinding(str(plain.get("text", "")), _ids(plain.get("traces")))


def _ids(value: Json) -> tuple[str, ...]:
    return tuple(map(str, _list(value)))


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _number(value: Json) -> int:
    return value if isinstance(value, int) else 0
