"""Readers ask for links, walks, clusters, packs, reasons, prompts and episodes; twins answer too.

A reader's answer in the world, where others have memories of their own, is held against the answer
of a twin that never had those (graph_world.py). Ids become labels, the fence its name, and what
only counts writes of a namespace (positions, hashes) is left out; the rest must be the same letter
by letter, errors too. So not only a text that leaks is noticed, but also a count, a size, a date, a
path, an order or a tone. No answer may hold a label or an id of what its reader may not see.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_mesh.model import Hits, Scope
from memory_mesh.model.errors import MeshError
from memory_mesh.sync import MemoryMesh
from tests.faults.graph_world import (
    LABEL,
    TOPICS,
    Planted,
    Step,
    count_tokens,
    draw_reader,
    labels,
    late,
    link_late,
    plan,
    planted,
    visible,
)
from tests.faults.report import Progress, Report, Ticker, silent

_ANY_ID = re.compile(r"\b[a-z_]+_\d{13}_[0-9a-f]{6}\b|\btrace-\d{13}-[0-9a-f]{6}\b")
_OF_STORE = {"seq", "position", "salt", "digest", "prev_hash", "hash", "fence", "version"}
_OF_USE = {"uses", "last_used", "access_count", "last_accessed"}  # whoever used it
_FIELDS: dict[type, tuple[str, ...]] = {}
_TYPES = ("related", "follows", "depends_on", "similar", "part_of")


@dataclass(frozen=True)
class Call:
    """One call in one store: who asks, by which dice, and which labels it names itself."""

    store: Planted
    mesh: MemoryMesh
    chance: random.Random
    plan: Mapping[str, Sequence[str]]  # labels by kind
    named: set[str]

    def some(self, kind: str = "memory") -> str:
        """The id of something; mostly of the wanted kind."""
        return self.store.id_of(self._label(kind))

    def question(self) -> str:
        """A topic, a label, or both."""
        topic, label = self.chance.choice(TOPICS), self._label("memory").split()[0]
        return self.chance.choice((topic, f"{topic} {label}", label))

    def types(self) -> tuple[str, ...]:
        """Types of links, or any."""
        return tuple(self.chance.sample(_TYPES, self.chance.choice((0, 0, 1, 2))))

    def _label(self, kind: str) -> str:
        kinds = sorted(self.plan)
        drawn = kind if self.chance.random() < 0.8 else self.chance.choice(kinds)
        label = self.chance.choice(self.plan[drawn])
        self.named.add(label)
        return label


@dataclass(frozen=True)
class Seat:
    """One reader: its view of the world, of its twins, and what it may know of."""

    reader: Scope
    world: Planted
    bare: Planted
    filled: Planted
    may_know: frozenset[str]


Ask = Callable[[Call], object]


def leaks(
    folder: Path,
    *,
    calls: int,
    seed: int,
    memories: int = 160,
    readers: int = 8,
    progress: Progress = silent,
) -> Report:
    """Random calls by random readers, each held against a twin."""
    report, chance = Report({"calls": 0, "leaks": 0, "differs": 0}), random.Random(seed)
    steps = plan(chance, memories)
    kinds = labels(steps)
    with ExitStack() as opened:
        seats = _seats(folder, steps, opened, chance=chance, readers=readers, progress=progress)
        report.figures |= {"readers": readers, "labels": sum(map(len, kinds.values()))}
        report.figures["unseen by a reader"] = min(_unseen(kinds, seat) for seat in seats)
        ticker, verbs = Ticker(progress, calls), list(VERBS)
        for number in range(calls):
            seat = chance.choice(seats)
            verb = verbs[number] if number < len(verbs) else chance.choice(verbs)
            report.count("calls")
            report.count(f"by {verb}")
            for kind, detail in _asked(seat, verb, chance.random(), kinds):
                report.broken(kind, f"{verb} by {seat.reader}: {detail}")
            ticker.tick(number + 1, "calls")
        for kind, detail in _linked_late(seats, chance, memories // 5):
            report.broken(kind, detail)
    return report


def _linked_late(
    seats: Sequence[Seat], chance: random.Random, memories: int
) -> Iterator[tuple[str, str]]:
    """Upkeep links what had no vector: in every store to memories as similar as in the world.

    Which of two equally similar ones it takes depends on the order in which it meets them.
    """
    steps = late(chance, memories)
    link_late(seats[0].world, steps)
    for seat in seats:
        link_late(seat.bare, steps, seat.reader)
        for step in steps:
            if step.label not in seat.bare.ids:
                continue
            told, expected = (_similar(store, step, seat) for store in (seat.world, seat.bare))
            if told != expected:
                yield "differs", f"late links of {step}: {told}, in the twin {expected}"


def _similar(store: Planted, step: Step, seat: Seat) -> list[float]:
    id_ = store.ids[step.label]
    links = store.view(seat.reader).graph.links(id_)
    return sorted(link.similarity or 0.0 for link in links if link.source == id_)


def _unseen(kinds: Mapping[str, Sequence[str]], seat: Seat) -> int:
    return sum(label.split()[0] not in seat.may_know for each in kinds.values() for label in each)


def _seats(
    folder: Path,
    steps: Sequence[Step],
    opened: ExitStack,
    *,
    chance: random.Random,
    readers: int,
    progress: Progress,
) -> list[Seat]:
    world = planted(folder / "world", steps)
    opened.callback(world.mesh.close)
    seats = list[Seat]()
    for number in range(readers):
        reader = draw_reader(chance)
        bare = planted(folder / f"bare-{number}", steps, reader, world=world)
        opened.callback(bare.mesh.close)
        filled = planted(folder / f"filled-{number}", steps, reader, world=world, filled=True)
        opened.callback(filled.mesh.close)
        seats.append(Seat(reader, world, bare, filled, frozenset(visible(steps, reader))))
        progress(f"reader {number + 1} of {readers} has twins")
    return seats


def _asked(
    seat: Seat, verb: str, seed: float, kinds: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str]]:
    ask, ranked = VERBS[verb]
    named = set[str]()
    world, twin = (
        Call(store, store.view(seat.reader), random.Random(seed), kinds, named)
        for store in (seat.world, seat.filled if ranked else seat.bare)
    )
    told, raw = _answer(ask, world)
    expected, _ = _answer(ask, twin)
    if told != expected:
        yield "differs", _difference(told, expected)
    for label in set(LABEL.findall(raw)) - seat.may_know - {each.split()[0] for each in named}:
        yield "leaks", f"{label} in {raw}"
    names = {id_: label for label, id_ in seat.world.ids.items()}
    for id_ in set(_ANY_ID.findall(raw)) & names.keys():
        label = names[id_].split()[0]  # of a block, or of the first of a pair
        if label not in seat.may_know and names[id_] not in named:
            yield "leaks", f"{id_} ({names[id_]}) in {raw}"


def _answer(ask: Ask, call: Call) -> tuple[str, str]:
    """What a call returns or raises: in words of the plan, and as it came."""
    store = call.store
    try:
        answer = ask(call)
    except MeshError as error:
        answer = [type(error).__name__, str(error)]
    shown = json.dumps(_plain(answer), ensure_ascii=False, sort_keys=True)
    fence = getattr(answer, "fence", "")
    if fence:
        shown = shown.replace(fence, "FENCE")
    names = {id_: label for label, id_ in store.ids.items()}
    names |= {store.id_of(label): label for label in call.named}
    return _ANY_ID.sub(lambda found: names.get(found[0], "ID"), shown), shown


def _plain(value: object) -> object:
    """A value as JSON, without what tells of the store and not of its memories."""
    if isinstance(value, Hits):
        return {"hits": [_plain(hit) for hit in value], "how": _plain(value.explanation)}
    if names := _fields(type(value)):
        return _plain({name: getattr(value, name) for name in names})
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items() if key not in _OF_STORE}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(str(each) for each in value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")  # writes of one moment are counted up
    if isinstance(value, float):
        return round(value, 6)
    return value if isinstance(value, str | int | None) else repr(value)


def _fields(type_: type) -> tuple[str, ...]:
    """The fields of a dataclass, none of another type."""
    known = _FIELDS.get(type_)
    if known is None:
        known = tuple(each.name for each in fields(type_)) if is_dataclass(type_) else ()
        _FIELDS[type_] = known
    return known


def _difference(told: str, expected: str) -> str:
    """Where two answers part."""
    pairs = enumerate(zip(told, expected, strict=False))
    at = next((n for n, (a, b) in pairs if a != b), min(len(told), len(expected)))
    around = slice(max(0, at - 300), at + 300)
    return f"...{told[around]}...\n   in the twin ...{expected[around]}..."


def _links(call: Call) -> object:
    return call.mesh.graph.links(call.some())


def _traverse(call: Call) -> object:
    hops, limit = call.chance.randint(1, 4), call.chance.choice((1, 3, 10, 100))
    return call.mesh.graph.traverse(call.some(), max_hops=hops, types=call.types(), limit=limit)


def _path(call: Call) -> object:
    hops = call.chance.randint(1, 6)
    return call.mesh.graph.path(call.some(), call.some(), max_hops=hops, types=call.types())


def _clusters(call: Call) -> object:
    return call.mesh.graph.clusters(min_size=call.chance.randint(2, 5))


def _neighbourhood(call: Call) -> object:
    hops, limit = call.chance.randint(1, 3), call.chance.choice((2, 5, 60))
    return call.mesh.graph.neighbourhood(call.some(), hops=hops, limit=limit)


def _entity(call: Call) -> object:
    label = call._label("claim")
    names = (call.question(), label, f"vessel {label}", f"{label} branch", "vessel")
    return call.mesh.graph.entity(call.chance.choice(names), limit=call.chance.choice((1, 3, 100)))


def _profile(call: Call) -> object:
    return call.mesh.profile(
        max_tokens=call.chance.choice((50, 1_000)), of=call.chance.choice((None, "user", "project"))
    )


def _chain(call: Call) -> object:
    return call.mesh.review.chain(call.some("claim"))


def _episodes(call: Call) -> object:
    return call.mesh.graph.episodes(limit=call.chance.choice((1, 3, 100)))


def _episode(call: Call) -> object:
    return call.mesh.graph.episode(call.some("episode"))


def _episodes_about(call: Call) -> object:
    return call.mesh.graph.episodes(limit=call.chance.choice((1, 3, 100)), query=call.question())


def _start(call: Call) -> object:
    """The pack of a session's start."""
    return call.mesh.context(record=False, **_form(call))


