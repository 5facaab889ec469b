"""Turns memories of failures into lessons. Only a stated rule becomes a lesson.

A failure names its pattern (`error_pattern`, or an exception in its text) and its rule
(`preventative_rule`, else a sentence that tells what to do, else the fix). One without either is
named as unclear: a person or a model may read more from it, this code does not guess.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise

from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import dataclass, fields
from memory_mesh.model import Json, Lesson, Memory, Scope, Severity
from memory_mesh.model.learning import Failure, LessonContext
from memory_mesh.policy.arguments import check_share, check_text
from memory_mesh.policy.learning.failure_pattern import PATTERN_KEYS, pattern_id
from memory_mesh.policy.writing.trust import authority, lowest
from memory_mesh.typed import Any

STATED, READ, DEDUCED = 0.7, 0.6, 0.5  # certainty of a rule that was stated, read, or a mere fix
WEEK = timedelta(days=7)
_MAX_FIELD_CHARS = 2_000  # characters of one field
_PREVIEW = 300
_SPELLINGS = {
    "error_pattern": PATTERN_KEYS,
    "rule": ("preventative_rule", "preventativeRule", "rule", "constraint"),
    "fix": ("fix", "resolution"),
    "oversight": ("oversight", "error", "error_message"),
    "situation": ("situation", "context"),
    "applies_to": ("applicable_scope", "applicableScope", "applicability_scope"),
    "inverse": ("inverse_lesson", "inverseLesson"),
}


@dataclass(frozen=True, slots=True)
class _Told:
    """A failure as one memory describes it."""

    memory: Memory
    pattern: str
    applies_to: str
    rule: str
    certainty: float


def lesson(context: LessonContext, lesson_id: str, agent: str) -> Lesson:
    """Builds a lesson from the arguments of `distill_lesson`; InvalidInput names a bad field."""
    required = ("situation", "error_pattern", "preventative_rule", "applicable_scope")
    texts = {name: _text(context, name) for name in (*required, "oversight", "fix")}
    empty = [name for name in required if not texts[name].strip()]
    if empty:
        raise InvalidInput(f"a lesson needs {empty[0]}")
    if context.severity not in set(Severity):
        known = ", ".join(Severity)
        raise InvalidInput(f"severity must be one of: {known}; not {context.severity!r}")
    certainty = check_share(context.confidence, "confidence")
    return Lesson(
        id=lesson_id,
        pattern_id=pattern_id(texts["error_pattern"], texts["applicable_scope"]),
        error_pattern=texts["error_pattern"],
        applies_to=texts["applicable_scope"],
        severity=Severity(context.severity),
        rule=texts["preventative_rule"],
        confidence=certainty,
        situation=texts["situation"],
        oversight=texts["oversight"],
        fix=texts["fix"],
        inverse=None if context.inverse_lesson is None else _text(context, "inverse_lesson"),
        agent=agent,
    )


def context_of(given: LessonContext | Mapping[str, object]) -> LessonContext:
    """Builds a lesson's context from a mapping (snake_case or camelCase)."""
    if isinstance(given, LessonContext):
        return given
    if not isinstance(given, Mapping):
        raise InvalidInput(f"the context must be a LessonContext or a mapping, not {given!r:.80}")
    known = {field.name: field for field in fields(LessonContext)}
    said = {_humps().sub("_", str(key)).lower(): value for key, value in given.items()}
    unknown = said.keys() - known.keys()
    missing = known.keys() - said.keys() - {"inverse_lesson", "confidence"}
    if unknown or missing:
        what = f"has no {min(unknown)}" if unknown else f"needs {min(missing)}"
        raise InvalidInput(f"the lesson's context {what}; its fields are: {', '.join(known)}")
    plain: dict[str, Any] = dict(said)
    return LessonContext(**plain)


def wording(lesson: Lesson) -> str:
    """Returns the memory's text: the rule, where it applies and its failure."""
    lines = [
        lesson.rule,
        f"Applies to: {lesson.applies_to}",
        f"Learned from: {lesson.situation}",
        f"What was missed: {lesson.oversight}" if lesson.oversight else "",
        f"Resolved by: {lesson.fix}" if lesson.fix else "",
        f"Instead: {lesson.inverse}" if lesson.inverse else "",
    ]
    return "\n".join(line for line in lines if line)


