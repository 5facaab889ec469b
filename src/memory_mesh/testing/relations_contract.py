"""What every Ledger promises of links, proposals and small values, as tests."""

from dataclasses import replace
from datetime import timedelta

from memory_mesh.model import (
    Channel,
    Commit,
    Link,
    Proposal,
    ProposedVerb,
    Source,
    SourceKind,
    Standing,
    Wanted,
)
from memory_mesh.ports import Ledger
from memory_mesh.testing.clock import FrozenClock
from memory_mesh.testing.ledger_contract import EmptyLedger, put

FIRST, SECOND = "mem_1_000001", "mem_1_000002"


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
