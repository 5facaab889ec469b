"""What retention does with a record: seed 002's policy as one decision on values.

::

    short-term    consolidated, and idle for 24 h or of a session before the newest ──▶ archive
    learning      unchanged for 6 months ──▶ consolidate again, with those like it
                  unchanged for 1 year   ──▶ compress: the learning stays, its traces are packed
    all others    keep

Nothing is deleted. Protected is what is pinned, a lesson, system memory, waits for consolidation or
is not active: no policy and no clock moves it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from memory_mesh.base.typed import dataclass
from memory_mesh.learn.rules.capture import near_twin
from memory_mesh.model import Kind, Memory, Scope, Status, Tier
from memory_mesh.model.graph import EPISODE
from memory_mesh.model.job import Due
from memory_mesh.model.ports import LLM
from memory_mesh.model.trace import LABEL as TRACE, LEARNING_LABEL
from memory_mesh.rules.trust import OF_THE_USER, said_by_different, trust_of, truth_votes
from memory_mesh.search.ranking.profiles import DEFAULT_IMPORTANCE

TRACES, DAYS = 10, 7
_DAY = timedelta(days=1)

GRACE_DAYS = 7  # from the moment at which a memory expires until it is erased
HOURS, CONSOLIDATE_DAYS, COMPRESS_DAYS = 24, 183, 365


class Action(StrEnum):
    """What is done with a record."""

    KEEP = "keep"
    ARCHIVE = "archive"
    CONSOLIDATE = "consolidate"
    COMPRESS = "compress"


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How long records stay as they are; 0 is for ever."""

    hours: int = HOURS  # of a consolidated trace that nobody uses
    consolidate_days: int = CONSOLIDATE_DAYS
    compress_days: int = COMPRESS_DAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRecord:
    """What the policy looks at in a memory."""

    tier: Tier
    last_active: datetime  # written or used
    changed: datetime  # its last version
    active: bool = True
    pinned: bool = False
    lesson: bool = False
    learning: bool = False  # made by consolidation
    consolidated: bool = False  # of a trace: its learning holds what it taught
    session_over: bool = False  # of a trace: its project was opened again since
    again: bool = False  # of a learning: it was consolidated again since its last change
    compressed: bool = False  # of a learning: its traces are packed


def protection(record: RetentionRecord) -> str | None:
    """Returns why retention may not touch a record, or None."""
    reasons = (
        (record.pinned, "it is pinned"),
        (record.lesson, "it is a lesson"),
        (record.tier is Tier.SYSTEM, "it is system memory"),
        (not record.active, "it is not active"),
        (record.tier is Tier.SHORT_TERM and not record.consolidated, "it is not consolidated yet"),
        (record.tier is Tier.LONG_TERM and not record.learning, "it is long-term memory"),
    )
    return next((reason for holds, reason in reasons if holds), None)


def decide(record: RetentionRecord, policy: RetentionPolicy, now: datetime) -> tuple[Action, str]:
    """Returns what to do with a record, and why."""
    protected = protection(record)
    if protected is not None:
        return Action.KEEP, protected
    if record.tier is Tier.SHORT_TERM:
        return _short_term(record, policy, now)
    days = max(timedelta(), now - record.changed) // timedelta(days=1)
    if policy.consolidate_days and days >= policy.consolidate_days and not record.again:
        return Action.CONSOLIDATE, f"unchanged for {days} days"
    if policy.compress_days and days >= policy.compress_days and not record.compressed:
        return Action.COMPRESS, f"unchanged for {days} days"
    return Action.KEEP, f"changed {days} days ago"


def _short_term(
    record: RetentionRecord, policy: RetentionPolicy, now: datetime
) -> tuple[Action, str]:
    if not policy.hours:
        return Action.KEEP, "short-term memory is kept for ever"
    if record.session_over:
        return Action.ARCHIVE, "a new session of its project began"
    idle = now - record.last_active
    if idle >= timedelta(hours=policy.hours):
        return Action.ARCHIVE, f"idle for {idle // timedelta(hours=1)} hours"
    return Action.KEEP, "in use"


# When maintenance is due.


@dataclass(frozen=True, slots=True)
class JobRules:
    """When traces are consolidated, and how long records stay as they are; 0 is never."""

    traces: int = TRACES  # new ones of a project from which they are consolidated
    days: int = DAYS  # after which even one is
    retention: RetentionPolicy = RetentionPolicy()


