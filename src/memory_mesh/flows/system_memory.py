"""The system memory: a log of anonymised experiences, its numbers, its archives and its erasure.

::

    Experience ──▶ commit: the next number and the entry, as small values of the namespace `system`
                       │
                       ├──▶ memory_log.md                      one append
                       └──▶ beyond 1,000: roll a hundred       archive on the disk, then one commit

Entries are values by number, a hundred to a block. A number is drawn inside the transaction and
never given twice. Cost: an append reads two values, writes two and appends once; a roll reads a
hundred entries and one archive of at most a thousand; a listing reads the active entries (at most
1,099) and as many archives as it shows; a search and a summary read every entry once, archives line
by line, and keep the best only. Nothing holds more than the active entries and one archive.

Rolling may be killed at any point and run again: an entry leaves the ledger only when its archive
is on the disk, and an archive takes an entry it has already without having it twice.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence

from memory_mesh.fastdataclass import replace
from memory_mesh.flows.access import Access
from memory_mesh.flows.blocks import Change, change_entry
from memory_mesh.formats import memory_log
from memory_mesh.model import Commit, Entry, Standing, Wanted
from memory_mesh.model.experience import Experience
from memory_mesh.policy.experiences import relevance
from memory_mesh.policy.text import analyze
from memory_mesh.process.experience_files import ExperienceFiles

NAMESPACE = "system"
KEEP = 1_000  # the newest entries that stay active
BLOCK = 100  # entries that are read and rolled at once
_LAST, _FIRST = "experience.last", "experience.first"  # the last number; the oldest active one
_ENTRY = "experience/"
_AGENT = "system"


def append(
    access: Access, files: ExperienceFiles, experiences: Sequence[Experience], *, keep: int = KEEP
) -> list[Experience]:
    """Numbers the experiences, keeps them, and rolls what is too old; returns them with numbers."""
    added: list[Experience] = []
    active = 0

    def decide(standing: Standing) -> Commit:
        nonlocal active
        last = int(standing.states.get(_LAST, "0"))
        added[:] = [replace(one, number=last + n) for n, one in enumerate(experiences, 1)]
        active = added[-1].number - int(standing.states.get(_FIRST, "1")) + 1
        states = {_name(one.number): memory_log.render(one) for one in added}
        first = f"experience:{added[0].experience_id}"
        return Commit(
            states={_LAST: str(added[-1].number), **states},
            entries=(_entry(access, standing, first, Change("update", "logged"), len(added)),),
        )

    if not experiences:
        return []
    access.ledger.commit(access.namespace, Wanted(states=(_LAST, _FIRST)), decide)
    with files.held():
        if not files.append(added):
            _write_log(access, files)
    if active >= keep + BLOCK:
        roll(access, files, keep=keep)
    return added


def roll(access: Access, files: ExperienceFiles, *, keep: int = KEEP) -> int:
    """Moves whole blocks of entries beyond the newest `keep` into archives; returns how many."""
    moved = 0
    with files.held():
        while (block := _oldest_block(access, keep)) is not None:
            entries = _read_block(access, block)
            if entries:
                path = files.archive_of(entries[0].number)
                held = {one.number: one for one in (*files.archived(path), *entries)}
                files.write_archive(path, [held[number] for number in sorted(held)])
            _leave(access, block, entries)
            moved += len(entries)
        first, _ = _bounds(access)
        if moved or files.begins_before(first):  # or a roll was killed before it wrote the log
            _write_log(access, files)
    return moved


def to_roll(access: Access, *, keep: int = KEEP) -> int:
    """Counts the entries that `roll` would move: those of whole blocks beyond the newest `keep`."""
    first, last = _bounds(access)
    end = (last - keep + 1) // BLOCK * BLOCK  # the first entry that stays
    return max(0, end - first)


def write_log(access: Access, files: ExperienceFiles) -> int:
    """Writes the log of active entries anew; returns how many there are."""
    with files.held():
        return _write_log(access, files)


def newest(
    access: Access, files: ExperienceFiles, limit: int, before: int | None = None
) -> list[Experience]:
    """Returns the newest entries, or those before a number, the newest first."""
    first, active = _active(access)
    wanted = (name for name in sorted(active, reverse=True) if before is None or name < before)
    found = [_parsed(active[number]) for _, number in zip(range(limit), wanted, strict=False)]
    for path in reversed(files.archives()):
        if len(found) >= limit:
            break
        bound = first if before is None else min(first, before)
        found += reversed([one for one in files.archived(path) if one.number < bound])
    return found[:limit]


def search(access: Access, files: ExperienceFiles, query: str, limit: int) -> list[Experience]:
    """Returns the entries, archived ones included, that have most of the words of a query."""
    terms = frozenset(analyze.terms(query))
    scored = ((relevance(one, terms), one.number, one) for one in every(access, files))
    best = heapq.nlargest(limit, (each for each in scored if each[0] > 0), key=lambda e: e[:2])
    return [one for _, _, one in best]


def every(access: Access, files: ExperienceFiles) -> Iterator[Experience]:
    """Yields every entry once, the oldest first; only the active ones are held in memory."""
    first, active = _active(access)  # first, so that nothing can be rolled out of sight
    for path in files.archives():
        for one in files.archived(path):
            if one.number < first:
                yield one
    for number in sorted(active):
        yield _parsed(active[number])


def erase(
    access: Access,
    files: ExperienceFiles,
    chosen: Callable[[Experience], bool],
    reason: str,
) -> int:
    """Removes entries for good, active and archived; returns how many. Numbers are not reused."""
    erased = 0
    with files.held():
        for path in files.archives():
            held = list(files.archived(path))
            kept = [one for one in held if not chosen(one)]
            if len(kept) < len(held):
                files.write_archive(path, kept)
                erased += len(held) - len(kept)
        _, active = _active(access)
        gone = [one for text in active.values() if chosen(one := _parsed(text))]
        for start in range(0, len(gone), BLOCK):
            _remove(access, gone[start : start + BLOCK], reason)
        erased += len(gone)
        if erased:
            _write_log(access, files)
    return erased


def _write_log(access: Access, files: ExperienceFiles) -> int:
    _, active = _active(access)
    files.write_log("\n".join(active[number] for number in sorted(active)))
    return len(active)


def _oldest_block(access: Access, keep: int) -> int | None:
    """The oldest block with active entries, if all of them are beyond the newest `keep`."""
    first, last = _bounds(access)
    block = first // BLOCK
    return block if block * BLOCK + BLOCK - 1 <= last - keep else None


def _leave(access: Access, block: int, entries: Sequence[Experience]) -> None:
    """Takes archived entries out of the ledger."""

    def decide(standing: Standing) -> Commit:
        change = Change("update", "rolled to the archive")
        about = f"experience:exp_{block * BLOCK}"
        return Commit(
            states={_FIRST: str((block + 1) * BLOCK), **dict.fromkeys(map(_named, entries))},
            entries=(_entry(access, standing, about, change, len(entries)),),
        )

    access.ledger.commit(access.namespace, Wanted(), decide)


def _remove(access: Access, entries: Sequence[Experience], reason: str) -> None:
    def decide(standing: Standing) -> Commit:
        about = f"experience:{entries[0].experience_id}"
        return Commit(
            states=dict.fromkeys(map(_named, entries)),
            entries=(_entry(access, standing, about, Change("delete", reason), len(entries)),),
        )

    access.ledger.commit(access.namespace, Wanted(), decide)


def _entry(access: Access, standing: Standing, about: str, change: Change, count: int) -> Entry:
    """The block of a change of the log; it names no agent, for an agent may be one project's."""
    return change_entry(
        replace(access, agent=_AGENT), standing, about, change, {"experiences": count}
    )


