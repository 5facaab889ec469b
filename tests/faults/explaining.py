"""Planted cases for `explain`: a store, a call, and the gate that must be named by construction.

`explaining_cases.py` says why each gate is what it must be. The suite was written from the design,
before and apart from the code that explains. Of every case it holds against the answer:

- the named gate, and for a memory that is shown its place and score, against the search itself;
- of a pack, that the answer has its entry among the items, or among what was left out;
- that base and shares of a rank add up to its margin, exactly, and that it is the search's margin;
- for a memory that the reader may not look at, that the answer is word for word that of an id which
  nobody ever wrote, with a question and without;
- that explaining left no trace: no recall, no use, nothing in the cache.

A case is itself checked by the search that it explains. Where that disagrees with the construction,
the case is wrong and is reported as such (`planted wrong`), never as the code's mistake.
"""

import json
import math
import random
import shutil
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from memory_mesh.model import Hit
from memory_mesh.model.errors import MeshError, NotFound
from memory_mesh.model.pack import LeftOut, PackItem
from memory_mesh.model.why import Why
from tests.faults.explaining_cases import KINDS
from tests.faults.explaining_ground import Case, Ground
from tests.faults.report import Progress, Report, Ticker, silent

_NOBODY = "mem_1700000000000_c0ffee"  # never written


def explained(folder: Path, *, cases: int, seed: int, progress: Progress = silent) -> Report:
    """Plants the cases one after another, each kind of each gate in turn, and asks why."""
    report = Report({"cases": 0, "wrong gate": 0, "planted wrong": 0, "shares": 0, "traces": 0})
    ticker = Ticker(progress, cases)
    kinds = [(gate, plant) for gate, plants in KINDS.items() for plant in plants]
    for number, (expected, plant) in enumerate(islice(cycle(kinds), cases)):
        ground = Ground(folder / str(number), random.Random(seed * 1_000_003 + number))
        try:
            case = plant(ground)
            report.count("cases")
            report.count(f"gate {expected}")
            for kind, detail in _checked(case, report):
                report.broken(kind, f"case {number}, {case.name}: {detail}")
        finally:
            ground.close()
        shutil.rmtree(folder / str(number))
        ticker.tick(number + 1, "cases")
    return report


def _checked(case: Case, report: Report) -> Iterator[tuple[str, str]]:
    hits = case.mesh.search(case.query, use_cache=False, **case.search_options())
    wrong = _misplanted(case, hits)
    if wrong is not None:
        yield "planted wrong", wrong
        return
    before = _traces(case)
    try:
        why = case.mesh.explain(case.id, query=case.query, **case.asked)
    except MeshError as error:
        yield "raised", f"{type(error).__name__}: {error}"
        return
    if _traces(case) != before:
        yield "traces", f"{before} became {_traces(case)}"
    named = None if why.gate is None else str(why.gate)
    if named != case.gate:
        yield "wrong gate", f"must be {case.gate}, is {named}: {' '.join(why.sentences)}"
    if not why.sentences or not all(sentence.strip() for sentence in why.sentences):
        yield "no sentences", f"{why.sentences}"
    json.dumps(why.as_json())
    yield from _ranked(case, why, hits)
    if "max_tokens" in case.asked:
        wanted = PackItem if case.gate is None else LeftOut
        if not isinstance(why.packed, wanted):
            yield "packed", f"must be of type {wanted.__name__}, is {why.packed}"
    if why.rank is not None:
        report.count("shares added up")
    if case.unseen:
        yield from _like_nobody(case, why)


def _misplanted(case: Case, hits: list[Hit]) -> str | None:
    """What the search itself says against the construction; it knows nothing of `explain`."""
    if case.unseen:  # whatever the search sees, who explains may not
        return None
    ids = [hit.id for hit in hits]
    shown = case.id in ids
    if shown != (case.gate in {None, "packed"}):
        return f"the search {'shows' if shown else 'does not show'} it: {ids}"
    if case.other is not None and case.other not in ids:
        return f"{case.other} did not come along: {ids}"
    if case.gate in {"limit", "older"}:
        options = case.search_options() | {"min_relevance": 0.0}
        ids = [hit.id for hit in case.mesh.search(case.query, use_cache=False, **options)]
        more = options | {"limit": options["limit"] + 3}
        whole = [hit.id for hit in case.mesh.search(case.query, use_cache=False, **more)]
        if case.id in ids or case.id not in whole:
            return f"no larger limit shows it: {whole}"
    return None


def _ranked(case: Case, why: Why, hits: list[Hit]) -> Iterator[tuple[str, str]]:
    """Place, score and margin are the search's, and the shares add up to the margin."""
    rank = why.rank
    found = next((place for place, hit in enumerate(hits, 1) if hit.id == case.id), None)
    if rank is None:
        if case.gate is None:
            yield "no rank", f"{' '.join(why.sentences)}"
        return
    parts = [rank.base, *rank.shares.values()]
    if rank.margin not in {sum(parts), rank.base + sum(rank.shares.values()), math.fsum(parts)}:
        yield "shares", f"{rank.margin!r} is not {rank.base!r} + {dict(rank.shares)}"
    if case.gate is not None or found is None:
        return
    hit = hits[found - 1]
    if (rank.place, rank.score) != (found, hit.score):
        yield "rank", f"{rank.place}, {rank.score}; the search says {found}, {hit.score}"
    if "margin" in hit.parts and round(rank.margin, 4) != hit.parts["margin"]:
        yield "shares", f"{rank.margin}; the search says {hit.parts['margin']}"


def _like_nobody(case: Case, why: Why) -> Iterator[tuple[str, str]]:
    """Not one letter differs from the answer about an id that nobody wrote."""
    other = case.mesh.explain(_NOBODY, query=case.query, **case.asked)
    told, never = (json.dumps(each.as_json(), sort_keys=True) for each in (why, other))
    if told.replace(case.id, _NOBODY) != never:
        yield "leaks", f"{told} is not {never}"
    texts = []
    see = {"see_across": case.asked["see_across"]} if "see_across" in case.asked else {}
    for id_ in (case.id, _NOBODY):
        try:
            case.mesh.explain(id_, **see)
        except NotFound as error:
            texts.append(str(error).replace(id_, "ID"))
        else:
            texts.append(f"{id_} was explained")
    if len(set(texts)) != 1:
        yield "leaks", f"{texts}"


def _traces(case: Case) -> tuple[object, ...]:
    """All that an explanation must leave as it is: recalls, uses, the cache."""
    mesh = case.mesh
    opened = mesh._opened()
    opened.ledger.flush(mesh.config.namespace)
    versions = mesh.history(case.id)
    uses = versions[-1].uses if versions else 0
    return (
        len(mesh.care.recalls(limit=1_000, as_owner=True)),
        uses,
        mesh.get_cache_stats(),
        len(mesh.care.blocks(limit=1_000, as_owner=True)),
    )
