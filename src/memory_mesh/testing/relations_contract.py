"""What every Ledger promises of links, proposals and small values, as tests."""

from dataclasses import replace
from datetime import timedelta

from memory_mesh.model import (
    Channel,
    Commit,
    Lens,
    Link,
    Proposal,
    ProposedVerb,
    Scope,
    Source,
    SourceKind,
    Standing,
    Wanted,
)
from memory_mesh.model.commit import SIMILAR
from memory_mesh.ports import Ledger
from memory_mesh.testing.clock import FrozenClock
from memory_mesh.testing.ledger_values import EmptyLedger, put

FIRST, SECOND, THIRD = "mem_1_000001", "mem_1_000002", "mem_1_000003"


class RelationsContract(EmptyLedger):
    """The suite of what stands beside memories."""

    def test_links_are_added_once_and_removed(self, ledger: Ledger) -> None:
        """A link is read from both ends, however often it was written."""
        put(ledger, FIRST, "tea is hot")
        put(ledger, SECOND, "milk is cold")
        link = Link(FIRST, SECOND, "related")
        for _ in range(2):
            self.write(ledger, Commit(links=(link,)))
        for id_ in (FIRST, SECOND):
            with ledger.read("default") as snapshot:
                assert snapshot.links([id_]) == [link]
        self.write(ledger, Commit(unlinked=(link,)))
        with ledger.read("default") as snapshot:
            assert snapshot.links([FIRST, SECOND]) == []

    def test_links_are_read_as_a_lens_sees_them(self, ledger: Ledger, clock: FrozenClock) -> None:
        """What it does not see is left out before the answer is cut, at both ends."""
        put(ledger, FIRST, "tea is hot")
        put(ledger, SECOND, "milk is cold", scope=Scope(agent="planner"))
        put(ledger, THIRD, "water is wet")
        hidden = Link(FIRST, SECOND, SIMILAR, 0.9)
        seen = Link(THIRD, FIRST, SIMILAR, 0.6)
        made = Link(FIRST, THIRD, "related")
        self.write(ledger, Commit(links=(hidden, seen, made)))
        lens = Lens(clock.now())
        with ledger.read("default") as snapshot:
            assert snapshot.links([FIRST], lens) == [made, seen]
            assert snapshot.links([FIRST], lens, [SIMILAR], 1) == [seen]
            assert snapshot.links([SECOND], lens) == []
            assert snapshot.neighbours([FIRST], lens, most=1) == [made]
            assert snapshot.neighbours([FIRST], lens, most=2) == [made, seen]
            assert snapshot.neighbours([FIRST], lens, most=1, types=[SIMILAR]) == [seen]
            assert snapshot.neighbours([FIRST, THIRD], lens, most=9) == []
            assert snapshot.neighbours([FIRST], lens, most=9, besides=[THIRD]) == []
            before = replace(lens, as_of=clock.now() - timedelta(days=1))
            assert snapshot.links([FIRST], before) == []

    def test_similar_links_are_found_anew(self, ledger: Ledger) -> None:
        """Those at both ends of a memory go, and the links that somebody made stay."""
        for id_ in (FIRST, SECOND, THIRD):
            put(ledger, id_, f"{id_} is here")
        made = Link(FIRST, SECOND, "related")
        old = (Link(FIRST, SECOND, SIMILAR, 0.9), Link(THIRD, FIRST, SIMILAR, 0.8))
        self.write(ledger, Commit(links=(*old, made)))
        new = Link(FIRST, THIRD, SIMILAR, 0.7)
        self.write(ledger, Commit(relinked=(FIRST,), links=(new,)))
        with ledger.read("default") as snapshot:
            found = snapshot.links([FIRST])
        assert found == [made, new]
        assert [link.similarity for link in found] == [None, 0.7]

    def test_a_proposal_keeps_every_field_and_its_decision(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """It waits until it is decided, and is listed with its memory ever after."""
        put(ledger, FIRST, "tea is hot")
        asked = Proposal(
            id="prop_1_000001",
            verb=ProposedVerb.UPDATE,
            memory=FIRST,
            change={"content": "tea is cold", "tags": ["a"]},
            reason="it cooled down",
            source=Source(SourceKind.DOCUMENT, Channel.FILE, "git", "tea.md"),
            created=clock.now(),
        )
        self.write(ledger, Commit(proposals=(asked,)))
        with ledger.read("default") as snapshot:
            assert snapshot.proposals(10, pending=True) == [asked]
            assert snapshot.proposals(10, pending=True, memory=SECOND) == []
            assert snapshot.standing(Wanted(proposals=(asked.id,))).proposals == {asked.id: asked}
            assert snapshot.standing(Wanted(ids=(FIRST,))).taken(asked.id)
        later = clock.now() + timedelta(seconds=1)
        decided = replace(asked, decided_at=later, approved=False, why="no")
        self.write(ledger, Commit(proposals=(decided,)))
        with ledger.read("default") as snapshot:
            assert snapshot.proposals(10, pending=True) == []
            assert snapshot.proposals(10, pending=False, memory=FIRST) == [decided]

    def test_small_values_are_set_listed_and_removed(self, ledger: Ledger) -> None:
        """A value is read inside the transaction that replaces it."""
        self.write(ledger, Commit(states={"job.a": "1", "job.b": "2", "jobs": "3"}))
        read: list[dict[str, str]] = []

        def decide(standing: Standing) -> Commit:
            read.append(dict(standing.states))
            return Commit(states={"job.a": None, "job.b": "4"})

        ledger.commit("default", Wanted(states=("job.a", "job.z")), decide)
        assert read == [{"job.a": "1"}]
        with ledger.read("default") as snapshot:
            assert snapshot.states("job.") == {"job.b": "4"}
            assert snapshot.states("") == {"job.b": "4", "jobs": "3"}

    @staticmethod
    def write(ledger: Ledger, commit: Commit) -> None:
        """Write one commit as it is."""
        ledger.commit("default", Wanted(), lambda _: commit)
