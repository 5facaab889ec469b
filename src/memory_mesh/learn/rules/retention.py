"""What retention does with a record: seed 002's policy as one decision on values.

::

    short-term    consolidated, and idle for 24 h or of a session before the newest ──▶ archive
    learning      unchanged for 6 months ──▶ consolidate again, with those like it
                  unchanged for 1 year   ──▶ compress: the learning stays, its traces are packed
    all others    keep

Nothing is deleted. Protected is what is pinned, a lesson, system memory, waits for consolidation or
is not active: no policy and no clock moves it.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from memory_mesh.base.fastdataclass import dataclass
from memory_mesh.model import Scope, Tier
from memory_mesh.model.job import Due

TRACES, DAYS = 10, 7
_DAY = timedelta(days=1)

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