def _context(call: Call) -> object:
    least = call.chance.choice((0.0, 0.12))
    return call.mesh.context(call.question(), record=False, min_relevance=least, **_form(call))


def _form(call: Call) -> dict[str, Any]:
    return {
        "count_tokens": count_tokens,
        "max_tokens": call.chance.choice((50, 200, 1_000)),
        "format": call.chance.choice(("markdown", "xml", "json")),
        "compact": call.chance.random() < 0.3,
    }


def _search(call: Call) -> object:
    limit = call.chance.choice((1, 5, 20))
    return call.mesh.search(call.question(), limit=limit, use_cache=call.chance.random() < 0.5)


def _explain(call: Call) -> object:
    return call.mesh.explain(call.some(call.chance.choice(("memory", "claim", "guess", "lesson"))))


def _block(call: Call) -> object:
    return call.mesh.explain(call.some("block"))


def _why_not(call: Call) -> object:
    return call.mesh.explain(
        call.some(),
        query=call.question(),
        limit=call.chance.choice((1, 5, 20)),
        profile=call.chance.choice(("mesh", "rrf", "composite", "lane")),
    )


def _injection(call: Call) -> object:
    return call.mesh.explain(call.some("prompt"))


VERBS: Mapping[str, tuple[Ask, bool]] = {  # and whether its order depends on the words of all
    "links": (_links, False),
    "traverse": (_traverse, False),
    "path": (_path, False),
    "clusters": (_clusters, False),
    "neighbourhood": (_neighbourhood, False),
    "entity": (_entity, False),
    "profile": (_profile, False),
    "chain": (_chain, False),
    "episodes": (_episodes, False),
    "episodes about": (_episodes_about, True),
    "episode": (_episode, False),
    "start": (_start, False),
    "context": (_context, True),
    "search": (_search, True),
    "explain": (_explain, False),
    "block": (_block, False),
    "why not": (_why_not, True),
    "injection": (_injection, False),
}