def candidates(
    memories: Sequence[Memory], since: datetime
) -> tuple[tuple[Failure, ...], tuple[str, ...]]:
    """Returns the failures with a rule, and the ids of those without one.

    Worth one is a failure since then, one marked as a candidate, and one that came twice.
    """
    groups: dict[tuple[str, str, Scope], list[_Told]] = {}
    unclear: list[str] = []
    for memory in memories:
        told = _told(memory)
        if told is None:
            if memory.created >= since:
                unclear.append(memory.id)
            continue
        groups.setdefault((told.pattern, told.applies_to, memory.scope), []).append(told)
    found = []
    for accounts in groups.values():
        if not _repeated(accounts) and not any(_fresh(told.memory, since) for told in accounts):
            continue
        ruled = [told for told in accounts if told.rule]
        if not ruled:
            unclear += [told.memory.id for told in accounts]
            continue
        found.append(_failure(max(ruled, key=lambda told: told.certainty), accounts))
    return tuple(found), tuple(unclear)


def _repeated(accounts: Sequence[_Told]) -> bool:
    """True if two of the times are within a week."""
    times = sorted(told.memory.created for told in accounts)
    return any(later - earlier <= WEEK for earlier, later in pairwise(times))


def _fresh(memory: Memory, since: datetime) -> bool:
    """True for recent memories marked as an error; a pattern without a mark must occur twice."""
    marked = memory.extra.get("status") == "error" or "#lesson_learned_candidate" in memory.tags
    return marked and memory.created >= since


def _told(memory: Memory) -> _Told | None:
    pattern = _stated(memory.extra, "error_pattern") or _exception(memory.text)
    if not pattern:
        return None
    rule, certainty = _rule(memory)
    applies_to = _stated(memory.extra, "applies_to") or _place(memory)
    return _Told(memory, pattern, applies_to, rule, certainty)


def _rule(memory: Memory) -> tuple[str, float]:
    """Returns the rule and its confidence; an empty rule if none was stated."""
    for text, certainty in (
        (_stated(memory.extra, "rule"), STATED),
        (_imperative(memory.text), READ),
        (_stated(memory.extra, "fix"), DEDUCED),
    ):
        if text:
            given = memory.confidence
            return text, certainty if given is None or certainty < STATED else given
    return "", 0.0


def _failure(best: _Told, accounts: Sequence[_Told]) -> Failure:
    extra, text = best.memory.extra, best.memory.text
    severity = extra.get("severity")
    context = LessonContext(
        situation=_stated(extra, "situation") or _first(text, _PREVIEW),
        error_pattern=best.pattern,
        oversight=_stated(extra, "oversight") or _first(text.split("\n", 1)[0], _PREVIEW),
        fix=_stated(extra, "fix") or best.rule,
        preventative_rule=best.rule,
        severity=severity if isinstance(severity, str) and severity in set(Severity) else "medium",
        applicable_scope=best.applies_to,
        inverse_lesson=_stated(extra, "inverse") or None,
        confidence=best.certainty,
    )
    sources = tuple(told.memory.id for told in accounts)
    trust = lowest(authority(told.memory.source) for told in accounts)
    return Failure(context, best.memory.scope, trust, sources)


def _place(memory: Memory) -> str:
    """Returns the scope of a rule without a stated one: where its failure occurred."""
    if memory.source.agent:
        return f"{memory.source.agent} execution"
    return f"project {memory.scope.project}" if memory.scope.project else "any task"


def _stated(extra: Mapping[str, Json], name: str) -> str:
    for key in _SPELLINGS[name]:
        value = extra.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()[:_MAX_FIELD_CHARS]
    return ""


def _exception(text: str) -> str:
    """Returns an exception's name in the text as a pattern: TimeoutError gives timeout_error."""
    found = _exceptions().search(text)
    return _humps().sub("_", found[0]).lower() if found else ""


def _imperative(text: str) -> str:
    """Returns the first sentence that says what to do."""
    found = _orders().search(text)
    return _first(found[1].strip(), _MAX_FIELD_CHARS) if found else ""


def _first(text: str, length: int) -> str:
    return text.strip()[:length]


def _text(context: LessonContext, name: str) -> str:
    value = check_text(getattr(context, name), name)
    if len(value) > _MAX_FIELD_CHARS:
        raise InvalidInput(f"{name} has {len(value)} characters; the limit is {_MAX_FIELD_CHARS}")
    return value


@cache
def _exceptions() -> re.Pattern[str]:
    return re.compile(r"\b[A-Z][A-Za-z]{0,60}(?:Error|Exception|Timeout|Failure)\b")


@cache
def _humps() -> re.Pattern[str]:
    return re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@cache
def _orders() -> re.Pattern[str]:
    words = "Always|Never|Do not|Don't|Avoid|Ensure|Make sure|Must|Remember to"
    return re.compile(rf"(?:^|[.!?\n][ \t]*)((?:{words})\b[^.!?\n]+[.!?]?)")
