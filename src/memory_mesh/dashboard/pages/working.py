"""Is it working? What the store did last, live; how fast hooks are; what doctor finds.

::

    blocks after the last one ──┐
    searches since the last one ┼──▶ FeedBatch(events, how many more) ──▶ page, then every second
    journal of hooks and fronts ┘     bounded: what does not fit is counted

The journal and doctor's findings are of the whole machine: only who may look after it sees them.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.agents import doctor, journal
from memory_mesh.agents.hook import AWAY
from memory_mesh.agents.hook.main import BUDGET_MS
from memory_mesh.base.typed import Any, dataclass
from memory_mesh.care.access_keys import ADMIN
from memory_mesh.dashboard.asked import EVERY_STATUS, EVERYONE, Asked, PageRoute, Shown
from memory_mesh.formats.yamo import parse
from memory_mesh.model import Block, BlockOperation, InvalidInput

PATH = "/working"
MOST = 40  # events of a batch
_BACK = (40, 10, 3, 1)  # writes: a write may have many blocks, and a batch holds 40
_TAIL = 64 * 1024  # bytes of the journal
_RUNS = 60  # hooks in the drawing
_GOOD = ("answered", "done", "started", "silent")
_WORDS = {  # of a change: what it did
    "stored": ("write", "good"), "merged": ("write", ""), "quarantined": ("held", "warn"),
    "refused": ("refused", "bad"), "search": ("search", ""), "inject": ("prompt", "kind"),
    "get": ("read", ""),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """One thing that happened, in a line."""

    at: datetime
    what: str
    tone: str  # of its chip: good, warn, bad, kind or nothing
    text: str
    detail: str = ""
    memory: str | None = None
    ms: int | None = None


@dataclass(frozen=True, slots=True)
class FeedPlace:
    """How far somebody has read: the last write and its blocks, search and line of the journal."""

    seq: int = 0
    blocks: int = 0
    search: str = ""
    line: str = ""

    def __str__(self) -> str:
        """As an id of a server-sent event, which comes back when the browser connects again."""
        return f"{self.seq}~{self.blocks}~{self.search}~{self.line}"

    @classmethod
    def read(cls, text: str) -> "FeedPlace":
        """The place that `str` wrote."""
        try:
            seq, blocks, search, line = text.split("~")
            return cls(int(seq), int(blocks), search, line)
        except ValueError:
            raise InvalidInput("this is no place of the feed; load the page again") from None


@dataclass(frozen=True, slots=True)
class FeedBatch:
    """What happened since a place, newest first and at most `MOST`, and where that leads to."""

    events: Sequence[FeedEvent]
    more: int  # that happened as well
    place: FeedPlace


def batch(asked: Asked, since: FeedPlace | None = None) -> FeedBatch:
    """The events after a place, or the latest."""
    figures = asked.mesh.stats(counted=False)
    blocks = _latest(asked, since.seq if since else 0, figures.seq)[-MOST:]
    searches = _new_searches(asked, since)
    lines = _lines(asked, since)
    events = sorted(
        [*_written(asked, blocks), *map(_searched, searches), *map(_noted, lines)],
        key=lambda event: event.at,
        reverse=True,
    )
    place = since or FeedPlace()
    happened = figures.blocks - place.blocks + len(searches) + len(lines)
    return FeedBatch(
        events[:MOST],
        max(0, happened - len(events[:MOST])) if since is not None else 0,
        FeedPlace(
            figures.seq,
            figures.blocks,
            searches[0].entry.id if searches else place.search,
            str(lines[-1]["at"]) if lines else place.line,
        ),
    )


def _latest(asked: Asked, after: int, last: int) -> list[Block]:
    """The blocks of the last writes, oldest first; of large writes those of the very last."""
    found: list[Block] = []
    for start in dict.fromkeys(max(after, last - writes) for writes in _BACK):
        nearer = asked.mesh.care.blocks(after_seq=start, limit=MOST, as_owner=True)
        found = nearer or found  # the last writes may have no block
        if len(nearer) < MOST:
            break  # nothing comes after these
    return [block for block in found if (block.seq or 0) <= last]


def _new_searches(asked: Asked, since: FeedPlace | None) -> list[Block]:
    found = asked.mesh.care.recalls(limit=MOST, as_owner=True)
    known = since.search if since is not None else ""
    ids = [block.entry.id for block in found]
    return found[: ids.index(known)] if known in ids else found


def _lines(asked: Asked, since: FeedPlace | None) -> list[dict[str, Any]]:
    """The journal's last lines; they are of the whole store, whoever's namespace is shown."""
    if not asked.may(ADMIN):
        return []
    known = since.line if since is not None else ""
    found = [line for line in journal.tail(str(asked.mesh.folder), _TAIL) if _moment(line)]
    return [line for line in found if str(line["at"]) > known][-MOST:]


def _moment(line: Mapping[str, Any]) -> datetime | None:
    try:
        return datetime.fromisoformat(str(line.get("at"))).astimezone(UTC)
    except ValueError:
        return None


def _written(asked: Asked, blocks: Sequence[Block]) -> Iterator[FeedEvent]:
    """Writes, with the words of the memories that they are about, read at once."""
    ids = {id_ for block in blocks for id_ in block.entry.memories[:1] if id_.startswith("mem_")}
    found = asked.mesh.get_all(
        filter={"id": sorted(ids)}, across=EVERYONE, include=EVERY_STATUS, limit=len(ids)
    ) if ids else []  # fmt: skip
    texts = {memory.id: memory.text for memory in found}
    for block in blocks:
        entry, said = block.entry, block.entry.metadata
        named = str(said.get("outcome") or said.get("type") or entry.operation.value)
        what, tone = _WORDS.get(named, (named.replace("_", " "), ""))
        if entry.operation is BlockOperation.ERASE:
            what, tone = "erased", "warn"
        first = entry.memories[0] if entry.memories else None
        reasons = said.get("reasons")
        why = str(said.get("why") or "") or (
            "; ".join(map(str, reasons)) if isinstance(reasons, list | tuple) else ""
        )
        yield FeedEvent(
            entry.at, what, tone, texts.get(first or "", first or "the store"),
            why if why != "stored" else "", first if first in texts else None,
        )  # fmt: skip


def _searched(block: Block) -> FeedEvent:
    entry = block.entry
    what, tone = _WORDS.get(str(entry.metadata.get("use")), ("search", ""))
    query = str(dict(parse(entry.wire).context).get("query", "")) if entry.wire else ""
    if what == "read":
        query = "memories were opened"
    count = len(entry.memories)
    detail = f"{count} {'memory' if count == 1 else 'memories'}"
    return FeedEvent(entry.at, what, tone, query or "start of a session", detail)


def _noted(line: Mapping[str, Any]) -> FeedEvent:
    """A line of the journal: a hook, a front or a daemon."""
    what, outcome = str(line.get("what")), str(line.get("outcome") or "")
    name = str(line.get("event") or line.get("tool") or outcome)
    told = [outcome] if outcome != name else []
    told += [f"{line['stored']} stored"] if line.get("stored") else []
    told += [f"{line['memories']} memories"] if line.get("memories") else []
    told += [f"through the {line['through']}"] if line.get("through") else []
    told += [str(line["reason"])] if line.get("reason") else []
    tone = "" if outcome in _GOOD else "warn" if outcome in ("late", AWAY) else "bad"
    tone = "" if what == "daemon" else tone
    ms = line.get("ms")
    at = _moment(line) or datetime.now(UTC)
    return FeedEvent(at, what, tone, name, ", ".join(told), ms=ms if isinstance(ms, int) else None)


@dataclass(frozen=True, slots=True)
class HookRuns:
    """The last hooks: how long each took of its budget, and how it ended."""

    runs: Sequence[tuple[int, str, str]]  # milliseconds, outcome, event
    budget: int = BUDGET_MS

    @property
    def half(self) -> int:
        """What half of them took at most."""
        taken = sorted(ms for ms, _, _ in self.runs)
        return taken[len(taken) // 2] if taken else 0

    @property
    def outcomes(self) -> Counter[str]:
        """How many ended how."""
        return Counter(outcome for _, outcome, _ in self.runs)

    @property
    def top(self) -> int:
        """The height of the drawing."""
        return max([self.budget, *(ms for ms, _, _ in self.runs)])


def show(asked: Asked) -> Shown:
    """The page; doctor's findings and what jobs are due come after it, or with `examine=yes`."""
    looks_after = asked.may(ADMIN)
    lines = journal.tail(str(asked.mesh.folder), 4 * _TAIL) if looks_after else ()
    hooks = [line for line in lines if line.get("what") == "hook"]
    examine = asked.one("examine") == "yes"
    findings = list(_examined(asked)) if examine and looks_after else []
    return Shown(
        "working.html",
        {
            "feed": batch(asked),
            "hooks": HookRuns([_run(line) for line in hooks[-_RUNS:]]),
            "jobs": asked.mesh.care.jobs() if examine else [],
            "figures": asked.mesh.stats(counted=False),
            "looks_after": looks_after,
            "examined": examine,
            "wrong": [each for each in findings if each.mark != "ok"],
            "fine": [each for each in findings if each.mark == "ok"],
        },
    )


def _run(line: Mapping[str, Any]) -> tuple[int, str, str]:
    ms = line.get("ms")
    return (
        ms if isinstance(ms, int) else 0, str(line.get("outcome")), str(line.get("event") or "hook")
    )  # fmt: skip


def _examined(asked: Asked) -> Iterable[doctor.CheckResult]:
    case = doctor.Case(asked.mesh, dict(os.environ), Path.cwd(), meaning=asked.mesh)
    return doctor.examined(case, trials=False)


ROUTES = (PageRoute(PATH, show, title="Is it working?", icon="working"),)
