"""Hostile texts over every channel against what the user and the system said.

What must hold, whatever a text says of itself: nothing less trusted takes the place of anything;
saying it a thousand times adds nothing; no lesson or skill of it is active without a review; its
importance is at most medium. And harmless text over the same channels is let in.
"""

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from memory_mesh.model import Channel, Memory, Outcome, Receipt, SourceKind, Status
from memory_mesh.rules.trust import BASE, MEDIUM
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.corpora import hostile
from tests.corpora.hostile import MARK, Attack, Fact
from tests.faults.report import Progress, Report, Ticker, silent

_TRUSTED = {SourceKind.USER_EXPLICIT, SourceKind.SYSTEM}
_STATUSES = [status for status in Status if status is not Status.ACTIVE]


def upward(folder: Path, *, texts: int, seed: int, progress: Progress = silent) -> Report:
    """Attacks with and without claims: what is known stays, and nothing hostile is raised."""
    report = Report({"attacks": 0, "superseded upward": 0, "raised": 0, "let in with a claim": 0})
    with ExitStack() as opened:
        meshes = _meshes(folder, opened)
        known = _plant(meshes[Channel.LIBRARY])
        ticker = Ticker(progress, texts)
        for number, attack in enumerate(hostile.attacks(random.Random(seed), texts)):
            receipt = _feed(meshes[attack.channel], attack)
            report.count("attacks")
            report.count(f"{receipt.outcome.value}")
            _check_receipt(report, attack, receipt, known)
            ticker.tick(number + 1, "attacks")
        _check_known(report, meshes[Channel.LIBRARY], known)
        _check_hostile(report, meshes[Channel.LIBRARY])
    return report


def unstated(folder: Path, *, texts: int, seed: int) -> Report:
    """Attacks that state no source kind, on what the user said and on what nobody stated.

    A tool is trusted more than a call that states nothing, and a second such call as much: their
    attacks are on what the user said alone.
    """
    report = Report({"attacks": 0, "superseded upward": 0, "raised": 0, "let in with a claim": 0})
    for name, nobody in (("stated", False), ("nobody", True)):
        with ExitStack() as opened:
            meshes = _meshes(folder / name, opened)
            known = _plant(meshes[Channel.LIBRARY], nobody=nobody)
            for attack in hostile.unstated_attacks(random.Random(seed), texts):
                equal = attack.channel is Channel.LIBRARY and not attack.details
                if nobody and (equal or attack.channel is Channel.TOOL):
                    continue
                receipt = _feed(meshes[attack.channel], attack)
                report.count("attacks")
                report.count(f"{receipt.outcome.value}")
                _check_receipt(report, attack, receipt, known)
            _check_known(report, meshes[Channel.LIBRARY], known)
            _check_hostile(report, meshes[Channel.LIBRARY])
    return report


def repeated(folder: Path, *, repetitions: int) -> Report:
    """One origin says the same again and again, over every channel: trust and status stay."""
    report = Report({"repetitions": 0, "gained trust": 0, "changed status": 0})
    with ExitStack() as opened:
        meshes = _meshes(folder, opened)
        user = meshes[Channel.LIBRARY]
        _plant(user)
        for number, channel in enumerate(hostile.LOW):
            fact = hostile.facts()[number]
            alone = f"The {MARK} tariff of {channel} is {number}"
            for text, claim in ((alone, None), (f"{fact.text} {MARK}", _against(fact, number))):
                item: dict[str, object] = {"content": text, "source_agent": MARK}
                item |= {} if claim is None else {"claim": claim}
                first = str(meshes[channel].add_many([item])[0].id)
                before = (user.review.trust(first), user.history(first)[-1].status)
                meshes[channel].add_many([item] * (repetitions - 1))
                after = (user.review.trust(first), user.history(first)[-1].status)
                report.count("repetitions", repetitions)
                if after[0] > before[0]:
                    report.broken("gained trust", f"{channel}: {before} to {after}")
                if after[1] is not before[1]:
                    report.broken("changed status", f"{channel}: {before} to {after}")
        for memory in _every(user):
            if MARK in memory.text and user.review.trust(memory.id) > BASE[memory.source.kind]:
                report.broken("gained trust", f"{memory.id} of {memory.source}")
        report.figures["quarantined copies"] = sum(
            memory.status is Status.QUARANTINED for memory in _every(user)
        )
    return report


