"""When maintenance is due."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from memory_mesh.fastdataclass import dataclass
from memory_mesh.model import Scope
from memory_mesh.model.job import Due
from memory_mesh.policy.retention import RetentionPolicy

TRACES, DAYS = 10, 7
_DAY = timedelta(days=1)


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
        return Due(now=True, why=f"new traces, and {_days(rules.days)} without a run")
    return Due(now=False, why=f"{waits}; due without more in {_days(-(-left // _DAY))}")


def _days(count: int) -> str:
    return "1 day" if count == 1 else f"{count} days"
