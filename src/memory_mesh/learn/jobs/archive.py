"""Moves consolidated traces to the archive: after a day without use, or when a project is archived.

An archived trace keeps its text, its vectors and its history; a search that includes the archive
finds it. What was decided outside is decided again inside the transaction, on what the trace is
there: a trace that was pinned, used or unmarked meanwhile stays.
"""

from collections.abc import Callable, Container, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.learn.jobs.worksite import ALONE, AWAY, NEW, SLICE, TRACE, Site, Slices, under
from memory_mesh.learn.rules import retention
from memory_mesh.learn.rules.retention import GRACE_DAYS, Action, RetentionRecord
from memory_mesh.model import (
    Commit,
    Kind,
    Memory,
    Standing,
    Status,
    Wanted,
    times,
)
from memory_mesh.model.commit import Sought
from memory_mesh.model.job import JobStep
from memory_mesh.model.times import EXPIRES
from memory_mesh.write.audit_entries import Change, decided, turned

ARCHIVED = "archived/"
_UNCONSOLIDATED = (NEW, ALONE, AWAY)
_ENDED = f"expired {GRACE_DAYS} days ago or earlier"
_MOST_ENDED = 1_000  # that are erased at once: each time the database is written anew
_GONE = (Status.DELETED, Status.SUPERSEDED, Status.ARCHIVED)
Rule = Callable[[RetentionRecord], tuple[Action, str]]


@dataclass(frozen=True, slots=True)
class ArchiveCandidate:
    """A consolidated trace that could be archived, and whether its session is over."""

    memory: Memory
    session_over: bool


def idle(site: Site) -> list[ArchiveCandidate]:
    """Returns the traces that the policy archives now."""
    policy = site.rules.retention
    return [
        one
        for one in consolidated(site)
        if retention.decide(as_record(one, consolidated=True), policy, site.now)[0]
        is Action.ARCHIVE
    ]


def archive_idle(site: Site) -> Slices:
    """Archives the traces that the policy archives now."""
    policy = site.rules.retention
    yield from _archive(site, idle(site), lambda held: retention.decide(held, policy, site.now))
    yield from _forget(site)


def archive_project(site: Site, names: Container[str | None]) -> Slices:
    """Archives every consolidated trace of a project, used today or not, under all its names."""

    def rule(held: RetentionRecord) -> tuple[Action, str]:
        protected = retention.protection(held)
        if protected is not None:
            return Action.KEEP, protected
        return Action.ARCHIVE, "its project was archived"

    found = [one for one in consolidated(site) if one.memory.scope.project in names]
    yield from _archive(site, found, rule)


def consolidated(site: Site) -> list[ArchiveCandidate]:
    """Returns the active traces that a learning holds, oldest first."""
    marks = under(TRACE, site.states(TRACE))
    traces = [memory for memory in site.memories(list(marks)) if memory.status is Status.ACTIVE]
    over = sessions_over(traces, site.rules.retention.hours)
    return [
        ArchiveCandidate(memory, memory.id in over)
        for memory in traces
        if marks[memory.id] not in _UNCONSOLIDATED
    ]


def sessions_over(traces: Sequence[Memory], hours: int) -> set[str]:
    """Returns the traces after which their project was silent for so long and was opened again."""
    projects: dict[tuple[str | None, str | None], list[Memory]] = {}
    for memory in traces:
        projects.setdefault((memory.scope.project, memory.scope.agent), []).append(memory)
    over: set[str] = set()
    for held in projects.values():
        held.sort(key=lambda memory: memory.created)
        opened: datetime | None = None
        for earlier, later in pairwise(held):
            if later.created - earlier.created >= timedelta(hours=hours):
                opened = later.created
        over |= {memory.id for memory in held if opened is not None and memory.created < opened}
    return over


def as_record(one: ArchiveCandidate, *, consolidated: bool) -> RetentionRecord:
    """Returns what the policy looks at in a trace."""
    memory = one.memory
    moments = (memory.created, memory.recorded_from, memory.last_used)
    return RetentionRecord(
        tier=memory.tier,
        last_active=max(time for time in moments if time is not None),
        changed=memory.recorded_from,
        active=memory.status is Status.ACTIVE,
        pinned=memory.pinned,
        lesson=memory.kind is Kind.LESSON or memory.lesson is not None,
        consolidated=consolidated,
        session_over=one.session_over,
    )


