"""A world of linked memories for many audiences, and twins of it that lack what one reader lacks.

::

    plan ──▶ the world: all of it
         ├─▶ a bare twin per reader: only what that reader may see was ever written
         └─▶ a filled twin per reader: what is unseen was written for an audience that nobody
             belongs to, without its links, and under other ids

All run the same steps at the same times. What a reader is told of the graph must be the same in the
world and in the bare twin. What depends on how often words occur in the store (the order of a
search) is compared with the filled twin: there the counts are the same, and nothing else is.
"""

import hashlib
import math
import random
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory_mesh.model import Embedding, Scope, Space
from memory_mesh.model.errors import MeshError
from memory_mesh.rules.trust import sees
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from memory_mesh.write import similar_links

HERE, ELSEWHERE = "alpha", "beta"  # namespaces: where the readers are, and where they are not
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LABEL = re.compile(r"\bzq[a-z]{6}\b")
TOPICS = ("harbour ferry", "bakery oven", "orchard ladder", "glacier hut", "printing press")
_SHADES = "amber birch cedar delta ember flint grove heath islet jetty knoll ledge".split()  # noqa: SIM905
_NAMES = (None, "one", "two")
_BEGUN = NOW - timedelta(days=90)
_NOBODY = "nobody"  # the beginning of a project's name that no reader has
_DIMENSION = 32
_TYPES = ("related", "follows", "depends_on")
_TOLD = (
    "memory", "slice", "claim", "guess", "lesson", "episode", "evolve", "update",
    "waiting", "trace", "trigger", "said",
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One thing that is written: what, for whom, and the label by which it is known."""

    kind: str
    label: str
    scope: Scope
    namespace: str = HERE
    words: str = ""
    others: tuple[str, ...] = ()  # labels of those it joins
    parts: tuple["Step", ...] = ()  # of a slice
    pinned: bool = False
    about: str = ""  # the label of the memory that it changes


@dataclass
class Planted:
    """A store, and the ids that labels have there."""

    mesh: MemoryMesh
    ids: dict[str, str] = field(default_factory=dict)
    packed: dict[str, list[str]] = field(default_factory=dict)  # labels that entered each prompt
    written: dict[str, int] = field(default_factory=dict)  # the last write of each namespace
    fillers: dict[str, str] = field(default_factory=dict)  # ids of what was written for nobody
    more: "More" = field(default_factory=dict)  # how a suite writes steps of its own

    def id_of(self, label: str) -> str:
        """The id of a label; of one that was never written here, an id that nobody has."""
        made = int.from_bytes(hashlib.sha256(label.encode()).digest()[:3], "big")
        return self.ids.get(label, f"mem_1600000000000_{made:06x}")

    def view(self, reader: Scope) -> MemoryMesh:
        """The readers' namespace as one of them sees it."""
        return self.mesh.view(namespace=HERE, scope=reader)

    def known(self, id_: str, step: Step, label: str = "") -> None:
        """Takes note of an id; what was written for nobody has none that a reader could know."""
        nobody = (step.scope.project or "").startswith(_NOBODY)
        (self.fillers if nobody else self.ids)[label or step.label] = id_


More = Mapping[str, Callable[[Planted, MemoryMesh, Step], None]]


class Topical:
    """Vectors that stand near each other where texts share a topic; no two are equally near."""

    def __init__(self) -> None:
        self.space = Space("test", "topical", "1", _DIMENSION, 256)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """The same vector for the same words."""
        del query
        return Embedding(self.space, tuple((_vector(text),) for text in texts))

    def close(self) -> None:
        """Nothing to release."""


def plan(chance: random.Random, memories: int) -> list[Step]:
    """What is written, in order: memories, slices, links, episodes, claims, lessons, prompts."""
    steps, known = list[Step](), list[Step]()
    every = {
        2: _links,
        3: _slice,
        5: _prompt,
        6: _evolved,
        7: _pair,
        8: _updated,
        9: _lesson,
        10: _episode,
    }
    for number in range(1, memories + 1):
        step = _memory(chance, ELSEWHERE if chance.random() < 0.1 else HERE)
        added = [step]
        for period, more in every.items():
            added += more(chance, known) if number % period == 0 and len(known) > 3 else []
        steps += added
        for each in added:
            known += [part for part in (each, *each.parts) if _is_memory(part)]
    return steps


def planted(
    folder: Path,
    steps: Sequence[Step],
    reader: Scope | None = None,
    *,
    world: Planted | None = None,
    filled: bool = False,
    more: More | None = None,
) -> Planted:
    """Runs the plan: the whole world, or what a reader may see of it, with or without fillers.

    `more` writes steps that are of a suite's own.
    """
    clock = FrozenClock(_BEGUN)
    mesh = MemoryMesh(
        db_dir=folder,
        clock=clock,
        agent_id="none",
        settings={"session_days": 0},
        custom_embedder=Topical(),
    )
    made = Planted(mesh, more=more or {})
    for number, step in enumerate(steps):
        clock.set(_BEGUN + timedelta(hours=number))
        ours = _for_reader(step, reader, filled=filled)
        if ours is not None:
            _write(made, ours)
            _note_block(made, ours)
        elif step.kind == "prompt" and world is not None:
            _use(made, step, world.packed[step.label])
    mesh._opened().ledger.flush(HERE)
    clock.set(NOW)
    here = mesh.view(namespace=HERE)
    similar_links.link_all(here._access(), here.stats().spaces)  # else who reads links makes a few
    return made


def late(chance: random.Random, memories: int) -> list[Step]:
    """Memories that are stored without a vector."""
    return [replace(_memory(chance), pinned=False) for _ in range(memories)]


def link_late(made: Planted, steps: Sequence[Step], reader: Scope | None = None) -> None:
    """Stores memories without an embedder; upkeep gives them their vectors and their links."""
    config, clock = made.mesh.config, made.mesh._opened().clock
    with MemoryMesh(
        db_dir=config.db_dir,
        clock=clock,
        agent_id="none",
        settings={"session_days": 0},
        embedder="none",
    ) as mesh:
        for step in steps:
            if reader is None or sees(reader, step.scope):
                view = mesh.view(namespace=HERE, scope=_somebody(step.scope))
                made.known(str(view.add(_text(step), scope=step.scope).id), step)
    made.mesh.view(namespace=HERE).care.upkeep()


def visible(steps: Sequence[Step], reader: Scope) -> set[str]:
    """The labels of all that a reader may know of."""
    found = set[str]()
    for step in steps:
        for each in (step, *step.parts):
            if each.namespace == HERE and sees(reader, each.scope) and each.kind != "slice":
                found.add(each.label)
    return found


def labels(steps: Sequence[Step]) -> dict[str, list[str]]:
    """Every label of the plan, by kind."""
    found: dict[str, list[str]] = {}
    for step in steps:
        for each in (step, *step.parts):
            if each.kind not in {"slice", "link", "member"}:
                found.setdefault(each.kind, []).append(each.label)
        if step.kind not in {"slice", "prompt"}:
            found.setdefault("block", []).append(f"{step.label} block")
    return found


def count_tokens(text: str) -> int:
    """By length alone: ids and fences of two stores differ, and so would any real count."""
    return len(text) // 3 + 1


def draw_reader(chance: random.Random) -> Scope:
    """Somebody: an agent in a project and a session, or in none."""
    return Scope(
        chance.choice(_NAMES), chance.choice(("none", "one", "two")), chance.choice(_NAMES)
    )


def _for_reader(step: Step, reader: Scope | None, *, filled: bool) -> Step | None:
    """A step as it is done in a store: as planned, for nobody, or not at all."""
    if reader is None:
        return step
    if step.kind == "slice":
        parts = [_for_reader(part, reader, filled=filled) for part in step.parts]
        return replace(step, parts=tuple(part for part in parts if part is not None))
    if step.namespace == HERE and sees(reader, step.scope):
        return step
    if not filled or step.namespace != HERE or step.kind not in _TOLD:
        return None
    nobody = replace(step.scope, project=f"{_NOBODY} {step.scope.project}")  # as many as there were
    return replace(step, scope=nobody, others=())


def _write(made: Planted, step: Step) -> None:
    mesh = made.mesh.view(namespace=step.namespace, scope=_somebody(step.scope))
    ids = [made.id_of(label) for label in step.others]
    if step.kind in made.more:
        made.more[step.kind](made, mesh, step)
        return
    match step.kind:
        case "slice":
            drafts = [{"content": _text(part), "scope": part.scope} for part in step.parts]
            for part, receipt in zip(step.parts, mesh.add_many(drafts), strict=True):
                made.known(str(receipt.id), part)
        case "claim" | "guess":
            _contradict(made, mesh, step)
        case "update":
            with suppress(MeshError):  # it may have been replaced
                mesh.update((made.ids | made.fillers)[step.about], _text(step))
        case "link":
            mesh.graph.link(*ids, type=step.words)
        case "member":
            mesh.graph.add_to_episode(ids[0], ids[1:])
        case "prompt":
            _prompted(made, mesh, step)
        case _:
            made.known(_stored(mesh, step, ids), step)


def _stored(mesh: MemoryMesh, step: Step, ids: Sequence[str]) -> str:
    """Writes one memory in one of the ways there are; its id."""
    match step.kind:
        case "lesson":
            return _teach(mesh, step)
        case "episode":
            return mesh.graph.create_episode(_text(step), ids=ids).id
        case "evolve":
            return str(mesh.evolve(_text(step), scope=step.scope).id)
        case _:
            return str(mesh.add(_text(step), scope=step.scope, pinned=step.pinned).id)


def _prompted(made: Planted, mesh: MemoryMesh, step: Step) -> None:
    only = f"content LIKE '%{step.others[0]}%'" if step.others else None
    pack = mesh.context(
        step.words or None, max_tokens=400, filter=only, min_relevance=0.0,
        count_tokens=count_tokens,
    )  # fmt: skip
    mesh._opened().ledger.flush(HERE)
    names = {id_: label for label, id_ in made.ids.items()}
    made.packed[step.label] = [names[item.id] for item in pack.items if item.id in names]
    if pack.injection_id is not None:
        made.known(pack.injection_id, step)


def _note_block(made: Planted, step: Step) -> None:
    """Takes note of the last block that a step wrote, if it wrote one."""
    ledger = made.mesh._opened().ledger
    with ledger.read(step.namespace) as snapshot:
        seq = snapshot.head().seq
    if seq > made.written.get(step.namespace, 0) and step.kind not in {"slice", "prompt"}:
        block = ledger.blocks(step.namespace, seq - 1, 10)[-1]
        made.known(block.entry.id, step, f"{step.label} block")
    made.written[step.namespace] = seq


def _contradict(made: Planted, mesh: MemoryMesh, step: Step) -> None:
    """Two statements of which the second replaces the first, or seems to update it."""
    subject = f"vessel {step.label}"
    for value in ("early", "late"):
        if step.kind == "claim":
            claim = {"subject": subject, "predicate": "captain", "value": value}
            text = f"{step.words} {step.label} {value}"
            receipt = mesh.add(text, claim=claim, scope=step.scope)
        else:
            text = f"The {step.label} branch is {'now ' * (value == 'late')}{value}"
            receipt = mesh.add(text, scope=step.scope)
        made.known(str(receipt.id), step, step.label + " before" * (value == "early"))


def _teach(mesh: MemoryMesh, step: Step) -> str:
    word = step.label
    block = mesh.distill_lesson(
        {"situation": f"{step.words} {word}", "error_pattern": f"pattern {word}", "oversight": word,
         "fix": "waited", "preventative_rule": f"Never {word} the {step.words}",
         "severity": "high", "applicable_scope": f"crossing {word}"},
        scope=step.scope,
    )  # fmt: skip
    return block.memory_id


def _use(made: Planted, step: Step, packed: Sequence[str]) -> None:
    """That others used a memory is counted, and not hidden: the twin counts it as well."""
    ids = [made.ids[label] for label in packed if label in made.ids]
    if ids:
        made.view(_somebody(step.scope)).get_many(ids)


def _memory(chance: random.Random, namespace: str = HERE) -> Step:
    pinned = chance.random() < 0.05
    return Step("memory", _label(chance), _scope(chance), namespace, _words(chance), pinned=pinned)


def _slice(chance: random.Random, _known: Sequence[Step]) -> list[Step]:
    parts = tuple(replace(_memory(chance), pinned=False) for _ in range(chance.randint(2, 5)))
    return [Step("slice", "", Scope(), parts=parts)]


def _links(chance: random.Random, known: Sequence[Step]) -> list[Step]:
    one, other = chance.sample(known, 2)
    joined = _joined(one.scope, other.scope)
    if joined is None:
        return []
    both = (one.label, other.label)
    return [Step("link", _label(chance), joined, words=chance.choice(_TYPES), others=both)]


def _prompt(chance: random.Random, known: Sequence[Step]) -> list[Step]:
    """A session's start, or a question about one memory: other words of the store do not count."""
    scope = _somebody(_scope(chance))
    seen = [each for each in known if each.kind == "memory" and sees(scope, each.scope)]
    about = chance.choice(seen) if seen and chance.random() < 0.5 else None
    words, others = ("", ()) if about is None else (about.words, (about.label,))
    return [Step("prompt", _label(chance), scope, words=words, others=others)]


def _pair(chance: random.Random, known: Sequence[Step]) -> list[Step]:
    """A claim and a guess in turn."""
    kinds = ("claim", "guess")
    kind = kinds[sum(each.kind in kinds for each in known) % 2]
    return [Step(kind, _label(chance), _scope(chance), words=_words(chance))]


def _evolved(chance: random.Random, known: Sequence[Step]) -> list[Step]:
    """What may take the place of a memory of the same audience, and of no other."""
    words = chance.choice(known).words
    return [Step("evolve", _label(chance), _scope(chance), words=words)]


def _updated(chance: random.Random, known: Sequence[Step]) -> list[Step]:
    """Another text for a memory: it is linked anew."""
    about = chance.choice([each for each in known if each.kind == "memory"])
    return [Step("update", _label(chance), about.scope, words=_words(chance), about=about.label)]


def _lesson(chance: random.Random, _known: Sequence[Step]) -> list[Step]:
    return [Step("lesson", _label(chance), _scope(chance), words=_words(chance))]


def _episode(chance: random.Random, known: Sequence[Step]) -> list[Step]:
    """An episode, and members of it that not everybody who sees it may see."""
    scope = replace(_scope(chance), agent=None)
    first = [each.label for each in known if sees(scope, each.scope)][-3:]
    made = Step("episode", _label(chance), scope, words=_words(chance), others=tuple(first))
    steps = [made]
    for each in chance.sample(known, 3):
        joined = _joined(scope, each.scope)
        if joined is not None and each.label not in first:
            both = (made.label, each.label)
            steps.append(Step("member", _label(chance), joined, others=both))
    return steps


def _is_memory(step: Step) -> bool:
    return step.kind in {"memory", "lesson", "claim", "guess", "evolve"} and step.namespace == HERE


def _joined(one: Scope, other: Scope) -> Scope | None:
    """Who sees both; None if nobody does."""
    parts = dict[str, str | None]()
    for part in ("project", "agent", "session"):
        names = {getattr(one, part), getattr(other, part)} - {None}
        if len(names) > 1:
            return None
        parts[part] = names.pop() if names else None
    return Scope(parts["project"], parts["agent"], parts["session"])


def _somebody(scope: Scope) -> Scope:
    return scope if scope.agent is not None else replace(scope, agent="none")


def _scope(chance: random.Random) -> Scope:
    return Scope(*(chance.choice((None, *_NAMES)) for _ in range(3)))


def _words(chance: random.Random) -> str:
    return f"{chance.choice(TOPICS)} {' '.join(chance.sample(_SHADES, 2))}"


def _text(step: Step) -> str:
    return f"{step.words} {step.label}"


def _label(chance: random.Random) -> str:
    return "zq" + "".join(chance.choices("abcdefghijklmnoprstuvw", k=6))


def _vector(text: str) -> bytes:
    own = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    vector = [0.35 * math.sin(own + number) for number in range(_DIMENSION)]
    for place, topic in enumerate(TOPICS):
        vector[place] += 1.5 * sum(word in text for word in topic.split())
    length = math.sqrt(sum(part * part for part in vector))
    return array("f", [part / length for part in vector]).tobytes()
