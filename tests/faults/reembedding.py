"""A re-embed that is killed again and again, while searches and writes go on.

::

    parent: fills the store, notes every answer ── later: checks, switches, rolls back, drops
    searcher: asks the same questions all the time, and writes for another project
    worker: re-embeds; is killed with SIGKILL at a random moment; the next one goes on

What must hold: the last worker finishes; no text is embedded twice but those of the batch that a
kill took; no search returns less than before; after a roll back every answer is the former one.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from memory_mesh.learn.reembedding import BATCH_CHARS
from memory_mesh.model import Scope
from memory_mesh.sync import MemoryMesh
from tests.faults.report import Progress, Report, silent
from tests.word_vectors import WordVectors

ROOT = Path(__file__).resolve().parents[2]
_TOPICS = "amber birch cedar delta ember flint grove heath islet jetty knoll ledge".split()  # noqa: SIM905
_FILLER = " ".join(f"filler{number}" for number in range(40))  # a batch holds few texts
_LIMIT = 10
_PATIENCE = 600.0
_QUESTIONS = 4
_MOMENT = 0.05  # at most so long after a batch the kill comes
_SLOW = 60.0  # seconds of each later batch: however busy the machine is, the kill comes in one


def killed(
    place: str | Path,
    *,
    memories: int,
    kills: int,
    seed: int,
    batches: tuple[int, int] = (1, 1),
    progress: Progress = silent,
) -> Report:
    """Re-embeds a store, killed so many times after some batches, with searches all the while."""
    report, chance = Report({"kills": 0, "searches": 0, "returned less": 0}), random.Random(seed)
    place = str(place)
    before = _filled(place, memories)
    with tempfile.TemporaryDirectory(prefix="reembed-") as folder:
        work = Path(folder)
        searcher = _run("search", place, str(work), json.dumps(before))
        for round_ in range(kills):
            journal = work / f"journal-{round_}"
            most = chance.randint(*batches)
            worker = _run("work", place, str(journal), str(most))
            _await_batches(journal, most, worker)
            _await_batches(work / "passes", round_ + 1, searcher)
            time.sleep(chance.uniform(0.0, _MOMENT))
            worker.kill()
            worker.communicate(timeout=_PATIENCE)
            report.count("kills")
            report.count("embedded before a kill", _last_count(journal))
            _check_waiting(place, report, round_)
            progress(f"{round_ + 1} of {kills} kills")
        journal = work / "journal-last"
        worker = _run("work", place, str(journal), str(memories))
        _finished(worker, report, "the last worker")
        report.count("embedded by the last worker", _last_count(journal))
        (work / "stop").touch()
        told = _finished(searcher, report, "the searcher")
    if told:
        found = json.loads(told)
        report.count("searches", found["asked"])
        report.count("written meanwhile", found["written"])
        for less in found["less"]:
            report.broken("returned less", less)
    _check_counts(report, memories, kills)
    _check_end(place, before, report)
    return report


def _opened(place: str, model: WordVectors | None = None) -> MemoryMesh:
    return MemoryMesh(place, custom_embedder=model or WordVectors("old"))


def _text(number: int) -> str:
    first, second = _TOPICS[number % 12], _TOPICS[(number // 12) % 12]
    return f"{first} {second} note{number} {_FILLER}"


def _filled(place: str, memories: int) -> dict[str, list[str]]:
    """Stores the memories, and returns the ids that each question finds."""
    with _opened(place) as mesh:
        for start in range(0, memories, 1_000):
            stop = min(memories, start + 1_000)
            mesh.add_many([_text(number) for number in range(start, stop)])
        return {query: _ids(mesh, query) for query in _questions(memories)}


def _questions(memories: int) -> list[str]:
    step = max(1, memories // _QUESTIONS)
    return [
        f"{_TOPICS[n % 12]} {_TOPICS[(n // 12) % 12]} note{n}" for n in range(0, memories, step)
    ]


def _ids(mesh: MemoryMesh, query: str) -> list[str]:
    return [hit.id for hit in mesh.search(query, limit=_LIMIT, min_relevance=0)]


def _run(role: str, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.faults.reembedding", role, *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def _await_batches(journal: Path, batches: int, worker: "subprocess.Popen[str]") -> None:
    end = time.monotonic() + _PATIENCE
    while not journal.exists() or len(journal.read_text().split()) < batches:  # or passes
        if worker.poll() is not None or time.monotonic() > end:
            raise AssertionError("a process ended before its time")
        time.sleep(0.001)


def _last_count(journal: Path) -> int:
    counts = journal.read_text().split()
    return int(counts[-1]) if counts else 0


def _finished(worker: "subprocess.Popen[str]", report: Report, who: str) -> str:
    said, _ = worker.communicate(timeout=_PATIENCE)
    if worker.returncode:
        report.broken("processes failed", f"{who} ended with {worker.returncode}")
        return ""
    return said


def _check_waiting(place: str, report: Report, round_: int) -> None:
    """A kill that comes after the end shows nothing."""
    with _opened(place) as mesh:
        state = mesh.care.models.state()
    if not state.waiting:
        report.broken("killed too late", f"round {round_}: {state}")


def _check_counts(report: Report, memories: int, kills: int) -> None:
    """What is done is not done again: each kill costs the batch that was under way at most."""
    done = int(str(report.figures["embedded before a kill"]))
    last = int(str(report.figures["embedded by the last worker"]))
    written = int(str(report.figures.get("written meanwhile", 0)))
    batch = BATCH_CHARS // len(_text(0)) + 1
    if not memories - kills * batch <= done + last <= memories + written:
        report.broken("embedded twice or never", f"{done} + {last} of {memories}, {written} new")


def _check_end(place: str, before: dict[str, list[str]], report: Report) -> None:
    """Everything has a vector; switch, roll back and drop do what they say."""
    new = WordVectors("new", 24)
    with _opened(place) as mesh:
        state = mesh.care.models.switch(new)
        if state.waiting_in_use or not state.switched:
            report.broken("not switched", str(state))
        for query, ids in before.items():
            hits = mesh.search(query, limit=_LIMIT, min_relevance=0)
            if hits.explanation.space != new.space.name or len(hits) < len(ids):
                report.broken("wrong after the switch", f"{query}: {hits.explanation}")
        mesh.add("written after the switch", scope=Scope(project="elsewhere"))
        state = mesh.care.models.roll_back()
        if state.waiting_in_use or state.switched:
            report.broken("not rolled back", str(state))
        for query, ids in before.items():
            if _ids(mesh, query) != ids:
                report.broken("other answers after the roll back", query)
        mesh.care.models.drop()
        if [each.space.model for each in mesh.stats().spaces] != ["old"]:
            report.broken("not dropped", str(mesh.stats().spaces))
        findings = [str(finding) for finding in mesh.care.verify().findings]
        for finding in findings:
            report.broken("findings", finding)


def _work(place: str, journal: str, quick: str) -> None:
    """Re-embeds, and writes down after each batch how many texts are done.

    After `quick` batches it is slow, and waits for its kill.
    """
    model, batches = WordVectors("new", 24), list[int]()
    with Path(journal).open("a") as notes:

        def note(done: int) -> None:
            batches.append(done)
            model.pause = _SLOW if len(batches) >= int(quick) else 0.0
            notes.write(f"{done} ")
            notes.flush()

        with _opened(place) as mesh:
            mesh.care.models.reembed(model, progress=note)


def _search(place: str, folder: str, before: dict[str, Sequence[str]]) -> None:
    """Asks all questions until it is told to stop; prints how many, and which returned less."""
    asked, less, written = 0, list[str](), 0
    with _opened(place) as mesh:
        other = mesh.view(scope=Scope(project="elsewhere"))
        while not (Path(folder) / "stop").exists():
            other.add(f"written meanwhile, number {written}")
            written += 1
            for query, ids in before.items():
                found = _ids(mesh, query)
                asked += 1
                if missing := set(ids) - set(found):
                    less.append(f"{query}: {len(missing)} of {len(ids)} are missing")
            with (Path(folder) / "passes").open("a") as passes:
                passes.write(f"{asked} ")
    json.dump({"asked": asked, "less": less[:20], "written": written}, sys.stdout)


if __name__ == "__main__":
    os.environ["MEMORY_MESH_EMBEDDER"] = "none"
    if sys.argv[1] == "work":
        _work(*sys.argv[2:])
    else:
        _search(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))
