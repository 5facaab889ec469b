"""Meaning under fire: many processes, a growing and dying index, an index that is deleted.

Everything goes through a real store. What must hold: whoever wrote a text finds it by its vector at
once, in every process; an index being built, killed or removed never makes an answer poorer.
"""

import hashlib
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memory_mesh.model import Embedding, Lens, Question, Scope, Space
from memory_mesh.model.ports import Embedder
from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.models.lance.index import LanceIndex
from memory_mesh.search.nearest import nearest
from memory_mesh.sync import MemoryMesh
from tests.faults.report import Progress, Report, Ticker, silent

ROOT = Path(__file__).resolve().parents[2]
_DIMENSION = 32
_WORDS = "amber birch cedar delta ember flint grove heath islet jetty knoll ledge".split()  # noqa: SIM905


class Hashed:
    """Vectors drawn from a text's hash: real enough for an index, and as fast as it must be."""

    def __init__(self) -> None:
        self.space = Space("test", "hashed", "1", _DIMENSION, 256)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """The same vector for the same text, always."""
        del query
        return Embedding(self.space, tuple((_hashed(text),) for text in texts))

    def close(self) -> None:
        """Nothing to release."""


def read_your_writes(
    folder: Path, *, processes: int, rounds: int, progress: Progress = silent
) -> Report:
    """Each process stores, looks for its own text by meaning, and for the latest of a neighbour."""
    report, start = Report(), time.monotonic()
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.faults.meaning",
                "write",
                str(folder),
                os.environ["MEMORY_MESH_MODEL_DIR"],
                str(number),
                str(processes),
                str(rounds // processes),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    stale = Counter[str]()
    for number, worker in enumerate(workers):
        said, _ = worker.communicate(timeout=1_200)
        if worker.returncode:
            report.broken("died", f"process {number}: exit {worker.returncode}")
        stale.update(said.split())
        progress(f"process {number} done")
    report.figures |= {"processes": processes, "rounds": rounds, "read back": stale["fresh"]}
    report.figures["seconds"] = round(time.monotonic() - start, 1)
    for kind in ("stale-own", "stale-neighbour"):
        report.figures[kind] = 0
        for _ in range(stale[kind]):
            report.broken(kind, "a written text was not found by its vector")
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        for finding in mesh.care.verify().findings:
            report.broken("findings", f"{finding.check}: {finding.detail}")
    return report


def never_less(folder: Path, *, texts: int, searches: int, seed: int) -> Report:
    """Searches go on while the index is rebuilt again and again; every answer is whole."""
    report, chance = Report(), random.Random(seed)
    contents = [_sentence(number, chance) for number in range(texts)]
    with MemoryMesh(db_dir=folder, custom_embedder=Hashed()) as mesh:
        mesh.add_many(contents)
        ended = threading.Event()
        rebuilt: list[int] = []
        builder = threading.Thread(target=_rebuild_until, args=(mesh, ended, rebuilt))
        builder.start()
        try:
            for _ in range(searches):
                text = chance.choice(contents)
                hits = mesh.search(text, use_cache=False, min_relevance=0)
                report.count("searches")
                if len(hits) < 10 or hits[0].content != text:
                    report.broken("less than before", f"{len(hits)} hits for a known text")
                mesh.add(_sentence(texts + chance.randrange(10**9), chance))
        finally:
            ended.set()
            builder.join()
        report.figures["rebuilds"] = len(rebuilt)
        if not rebuilt:
            report.broken("rebuilds", "the index was never rebuilt")
    return report


def index_removed(folder: Path, *, texts: int, queries: int, seed: int) -> Report:
    """Delete the index: nothing is lost, and after a rebuild the same ten are best."""
    report, chance = Report(), random.Random(seed)
    contents = [_sentence(number, chance) for number in range(texts)]
    asked = chance.sample(contents, queries)
    with MemoryMesh(db_dir=folder, custom_embedder=Hashed()) as mesh:
        mesh.add_many(contents)
        mesh.care.rebuild_index()
        before = [_best(mesh, text) for text in asked]
        shutil.rmtree(folder / "index")
    with MemoryMesh(db_dir=folder, custom_embedder=Hashed()) as mesh:
        without = [_best(mesh, text) for text in asked]
        mesh.care.rebuild_index()
        after = [_best(mesh, text) for text in asked]
    report.figures |= {"texts": texts, "queries": queries, "lost": 0, "different after rebuild": 0}
    for text, one, none, two in zip(asked, before, without, after, strict=True):
        if text not in none:
            report.broken("lost", text)
        if one != two:
            report.broken("different after rebuild", text)
    report.figures["agreement with the exact scan"] = round(
        sum(len({*one} & {*none}) for one, none in zip(before, without, strict=True))
        / (10 * queries), 4
    )  # fmt: skip
    return report


def killed_absorbs(folder: Path, *, rounds: int, seed: int, progress: Progress = silent) -> Report:
    """kill -9 while a process writes, absorbs and rebuilds; then index and ledger are compared."""
    report, chance, ticker = Report(), random.Random(seed), Ticker(progress, rounds)
    for number in range(rounds):
        worker = subprocess.Popen(
            _worker("absorb", folder, seed + number), cwd=ROOT, stdout=subprocess.PIPE
        )
        assert worker.stdout is not None
        worker.stdout.readline()  # it works from here on
        time.sleep(chance.uniform(0.0, 0.8))
        worker.kill()
        worker.wait()
        worker.stdout.close()
        _compare(folder, report)
        report.count("kills")
        ticker.tick(number + 1)
    return report


def _worker(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "tests.faults.meaning", *map(str, arguments)]


def _compare(folder: Path, report: Report) -> None:
    """After one more rebuild by another process: 0 missing, 0 doubled, 0 ghosts."""
    with MemoryMesh(db_dir=folder, custom_embedder=Hashed()) as mesh:
        for finding in mesh.care.verify().findings:
            report.broken("findings", f"{finding.check}: {finding.detail}")
        known = {number for block in _vectors(mesh) for number, *_ in block}
        mesh.care.rebuild_index() if report.figures.get("kills", 0) == 0 else _absorb(mesh)
        (state,) = mesh.stats().spaces
        assert state.body is not None
        held = Counter(
            LanceIndex(folder / "index").numbers("default", state.space.name, state.body)
        )
        for name, wrong in {
            "missing": known - held.keys(),
            "ghosts": held.keys() - known,
            "doubled": {number for number, count in held.items() if count > 1},
        }.items():
            report.figures.setdefault(name, 0)
            for number in wrong:
                report.broken(name, f"vector {number}")


def _vectors(mesh: MemoryMesh) -> list[Sequence[tuple[int, bytes, int]]]:
    return list(mesh._opened().ledger.vectors("default", Hashed().space, 0))


def _absorb(mesh: MemoryMesh) -> None:
    """What upkeep does, without waiting for 50,000 vectors."""
    from memory_mesh.learn import upkeep

    parts = mesh._opened()
    index = parts.index()
    assert index is not None
    for state in parts.ledger.stats("default").spaces:
        upkeep._absorb_one(parts.ledger, index, "default", state)


def _rebuild_until(mesh: MemoryMesh, ended: threading.Event, rebuilt: list[int]) -> None:
    while not ended.is_set():
        rebuilt += [body.version for body in mesh.care.rebuild_index()]


def _best(mesh: MemoryMesh, text: str) -> list[str]:
    """By rank alone: the default profile also looks at how far the hundredth is, and an index that
    was trained anew may find another one there.
    """
    hits = mesh.search(text, use_cache=False, limit=10, profile="rrf")
    return [hit.content for hit in hits]


def _sentence(number: int, chance: random.Random) -> str:
    return f"note{number} " + " ".join(chance.choices(_WORDS, k=6))


def _hashed(text: str) -> bytes:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).standard_normal(_DIMENSION).astype("<f4")
    return bytes((vector / np.linalg.norm(vector)).astype("<f4").tobytes())


