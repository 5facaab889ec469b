"""`Mirror`: the memories of a project as Markdown files in a folder."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from memory_mesh.base.typed import replace
from memory_mesh.mirror import (
    apply_document,
    folder_to_store,
    run as mirror_run,
    state,
    store_to_folder,
)
from memory_mesh.mirror.apply_document import StaleMemory
from memory_mesh.mirror.authors import Author, Authors
from memory_mesh.mirror.report import Line, MirrorReport
from memory_mesh.mirror.run import Whose
from memory_mesh.mirror.state import FOLDER, Delta, MirroredDocument, State, mirrored, place
from memory_mesh.model import InvalidInput, NotAllowed, NotFound, Status
from memory_mesh.platform.ids import MonotonicIds, SystemClock
from memory_mesh.platform.locks import locked
from memory_mesh.platform.system import make_folder
from memory_mesh.sync import MemoryMesh

SIDES = ("file", "store")

DEFAULT_FOLDER = ".rawko/memories"
UPDATES = ("append", "replace")


class Mirror:
    """A folder of Markdown files and the memories of one project, kept the same.

    `pull` takes over what was edited in the folder, `push` writes what changed in the store, `run`
    does both. Each returns a report. One run at a time works on a folder; others wait.
    """

    def __init__(
        self,
        mesh: MemoryMesh,
        folder: str | PathLike[str] | None = None,
        *,
        updates: str | None = None,
        authors: Whose | None = None,
    ) -> None:
        """Keep the folder; nothing is read before the first run.

        `updates` says what a change in the store does to a document: append, or replace.
        """
        self.mesh = mesh
        self.folder: Path = Path(folder or mesh.config.mirror_dir or DEFAULT_FOLDER).absolute()
        self._updates = updates or mesh.config.mirror_updates
        if self._updates not in UPDATES:
            raise InvalidInput(f"updates must be one of: {', '.join(UPDATES)}")
        self._authors = authors

    def init(self) -> MirrorReport:
        """Makes the folder, takes over what is in it and writes the project's memories to it.

        If every file is gone that the mirror knew, it begins anew: no memory is deleted, and all
        are written again.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._running() as run:
            known, listed = run.state.paths(), state.listing(self.folder)
            if known and not listed.unreadable and not any(path in listed for path in known):
                run.state.forget()
            return self._both(run)

    def run(self, *, dry_run: bool = False, deletes: bool = False) -> MirrorReport:
        """Takes over what was edited in the folder, then writes what changed in the store.

        With `dry_run` the report says what would be done. With `deletes` memories are deleted even
        if most documents are gone.
        """
        with self._running(dry_run=dry_run, deletes=deletes) as run:
            return self._both(run)

    def pull(self, *, dry_run: bool = False, deletes: bool = False) -> MirrorReport:
        """Takes over what was edited in the folder."""
        with self._running(dry_run=dry_run, deletes=deletes) as run:
            folder_to_store.pull(run)
            return run.report

    def push(self, *, dry_run: bool = False) -> MirrorReport:
        """Writes what changed in the store."""
        with self._running(dry_run=dry_run) as run:
            store_to_folder.push(run)
            run.report.files = run.state.counts()[0]  # known; the folder is not listed here
            return run.report

    def status(self) -> MirrorReport:
        """Says what a run would do, what disagrees and what waits for a decision."""
        with self._running(dry_run=True) as run:
            self._both(run)
            known = {line.memory for line in run.report.disagreements}
            for held in run.state.disagreeing():
                if held.memory not in known:
                    line = Line(held.path, held.named, held.memory, held.note or "")
                    run.report.disagreements.append(line)
            apply_document.report(run)
            return run.report

    def resolve(
        self, target: str | PathLike[str], *, keep: str, author: Author = Author.USER
    ) -> MirrorReport:
        """Ends the disagreements of a file, or of one memory by its id: keep the file or the store.

        What is not kept stays readable: as an earlier version in the store, and in the file as the
        older document, unless `updates` is replace.
        """
        with self._running() as run:
            run.report.files = len(state.listing(self.folder))
            resolve(run, self._named(target), keep, author)
            return run.report

    def path_of(self, target: str | PathLike[str]) -> Path:
        """A file of the folder: its path, or its name in the folder."""
        path = Path(target)
        for found in (path.absolute(), self.folder / path):
            with suppress(OSError):  # a name that is too long for any file
                if found.exists() and found.is_relative_to(self.folder):
                    return found
        return path

    def stale(self) -> list[StaleMemory]:
        """Lists memories whose source file has changed or is gone since their document was."""
        with self._running(dry_run=True) as run:
            return [
                StaleMemory(held.memory, held.path, name, what)
                for held in run.state.with_sources()
                for name, what in apply_document.differing(dict(held.sources), run.root)
            ]

    @staticmethod
    def _both(run: mirror_run.MirrorRun) -> MirrorReport:
        folder_to_store.pull(run)
        store_to_folder.push(run)
        return run.report

    def _named(self, target: str | PathLike[str]) -> str:
        """A path below the folder, however it was given, or an id."""
        path = self.path_of(target)
        if path.is_relative_to(self.folder):
            return path.relative_to(self.folder).as_posix()
        return Path(target).as_posix()

    def _missing(self) -> str:
        """What to do about a folder that does not exist."""
        words = f"the folder {self.folder} does not exist; make it with: memory-mesh mirror init"
        if others := mirrored(self.mesh.folder):
            words += f". Mirrored already: {', '.join(others)}. Name one with --dir FOLDER"
        return words

    def _state_path(self, former: tuple[str, ...]) -> Path:
        """The state of the folder, which may have been made under a former name of the project."""
        config = self.mesh.config
        names = (config.project, *former)
        paths = [place(self.mesh.folder, self.folder, config.namespace, name) for name in names]
        return next((path for path in paths if path.exists()), paths[0])

    @contextmanager
    def _running(
        self, *, dry_run: bool = False, deletes: bool = False
    ) -> Iterator[mirror_run.MirrorRun]:
        if not self.folder.is_dir():
            raise NotFound(self._missing())
        store, config = self.mesh.folder, self.mesh.config
        own = self.mesh.care.projects.stated(config.project) if config.project else None
        former = () if own is None else (own.name, *own.former)
        path = self._state_path(former)
        make_folder(path.parent)
        authors = self._authors or Authors.of_folder(self.folder, store / FOLDER)
        with locked(path.with_suffix(".lock"), seconds=config.lock_wait_seconds):
            state = State(path)
            try:
                run = mirror_run.MirrorRun(
                    self.mesh,
                    self.folder,
                    state,
                    MirrorReport(dry=dry_run),
                    authors,
                    MonotonicIds(SystemClock()),
                    SystemClock().now,
                    dry=dry_run,
                    replaces=self._updates == "replace",
                    deletes=deletes,
                    root=apply_document.project_root(self.folder),
                    former=former,
                )
                if not dry_run:
                    state.name(self.folder)
                if state.renewed:
                    run.note(".", "the mirror's notes on this folder were broken; it began anew")
                yield run
            finally:
                state.close()
                if isinstance(authors, Authors):
                    authors.close()