def consolidation_due(
    new: Mapping[Scope, int], last: datetime | None, now: datetime, rules: JobRules
) -> Due:
    """Says whether traces should be consolidated: ten of one project, or one after a week.

    `new` counts the traces that were never looked at; `last` is the last run, or the time from
    which the traces wait where there was none.
    """
    most = max(new.values(), default=0)
    if not most:
        return Due(now=False, why="no new traces")
    if rules.traces and most >= rules.traces:
        return Due(now=True, why=f"{rules.traces} or more new traces of one project")
    traces = "1 new trace" if most == 1 else f"{most} new traces"
    waits = f"{traces} of one project, fewer than {rules.traces}"
    if not rules.days:
        return Due(now=False, why=waits)
    passed = timedelta() if last is None else now - last
    if passed < timedelta():  # the clock was ahead at the last run: nobody knows when it was
        return Due(now=True, why="new traces, and the last run lies in the future")
    left = timedelta(days=rules.days) - passed
    if left <= timedelta():
        return Due(now=True, why=f"new traces, and {_number_of_days(rules.days)} without a run")
    return Due(now=False, why=f"{waits}; due without more in {_number_of_days(-(-left // _DAY))}")


def _number_of_days(count: int) -> str:
    return "1 day" if count == 1 else f"{count} days"


# How a memory ages, and which of two that say the same stays: seed 003's upkeep on values.
#
# Strength is what time and disuse leave of a memory. Nothing is deleted: what is weak is archived,
# and only the user brings it back. Protected is what is pinned, a lesson, system memory, the user's
# own word, or was let in or brought back by a person. Age alone archives nothing unless somebody
# asks for it: unasked, something must speak against the memory, too.


DEDUPE, CONTRADICTIONS, CORROBORATION = "dedupe", "contradictions", "corroboration"
COMPRESS, PRUNE = "digest", "prune"
STEPS = (DEDUPE, CONTRADICTIONS, CORROBORATION, COMPRESS, PRUNE)  # in this order

WEAK = 0.15  # strength below which a memory is archived
DISTRUSTED = 0.2  # trust below which a disputed one is
HALF_AGE, HALF_TOUCH = 30, 60  # days in which strength halves: since it was told, since it was used
LEAST = 0.1  # that age and disuse leave of it, each
PER_LINK, MOST_BY_LINKS = 0.05, 0.3
PER_USE, MOST_BY_USES = 0.02, 0.2
ALIKE = 0.9  # similarity from which two texts are compared word by word
SAYS_TOO = 0.6  # share of the longer text's words that the shorter one has
_WEIGHTS: Mapping[Kind, float] = {Kind.PREFERENCE: 1.4, Kind.DECISION: 1.3, Kind.INSIGHT: 1.1}
_OTHER_FORMS = frozenset((TRACE, LEARNING_LABEL, EPISODE))
_MADE = frozenset((Kind.LESSON, Kind.REFLECTION, Kind.DIGEST))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """Which steps of the upkeep of memories are made, and how."""

    steps: tuple[str, ...] = STEPS
    asked: bool = False  # somebody asked for it: age alone may archive, all clusters are compressed
    max_digests: int = 5
    min_cluster: int = 3  # memories
    untouched: timedelta = timedelta(days=30)  # of all memories of a cluster
    archive_originals: bool = False
    llm: LLM | None = None  # writes the digests; without one they are made of sentences


def strength(memory: Memory, now: datetime, links: int = 0) -> float:
    """Returns the strength of a memory from 0 to 1; a vote, a use or a link never lowers it."""
    age = max(timedelta(), now - memory.created) / _DAY
    idle = max(timedelta(), now - touched(memory)) / _DAY
    weight = DEFAULT_IMPORTANCE if memory.importance is None else memory.importance
    faded = (
        weight
        * max(LEAST, 0.5 ** (age / HALF_AGE))
        * max(LEAST, 0.5 ** (idle / HALF_TOUCH))
        * _WEIGHTS.get(memory.kind, 1.0)
    )
    held = min(MOST_BY_LINKS, PER_LINK * links) + min(MOST_BY_USES, PER_USE * memory.uses)
    return round(min(1.0, float(faded + held)), 6)


