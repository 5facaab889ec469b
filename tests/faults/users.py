"""Two users of one store who contradict each other, kept apart in three ways.

::

    view       mesh.for_user("ann") and mesh.for_user("Bob@example.com")
    speaker    one namespace, speaker="ann" and speaker="Bob@example.com"
    metadata   one namespace, metadata user_id, userId or user

Both say what contradicts the other, and often the very same text, over trusted and untrusted
channels: first in one random order in one process, then from two processes at once. Nothing may
be merged, superseded, linked or put on the list of conflicts across, which is read from the files
themselves; each statement fares as if its user were alone; and no read of a user's view shows
anything of the other.
"""

import random
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from memory_mesh.compat.rfc11.reader import MeshHoldings
from memory_mesh.model import Block, Channel, Outcome, Receipt, Status
from memory_mesh.sync import MemoryMesh
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, silent

USERS = ("ann", "Bob@example.com")
WAYS = ("view", "speaker", "metadata")
_START_SECONDS = 0.1  # until both processes are there
_ID = re.compile(r"\bmem_\w+")
_CITIES = ("Oslo", "Rome", "Lima", "Cairo", "Quito", "Delhi", "Seoul", "Paris")
_DOGS = ("Rex", "Bella", "Fido", "Luna", "Max", "Otto")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_PLAIN = ("The meeting room is blue.", "Tea is better than coffee.", "Backups run at night.")
_PAIRS = {  # what must not cross, and how the file says it
    "superseded across": (
        "SELECT m.id, v.successor FROM version v JOIN memory m ON m.number = v.memory "
        "WHERE v.successor IS NOT NULL"
    ),
    "conflicts across": (
        "SELECT n.id, e.id FROM conflict c JOIN memory n ON n.number = c.new "
        "JOIN memory e ON e.number = c.existing"
    ),
    "links across": (
        "SELECT a.id, b.id FROM link JOIN memory a ON a.number = link.source "
        "JOIN memory b ON b.number = link.target"
    ),
}
_TEXTS = "SELECT m.id, t.content FROM text t JOIN memory m ON m.number = t.memory"
Broken = tuple[str, str]  # the promise, and what broke it


@dataclass(frozen=True)
class Statement:
    """What one user says once."""

    user: str
    text: str
    claim: dict[str, object]  # empty: the text alone
    channel: Channel
    key: str  # of metadata that names the user


@dataclass(frozen=True)
class Told:
    """What became of a statement, and every memory that its receipt names."""

    said: Statement
    id: str | None
    outcome: Outcome
    named: frozenset[str]

    @property
    def user(self) -> str:
        return self.said.user


def kept_apart(
    folder: Path,
    *,
    statements: int,
    seed: int,
    ways: Sequence[str] = WAYS,
    progress: Progress = silent,
) -> Report:
    """Both users make this many statements in each way; nothing crosses, nothing is lost."""
    report = Report({"statements": 0, "acknowledged": 0})
    for name in (*_PAIRS, "merged across", "named across", "returned across", "changed", "lost"):
        report.count(name, 0)
    for way in ways:
        told = _written(folder / way, way, statements, seed)
        report.count("statements", len(told))
        report.count("acknowledged", sum(each.id is not None for each in told))
        for outcome in Outcome:
            report.count(f"{way} {outcome}", sum(each.outcome is outcome for each in told))
        within, broken = call(_looked_at, folder / way, told)
        broken += [each for user in USERS for each in _compared(folder / way, way, user, told)]
        for name, count in within.items():
            report.count(f"{way} {name}", count)
        if way == "view":
            reads, leaked = call(_read, folder / way, _owners(told))
            report.count("reads", reads)
            broken += leaked
        for name, detail in broken:
            report.broken(name, f"{way}: {detail}")
        progress(f"{way}: {len(told)} statements")
    return report


def statements_of(user: str, count: int, dice: random.Random) -> list[Statement]:
    """Statements of one user; the other one makes the same from the same few values."""
    return [_statement(user, dice) for _ in range(count)]


