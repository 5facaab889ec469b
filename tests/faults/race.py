"""Eight processes on one namespace: nothing lost, nothing twice, counters exact, no long wait."""

import os
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import ParamSpec, TypeVar

from memory_mesh.sync import MemoryMesh
from tests.faults.crash import word
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, silent
from tests.faults.sample import dealt

_HOT = 12  # memories that everybody uses and rates
_KEYS = 40  # idempotency keys that everybody writes under
_VERBS = ("add", "key", "get", "rate", "update", "delete", "search", "board")
_VERB_WEIGHTS = (8, 4, 5, 4, 3, 1, 3, 3)
_BULK = (256, 300, 64, 1, 600)
P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class Told:
    """What one process was told."""

    added: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    uses: Counter[str] = field(default_factory=Counter)
    helpful: Counter[str] = field(default_factory=Counter)
    harmful: Counter[str] = field(default_factory=Counter)
    deleted: set[str] = field(default_factory=set)
    waits: list[tuple[float, str]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    read_back: int = 0
    read_across: int = 0


def many_processes(
    folder: Path,
    *,
    processes: int,
    operations: int,
    seed: int,
    longest: float | None = None,
    progress: Progress = silent,
) -> Report:
    """All at once, one of them loading in bulk; then one look at what is there.

    No wait takes more than `longest` seconds, if that is given.
    """
    hot = call(_prepare, folder)
    children = [
        Child(_load if who == 0 else _work, folder, hot, operations, who, seed * 1000 + who)
        for who in range(processes)
    ]
    told: list[Told] = [child.result(600) for child in children]
    progress(f"{processes} processes have done {operations} operations each")
    report = Report({"processes": processes, "operations": processes * operations})
    report.figures |= {"lost": 0, "duplicates": 0, "forks": 0, "findings": 0, "counters wrong": 0}
    _check_waits(told, report, longest)
    _check_reads(told, report)
    call_check = call(_check_contents, folder, told, hot)
    for name, detail in call_check:
        report.broken(name, detail)
    report.figures["acknowledged memories"] = len({id_ for each in told for id_ in each.added})
    report.figures["uses"] = sum(sum(each.uses.values()) for each in told)
    report.figures["votes"] = sum(sum((each.helpful + each.harmful).values()) for each in told)
    return report


def draw_ids_at_once(folder: Path, *, processes: int, each: int) -> Report:
    """Processes that draw ids in the same milliseconds store no id twice and lose no memory."""
    report = Report({"processes": processes, "drawn": 0, "duplicates": 0})
    start = time.time() + 0.3
    children = [Child(_add_from, folder, start, who, each) for who in range(processes)]
    drawn = [id_ for child in children for id_ in child.result()]
    stored = call(_stored_ids, folder)
    report.figures["drawn"] = len(drawn)
    if len(set(drawn)) != len(drawn) or sorted(drawn) != sorted(stored):
        report.broken("duplicates", f"{len(drawn)} drawn, {len(set(stored))} stored")
    return report


def _prepare(folder: Path) -> list[str]:
    with MemoryMesh(db_dir=folder) as mesh:
        return [str(mesh.add(f"hot memory {word(n, 'zh')}").id) for n in range(_HOT)]


def _work(folder: Path, hot: list[str], operations: int, who: int, seed: int) -> Told:
    """Mixed operations; every added memory is searched for at once, here and elsewhere."""
    dice, told, number = random.Random(seed), Told(), who * 10**7
    board = os.open(folder / "board", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    mine: list[str] = []
    with MemoryMesh(db_dir=folder) as mesh:
        for verb in islice(dealt(_VERBS, dice, _VERB_WEIGHTS), operations):
            number += 1
            if verb == "add" or (verb in {"update", "delete"} and not mine):
                text = f"process {who} says {word(number)}"
                id_ = str(_timed(told, "add", mesh.add, text).id)
                told.added[id_] = text
                mine.append(id_)
                _read_back(mesh, told, id_, text)
                os.write(board, f"{id_} {_last_word(text)}\n".encode())
            elif verb == "key":
                key = f"key-{dice.randrange(_KEYS)}"
                text = f"the text under {key} {word(int(key[4:]), 'zk')}"
                receipt = _timed(told, "key", mesh.add, text, key=key)
                told.keys[key] = _same(told, told.keys.get(key), str(receipt.id), key)
            elif verb == "update":
                id_ = dice.choice(mine)
                told.added[id_] = f"process {who} corrects {word(number)}"
                _timed(told, "update", mesh.update, id_, told.added[id_])
                _read_back(mesh, told, id_, told.added[id_])
            elif verb == "delete":
                id_ = mine.pop(dice.randrange(len(mine)))
                _timed(told, "delete", mesh.delete, id_)
                told.deleted.add(id_)
            else:
                _use(mesh, told, verb, dice.choice(hot), board)
    return told


def _use(mesh: MemoryMesh, told: Told, verb: str, id_: str, board: int) -> None:
    """Use and rate what everybody uses; look for what others have just written."""
    if verb == "get":
        assert _timed(told, "get", mesh.get, id_) is not None
        told.uses[id_] += 1
    elif verb == "rate":
        helpful = len(told.waits) % 2 == 0
        _timed(told, "rate", mesh.rate, id_, helpful=helpful)
        (told.helpful if helpful else told.harmful)[id_] += 1
    elif verb == "board" and (size := os.fstat(board).st_size):
        lines = os.pread(board, 4096, max(0, size - 4096)).decode().splitlines()[-3:]
        for line in lines[1:]:
            foreign, token = line.split()
            told.read_across += 1
            hits = {hit.id: hit.content for hit in mesh.search(token)}
            if foreign not in hits and not _changed_since(mesh, foreign, token):
                told.unread.append(f"{foreign} of another process by {token}")
    else:
        _timed(told, "search", mesh.search, "memory process")


def _changed_since(mesh: MemoryMesh, id_: str, token: str) -> bool:
    """Its own process may have corrected or deleted it meanwhile."""
    versions = mesh.history(id_)
    return bool(versions) and (token not in versions[-1].text or versions[-1].status != "active")


def _load(folder: Path, hot: list[str], operations: int, who: int, seed: int) -> Told:
    """The same number of memories in bulk, over and over."""
    dice, told, number = random.Random(seed), Told(), who * 10**7
    with MemoryMesh(db_dir=folder) as mesh:
        for done in range(0, max(operations, 1), 25):
            size = _BULK[done // 25 % len(_BULK)]
            texts = [f"bulk load says {word(number + n, 'zb')}" for n in range(size)]
            number += size
            begun = time.monotonic()
            slices = -(-size // 256)
            receipts = mesh.add_many(texts)
            told.waits.append(((time.monotonic() - begun) / slices, "slice of add_many"))
            told.added |= {str(r.id): t for r, t in zip(receipts, texts, strict=True)}
            picked = dice.randrange(size)
            _read_back(mesh, told, str(receipts[picked].id), texts[picked])
    return told


def _timed(told: Told, what: str, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    begun = time.monotonic()
    result = act(*args, **kwargs)
    told.waits.append((time.monotonic() - begun, what))
    return result


def _read_back(mesh: MemoryMesh, told: Told, id_: str, text: str) -> None:
    told.read_back += 1
    if {hit.id: hit.content for hit in mesh.search(_last_word(text))}.get(id_) != text:
        told.unread.append(f"{id_} {text}")


def _last_word(text: str) -> str:
    return text.rsplit(maxsplit=1)[-1]


def _same(told: Told, first: str | None, now: str, key: str) -> str:
    if first not in {None, now}:
        told.unread.append(f"{key} is {first} and {now}")
    return now


def _check_waits(told: list[Told], report: Report, longest: float | None) -> None:
    waits = sorted(wait for each in told for wait in each.waits)
    report.figures["longest wait ms"] = round(waits[-1][0] * 1000, 1)
    report.figures["longest wait of"] = waits[-1][1]
    report.figures["p99 wait ms"] = round(waits[int(len(waits) * 0.99)][0] * 1000, 1)
    report.figures["median wait ms"] = round(waits[len(waits) // 2][0] * 1000, 1)
    if longest is not None and waits[-1][0] > longest:
        report.broken("long waits", f"{waits[-1]}")


def _check_reads(told: list[Told], report: Report) -> None:
    report.figures["read back"] = sum(each.read_back for each in told)
    report.figures["read across processes"] = sum(each.read_across for each in told)
    for each in told:
        for unread in each.unread:
            report.broken("unread", unread)


def _check_contents(folder: Path, told: list[Told], hot: list[str]) -> list[tuple[str, str]]:
    """In a new process: every promise but the waits."""
    wrong: list[tuple[str, str]] = []
    with MemoryMesh(db_dir=folder) as mesh:
        wrong += [("findings", str(finding)) for finding in mesh.care.verify().findings]
        for each in told:
            for id_, text in each.added.items():
                last = mesh.history(id_)[-1:]
                status = "deleted" if id_ in each.deleted else "active"
                if not last or (last[0].text, last[0].status) != (text, status):
                    wrong.append(("lost", f"{id_} {text}: {last}"))
        for id_ in hot:
            (memory,) = mesh.history(id_)
            counted = (memory.uses, memory.helpful, memory.harmful)
            told_ = tuple(
                sum(getattr(each, name)[id_] for each in told)
                for name in ("uses", "helpful", "harmful")
            )
            if counted != told_:
                wrong.append(("counters wrong", f"{id_}: {counted}, told {told_}"))
        for key in {key for each in told for key in each.keys}:
            ids = {each.keys[key] for each in told if key in each.keys}
            if len(ids) != 1:
                wrong.append(("duplicates", f"{key}: {ids}"))
    return wrong + _raw_checks(folder)


def _raw_checks(folder: Path) -> list[tuple[str, str]]:
    """Straight from the tables: no text twice, one unbroken chain."""
    wrong: list[tuple[str, str]] = []
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        for text, count in db.execute(
            "SELECT t.content, count(*) FROM version v JOIN text t ON t.number = v.text "
            "WHERE v.recorded_until IS NULL GROUP BY t.content HAVING count(*) > 1"
        ):
            wrong.append(("duplicates", f"{count} times {text}"))
        blocks, ends, links = db.execute(
            "SELECT count(*), max(position), count(DISTINCT prev_hash) FROM block"
        ).fetchone()
        if not blocks == ends == links:
            wrong.append(("forks", f"{blocks} blocks, {ends} positions, {links} links"))
    return wrong


def _add_from(folder: Path, start: float, who: int, each: int) -> list[str]:
    with MemoryMesh(db_dir=folder) as mesh:
        time.sleep(max(0.0, start - time.time()))
        texts = [f"id {who} {number}" for number in range(each)]
        return [str(receipt.id) for receipt in mesh.add_many(texts)]


def _stored_ids(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        return [id_ for (id_,) in db.execute("SELECT id FROM memory")]
