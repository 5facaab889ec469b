"""What a learning remembers of its traces beside its text: counts, material and evidence.

A learning grows: counts go on, the text is written anew from its newest traces. Counts are of all
traces; what they say is read from the newest `MATERIAL` of them, so that a learning of thousands
costs no more than one of a hundred.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

from memory_mesh.fastdataclass import dataclass, replace
from memory_mesh.formats import learning_file
from memory_mesh.formats.learning_file import LearningFile
from memory_mesh.model import Json, Memory
from memory_mesh.model.trace import trace_of
from memory_mesh.policy.learning import trace_learnings
from memory_mesh.policy.learning.trace_groups import EXEMPLARS
from memory_mesh.policy.learning.trace_learnings import Execution, Finding, Findings

KEY = "learning"  # in the memory's extra
MATERIAL = 100  # traces whose words make the text
_EVIDENCE = 20  # ids that are kept with each finding
_TOOLS = 50
_LISTS = ("insights", "approach", "anti_patterns")


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
        pattern = trace_learnings.pattern_name([one.goal for one in new])
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
        findings=trace_learnings.findings(material),
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
        findings=trace_learnings.findings(material),
    )


def text_of(record: LearningRecord) -> str:
    """Returns the text of a learning, in the format of seed 002, with evidence at each item."""
    found = record.findings
    insights, approach, anti_patterns = (
        tuple(map(trace_learnings.with_evidence, each))
        for each in (found.insights, found.approach, found.anti_patterns)
    )
    return learning_file.render(
        LearningFile(
            record.pattern,
            record.count,
            trace_learnings.rate(record.successes, record.count),
            trace_learnings.common_tools(record.tools, record.count),
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
        **{name: [_plain(one) for one in getattr(record.findings, name)] for name in _LISTS},
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


def _plain(finding: Finding) -> Json:
    return {"text": finding.text, "traces": list(finding.traces[-_EVIDENCE:])}


def _finding(plain: Json) -> Finding:
    if not isinstance(plain, Mapping):
        return Finding(str(plain), ())
    return Finding(str(plain.get("text", "")), _ids(plain.get("traces")))


def _ids(value: Json) -> tuple[str, ...]:
    return tuple(map(str, _list(value)))


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _number(value: Json) -> int:
    return value if isinstance(value, int) else 0