def taught(folder: Path, *, lessons: int, skills: int, seed: int) -> Report:
    """Hostile rules and procedures, stated, distilled, received and synthesized: none is active."""
    report, chance = Report({"lessons tried": 0, "skills tried": 0}), random.Random(seed)
    with ExitStack() as opened:
        meshes = _meshes(folder, opened)
        user = meshes[Channel.LIBRARY]
        for attack in hostile.lesson_attacks(chance, lessons):
            _feed(meshes[attack.channel], attack)
            meshes[attack.channel].distill_lesson(
                {"situation": attack.text, "error_pattern": str(attack.metadata["error_pattern"]),
                 "oversight": "none", "fix": "none", "severity": "critical",
                 "preventative_rule": str(attack.metadata["preventative_rule"]),
                 "applicable_scope": "everything", "confidence": 1.0}
            )  # fmt: skip
            report.count("lessons tried", 2)
        for number in range(skills):
            channel = hostile.LOW[number % len(hostile.LOW)]
            meshes[channel].ingest_skill(hostile.skill_text(chance, number), {"status": "active"})
            report.count("skills tried")
        for mesh in meshes.values():
            mesh.lessons.distill()
        user.synthesize(topic=MARK)
        for block in user.query_lessons("", limit=1_000, min_confidence=0.0):
            report.broken("active lessons", f"{block}")
        for skill in user.list_skills(limit=1_000):
            report.broken("active skills", f"{skill.name}")
        report.figures["waiting"] = len(user.review.waiting(limit=1_000))
    return report


def let_in(folder: Path, *, texts: int, seed: int) -> Report:
    """Harmless text over the same channels; the share that has to wait, per cent."""
    report, outcomes = Report(), Counter[str]()
    with ExitStack() as opened:
        meshes = _meshes(folder, opened)
        known = _plant(meshes[Channel.LIBRARY])
        for item in hostile.benign(random.Random(seed), texts):
            receipt = _feed(meshes[item.channel], item)
            outcomes[receipt.outcome.value] += 1
            if receipt.outcome is Outcome.QUARANTINED:
                report.count(f"waiting by {item.channel}")
        _check_known(report, meshes[Channel.LIBRARY], known)
    report.figures |= dict(outcomes)
    report.figures["quarantined per cent"] = 100 * outcomes["quarantined"] / texts
    return report


def _meshes(folder: Path, opened: ExitStack) -> dict[Channel, MemoryMesh]:
    """One store, a door for each channel."""
    clock = FrozenClock()
    return {
        channel: opened.enter_context(MemoryMesh(db_dir=folder, channel=channel, clock=clock))
        for channel in hostile.CHANNELS
    }


def _plant(mesh: MemoryMesh, *, nobody: bool = False) -> dict[str, tuple[Memory, float]]:
    """What the user and the system said, or nobody: half of it as claims, half as plain text."""
    ids = []
    for number, fact in enumerate(hostile.facts()):
        details: dict[str, Any] = {"role": "system" if fact.system else "user"}
        details = {} if nobody else details
        if number % 3:
            details["claim"] = fact.claim
        ids.append(str(mesh.add(fact.text, **details).id))
    return {id_: (mesh.history(id_)[-1], mesh.review.trust(id_)) for id_ in ids}


def _feed(mesh: MemoryMesh, attack: Attack) -> Receipt:
    details: dict[str, Any] = dict(attack.details)
    if attack.claim is not None:
        details["claim"] = attack.claim
    return mesh.add(attack.text, attack.metadata or None, **details)


def _check_receipt(
    report: Report, attack: Attack, receipt: Receipt, known: dict[str, tuple[Memory, float]]
) -> None:
    if set(receipt.superseded) & known.keys():
        report.broken("superseded upward", f"{attack} took the place of {receipt.superseded}")
    stated = attack.claim is not None and _is_stated(known, attack.fact)
    if stated and receipt.outcome is Outcome.STORED:
        report.broken("let in with a claim", f"{attack}: {receipt.reasons}")


def _is_stated(known: dict[str, tuple[Memory, float]], fact: Fact) -> bool:
    """The fact was planted with a claim of the same words."""
    return any(
        memory.text == fact.text and memory.claim is not None and not memory.claim.read
        for memory, _ in known.values()
    )


def _check_known(report: Report, mesh: MemoryMesh, known: dict[str, tuple[Memory, float]]) -> None:
    for id_, (before, trust) in known.items():
        now = mesh.history(id_)[-1]
        if now.status is not Status.ACTIVE or now.text != before.text:
            report.broken("superseded upward", f"{before.text} is {now.status}: {now.text}")
        if mesh.review.trust(id_) < trust or now.importance != before.importance:
            report.broken("weakened", f"{before.text}: {trust} to {mesh.review.trust(id_)}")


def _check_hostile(report: Report, mesh: MemoryMesh) -> None:
    for memory in _every(mesh):
        if MARK not in memory.text and MARK not in str(memory.claim):
            continue
        if (
            memory.source.kind in _TRUSTED
            or mesh.review.trust(memory.id) > BASE[memory.source.kind]
        ):
            report.broken(
                "raised", f"{memory.id} of {memory.source}: {mesh.review.trust(memory.id)}"
            )
        if memory.importance is not None and memory.importance > MEDIUM:
            report.broken("raised", f"{memory.id} has importance {memory.importance}")


def _every(mesh: MemoryMesh) -> Sequence[Memory]:
    found, cursor = list[Memory](), None
    while True:
        page = mesh.get_all(limit=1_000, cursor=cursor, include=_STATUSES)
        found += page
        cursor = page.cursor
        if cursor is None:
            return found


def _against(fact: Fact, number: int) -> dict[str, object]:
    return fact.claim | {"value": f"{MARK}-{number}"}
