"""A mirrored folder in real git clones: whose words a change is decides what becomes of it."""

from pathlib import Path

from memory_mesh.formats.memory_file import MemoryFile, render
from memory_mesh.mirror import Mirror
from memory_mesh.sync import MemoryMesh
from tests.clones import Repo, clone, new_repo
from tests.faults.report import Report


def proposed(folder: Path, *, changes: int) -> Report:
    """Others change the user's own memories, by fetch and merge: each change is a proposal."""
    report = Report({"changes": changes, "proposals": 0, "changed_memories": 0, "not_proposed": 0})
    mine, theirs = _pair(folder)
    for number in range(changes):
        mine.write(f"note-{number}.md", _note(number, "is mine"))
    mine.git("add", "-A")
    mine.git("commit", "-q", "-m", "my notes")
    mine.git("push", "-q", "origin", "HEAD:main")
    with MemoryMesh(db_dir=folder / "store", project="proof") as mesh:
        mirror = Mirror(mesh, mine.notes)
        mirror.run()
        before = {one.id: one.text for one in mesh.get_all(limit=1_000)}
        theirs.git("pull", "-q", "origin", "main")
        for number in range(changes):
            theirs.write(f"note-{number}.md", _note(number, "is theirs now"))
        theirs.git("commit", "-q", "-a", "-m", "their changes")
        theirs.git("push", "-q", "origin", "HEAD:main")
        _bring(mine)
        done = mirror.run()
        again = mirror.run()
        waiting = mesh.review.proposals(limit=1_000)
        after = {one.id: one.text for one in mesh.get_all(limit=1_000)}
    report.count("proposals", len(waiting))
    report.count("changed_memories", sum(after.get(id_) != text for id_, text in before.items()))
    if len(waiting) != changes or len(done.proposed) != changes or after != before:
        report.broken("not_proposed", f"{len(waiting)} proposals: {done.counts}")
    if again.proposed or again.changed:
        report.broken("not_proposed", f"a second run proposed again: {again.counts}")
    return report


def cloned(folder: Path, *, memories: int) -> Report:
    """A clone with new memories: all are stored at once, as a document's, and none is proposed."""
    report = Report({"memories": memories, "stored": 0, "proposals": 0, "wrong": 0})
    theirs = new_repo(folder / "theirs", "them")
    for number in range(memories):
        theirs.write(f"note-{number}.md", _note(number, "came by a clone"))
    theirs.git("add", "-A")
    theirs.git("commit", "-q", "-m", "notes")
    mine = clone(theirs.top, folder / "mine")
    with MemoryMesh(db_dir=folder / "store", project="proof") as mesh:
        done = Mirror(mesh, mine.notes).run()
        found = list(mesh.get_all(limit=1_000))
        report.count("stored", len(found))
        report.count("proposals", len(mesh.review.proposals(limit=1_000)))
    kinds = {one.source.kind.value for one in found}
    if len(found) != memories or report.figures["proposals"] or kinds != {"document"}:
        report.broken("wrong", f"{len(found)} stored as {kinds}: {done.counts}")
    return report


def _pair(folder: Path) -> tuple[Repo, Repo]:
    """Two clones of one server, the user's and another person's."""
    seed = new_repo(folder / "seed", "them")
    seed.commit("seed.md", "# Seed\n\nThe first note.\n")
    server = folder / "server.git"
    Repo(folder).git("clone", "-q", "--bare", str(seed.top), str(server))
    return clone(server, folder / "mine"), clone(server, folder / "they", "them")


def _bring(mine: Repo) -> None:
    mine.git("fetch", "-q", "origin")
    mine.git("merge", "-q", "origin/main")


def _note(number: int, words: str) -> str:
    body = f"# Note {number}\n\nThe port of service {number} {words}."
    return render(MemoryFile(f"Note {number}", (f"port {number}",), ("proof",), "high", body=body))
