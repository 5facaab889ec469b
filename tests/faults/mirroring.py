"""A mirrored folder under hand edits, git, many writers, edits during a run, and kills."""

import os
import random
import re
import shutil
import signal
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path

from memory_mesh.formats import memory_file
from memory_mesh.formats.memory_file import MemoryFile, parse, render
from memory_mesh.mirror import Mirror
from memory_mesh.mirror.store_to_folder import append
from memory_mesh.model import Memory
from memory_mesh.sync import MemoryMesh
from tests.faults.crashpoints import watch
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, Ticker, silent
from tests.faults.sample import dealt, points

_WORDS = (
    "cache",
    "login",
    "queue",
    "schema",
    "token",
    "worker",
    "index",
    "deploy",
    "retry",
    "port",
)
_ID = re.compile(r"mem_\d{13}_[0-9a-f]{6}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
parse("---\ntitle: loads all modules\n---\n")  # an edit must not meet one that is half loaded
_KINDS = ("text", "tags", "triggers", "importance", "title", "key", "cleared", "agent")


def hand_edits(folder: Path, *, edits: int, seed: int, progress: Progress = silent) -> Report:
    """Edits by hand of the user's memories; each must be the memory's next version."""
    report = Report({"edits": 0, "next_versions": 0, "not_taken": 0, "findings": 0})
    dice, ticker = random.Random(seed), Ticker(progress, edits)
    kinds = dealt(_KINDS, dice)
    notes = folder / "notes"
    with MemoryMesh(db_dir=folder / "store", project="proof") as mesh:
        for number in range(20):
            mesh.add(f"Stored: the {_WORDS[number % 10]} of service {number} is slow.")
        _write_notes(notes, 30)
        mirror = Mirror(mesh, notes)
        mirror.run()
        for number in range(edits):
            _one_edit(mesh, mirror, _Edit(number, next(kinds), dice), report)
            ticker.tick(number + 1)
        for finding in mesh.care.verify().findings:
            report.broken("findings", str(finding))
    return report


@dataclass(frozen=True)
class _Edit:
    """One edit by hand: of which kind, and the dice for the rest."""

    number: int
    kind: str
    dice: random.Random


def _one_edit(mesh: MemoryMesh, mirror: Mirror, edit: _Edit, report: Report) -> None:
    number, dice = edit.number, edit.dice
    path = dice.choice(sorted(mirror.folder.glob("*.md")))
    text = path.read_text(encoding="utf-8")
    documents = parse(text).documents
    index = dice.randrange(len(documents))
    edited = _edited(documents[index], edit)
    before = {memory.id: len(mesh.history(memory.id)) for memory in _all(mesh)}
    path.write_text(memory_file.replace_document(text, index, edited), encoding="utf-8")
    done = mirror.run()
    report.count("edits")
    after = {memory.id: memory for memory in _all(mesh)}
    grown = [id_ for id_ in after if len(mesh.history(id_)) == before.get(id_, 0) + 1]
    if len(done.changed) == 1 == len(grown) and _says(after[grown[0]], edited):
        report.count("next_versions")
    else:
        report.broken("not_taken", f"edit {number} of {path.name}: {done.plain()}")


def _edited(document: MemoryFile, edit: _Edit) -> MemoryFile:
    """The document with one thing changed, as a person would."""
    number, dice = edit.number, edit.dice
    word = dice.choice(_WORDS)
    match edit.kind:
        case "tags":
            return replace(document, tags=(*document.tags[:2], f"{word}-{number}"))
        case "triggers":
            return replace(document, when_to_use=(f"{word}.*{number}", f"{word}|{number}"))
        case "importance":
            others = [one for one in memory_file.IMPORTANCES if one != document.importance]
            return replace(document, importance=dice.choice(others))
        case "title":
            return replace(document, title=f"{document.title.split(' (')[0]} ({number})")
        case "key":
            return replace(document, more={**document.more, "reviewed": f"{word} {number}"})
        case "cleared" if document.discovered_in is not None:
            return replace(document, discovered_in=None)
        case "agent":
            return replace(document, discovered_by=f"{word}-agent-{number}")
        case _:
            return replace(document, body=f"{document.body}\n\nEdit {number}: see the {word}.")


def _says(memory: Memory, document: MemoryFile) -> bool:
    aside = memory.extra.get("frontmatter")
    inside = aside.get("discoveredIn") if isinstance(aside, dict) else None
    return (
        [line.rstrip() for line in memory.text.split("\n")]
        == [line.rstrip() for line in document.body.split("\n")]
        and memory.tags == document.tags
        and memory.triggers == document.when_to_use
        and memory.extra.get("title", document.title) == document.title
        and memory.extra.get("reviewed") == document.more.get("reviewed")
        and (memory.source.agent or "user") == (document.discovered_by or "user")
        and inside == document.discovered_in
    )


def appended_at_once(folder: Path, *, processes: int, each: int) -> Report:
    """Processes that append documents to one file at the same time; all must be in it."""
    report = Report({"appended": 0, "found": 0, "lost": 0})
    path = folder / "shared.md"
    folder.mkdir(parents=True, exist_ok=True)
    children = [Child(_append_many, path, number, each) for number in range(processes)]
    for child in children:
        child.result()
    titles = [one.title for one in parse(path.read_text(encoding="utf-8")).documents]
    wanted = {f"Entry {p} of {n}" for p in range(processes) for n in range(each)}
    report.count("appended", processes * each)
    report.count("found", len(wanted & set(titles)))
    if sorted(titles) != sorted(wanted):
        report.broken("lost", f"{len(titles)} documents, {len(wanted - set(titles))} missing")
    return report


def _append_many(path: Path, number: int, each: int) -> None:
    for count in range(each):
        document = MemoryFile(f"Entry {number} of {count}", body=f"Text {count}\n\n---\n\nof it.")
        append(path, document)


def edited_during_runs(
    folder: Path, *, rounds: int, seed: int, progress: Progress = silent
) -> Report:
    """A person saves a file at a random moment of a run; neither side may lose anything."""
    report = Report({"rounds": 0, "lost_edits": 0, "lost_updates": 0, "findings": 0})
    dice, ticker = random.Random(seed), Ticker(progress, rounds)
    template = folder / "template"
    call(_prepare_interleaving, template)
    total = {how: call(_events_of_run, template, folder / f"count-{how}", how) for how in _HOWS}
    edits = dealt(list(product(_HOWS, _STYLES)), dice)
    for number, (how, style) in enumerate(islice(edits, rounds)):
        here = folder / "case"
        shutil.copytree(template, here)
        first = dice.randrange(1, total[how] + 1)
        second = first + dice.randrange(0, 4)
        lost = call(_interleaved, here, how, style, (first, second), number)
        report.count("rounds")
        for kind, detail in lost:
            report.broken(kind, f"round {number}, {how}, {style} at {first}-{second}: {detail}")
        shutil.rmtree(here)
        ticker.tick(number + 1)
    return report


_HOWS = ("append", "replace", "delete")
_STYLES = ("in place", "by rename", "appended", "other document", "slowly in place")


def _prepare_interleaving(here: Path) -> None:
    _write_notes(here / "notes", 4)
    with MemoryMesh(db_dir=here / "store", project="proof") as mesh:
        Mirror(mesh, here / "notes").run()
    for path in (here / "notes").glob("*.md"):
        os.utime(path, (1_700_000_000, 1_700_000_000))


def _change_store(mesh: MemoryMesh, how: str) -> None:
    (memory,) = [one for one in _all(mesh) if one.extra.get("title") == "Note 0"]
    if how == "delete":
        mesh.delete(memory.id)
    else:
        mesh.update(memory.id, "The store says something new: UPDATED.")


def _mirror(mesh: MemoryMesh, here: Path, how: str) -> Mirror:
    return Mirror(mesh, here / "notes", updates="replace" if how == "replace" else "append")


def _events_of_run(template: Path, here: Path, how: str) -> int:
    shutil.copytree(template, here)
    with MemoryMesh(db_dir=here / "store", project="proof") as mesh:
        _change_store(mesh, how)
        events = watch(lambda _number: None)
        _mirror(mesh, here, how).run()
        return len(events)


def _interleaved(
    here: Path, how: str, style: str, when: tuple[int, int], number: int
) -> list[tuple[str, str]]:
    """What was lost after an edit at an event of a run and two quiet runs."""
    path, word = here / "notes" / "file-0.md", f"HANDEDIT{number}"
    editor = _Editor(path, word, style)

    def hear(event: int) -> None:
        if event == when[0]:
            editor.begin()
        if event == when[1]:
            editor.end()

    with MemoryMesh(db_dir=here / "store", project="proof") as mesh:
        _change_store(mesh, how)
        watch(hear)
        _mirror(mesh, here, how).run()
        editor.begin()
        editor.end()
        for _ in range(2):
            _mirror(mesh, here, how).run()
        ids = {
            id_
            for block in mesh.care.blocks(limit=1_000, as_owner=True)
            for id_ in block.entry.memories
        }
        versions = [one.text for id_ in ids for one in mesh.history(id_)]
        findings = [("findings", str(one)) for one in mesh.care.verify().findings]
    files = [
        one.read_text(encoding="utf-8") for one in (here / "notes").rglob("*") if one.is_file()
    ]
    lost = list(findings)
    if editor.saved and not any(word in text for text in (*versions, *files)):
        lost.append(("lost_edits", "the word is in no file and no version"))
    if how != "delete" and not any("UPDATED" in text for text in versions):
        lost.append(("lost_updates", "the store's text is in no version"))
    return lost


class _Editor:
    """A person who saves a file as editors do: in place, by a rename, or by appending to it."""

    def __init__(self, path: Path, word: str, style: str) -> None:
        self._path, self._word, self._style = path, word, style
        self._file = -1
        self._data = b""
        self.saved = False

    def begin(self) -> None:
        """Read the file, and save it unless saving takes a while."""
        if self.saved or self._file >= 0:
            return
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            text = render(MemoryFile("Note 0", body="Written anew."))
        self._data = self._changed(text).encode()
        if self._style == "by rename":
            draft = self._path.with_name("editor.tmp")
            draft.write_bytes(self._data)
            draft.replace(self._path)
        elif self._style == "appended":
            with self._path.open("ab") as file:
                file.write(f"\n{self._word}\n".encode())
        elif self._style == "slowly in place":
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            self._file = os.open(self._path, flags, 0o644)
            return
        else:
            self._path.write_bytes(self._data)
        self.saved = True

    def end(self) -> None:
        """Write what was opened before."""
        if self._file >= 0 and not self.saved:
            os.write(self._file, self._data)
            os.close(self._file)
            self.saved = True

    def _changed(self, text: str) -> str:
        documents = parse(text).documents
        if not documents:
            return f"{text}\n{self._word}\n"
        index = len(documents) - 1 if self._style == "other document" else 0
        new = replace(documents[index], body=f"{documents[index].body}\n\n{self._word}")
        return memory_file.replace_document(text, index, new)


def killed(folder: Path, *, kills: int, seed: int, progress: Progress = silent) -> Report:
    """A kill at random events of a run; the next run must end where an undisturbed one ends."""
    report = Report({"kills": 0, "different": 0, "findings": 0})
    dice, ticker = random.Random(seed), Ticker(progress, kills)
    for updates in ("append", "replace"):
        template, whole = folder / f"template-{updates}", folder / f"whole-{updates}"
        call(_prepare_kill, template)
        shutil.copytree(template, whole)
        total, wanted = call(_whole, whole, updates)
        for point in points(total, kills / 2 / total, dice):
            here = folder / "case"
            shutil.copytree(template, here)
            child = Child(_killed_at, here, updates, point)
            child.join()
            report.count("kills")
            now, findings = call(_run_again, here, updates)
            if now != wanted:
                told = list(zip(sorted(now), sorted(wanted), strict=False))
                differing = next((pair for pair in told if pair[0] != pair[1]), (now, wanted))
                report.broken("different", f"{updates}, event {point} of {total}: {differing}")
            for finding in findings:
                report.broken("findings", f"{updates}, event {point} of {total}: {finding}")
            shutil.rmtree(here)
            ticker.tick(int(str(report.figures["kills"])))
    return report


def _prepare_kill(here: Path) -> None:
    """A folder and a store that both changed in every way since they last agreed."""
    notes = here / "notes"
    _write_notes(notes, 8)
    with MemoryMesh(db_dir=here / "store", project="proof") as mesh:
        mesh.add("Stored: the retry of the worker waits for a minute.")
        mesh.add("Stored: the port of the index is 9200.")
        mesh.add("Stored: the schema has two queues.")
        Mirror(mesh, notes).run()
        stored = {one.text: one for one in _all(mesh)}
        mesh.update(
            stored["Stored: the port of the index is 9200."].id, "Stored: the port is 9300."
        )
        mesh.delete(stored["Stored: the schema has two queues."].id)
        mesh.add("Stored: the cache is warm at noon.")
    for number in range(3):
        _write(notes / f"new-{number}.md", f"New {number}", "It is new. See [[Note 1]].")
    path = notes / "file-1.md"
    path.write_text(
        path.read_text(encoding="utf-8").replace("is slow", "is fast"), encoding="utf-8"
    )
    path = notes / "file-2.md"
    text = path.read_text(encoding="utf-8").replace("is slow", "is at jane@example.org")
    path.write_text(text, encoding="utf-8")
    (notes / "file-3.md").unlink()
    (notes / "file-4.md").rename(notes / "moved.md")
    for one in notes.glob("*.md"):
        os.utime(one, (1_700_000_000, 1_700_000_000))


def _whole(here: Path, updates: str) -> tuple[int, list[str]]:
    with MemoryMesh(db_dir=here / "store", project="proof") as mesh:
        events = watch(lambda _number: None)
        Mirror(mesh, here / "notes", updates=updates).run()
        total = len(events)
    return total, _run_again(here, updates)[0]


def _killed_at(here: Path, updates: str, point: int) -> None:
    def die(number: int) -> None:
        if number == point:
            os.kill(os.getpid(), signal.SIGKILL)

    with MemoryMesh(db_dir=here / "store", project="proof") as mesh:
        watch(die)
        Mirror(mesh, here / "notes", updates=updates).run()


def _run_again(here: Path, updates: str) -> tuple[list[str], list[str]]:
    """Everything that files and memories say after a further run, without ids and times."""
    with MemoryMesh(db_dir=here / "store", project="proof") as mesh:
        mirror = Mirror(mesh, here / "notes", updates=updates)
        for _ in range(2):
            last = mirror.run()
        found = [f"open: {line.plain()}" for line in (*last.disagreements, *last.refused)]
        found += [f"late: {name}" for name, count in last.counts.items() for _ in range(count)]
        ids = {
            id_
            for block in mesh.care.blocks(limit=1_000, as_owner=True)
            for id_ in block.entry.memories
        }
        for id_ in ids:
            versions = mesh.history(id_)
            texts = " | ".join(f"{one.status} {one.text}" for one in versions)
            named = sorted(link.source == id_ for link in mesh.graph.links(id_))
            found.append(f"memory: {texts} {versions[-1].tags} {named}")
        findings = [str(finding) for finding in mesh.care.verify().findings]
    for path in (here / "notes").rglob("*.md"):
        text = _TIME.sub("TIME", _ID.sub("ID", path.read_text(encoding="utf-8")))
        found.append(f"file: {path.name} {text}")
    return sorted(found), findings


def _write_notes(folder: Path, count: int) -> None:
    """Files of one to three documents, as an agent of specification 001 would write them."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        path = folder / f"file-{number}.md"
        for part in range(1 + number % 3):
            title = f"Note {number}" if part == 0 else f"Note {number} part {part}"
            word = _WORDS[number % len(_WORDS)]
            _write(path, title, f"# {title}\n\nThe {word} {number} of part {part} is slow.")


def _write(path: Path, title: str, body: str) -> None:
    document = MemoryFile(
        title,
        (f"{title.lower()}|thing",),
        ("proof",),
        "high",
        "2026-01-23T10:30:00Z",
        "planner",
        "Task: write notes",
        body=body,
    )
    append(path, document)


def _all(mesh: MemoryMesh) -> list[Memory]:
    return list(mesh.get_all(limit=1_000))
