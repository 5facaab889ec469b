"""Health and growth: how much there is, of what and from where; what could go; is all well.

A store whose chain is short is counted whole. Of a longer one the charts count a sample from all
over, until the reader asks for all of it: the page takes as long as that of a small store.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import partial

from memory_mesh.base.typed import Any, dataclass
from memory_mesh.care.access_keys import READ, WRITE
from memory_mesh.dashboard.asked import EVERY_STATUS, EVERYONE, Asked, PageRoute, Shown
from memory_mesh.dashboard.words import plain, who
from memory_mesh.model import Json, Memory, SourceKind, Status
from memory_mesh.model.job import JobReport
from memory_mesh.model.stats import leading

PATH = "/health"
_SAMPLE = 2_000  # memories that stand for all of more
_UNUSED_DAYS = 90
_SHOWN = 10  # memories that nobody used
_MOST_STEPS = 200  # of what upkeep would do
_JOB = "consolidate-memories"
_MOST_BARS = 60
_STEPS = (1, 7, 28, 91, 364)  # days of a bar
_SHARES = 8  # bars of a kind of figure; the rest is summed up
_SIZES = {
    "database": "memories, versions and the chain", "wal": "latest writes, not folded in yet",
    "spool": "records of reads that wait", "copies": "copies from before an update",
    "index": "index, can be rebuilt", "vectors": "files of vectors, can be rebuilt",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChartBar:
    """One bar of a chart, with what it stands for."""

    label: str
    count: int
    share: float  # of the highest
    href: str = ""
    total: int = 0  # up to here, where bars follow each other in time
    until: str = ""


@dataclass(frozen=True, slots=True)
class Growth:
    """Memories by the time that they were first stored."""

    bars: Sequence[ChartBar]
    days: int  # that a bar stands for
    top: int  # of the highest

    @property
    def unit(self) -> str:
        """What a bar stands for, in words."""
        named = {1: "day", 7: "week", 28: "four weeks", 91: "quarter", 364: "year"}
        return named.get(self.days, f"{self.days} days")


def growth(days: Mapping[str, int], today: date) -> Growth:
    """The counts of days as at most sixty bars without a gap, up to today."""
    counts = {date.fromisoformat(day): count for day, count in days.items()}
    first = min(counts, default=today)
    span = max(1, (today - first).days + 1)
    step = next((each for each in _STEPS if span <= each * _MOST_BARS), -(-span // _MOST_BARS))
    sums = [0] * -(-span // step)
    for day, count in counts.items():
        sums[min(len(sums) - 1, max(0, (day - first).days // step))] += count
    bars, total, top = [], 0, max(sums)
    for at, count in enumerate(sums):
        total += count
        start = first + timedelta(days=at * step)
        until = start + timedelta(days=step)
        bars.append(
            ChartBar(
                start.isoformat(), count, count / (top or 1), total=total, until=until.isoformat()
            )
        )
    return Growth(bars, step, top)


def shares(
    asked: Asked, counts: Mapping[str, int], names: Mapping[str, str], field: str
) -> list[ChartBar]:
    """The counts of a field, the most first; each leads to its memories."""
    top = max(counts.values(), default=1)
    first = list(counts.items())[:_SHARES]
    found = [
        ChartBar(
            names.get(value, plain(value)), n, n / top, asked.here("/memories", **{field: value})
        )
        for value, n in first
    ]
    rest = sum(counts.values()) - sum(count for _, count in first)
    return [*found, ChartBar("others", rest, rest / top)] if rest else found


def show(asked: Asked) -> Shown:
    """The figures and charts, and what nobody uses."""
    return Shown("health.html", _values(asked))


def verify(asked: Asked) -> Shown:
    """The same, with the whole chain and store checked now."""
    return Shown("health.html", _values(asked) | {"verification": asked.mesh.care.verify()})


def look_through(asked: Asked) -> Shown:
    """The same, with what upkeep would put away: stale and redundant memories as proposals."""
    (report,) = asked.mesh.care.run_jobs([_JOB], dry_run=True)
    ids = [id_ for step in report.steps[:_MOST_STEPS] for id_ in step.ids[:1]]
    found = _texts(asked, ids)
    steps = [
        (step, found[step.ids[0]])
        for step in report.steps[:_MOST_STEPS]
        if step.ids and step.ids[0] in found
    ]
    return Shown("health.html", _values(asked) | {"steps": steps, "report": report})


def _texts(asked: Asked, ids: Iterable[str]) -> dict[str, Memory]:
    wanted = sorted(set(ids))
    if not wanted:
        return {}
    found = asked.mesh.get_all(
        filter={"id": wanted}, across=EVERYONE, include=EVERY_STATUS, limit=len(wanted)
    )
    return {memory.id: memory for memory in found}


def _values(asked: Asked) -> dict[str, Any]:
    care, whole = asked.mesh.care, asked.one("count") == "all" or asked.is_small()
    figures = asked.mesh.stats(counted=whole)
    counts = partial(care.counts, across=EVERYONE, sample=None if whole else _SAMPLE)
    statuses = counts("status", include=EVERY_STATUS)
    before = (asked.now - timedelta(days=_UNUSED_DAYS)).isoformat()
    unused: dict[str, Json] = {
        "access_count": 0, "pinned": False, "created_at": {"$lt": before}
    }  # fmt: skip
    sources = {kind.value: who(kind) for kind in SourceKind}
    space = leading(figures.spaces) if figures.spaces else None
    sizes: list[tuple[str, int]] = [
        (said, getattr(figures.sizes, name)) for name, said in _SIZES.items()
    ]
    due: list[JobReport] = [each for each in care.jobs() if each.due.now] if whole else []
    stale = asked.mesh.get_all(filter=unused, across=EVERYONE, limit=_SHOWN) if whole else []
    return {
        "figures": figures,
        "whole": whole,
        "sample": _SAMPLE if not whole and sum(statuses.values()) > _SAMPLE else 0,
        "active": statuses.get(Status.ACTIVE, 0),
        "waiting": statuses.get(Status.QUARANTINED, 0) + statuses.get(Status.DISPUTED, 0),
        "growth": growth(counts("day"), asked.now.date()),
        "kinds": shares(asked, counts("kind"), {}, "kind"),
        "sources": shares(asked, counts("source_kind"), sources, "source"),
        "projects": shares(asked, counts("project"), {}, "project"),
        "unused": stale,
        "unused_count": sum(counts("status", filter=unused).values()),
        "unused_days": _UNUSED_DAYS,
        "space": space,
        "sizes": [each for each in sizes if each[1]],
        "bytes": sum(getattr(figures.sizes, name) for name in _SIZES) or figures.bytes,
        "due": due,
        "verification": None,
        "steps": None,
        "report": None,
    }


ROUTES = (
    PageRoute(PATH, show, title="Health and growth", icon="health"),
    PageRoute(f"{PATH}/verify", verify, READ, "POST"),
    PageRoute(f"{PATH}/look", look_through, WRITE, "POST"),
)