def _bounds(access: Access) -> tuple[int, int]:
    """The numbers of the oldest active entry and of the last one."""
    with access.ledger.read(access.namespace) as snapshot:
        states = snapshot.states("experience.")
    return int(states.get(_FIRST, "1")), int(states.get(_LAST, "0"))


def _active(access: Access) -> tuple[int, dict[int, str]]:
    """The number that the active entries begin with, and their texts by number, of one moment."""
    with access.ledger.read(access.namespace) as snapshot:
        states = snapshot.states("experience")
    texts = {
        int(name.removeprefix(_ENTRY)): text
        for name, text in states.items()
        if name.startswith(_ENTRY)
    }
    return int(states.get(_FIRST, "1")), texts


def _read_block(access: Access, block: int) -> list[Experience]:
    """The active entries of a block, the oldest first."""
    with access.ledger.read(access.namespace) as snapshot:
        states = snapshot.states(_name(block * BLOCK)[:-2])
    return [_parsed(text) for text in states.values()]


def _parsed(text: str) -> Experience:
    """The entry of a value of the ledger."""
    (entry,) = memory_log.parse(text).entries
    return entry


def _named(experience: Experience) -> str:
    return _name(experience.number)


def _name(number: int) -> str:
    return f"{_ENTRY}{number:015d}"