def _statement(user: str, dice: random.Random) -> Statement:
    port, claim = dice.randrange(8080, 8088), dict[str, object]()
    text = dice.choice(
        (
            f"I live in {dice.choice(_CITIES)}",
            f"My dog's name is {dice.choice(_DOGS)}",
            f"The deadline is {dice.choice(_DAYS)}",
            f"port: {port}",
            dice.choice(_PLAIN),
        )
    )
    if dice.random() < 0.3:
        text = f"The server listens on {port}"
        claim = {"subject": "server", "predicate": "port", "value": str(port)}
    channel = dice.choice((Channel.LIBRARY, Channel.LIBRARY, Channel.CLI, Channel.MCP))
    return Statement(user, text, claim, channel, dice.choice(("user_id", "userId", "user")))


def _written(here: Path, way: str, count: int, seed: int) -> list[Told]:
    """Half of it in one random order in one process, half from two processes at once."""
    first: list[Statement] = []
    later: list[list[Statement]] = []
    for user in USERS:
        said = statements_of(user, count, random.Random(f"{seed} {user}"))
        first += said[: count // 2]
        later.append(said[count // 2 :])
    random.Random(seed).shuffle(first)
    told = call(_say, here, way, first, 0.0)
    start = time.time() + _START_SECONDS
    children = [Child(_say, here, way, said, start) for said in later]
    return told + [each for child in children for each in child.result()]


def _compared(here: Path, way: str, user: str, told: Sequence[Told]) -> Iterator[Broken]:
    """What became of a user's statements, against a store of their own that hears the same."""
    own = [each for each in told if each.user == user]
    spoken = "alone" if way == "view" else way  # who is named is trusted as such
    alone = call(_say, here / f"alone-{USERS.index(user)}", spoken, [e.said for e in own], 0.0)
    for here_, there in zip(own, alone, strict=True):
        if here_.outcome is not there.outcome or len(here_.named) != len(there.named):
            yield "changed", f"{here_} beside another user, {there} alone"


def _say(here: Path, way: str, said: Sequence[Statement], start: float) -> list[Told]:
    """Make the statements; those that come by one door after each other as one batch."""
    told: list[Told] = []
    with MemoryMesh(db_dir=here, embedder="none") as mesh:
        mesh.stats()
        for user in {each.user for each in said} if way == "view" else ():
            _teach(mesh.for_user(user), user)
        time.sleep(max(0.0, start - time.time()))
        for (channel, user), together in groupby(said, lambda each: _door(way, each)):
            view, batch = mesh.view(channel=channel), list(together)
            view = view.for_user(user) if user else view
            receipts = view.add_many([_item(way, each) for each in batch])
            told += map(_told, batch, receipts)
    return told


def _door(way: str, said: Statement) -> tuple[Channel, str]:
    """The channel and, where each user has a view, whose view it is."""
    return said.channel, said.user if way == "view" else ""


def _item(way: str, said: Statement) -> dict[str, object]:
    item: dict[str, object] = {"content": said.text}
    if said.claim:
        item["claim"] = said.claim
    if way == "speaker":
        item["speaker"] = said.user
    if way == "metadata":
        item["metadata"] = {said.key: said.user}
    return item


def _teach(mesh: MemoryMesh, user: str) -> None:
    """The lesson of one failure, with a rule of the user's own."""
    mesh.distill_lesson(
        {"situation": "a deploy", "error_pattern": "deploy failed", "oversight": "no test",
         "fix": "test first", "preventative_rule": f"Ask {USERS.index(user)} before a deploy",
         "severity": "high", "applicable_scope": "deploys", "confidence": 0.9}
    )  # fmt: skip


def _told(said: Statement, receipt: Receipt) -> Told:
    named = {*receipt.superseded, *getattr(receipt, "newer_than", ())}
    named |= {id_ for reason in receipt.reasons for id_ in _ID.findall(reason)}
    return Told(said, receipt.id, receipt.outcome, frozenset(named))


def _owners(told: Iterable[Told]) -> dict[str, str]:
    """Whose each new memory is."""
    new = {Outcome.STORED, Outcome.QUARANTINED}
    return {each.id: each.user for each in told if each.id is not None and each.outcome in new}


def _looked_at(here: Path, told: Sequence[Told]) -> tuple[dict[str, int], list[Broken]]:
    """How often things met within one user, and everything that crossed, read from the files."""
    owners, broken = _owners(told), list[Broken]()
    within = {name.replace("across", "within"): 0 for name in _PAIRS}
    texts: set[tuple[str, str]] = set()
    for path in sorted((here / "namespaces").glob("*.db")):
        with closing(sqlite3.connect(path)) as db:
            for name, query in _PAIRS.items():
                for one, other in db.execute(query):
                    if owners.get(one) != owners.get(other):
                        broken.append((name, f"{one} and {other}"))
                    else:
                        within[name.replace("across", "within")] += 1
            texts |= {(owners.get(id_, ""), text) for id_, text in db.execute(_TEXTS)}
    for each in told:
        if each.outcome is Outcome.MERGED and owners.get(str(each.id)) != each.user:
            broken.append(("merged across", f"{each}"))
        if any(owners.get(id_) != each.user for id_ in each.named):
            broken.append(("named across", f"{each}"))
        if (each.user, each.said.text) not in texts:
            broken.append(("lost", f"{each}"))
    with MemoryMesh(db_dir=here, embedder="none") as mesh:
        for view in (mesh, *map(mesh.for_user, mesh.users())):
            broken += [("findings", str(finding)) for finding in view.care.verify().findings]
    return within, broken


def _read(here: Path, owners: dict[str, str]) -> tuple[int, list[Broken]]:
    """Every read of each user's view; what shows a memory of the other."""
    count, broken = 0, list[Broken]()
    with MemoryMesh(db_dir=here, embedder="none") as mesh:
        if sorted(USERS) != mesh.users() or mesh.get_all(include=list(Status)):
            broken.append(("returned across", f"{mesh.users()}, {mesh.get_all()}"))
        for user in USERS:
            other = {id_ for id_, owner in owners.items() if owner != user}
            own = {id_ for id_, owner in owners.items() if owner == user}
            for name, read in _reads(mesh.for_user(user), sorted(other)).items():
                shown = set(read())
                count += 1
                if shown & other:
                    broken.append(("returned across", f"{name} for {user}: {shown & other}"))
                if name in {"get_all", "export"} and not own <= shown:
                    broken.append(("lost", f"{name} for {user}: {own - shown}"))
            rules = [each.preventative_rule for each in mesh.for_user(user).query_lessons("deploy")]
            if rules != [f"Ask {USERS.index(user)} before a deploy"]:
                broken.append(("returned across", f"lessons for {user}: {rules}"))
    return count, broken


def _reads(view: MemoryMesh, other: Sequence[str]) -> dict[str, Callable[[], Iterable[str]]]:
    """The reads of one view by name, each of which returns the ids that it shows."""
    every = list(Status)

    def searched(question: str) -> Callable[[], Iterable[str]]:
        return lambda: [hit.id for hit in view.search(question, limit=1_000, include=every)]

    questions = ("where do I live", "dog's name", "deadline", "port 8080", *_CITIES, *_DOGS, *_DAYS)
    return {
        **{f"search {question}": searched(question) for question in (*questions, *_PLAIN)},
        "get_all": lambda: _listed(view),
        "get": lambda: [found.id for id_ in other if (found := view.get(id_, include=every))],
        "get_many": lambda: [found.id for found in view.get_many(other, include=every)],
        "history": lambda: [version.id for id_ in other for version in view.history(id_)],
        "export": lambda: _exported(view),
        "conflicts": lambda: [
            id_
            for each in view.review.conflicts(pending=False)
            for id_ in (each.new, each.existing)
        ],
        "review": lambda: [each.id for each in view.review.waiting(limit=1_000)],
        "recalls": lambda: [
            id_ for block in view.care.recalls(limit=1_000) for id_ in block.entry.memories
        ],
    }


def _listed(view: MemoryMesh) -> Iterator[str]:
    cursor: str | None = None
    while True:
        page = view.get_all(limit=1_000, include=list(Status), cursor=cursor)
        yield from (memory.id for memory in page)
        cursor = page.cursor
        if cursor is None:
            return


def _exported(view: MemoryMesh) -> Iterator[str]:
    held = MeshHoldings(view, include=list(Status))
    yield from (each.memory.id for each in held.memories())
    yield from _named_in(held.blocks())


def _named_in(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        yield from block.entry.memories
