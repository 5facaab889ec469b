"""Turns memories of failures into lessons.

A failure names its pattern (`error_pattern`, else its text is given one) and its rule
(`preventative_rule`, else what the text states, else what follows from the fix it tells of, else
the metadata's `fix`). One without a rule is named as unclear: a person or a model may read more
from it, this code does not guess.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import Any, dataclass, fields, replace
from memory_mesh.learn.rules.failure_signature import signature
from memory_mesh.learn.rules.rules import read_rule
from memory_mesh.model import Json, Lesson, Memory, Scope, Severity
from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.model.learning import Failure, LessonContext
from memory_mesh.rules.arguments import check_share, check_text
from memory_mesh.rules.trust import authority, lowest
from memory_mesh.text import analyzer
from memory_mesh.write.rules.failure_pattern import PATTERN_KEYS, is_failed, pattern_id

STATED, DEDUCED = 0.7, 0.5  # certainty of a rule that was stated or read, and of a mere fix
EVERY_TASK = "every task"  # where a rule applies of which nothing is said
SAME_RULE = 0.3  # share of the terms of two rules that teach the same
WEEK = timedelta(days=7)
_MAX_FIELD_CHARS = 2_000  # characters of one field
_PREVIEW = 300
_ABOUT = 80  # characters of a rule that name what its lesson applies to
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
    stated: bool  # the pattern was stated, not read from the text


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


def context_of(
    given: LessonContext | Mapping[str, object] | str, when: str | None = None
) -> LessonContext:
    """Builds a lesson's context from a rule, or from a mapping (snake_case or camelCase)."""
    if isinstance(given, str):
        where, rule = when or EVERY_TASK, given
        return LessonContext(
            situation=where,
            error_pattern=rule,
            oversight="",
            fix="",
            preventative_rule=rule,
            severity=Severity.MEDIUM,
            applicable_scope=where,
            confidence=1.0,
        )
    if when is not None:
        raise InvalidInput("when belongs to a rule that is given as a text")
    if isinstance(given, LessonContext):
        return given
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"the context must be a text, a LessonContext or a mapping, not {shown(given)}"
        )
    known = {field.name: field for field in fields(LessonContext)}
    names = {_humps().sub("_", str(key)).lower(): str(key) for key in given}
    said = dict(zip(names, given.values(), strict=True))
    unknown = said.keys() - known.keys()
    missing = known.keys() - said.keys() - {"inverse_lesson", "confidence"}
    if unknown or missing:
        what = f"has no {shown(names[min(unknown)])}" if unknown else f"needs {min(missing)}"
        raise InvalidInput(f"the lesson's context {what}; its fields are: {', '.join(known)}")
    plain: dict[str, Any] = dict(said)
    return LessonContext(**plain)


def wording(lesson: Lesson) -> str:
    """Returns the memory's text: the rule, where it applies and its failure."""
    lines = [
        lesson.rule,
        f"Applies to: {lesson.applies_to}",
        f"Learned from: {lesson.situation}" if lesson.situation != lesson.applies_to else "",
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
        if not _repeated(accounts) and not any(_fresh(told, since) for told in accounts):
            continue
        taught = _taught(accounts)
        if not taught:
            unclear += [told.memory.id for told in accounts]
        found += [_failure(best, alike) for best, alike in taught]
    return tuple(found), tuple(unclear)


def reads_as_lesson(memory: Memory) -> bool:
    """True if a memory that is not marked as a failure tells of one, with its rule."""
    return read_rule(memory.text, failed=False) is not None


def teach_the_same(one: str, other: str) -> bool:
    """True if two rules share enough words to be one rule."""
    mine, others = (set(analyzer.terms(rule.split(" Why: ")[0])) for rule in (one, other))
    joined = len(mine | others)
    return not joined or len(mine & others) / joined >= SAME_RULE


def narrowed(failure: Failure) -> Failure:
    """Returns a failure whose lesson applies to its own rule: the pattern has another lesson."""
    context = failure.context
    about = _first(context.preventative_rule.split(" Why: ")[0], _ABOUT).rstrip(" .!")
    area = f"{context.applicable_scope}: {about}"
    return replace(failure, context=replace(context, applicable_scope=area))


def _taught(accounts: Sequence[_Told]) -> list[tuple[_Told, list[_Told]]]:
    """Returns the rules of one pattern, each with the accounts that it is learned from.

    Under a stated pattern there is one rule, the most certain. Under a pattern that was read from
    texts, rules that teach something else are kept apart; failures without a rule support the
    first.
    """
    ruled = [told for told in accounts if told.rule]
    if not ruled:
        return []
    if any(told.stated for told in accounts):
        return [(max(ruled, key=lambda told: told.certainty), list(accounts))]
    groups: list[list[_Told]] = []
    for told in sorted(ruled, key=lambda told: (told.memory.created, told.memory.id)):
        same = next((one for one in groups if teach_the_same(one[0].rule, told.rule)), None)
        if same is None:
            groups.append([told])
        else:
            same.append(told)
    groups[0] += [told for told in accounts if not told.rule]
    return [(max(group, key=lambda told: told.certainty), group) for group in groups]


def _repeated(accounts: Sequence[_Told]) -> bool:
    """True if two of the times are within a week."""
    times = sorted(told.memory.created for told in accounts)
    return any(later - earlier <= WEEK for earlier, later in pairwise(times))


def _fresh(told: _Told, since: datetime) -> bool:
    """True for recent memories marked as an error, or whose text tells of one with its rule.

    A stated pattern without a mark must occur twice.
    """
    memory = told.memory
    marked = is_failed(memory.extra.get("status")) or "#lesson_learned_candidate" in memory.tags
    return (marked or (bool(told.rule) and not told.stated)) and memory.created >= since


def _told(memory: Memory) -> _Told | None:
    stated = _stated(memory.extra, "error_pattern")
    pattern = stated or signature(memory.text)
    if not pattern:
        return None
    rule, certainty = _rule(memory)
    applies_to = _stated(memory.extra, "applies_to") or _place(memory)
    return _Told(memory, pattern, applies_to, rule, certainty, bool(stated))


def _rule(memory: Memory) -> tuple[str, float]:
    """Returns the rule and its confidence; an empty rule if none was stated."""
    failed = is_failed(memory.extra.get("status")) or "#lesson_learned_candidate" in memory.tags
    read = read_rule(memory.text, failed=failed or bool(_stated(memory.extra, "error_pattern")))
    for text, certainty in (
        (_stated(memory.extra, "rule"), STATED),
        ("" if read is None else read.text, STATED),
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
    return Failure(context, best.memory.scope, trust, sources, stated=best.stated)


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


def _first(text: str, length: int) -> str:
    return text.strip()[:length]


def _text(context: LessonContext, name: str) -> str:
    value = check_text(getattr(context, name), name)
    if len(value) > _MAX_FIELD_CHARS:
        raise InvalidInput(f"{name} has {len(value)} characters; the limit is {_MAX_FIELD_CHARS}")
    return value


_humps = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
