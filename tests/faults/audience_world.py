"""More for the world of graph_world.py: all else that a store keeps for one audience.

Skills, what waits for review, proposals, traces, triggers, what somebody said, refusals, and the
records of searches.
"""

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from memory_mesh.model import Channel, Scope
from memory_mesh.model.errors import MeshError
from memory_mesh.rules.trust import sees
from memory_mesh.sync import MemoryMesh
from tests.faults import graph_world
from tests.faults.graph_world import HERE, Planted, Step

NAMES = ("Anna", "Bruno", "Clara")
_KINDS = ("skill", "waiting", "proposal", "trace", "trigger", "said", "refused", "asked")


def plan(chance: random.Random, memories: int) -> list[Step]:
    """The plan of graph_world, and after every other memory a step of one of these kinds."""
    steps, known, number = list[Step](), list[Step](), 0
    for step in graph_world.plan(chance, memories):
        steps.append(step)
        if step.kind != "memory" or step.namespace != HERE:
            continue
        known.append(step)
        number += 1
        if number > 3:
            steps.append(_more(chance, known, _KINDS[number % len(_KINDS)]))
    return steps


def draw_readers(chance: random.Random, count: int) -> list[Scope]:
    """Readers of whom none sees what another one is told: what one asks changes nothing for it."""
    found = list[Scope]()
    for _ in range(1_000):
        drawn = graph_world.draw_reader(chance)
        if not any(sees(one, drawn) or sees(drawn, one) for one in found):
            found.append(drawn)
        if len(found) == count:
            return found
    raise AssertionError(f"no {count} readers who keep apart")


def _more(chance: random.Random, known: Sequence[Step], kind: str) -> Step:
    """One more step; a proposal and a search are about a memory that is there."""
    label, scope = graph_world._label(chance), graph_world._scope(chance)
    about = chance.choice(known)
    match kind:
        case "proposal":
            return Step(kind, label, about.scope, others=(about.label,), about=about.label)
        case "asked":
            asker = graph_world._somebody(about.scope)
            return Step(kind, label, asker, words=about.words, others=(about.label,))
        case "said":
            words = f"{chance.choice(NAMES)} {graph_world._words(chance)}"
            return Step(kind, label, replace(scope, session=scope.session or "one"), words=words)
        case _:
            return Step(kind, label, scope, words=graph_world._words(chance))


def _skill(made: Planted, mesh: MemoryMesh, step: Step) -> None:
    text = f"---\nname: {step.label}\ndescription: {step.words}\n---\nDo {step.label}.\n"
    made.known(mesh.ingest_skill(text, scope=step.scope).skill.id, step)


def _waiting(made: Planted, mesh: MemoryMesh, step: Step) -> None:
    """A contradiction that waits: an inference against what the user said."""
    for kind, name in (("user_explicit", f"{step.label} before"), ("inference", step.label)):
        claim = {"subject": f"berth {step.label}", "predicate": "pier", "value": name}
        text = f"{step.words} {name}"
        receipt = mesh.add(text, claim=claim, scope=step.scope, source_kind=kind)
        made.known(str(receipt.id), step, name)
        for conflict in receipt.conflicts:
            made.known(conflict, step, f"{step.label} conflict")


def _proposal(made: Planted, mesh: MemoryMesh, step: Step) -> None:
    web = mesh.view(channel=Channel.WEB)
    with suppress(MeshError):  # the memory may have been replaced
        asked = web.review.propose_update(made.id_of(step.about), f"the better {step.label}")
        made.known(asked.id, step)


def _trace(made: Planted, mesh: MemoryMesh, step: Step) -> None:
    receipt = mesh.traces.record(
        f"{step.words} {step.label}", status="success", scope=step.scope, steps=["row", "moor"]
    )
    made.known(str(receipt.id), step)


def _trigger(made: Planted, mesh: MemoryMesh, step: Step) -> None:
    text = f"{step.words} {step.label}"
    receipt = mesh.add(text, scope=step.scope, triggers=[step.words.split()[0]], tags=[step.label])
    made.known(str(receipt.id), step)


def _said(made: Planted, mesh: MemoryMesh, step: Step) -> None:
    speaker, words = step.words.split(" ", 1)
    receipt = mesh.add(
        f"{words} {step.label}", scope=step.scope, speaker=f"{speaker} {step.label}", role="user"
    )
    made.known(str(receipt.id), step)


def _refused(made: Planted, mesh: MemoryMesh, step: Step) -> None:
    del made
    mesh.add_many([{"content": "  ", "scope": step.scope}])


def _asked(made: Planted, mesh: MemoryMesh, step: Step) -> None:
    mesh.search(f"{step.others[0]} {step.label}", limit=1, keyword_only=True)
    made.mesh._opened().ledger.flush(HERE)


MORE: graph_world.More = {
    "skill": _skill,
    "waiting": _waiting,
    "proposal": _proposal,
    "trace": _trace,
    "trigger": _trigger,
    "said": _said,
    "refused": _refused,
    "asked": _asked,
}