# End a disagreement as a person decides.


def resolve(run: mirror_run.MirrorRun, target: str, keep: str, author: Author) -> None:
    """Keeps the file's or the store's side of every disagreement in a file."""
    if keep not in SIDES:
        raise InvalidInput(f"keep is one of: {', '.join(SIDES)}")
    found = [held for held in run.state.disagreeing() if target in {held.path, held.memory}]
    if not found:
        raise NotFound(f"nothing disagrees in {target}. List what does: memory-mesh mirror status")
    if keep == "store" and author is not Author.USER:
        raise NotAllowed("the file has the user's words: the user decides to keep the store's")
    for held in found:
        delta = Delta()
        if keep == "file":
            _keep_file(run, held, author, delta)
        else:
            _keep_store(run, held)
        run.write(delta)


def _keep_file(
    run: mirror_run.MirrorRun, held: MirroredDocument, author: Author, delta: Delta
) -> None:
    """Lets the memory say what the document says, or go if the document is gone."""
    text, group = mirror_run.present(run, held)
    memory = run.latest(held.memory)
    channel = mirror_run.CHANNELS[author]
    if text is None or group is None:
        if memory is not None and memory.status not in mirror_run.OUT_OF_USE:
            run.view(channel).delete(held.memory, reason=f"deleted from the file {held.path}")
            run.report.deleted.append(Line(held.path, held.named, held.memory))
        delta.forgotten.append(held.memory)
        return
    if memory is not None and memory.status is Status.DELETED:
        memory = run.view(channel).restore(held.memory)
        run.report.restored.append(Line(held.path, held.named, held.memory))
    if (
        memory is None or memory.status in mirror_run.OUT_OF_USE
    ):  # the document is a memory of its own
        delta.forgotten.append(held.memory)
        delta.files[held.path] = None
        return
    known = replace(held, note=None, body="" if held.waits else held.body)  # also rejected words
    ready = apply_document.edit(run, group, known, memory, author)
    if isinstance(ready, apply_document.Edit):
        (ready,) = apply_document.make(run, [ready])
    if not ready.faulty:
        delta.entries.append(ready.entry)


def _keep_store(run: mirror_run.MirrorRun, held: MirroredDocument) -> None:
    """Writes what the memory says, or removes its document if the memory is gone."""
    text, group = mirror_run.present(run, held)
    memory = run.latest(held.memory)
    if memory is None or memory.status in mirror_run.OUT_OF_USE:
        if text is not None and memory is not None and group is not None:
            store_to_folder.remove(run, held, text)
        else:
            run.write(Delta(forgotten=[held.memory]))
    elif text is None or group is None:
        run.write(Delta(forgotten=[held.memory]))
        store_to_folder.create(run, memory)
    else:
        store_to_folder.rewrite(run, replace(held, note=None), memory, text, group)
