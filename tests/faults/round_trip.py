"""An archive carries a store: the imported one gives the same answers and has the same chain.

Export, import into a new folder, ask both the same questions as the owner and as two readers: ids,
order and scores are equal, and a second export is the same file byte for byte.
"""

import os
import random
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

from memory_mesh.care.key_file import KEY_FOLDER
from memory_mesh.model import Status
from tests.faults import keeping_world as world
from tests.faults.processes import ChildFailed, call
from tests.faults.report import Progress, Report, silent

Asked = dict[str, Any]  # a question and its options
Answer = list[tuple[str, float]]  # id and score, best first


def round_trip(
    folder: Path, *, queries: int, seed: int, memories: int = 300, progress: Progress = silent
) -> Report:
    """Export and import, with vectors and without, and so many questions to both."""
    report = Report({"queries": 0, "hits": 0, "unequal": 0, "findings": 0})
    world.build(folder / "moments", seed=seed, memories=memories)
    os.environ[KEY_FOLDER] = str(folder / "moments" / "keys")
    source = folder / "moments" / "waiting"  # its log holds what was written last
    asked = _asked(random.Random(seed), queries)
    for with_vectors in (True, False):
        place = folder / f"vectors-{with_vectors}"
        place.mkdir()
        try:
            _carried(source, place, asked, report, with_vectors=with_vectors)
        except ChildFailed as failure:
            report.broken("failed", f"with vectors: {with_vectors}: {failure}")
        progress(f"with vectors: {with_vectors}: {report.figures['queries']} questions asked")
    return report


def _carried(
    source: Path, place: Path, asked: list[Asked], report: Report, *, with_vectors: bool
) -> None:
    """One archive there, and another one from what it became."""
    first, again, second = (place / f"{name}.archive" for name in ("first", "again", "second"))
    target = place / "store"
    call(_export, source, first, with_vectors=with_vectors)
    call(_export, source, again, with_vectors=with_vectors)
    call(_import, target, first)
    call(_export, target, second, with_vectors=with_vectors)
    where = f"with vectors: {with_vectors}"
    if first.read_bytes() != again.read_bytes():
        report.broken("unequal", f"{where}: two exports of one store differ")
    if first.read_bytes() != second.read_bytes():
        report.broken("unequal", f"{where}: the export of the imported store is another file")
    for finding in call(_findings, target):
        report.broken("findings", f"{where}: {finding}")
    if _chain(source) != _chain(target):
        report.broken("unequal", f"{where}: the chains differ")
    words_only = not with_vectors  # without vectors, what is found by meaning waits for upkeep
    one = call(_answers, source, asked, words_only=words_only)
    other = call(_answers, target, asked, words_only=words_only)
    for question, expected, answer in zip(asked, one, other, strict=True):
        report.count("queries")
        report.count("hits", len(expected))
        if expected != answer:
            report.broken("unequal", f"{where}: {question}: {expected[:3]} became {answer[:3]}")
    if wrong := call(world.truth, source, meaning=with_vectors).differs(
        call(world.truth, target, meaning=with_vectors)
    ):
        report.broken("unequal", f"{where}: {wrong}")


def _asked(chance: random.Random, count: int) -> list[Asked]:
    """Questions of the owner and of readers, about the present and the past."""
    found = list[Asked]()
    for number, question in enumerate(world.questions(chance, count)):
        options: Asked = {"query": question, "limit": chance.choice((3, 10, 100))}
        if number % 3:
            options["scope"] = chance.choice(list(world.READERS.values()))
        else:
            options["across"] = world.ALL
        if number % 5 == 1:
            options["include"] = list(Status)
        if number % 7 == 2:
            options["as_of"] = world.NOW - timedelta(days=chance.randint(1, 6), hours=1)
        if number % 11 == 3:
            options["filter"] = "tags = 'kept'"
        found.append(options)
    return found


def _answers(folder: Path, asked: list[Asked], *, words_only: bool) -> list[Answer]:
    with world.opened(folder, meaning=not words_only) as mesh:
        return [
            [
                (hit.id, hit.score)
                for hit in mesh.search(**options, use_cache=False, keyword_only=words_only)
            ]
            for options in asked
        ]


def _export(folder: Path, to: Path, *, with_vectors: bool) -> None:
    world.KEEPING.export_archive(folder, world.NAMESPACE, to, with_vectors=with_vectors)


def _import(folder: Path, archive: Path) -> None:
    world.KEEPING.import_archive(folder, archive)


def _findings(folder: Path) -> list[str]:
    with world.opened(folder) as mesh:
        return [f"{finding.check}: {finding.detail}" for finding in mesh.care.verify().findings]


def _chain(folder: Path) -> list[tuple[Any, ...]]:
    """Every block, and the head that the store names."""
    with closing(sqlite3.connect(world.database(folder))) as db:
        blocks = db.execute("SELECT * FROM block ORDER BY position").fetchall()
        return [*blocks, *db.execute("SELECT namespace, seq, position, head FROM store")]