def ended(site: Site) -> list[str]:
    """Returns the memories that expired so long ago that they are erased now."""
    before = site.now - timedelta(days=GRACE_DAYS)
    with site.access.ledger.read(site.access.namespace) as snapshot:
        return snapshot.ended(before, _MOST_ENDED)


def erase_ended(site: Site) -> Slices:
    """Erases what expired so long ago; that nobody can read it any more was so from its moment."""
    before = times.iso(site.now - timedelta(days=GRACE_DAYS))
    while found := {memory.id: memory for memory in site.memories(ended(site))}:
        sought = Sought(ids=tuple(found), ended=before)
        done = sought.ids if site.dry_run else site.erase(sought, _ENDED)
        yield [
            (found[id_].scope, JobStep("erase", f"it expired {days} days ago", (id_,), (id_,)))
            for id_ in done
            for end in [datetime.fromisoformat(str(found[id_].extra[EXPIRES]))]
            for days in [(site.now - end).days]
        ]
        if site.dry_run or not done:  # a dry run shows the first ones
            return


def _archive(site: Site, found: Sequence[ArchiveCandidate], rule: Rule) -> Slices:
    kept = [one for one in found if rule(as_record(one, consolidated=True))[0] is Action.ARCHIVE]
    for start in range(0, len(kept), SLICE):
        part = kept[start : start + SLICE]
        names = tuple(f"{TRACE}{one.memory.id}" for one in part)
        ids = tuple(one.memory.id for one in part)
        planned = _planned(site, part) if site.dry_run else {}
        commit = site.commit(
            Wanted(ids=ids, states=names), partial(_decide, site, part, rule), planned
        )
        done = {put.memory.id for put in commit.puts} if commit is not None else set()
        yield [
            (
                one.memory.scope,
                JobStep(
                    "archive",
                    rule(as_record(one, consolidated=True))[1],
                    (one.memory.id,),
                    (one.memory.id,),
                ),
            )
            for one in part
            if site.dry_run or one.memory.id in done
        ]


def _planned(site: Site, part: Sequence[ArchiveCandidate]) -> dict[str, str | None]:
    """What a dry run keeps in place of the commit: the traces are archived and not packed yet."""
    marks, planned = under(TRACE, site.states(TRACE)), dict[str, str | None]()
    for one in part:
        id_ = one.memory.id
        site.drafted[id_] = replace(one.memory, status=Status.ARCHIVED)
        planned |= {
            f"{TRACE}{id_}": None,
            f"{ARCHIVED}{marks[id_]}/{id_}": times.iso(site.now),
        }
    return planned


def _decide(site: Site, part: Sequence[ArchiveCandidate], rule: Rule, standing: Standing) -> Commit:
    """Archives those that are still to be archived."""
    changed: list[tuple[Memory, Change]] = []
    states: dict[str, str | None] = {}
    for one in part:
        id_ = one.memory.id
        now, mark = standing.memories.get(id_), standing.states.get(f"{TRACE}{id_}")
        if now is None or mark is None:
            continue
        held = as_record(
            ArchiveCandidate(now, one.session_over), consolidated=mark not in _UNCONSOLIDATED
        )
        action, why = rule(held)
        if action is Action.ARCHIVE:
            changed.append((turned(now, Status.ARCHIVED, standing), Change("archive", why)))
            states |= {
                f"{TRACE}{id_}": None,
                f"{ARCHIVED}{mark}/{id_}": times.iso(standing.at),
            }
    done = decided(site.access, standing, changed)
    return Commit(puts=done.puts, entries=done.entries, states=states)


def _forget(site: Site) -> Slices:
    """Takes traces from the list that somebody deleted or archived; retention has no part in it."""
    marks = under(TRACE, site.states(TRACE))
    held = [id_ for id_, mark in marks.items() if mark not in _UNCONSOLIDATED]
    gone = [memory.id for memory in site.memories(held) if memory.status in _GONE]
    for start in range(0, len(gone), SLICE):
        states: dict[str, str | None] = {
            f"{TRACE}{id_}": None for id_ in gone[start : start + SLICE]
        }
        site.commit(Wanted(), partial(_set, states), states)
        yield []


def _set(states: dict[str, str | None], _: Standing) -> Commit:
    return Commit(states=states)
