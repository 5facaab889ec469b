"""Any file of a store's folder, damaged at random: an error of ours in words, or the right answer.

Each round copies a store that has some of everything, damages one file and looks at it through
every face that reads it, in batches, each round within a limit: a pipe in the place of a file must
keep nobody waiting. What is no file of the namespace itself takes no memory away.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memory_mesh import care
from memory_mesh.agents.sessions import Session
from memory_mesh.mirror import Mirror
from memory_mesh.model.errors import MeshError
from memory_mesh.sync import MemoryMesh
from tests.faults import erasing
from tests.faults.damages import cut, emptied, flip, removed
from tests.faults.report import Progress, Report, Ticker, silent
from tests.word_vectors import WordVectors

ROOT = Path(__file__).resolve().parents[2]
_LIMIT = 120  # seconds of one round, of which most take one or two
_BATCH = 3
_OF_NAMESPACE = (".db", ".db-wal", ".head", ".before-0002-1.bak")


def _appended(path: Path, chance: random.Random, _: Path) -> str:
    with path.open("ab") as file:
        file.write(chance.randbytes(chance.randrange(1, 200)))
    return "got more bytes"


def _swapped(path: Path, chance: random.Random, store: Path) -> str:
    other = chance.choice([each for each in _files(store) if each != path])
    mine, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    other.write_bytes(mine)
    return f"swapped with {other.relative_to(store)}"


def _odd(make: Callable[[Path], None], what: str) -> Callable[..., str]:
    def done(path: Path, _chance: random.Random, _store: Path) -> str:
        path.unlink()
        make(path)
        return f"is {what}"

    return done


def _linked(path: Path, _chance: random.Random, store: Path) -> str:
    aside = store.with_name("aside")
    path.rename(aside)
    path.symlink_to(aside)
    return "is a link to where it lies now"


DAMAGES: tuple[Callable[[Path, random.Random, Path], str], ...] = (
    lambda path, chance, _: flip(path, chance),
    lambda path, chance, _: cut(path, chance),
    lambda path, _chance, _store: emptied(path),
    lambda path, _chance, _store: removed(path),
    _swapped,
    _appended,
    _odd(Path.mkdir, "a folder"),
    _odd(os.mkfifo, "a pipe"),
    _linked,
)


def files(
    folder: Path, *, rounds: int, seed: int, memories: int = 12, progress: Progress = silent
) -> Report:
    """So many damages of files of every kind."""
    report, ticker = Report({"rounds": 0, "kinds": 0}), Ticker(progress, rounds)
    if failed := _started("build", folder, memories):
        raise AssertionError(failed[0]["wrong"])
    kinds: dict[str, list[Path]] = {}
    for path in _files(folder / "ground" / "store"):
        kinds.setdefault(_kind(path, folder / "ground" / "store"), []).append(path)
    report.figures["kinds"] = len(kinds)
    names, chance, planned = sorted(kinds), random.Random(seed), list[tuple[str, int, float]]()
    for number in range(rounds):
        path = chance.choice(kinds[names[number % len(names)]])
        what = (number // len(names) + number) % len(DAMAGES)
        place = path.relative_to(folder / "ground" / "store")
        planned.append((str(place), what, chance.random()))
    while planned:
        batch = planned[:_BATCH]
        said = _started("look", folder, json.dumps(batch))
        if not said:
            raise AssertionError("a batch said nothing")
        del planned[: len(said)]
        for (name, *_), told in zip(batch, said, strict=False):
            report.count("rounds")
            for wrong in told["wrong"]:
                report.broken(wrong.partition(":")[0], f"{name} {told['what']}: {wrong}")
            report.count("refused" if told["refused"] else "found" if told["found"] else "harmless")
        ticker.tick(rounds - len(planned), "files")
    return report


def _files(store: Path) -> list[Path]:
    return sorted(path for path in store.rglob("*") if path.is_file() and not path.is_symlink())


def _kind(path: Path, store: Path) -> str:
    top = path.relative_to(store).parts[0]
    return f"{top}/{''.join(path.suffixes[-1:]) or path.name}"


def _started(*words: object) -> list[dict[str, Any]]:
    """A batch in a process of its own: Lance does not live through a fork.

    The round in which it died is the last one that is told of.
    """
    command = [sys.executable, "-W", "ignore", "-m", __name__, *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told: list[dict[str, Any]] = list(map(json.loads, done.stdout.splitlines()))
    if done.returncode:
        wrong = f"waited or died: {done.returncode} {done.stderr}"
        told.append({"what": "", "wrong": [wrong], "refused": [], "found": []})
    return told


def _build(folder: Path, memories: int) -> None:
    """A store with copies, mirror, session, index, erasures, and a log that is not empty."""
    ground = folder / "ground"
    erasing._prepared(ground, 0.5, memories, True)  # noqa: FBT003  # a suite's own
    with _opened(ground) as mesh:
        mesh.erase(mesh.add("The canary goes away for good").id)
        mesh.care.rebuild_index()
    (folder / "truth").write_text(json.dumps(_said(ground)))


def _opened(room: Path) -> MemoryMesh:
    return MemoryMesh(db_dir=room / "store", custom_embedder=WordVectors("one"))


def _said(room: Path) -> dict[str, list[str]]:
    with _opened(room) as mesh:
        return {one.id: [one.text, one.status.value] for one in erasing._all(mesh)}


def _look(folder: Path, name: str, damage: int, seed: float) -> dict[str, Any]:
    """Damages a copy, and asks every face."""
    room, chance = folder / "round", random.Random(seed)
    shutil.rmtree(room, ignore_errors=True)
    shutil.copytree(folder / "ground", room)
    store, true = room / "store", json.loads((folder / "truth").read_text())
    what = DAMAGES[damage](store / name, chance, store)
    wrong, refused, found = list[str](), list[str](), list[str]()

    def tried(face: Callable[[], object]) -> Any:  # what the face says
        try:
            return face()
        except MeshError as error:
            refused.append(str(error))
        except Exception:  # noqa: BLE001  # whatever it is, it is not ours: that is the finding
            wrong.append(f"crashed: {traceback.format_exc()}")
        return None

    told = tried(lambda: _said(room))
    for finding in tried(lambda: _findings(room)) or ():
        found.append(str(finding))
    if told is not None and told != true and not found and not refused:
        wrong.append(f"missed: {[id_ for id_ in true if told.get(id_) != true[id_]]}")
    apart = "namespaces" not in name and "swapped with namespaces" not in what
    if told is not None and apart and not true.keys() <= told.keys():
        wrong.append("lost: memories of which no file was damaged")
    for each in _faces(room):
        tried(each)
    after = tried(lambda: _said(room))
    if after is not None and told is not None and not told.keys() <= after.keys():
        wrong.append("taken: a face took memories away")
    return {"what": what, "wrong": wrong, "refused": refused, "found": found}


def _findings(room: Path) -> list[object]:
    with _opened(room) as mesh:
        return [*mesh.care.verify().findings]


def _faces(room: Path) -> Iterator[Callable[[], object]]:
    """Everything that reads some file of the folder."""
    store = room / "store"

    def session() -> object:
        one = Session.of(store, "host", "one")
        one.record(stored=["mem_1"])
        return one.given, one.notices()

    def mirror() -> object:
        with _opened(room) as mesh:
            return Mirror(mesh, room / "notes").run()

    def wrote() -> object:
        with _opened(room) as mesh:
            return mesh.add("One more of the harbour"), mesh.care.upkeep()

    yield session
    yield mirror
    yield wrote
    yield lambda: care.backup(store, room / "again")
    yield lambda: care.export_archive(store, "default", room / "again.tar")
    yield lambda: care.restore(next((room / "backups").iterdir()), room / "other", known=store)
    yield lambda: care.salvage(store, room / "salvaged")


def main(words: list[str]) -> None:
    """One step."""
    kind, folder, *rest = words
    if kind == "build":
        _build(Path(folder), int(rest[0]))
        return
    for name, damage, seed in json.loads(rest[0]):
        signal.alarm(_LIMIT)  # which ends the process
        print(json.dumps(_look(Path(folder), name, damage, seed)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