def found_by_vector(mesh: MemoryMesh, embedder: Embedder, text: str) -> list[str]:
    """The texts nearest in meaning, by the vector leg alone."""
    embedding = embedder.embed([text], query=True)
    parts = mesh._opened()
    lens = Lens(parts.clock.now(), Scope(None, mesh.config.agent_id))
    with parts.ledger.read("default") as snapshot:
        question = Question(embedding.space, embedding.vectors[0][0], 5)
        near = nearest(snapshot, question, lens).found
        memories = snapshot.load([hit.version for hit in near])
    return [memories[hit.version].text for hit in near]


def _write_and_look(folder: Path, model: Path, number: int, processes: int, rounds: int) -> None:
    """A writer of `read_your_writes`; says fresh or stale for each look."""
    embedder, chance = OnnxEmbedder(model, threads=1), random.Random(number)
    latest = folder / "latest"
    latest.mkdir(exist_ok=True)
    with MemoryMesh(db_dir=folder, custom_embedder=embedder) as mesh:
        for step in range(rounds):
            text = f"{_sentence(number * 10**6 + step, chance)} was seen by worker {number}"
            mesh.add(text)
            print("fresh" if text in found_by_vector(mesh, embedder, text) else "stale-own")
            (latest / f"{number}.new").write_text(text)
            (latest / f"{number}.new").replace(latest / str(number))
            other = latest / str(chance.randrange(processes))
            if other.exists():
                theirs = other.read_text()
                seen = theirs in found_by_vector(mesh, embedder, theirs)
                print("fresh" if seen else "stale-neighbour")


def _absorb_for_ever(folder: Path, seed: int) -> None:
    """A worker of `killed_absorbs`: writes, updates, deletes, absorbs and rebuilds until killed."""
    chance = random.Random(seed)
    with MemoryMesh(db_dir=folder, custom_embedder=Hashed()) as mesh:
        mesh.add_many([_sentence(chance.randrange(10**12), chance) for _ in range(300)])
        mesh.care.rebuild_index()
        print("working", flush=True)
        while True:
            stored = mesh.add_many([_sentence(chance.randrange(10**12), chance) for _ in range(40)])
            mesh.delete(stored[0].id or "")
            mesh.update(stored[1].id or "", _sentence(chance.randrange(10**12), chance))
            chance.choice([lambda: _absorb(mesh), mesh.care.rebuild_index])()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", folder, model, number, processes, rounds]:
            _write_and_look(Path(folder), Path(model), int(number), int(processes), int(rounds))
        case ["absorb", folder, seed]:
            _absorb_for_ever(Path(folder), int(seed))
        case _:
            sys.exit("write FOLDER MODEL NUMBER PROCESSES ROUNDS, or absorb FOLDER SEED")
