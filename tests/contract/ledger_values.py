"""What the ledger contracts are written with: an empty ledger, memories, commits, searches."""

import struct
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

import pytest

from memory_mesh.model import (
    BlockOperation,
    Commit,
    Entry,
    Lens,
    Memory,
    Observation,
    Outcome,
    Put,
    Question,
    Space,
    Standing,
    Wanted,
    Wording,
)
from memory_mesh.model.ports import Clock, Ledger
from memory_mesh.search import keyword_plan
from memory_mesh.search.nearest import Ask, nearest
from memory_mesh.testing.doubles import FrozenClock

SPACE = Space("contract", "axes", "1", dimension=4, max_tokens=8)


def word(text: str) -> Wording:
    """A wording whose terms are its words."""
    return Wording(text, sha256(text.encode()).digest(), " ".join(text.lower().split()))


class EmptyLedger:
    """Gives each test of a suite a fresh, empty ledger."""

    def open_ledger(self, clock: Clock) -> Ledger:
        """A ledger over the same, at first empty, store at every call."""
        raise NotImplementedError

    @pytest.fixture
    def clock(self) -> FrozenClock:
        """Time, held still."""
        return FrozenClock()

    @pytest.fixture
    def ledger(self, clock: FrozenClock) -> Ledger:
        """The ledger under test."""
        return self.open_ledger(clock)


def axis(number: int) -> bytes:
    """A unit vector along one of the contract space's axes."""
    return struct.pack("<4f", *(float(place == number) for place in range(4)))


def near(
    ledger: Ledger,
    vector: bytes,
    lens: Lens,
    space: Space | None = None,
    body: Ask | None = None,
) -> list[tuple[str, float]]:
    """The texts that vector search finds with their cosines, best first."""
    with ledger.read("default") as snapshot:
        found = nearest(snapshot, Question(space or SPACE, vector, 10), lens, body).found
        memories = snapshot.load([hit.version for hit in found])
    return [(memories[hit.version].text, hit.cosine) for hit in found]


def made(id_: str, text: str, **fields: object) -> Memory:
    """A memory whose times are set at its commit."""
    never = datetime(1970, 1, 1, tzinfo=UTC)
    return Memory(id=id_, text=text, created=never, recorded_from=never, **fields)  # type: ignore[arg-type]  # fields of a test


def put(
    ledger: Ledger,
    id_: str,
    text: str,
    *,
    key: str | None = None,
    vectors: tuple[bytes, ...] = (),
    **fields: object,
) -> Memory:
    """Commit one new memory and return it as it was written."""
    memory = made(id_, text, **fields)

    def decide(standing: Standing) -> Commit:
        commit = stored(standing, memory, text, key)
        if not vectors:
            return commit
        wording = replace(word(text), space=SPACE, vectors=vectors)
        return replace(commit, puts=(Put(commit.puts[0].memory, wording),))

    return ledger.commit("default", Wanted(), decide).puts[0].memory


def put_many(ledger: Ledger, texts: list[str]) -> None:
    """Commit several new memories at once."""

    def decide(standing: Standing) -> Commit:
        parts = [
            stored(standing, made(f"mem_1_{number:06x}", text), text)
            for number, text in enumerate(texts)
        ]
        return Commit(
            puts=tuple(put for part in parts for put in part.puts),
            observations=tuple(seen for part in parts for seen in part.observations),
            entries=tuple(entry for part in parts for entry in part.entries),
        )

    ledger.commit("default", Wanted(), decide)


def stored(standing: Standing, memory: Memory, text: str, key: str | None = None) -> Commit:
    """The commit of one new memory."""
    new = replace(memory, created=standing.at, recorded_from=standing.at)
    wording = word(text)
    return Commit(
        puts=(Put(new, wording),),
        observations=(Observation(new.id, wording.hash, Outcome.STORED, "contract", key),),
        entries=(entry(standing, new.id, wording),),
    )


def change(ledger: Ledger, memory: Memory, **fields: object) -> None:
    """Commit a new version of a memory."""

    def decide(standing: Standing) -> Commit:
        new = replace(memory, recorded_from=standing.at, **fields)  # type: ignore[arg-type]  # of a test
        wording = word(new.text) if new.text != memory.text else None
        return Commit(puts=(Put(new, wording),), entries=(entry(standing, new.id, wording),))

    ledger.commit("default", Wanted(), decide)


def entry(standing: Standing, memory_id: str, wording: Wording | None) -> Entry:
    """A block entry that names the memory and tells of its text."""
    told = {} if wording is None else {"content_sha256": wording.hash.hex()}
    number = 0
    while standing.taken(id_ := f"yamo_retain_1_{memory_id[-6:]}{number:02x}"):
        number += 1
    return Entry(id_, BlockOperation.RETAIN, "contract", standing.at, (memory_id,), "wire", told)


def recall_entry(id_: str, clock: Clock) -> Entry:
    """A recall block's entry."""
    return Entry(id_, BlockOperation.RECALL, "contract", clock.now(), (), "wire", {"use": "search"})


def look(ledger: Ledger, wanted: Wanted) -> Standing:
    """What a decision would see; the functions among it are called while it may."""
    found: list[Standing] = []

    def decide(standing: Standing) -> Commit:
        known = {id_: list(standing.history(id_)) for id_ in wanted.ids}
        taken = {id_: standing.taken(id_) for id_ in wanted.ids}
        found.append(
            replace(
                standing,
                history=lambda id_: known.get(id_, []),
                taken=lambda id_: taken.get(id_, False),
            )
        )
        return Commit()

    ledger.commit("default", wanted, decide)
    return found[0]


def found(ledger: Ledger, words: str, lens: Lens) -> list[str]:
    """The texts that keyword search finds, best first."""
    with ledger.read("default") as snapshot:
        matches = keyword_plan.match(snapshot, words.split(), lens, 10).found
        memories = snapshot.load([match.version for match in matches])
    return [memories[match.version].text for match in matches]
