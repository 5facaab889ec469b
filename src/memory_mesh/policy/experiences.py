"""What the system memory learns of a trace: figures and words of closed lists, nothing else.

No text of a trace is copied. The goal becomes a category, a project its digest, an agent or tool
its name if it is a public one; counts stay, times are rounded.
"""

from collections import Counter
from collections.abc import Collection, Iterable

from memory_mesh.model.experience import Experience, ExperienceSummary, FinalOutcome
from memory_mesh.model.trace import Trace
from memory_mesh.policy.privacy.raw_input import category
from memory_mesh.policy.public_tools import OTHER, public_name
from memory_mesh.policy.text import analyze

NO_PROJECT = "no project"
_DIGITS = 2  # of a duration that are kept
_FAILED = ("fail", "error")


def anonymous(trace: Trace, *, project: str, agent: str) -> Experience:
    """Returns the experience of a trace without a number; `project` is a digest already."""
    failed = sum(step.status.lower().startswith(_FAILED) for step in trace.steps)
    if trace.timestamp is None:
        raise ValueError("a recorded trace has a time")
    components = set(map(public_name, trace.tools_used))
    if public_name(agent) != OTHER:
        components.add(public_name(agent))
    return Experience(
        number=0,
        project_name=project,
        primary_goal=f"{category(trace.goal)} task",
        final_outcome=_outcome(trace, failed),
        components_used=tuple(sorted(components)),
        files_created=len(trace.files_created),
        output_summary=f"{len(trace.steps)} steps, {failed} failed",
        execution_time_ms=_rounded(trace.duration_ms),
        learnings_or_issues=f"{len(trace.learnings)} learnings stay in the project.\n",
        timestamp=trace.timestamp.replace(minute=0, second=0, microsecond=0),
    )


def summarise(experiences: Iterable[Experience]) -> ExperienceSummary:
    """Returns the figures of all experiences; reads each once and keeps none."""
    outcomes: dict[str, Counter[str]] = {}
    components: Counter[str] = Counter()
    projects: set[str] = set()
    entries = files = spent = 0
    for one in experiences:
        entries += 1
        files += one.files_created
        spent += one.execution_time_ms
        projects.add(one.project_name)
        components.update(one.components_used)
        outcomes.setdefault(one.primary_goal, Counter())[one.final_outcome.value] += 1
    return ExperienceSummary(
        entries=entries,
        projects=len(projects - {NO_PROJECT}),
        outcomes={name: dict(sorted(outcomes[name].items())) for name in sorted(outcomes)},
        components=dict(components.most_common()),
        files_created=files,
        execution_time_ms=spent,
    )


def relevance(experience: Experience, terms: Collection[str]) -> float:
    """Returns the share of the terms that an experience has."""
    said = " ".join(
        (
            experience.experience_id,
            experience.project_name,
            experience.primary_goal,
            experience.final_outcome.value.replace("_", " "),
            *experience.components_used,
            experience.output_summary,
            experience.learnings_or_issues,
        )
    )
    held = set(analyze.terms(said))
    return sum(term in held for term in terms) / len(terms) if terms else 0.0


def _outcome(trace: Trace, failed: int) -> FinalOutcome:
    if not trace.success:
        return FinalOutcome.FAILURE
    return FinalOutcome.RECOVERED if failed else FinalOutcome.SUCCESS


def _rounded(milliseconds: int) -> int:
    places = max(0, len(str(milliseconds)) - _DIGITS)
    return round(milliseconds, -places)