def touched(memory: Memory) -> datetime:
    """Returns when a memory was last written, voted for or used."""
    return max(memory.recorded_from, memory.last_used or memory.recorded_from)


def why_protected(memory: Memory, versions: Sequence[Memory] = ()) -> str | None:
    """Returns why upkeep may not change a memory, or None."""
    reasons = (
        (memory.pinned, "it is pinned"),
        (memory.kind is Kind.LESSON or memory.lesson is not None, "it is a lesson"),
        (memory.tier is Tier.SYSTEM, "it is system memory"),
        (memory.source.kind in OF_THE_USER, "the user said it"),
        (_brought_back(versions), "a person let it in or brought it back"),
    )
    return next((reason for holds, reason in reasons if holds), None)


def ages(memory: Memory) -> bool:
    """True for a long-term memory that no other policy looks after."""
    return memory.tier is Tier.LONG_TERM and memory.label not in _OTHER_FORMS


def is_plain(memory: Memory) -> bool:
    """True for a statement of its own: not made of others, and no turn of a conversation."""
    return (
        ages(memory)
        and memory.kind not in _MADE
        and memory.lesson is None
        and memory.skill is None
        and memory.order is None
    )


def fading(memory: Memory, links: int, *, newer: bool, asked: bool, now: datetime) -> str | None:
    """Returns why a memory is to be archived, or None. `newer`: another one seems to update it."""
    if memory.status is Status.DISPUTED:
        believed = trust_of(memory, now)
        return f"disputed, its trust is {believed:.2f}" if believed < DISTRUSTED else None
    left = strength(memory, now, links)
    if left >= WEAK:
        return None
    against = _against(memory, newer=newer, now=now)
    if against is None and not asked:
        return None
    return f"strength {left:.2f}" + (f"; {against}" if against else "")


def kept_first(one: Memory, other: Memory, now: datetime) -> tuple[Memory, Memory]:
    """Returns two that say the same: the one that stays, and the one that gives way."""

    def rank(memory: Memory) -> tuple[bool, float, datetime, str]:
        free = why_protected(memory) is None
        return free, -trust_of(memory, now), memory.created, memory.id

    kept, gone = sorted((one, other), key=rank)
    return kept, gone


def are_twins(kept: Memory, gone: Memory) -> bool:
    """True if a memory adds nothing to the other: no word, number, time, claim or trigger."""
    return (
        _comparable(kept, gone)
        and {*gone.triggers} <= {*kept.triggers}
        and near_twin(gone.text, kept.text)
    )


def confirmed(one: Memory, other: Memory) -> tuple[Memory, Memory] | None:
    """Returns the shorter of two texts and the longer that says it too, or None."""
    if not _comparable(one, other):
        return None
    for short, long in ((one, other), (other, one)):
        if near_twin(short.text, long.text, SAYS_TOO):
            return short, long
    return None


def _brought_back(versions: Sequence[Memory]) -> bool:
    return any(
        before.status is not Status.ACTIVE and after.status is Status.ACTIVE
        for before, after in pairwise(versions)
    )


def _against(memory: Memory, *, newer: bool, now: datetime) -> str | None:
    """What speaks against a memory beside its age."""
    votes = truth_votes(memory)
    reasons = (
        (memory.valid_until is not None and memory.valid_until <= now, "it holds no more"),
        (newer, "a newer memory seems to update it"),
        (votes["disputes"] > votes["reinforcements"], "it was disputed"),
        (memory.harmful > memory.helpful, "it was rated as harmful"),
    )
    return next((reason for holds, reason in reasons if holds), None)


def _comparable(one: Memory, other: Memory) -> bool:
    """True for two statements to one audience, of one sort, person, time and claim."""
    return (
        is_plain(one)
        and is_plain(other)
        and _circumstances(one) == _circumstances(other)
        and not said_by_different(one, other)
    )


def _circumstances(memory: Memory) -> tuple[object, ...]:
    claim = memory.claim
    stated = None if claim is None or claim.read else (claim.subject, claim.predicate, claim.value)
    return (
        memory.scope,
        memory.kind,
        memory.label,
        memory.occurred_at,
        memory.valid_from,
        memory.valid_until,
        stated,
    )
