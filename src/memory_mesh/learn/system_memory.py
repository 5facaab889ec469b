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

import gzip
import heapq
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_mesh.base.typed import replace
from memory_mesh.base.word_files import text_beside
from memory_mesh.formats import memory_log
from memory_mesh.model import Commit, Entry, Standing, StoreError, Wanted
from memory_mesh.model.learning import Experience, ExperienceSummary, FinalOutcome
from memory_mesh.model.trace import Trace
from memory_mesh.platform import durable_files
from memory_mesh.platform.locks import locked
from memory_mesh.platform.system import make_folder
from memory_mesh.privacy.redactor import category
from memory_mesh.text import analyzer
from memory_mesh.write.access import Access
from memory_mesh.write.audit_entries import Change, change_entry

PUBLIC = frozenset(text_beside(__file__, "public_names.txt").split())
OTHER = "other"

NO_PROJECT = "no project"
_DIGITS = 2  # of a duration that are kept
_FAILED = ("fail", "error")

# The files of the system memory: the log of the last entries, and compressed archives.
#
#     <store>/system/memory_log.md               the active entries
#     <store>/system/memory_log.0001.md.gz       entries exp_1 to exp_999
#     <store>/system/memory_log.0002.md.gz       entries exp_1000 to exp_1999, and so on
#
# The ledger has the active entries too; the log is written from it. An archived entry is in its
# archive only. An archive holds at most a thousand entries, is read line by line and replaced as a
# whole.


PER_ARCHIVE = 1_000
_HEAD_BYTES = 200  # of the log, with the number of its first entry
_TAIL_BYTES = 65_536  # of the log that are read to find its last entry
_ARCHIVE = re.compile(r"memory_log\.([0-9]{4,})\.md\.gz\Z")
_ID = re.compile(rb"^experience_id: exp_([0-9]+)$", re.MULTILINE)
_END = b"\n---\n"


class ExperienceFiles:
    """The files of one store's system memory; a log of one user has none, and no archives."""

    def __init__(self, store: Path, *, kept: bool = True) -> None:
        self.kept = kept
        self.folder: Path = store / "system"
        self.log: Path = self.folder / "memory_log.md"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps other processes from changing the files; removes what a killed one left."""
        if not self.kept:
            yield
            return
        make_folder(self.folder)
        with locked(self.folder / ".lock"):
            for left in self.folder.glob(".memory_log.*.tmp"):
                with suppress(OSError):
                    left.unlink()
            yield

    def archives(self) -> list[Path]:
        """The archives, the oldest first."""
        if not self.kept or not self.folder.is_dir():
            return []
        found = [
            (int(match[1]), path)
            for path in self.folder.iterdir()
            if (match := _ARCHIVE.match(path.name))
        ]
        return [path for _, path in sorted(found)]

    def archive_of(self, number: int) -> Path:
        """Where an entry is archived."""
        return self.folder / f"memory_log.{number // PER_ARCHIVE + 1:04d}.md.gz"

    def archived(self, path: Path) -> Iterator[Experience]:
        """The entries of an archive in order, read line by line; nothing if there is none."""
        try:
            with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
                for found in memory_log.entries(lines):
                    if isinstance(found, memory_log.LogFault):
                        raise StoreError(
                            f"{path}, line {found.line}: {found.message}; restore the archive "
                            "from a backup"
                        )
                    yield found
        except FileNotFoundError:
            return
        except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError) as error:
            raise StoreError(f"{path} is damaged; restore it from a backup") from error

    def write_archive(self, path: Path, entries: Sequence[Experience]) -> None:
        """Replaces an archive; one without entries is removed. The same entries, the same bytes."""
        if not entries:
            path.unlink(missing_ok=True)
            return
        text = "".join(memory_log.render_all(entries)).encode()
        durable_files.write_atomically(path, gzip.compress(text, mtime=0), private=True)

    def write_log(self, text: str) -> None:
        """Replaces the log of active entries."""
        durable_files.write_atomically(self.log, text.encode(), private=True)

    def begins_before(self, number: int) -> bool:
        """True if the log still shows an entry below a number."""
        try:
            with self.log.open("rb") as file:
                found = _ID.search(file.read(_HEAD_BYTES))
        except FileNotFoundError:
            return False
        return found is not None and int(found[1]) < number

    def append(self, entries: Sequence[Experience]) -> bool:
        """Appends entries to the log in one write; False if it does not end just before them."""
        last = self._last()
        if last is not None and last >= entries[-1].number:
            return True  # somebody who came later wrote the whole log
        if last != entries[0].number - 1:
            return False
        text = "".join(f"\n{memory_log.render(entry)}" for entry in entries).encode()
        descriptor = os.open(self.log, os.O_WRONLY | os.O_APPEND)
        try:
            return os.write(descriptor, text) == len(text)
        finally:
            os.close(descriptor)

    def _last(self) -> int | None:
        """The number of the log's last entry; None where it has none or ends within one."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - _TAIL_BYTES))
                tail = file.read()
        except FileNotFoundError:
            return None
        found = list(_ID.finditer(tail))
        return int(found[-1][1]) if found and tail[found[-1].end() :].endswith(_END) else None


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
        if files.kept and not files.append(added):
            _write_log(access, files)
    if files.kept and active >= keep + BLOCK:
        roll(access, files, keep=keep)
    return added


def roll(access: Access, files: ExperienceFiles, *, keep: int = KEEP) -> int:
    """Moves whole blocks of entries beyond the newest `keep` into archives; returns how many."""
    moved = 0
    if not files.kept:
        return moved
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
    terms = frozenset(analyzer.terms(query))
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
    yield from (_parsed(active[number]) for number in sorted(active))


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
    if files.kept:
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


# What the system memory learns of a trace: figures and words of closed lists, nothing else.
#
# No text of a trace is copied. The goal becomes a category, a project its digest, an agent or tool
# its name if it is a public one; counts stay, times are rounded.


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
    held = set(analyzer.terms(said))
    return sum(term in held for term in terms) / len(terms) if terms else 0.0


def _outcome(trace: Trace, failed: int) -> FinalOutcome:
    if not trace.success:
        return FinalOutcome.FAILURE
    return FinalOutcome.RECOVERED if failed else FinalOutcome.SUCCESS


def _rounded(milliseconds: int) -> int:
    return round(milliseconds, -max(0, len(str(milliseconds)) - _DIGITS))


def public_name(component: str) -> str:
    """Returns the name of a public agent or tool, or `other`: paths and arguments are cut off."""
    words = component.replace("\\", "/").split()
    name = words[0].rpartition("/")[2].lower() if words else ""
    name = name.removesuffix(".exe")
    return name if name in PUBLIC else OTHER
