"""What every Ledger promises, as tests: inherit, provide `open_ledger`, and run with pytest."""

from dataclasses import replace
from datetime import timedelta

import pytest

from memory_mesh.model import (
    Channel,
    Commit,
    Cursor,
    Lens,
    Link,
    Memory,
    Observation,
    Outcome,
    Pending,
    Proposal,
    ProposedVerb,
    Scope,
    Seen,
    Source,
    SourceKind,
    Standing,
    Status,
    TextVectors,
    Wanted,
)
from memory_mesh.model.commit import SIMILAR
from memory_mesh.model.errors import NotFound
from memory_mesh.model.job import ATTEMPTS
from memory_mesh.model.ports import Ledger
from memory_mesh.rules import audit
from memory_mesh.rules.arguments import shown_namespace, user_namespace
from memory_mesh.search import keyword_plan
from memory_mesh.testing.doubles import FrozenClock
from tests.contract.ledger_values import (
    SPACE,
    EmptyLedger,
    axis,
    change,
    entry,
    found,
    look,
    made,
    near,
    put,
    put_many,
    recall_entry,
    stored,
    word,
)

FIRST, SECOND, THIRD = "mem_1_000001", "mem_1_000002", "mem_1_000003"

_SECOND = timedelta(seconds=1)


class LedgerContract(EmptyLedger):
    """The suite of writing, reading and the audit chain."""

    def test_what_is_committed_is_read_back_whole(self, ledger: Ledger, clock: FrozenClock) -> None:
        """Every field survives, in this ledger and in a second one on the same store."""
        memory = put(ledger, "mem_1_000001", "tea is hot", tags=("a", "b"), extra={"k": [1, None]})
        for reader in (ledger, self.open_ledger(clock)):
            with reader.read("default") as snapshot:
                assert snapshot.get([memory.id], Lens(clock.now())) == [memory]

    def test_a_namespace_is_a_wall(self, ledger: Ledger, clock: FrozenClock) -> None:
        """Nothing written in one is seen in another."""
        put(ledger, "mem_1_000001", "tea is hot")
        with ledger.read("other") as snapshot:
            assert snapshot.head().seq == 0
            assert not keyword_plan.match(snapshot, ["tea"], Lens(clock.now()), 10).found
        assert ledger.stats("other").memories == 0
        assert list(ledger.namespaces()) == ["default"]

    def test_pages_hold_every_user_once(self, ledger: Ledger) -> None:
        """Whatever signs are in the name of the user at a page's end."""
        for user in ("ann@example.org", "Bob", "a/b", "zoe", "😀"):
            memory = made("mem_1_000001", user)

            def decide(standing: Standing, memory: Memory = memory) -> Commit:
                return stored(standing, memory, memory.content, None)

            ledger.commit(user_namespace(user), Wanted(), decide)
        paged = list[str]()
        for _ in range(5):
            last = shown_namespace(paged[-1]) if paged else "user."
            paged += ledger.namespaces(last, 1)
        assert paged == list(ledger.namespaces())

    def test_an_exception_in_decide_leaves_nothing(self, ledger: Ledger) -> None:
        """A write is all or nothing."""
        put(ledger, "mem_1_000001", "tea is hot")

        def decide(_: Standing) -> Commit:
            raise NotFound

        with pytest.raises(NotFound):
            ledger.commit("default", Wanted(), decide)
        with ledger.read("default") as snapshot:
            assert snapshot.head().seq == 1
        assert ledger.stats("default").memories == 1

    def test_decide_sees_twins_keys_and_memories(self, ledger: Ledger) -> None:
        """What bears on a write is read inside its transaction."""
        text, scope = "tea is hot", Scope(project="p")
        memory = put(ledger, "mem_1_000001", text, scope=scope, key="once")
        hashed = word(text).hash
        wanted = Wanted(
            twins=((hashed, scope), (hashed, Scope())), keys=("once", "never"), ids=(memory.id,)
        )
        seen = look(ledger, wanted)
        assert seen.twins == {(hashed, scope): (memory,)}
        assert seen.keys == {"once": Seen(hashed, Outcome.STORED, memory)}
        assert seen.memories == {memory.id: memory}
        assert seen.history(memory.id) == [memory]
        assert seen.taken(memory.id)
        assert not seen.taken("mem_1_ffffff")

    def test_memories_are_found_by_the_beginning_of_a_key(self, ledger: Ledger) -> None:
        """With all their keys, oldest first; a neighbour in the order of keys is not among them."""
        first = put(ledger, "mem_1_000001", "tea is hot", key="a:b:1")
        for number, key in enumerate(("a", "a:c:1", "a:b;", "b:b:1", None)):
            put(ledger, f"mem_2_{number:06x}", f"text {number}", key=key)
        last = put(ledger, "mem_3_000001", "tea is cold", key="a:b:2\u4e00")

        def again(standing: Standing) -> Commit:
            seen = Observation(first.id, word(first.text).hash, Outcome.MERGED, "contract", "z:1")
            return Commit(observations=(seen,), entries=(entry(standing, first.id, None),))

        ledger.commit("default", Wanted(), again)
        change(ledger, first, status=Status.SUPERSEDED, successor=last.id)
        with ledger.read("default") as snapshot:
            assert snapshot.keyed("a:b:") == [
                ("a:b:1", first.id, Status.SUPERSEDED),
                ("a:b:2\u4e00", last.id, Status.ACTIVE),
                ("z:1", first.id, Status.SUPERSEDED),
            ]
            assert snapshot.keyed("c") == []
        with ledger.read("other") as snapshot:
            assert snapshot.keyed("a") == []

    def test_seq_moves_by_one_with_each_change(self, ledger: Ledger) -> None:
        """The one counter counts commits, not rows, and an empty commit is none."""
        put(ledger, "mem_1_000001", "one")
        ledger.commit("default", Wanted(), lambda _: Commit())
        put(ledger, "mem_1_000002", "two")
        with ledger.read("default") as snapshot:
            assert snapshot.head().seq == 2

    def test_recorded_time_only_moves_forward(self, ledger: Ledger, clock: FrozenClock) -> None:
        """A clock that goes back does not reorder what was learned."""
        first = put(ledger, "mem_1_000001", "one")
        clock.advance(-_SECOND)
        second = put(ledger, "mem_1_000002", "two")
        assert second.recorded_from > first.recorded_from

    def test_one_jump_fixes_no_later_time(self, ledger: Ledger, clock: FrozenClock) -> None:
        """Only what was written meanwhile has that time, and its versions follow each other."""
        now, later = clock.now(), clock.advance(3650 * 86_400 * _SECOND)
        ahead = put(ledger, "mem_1_000001", "one")
        clock.set(now)
        change(ledger, ahead, text="two")
        assert put(ledger, "mem_1_000002", "three").recorded_from - now < _SECOND
        assert look(ledger, Wanted(ids=(ahead.id,))).memories[ahead.id].recorded_from > later
        assert not ledger.verify("default").findings

    def test_a_changed_text_is_found_by_its_new_words_only(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """Keyword search follows the present, and the past is still there as of then."""
        memory = put(ledger, "mem_1_000001", "tea is hot")
        before = clock.now()
        clock.advance(_SECOND)
        change(ledger, memory, text="tea is cold")
        assert found(ledger, "hot", Lens(clock.now())) == []
        assert found(ledger, "cold", Lens(clock.now())) == ["tea is cold"]
        assert found(ledger, "hot", Lens(clock.now(), as_of=before)) == ["tea is hot"]
        assert found(ledger, "cold", Lens(clock.now(), as_of=before)) == []

    @pytest.mark.parametrize("status", [status for status in Status if status is not Status.ACTIVE])
    def test_only_active_memories_answer_by_default(
        self, ledger: Ledger, clock: FrozenClock, status: Status
    ) -> None:
        """The others answer when asked for, and what was live then is shown as of then."""
        memory = put(ledger, "mem_1_000001", "tea is hot")
        before = clock.now()
        clock.advance(_SECOND)
        change(ledger, memory, status=status)
        now = clock.now()
        assert found(ledger, "tea", Lens(now)) == []
        assert found(ledger, "tea", Lens(now, statuses=frozenset({status}))) == ["tea is hot"]
        assert found(ledger, "tea", Lens(now, as_of=before)) == ["tea is hot"]
        with ledger.read("default") as snapshot:
            (past,) = snapshot.get([memory.id], Lens(now, as_of=before))
        assert past.status_today is status

    @pytest.mark.parametrize(
        ("audience", "reader", "seen"),
        [
            (Scope(), Scope(), True),
            (Scope(), Scope("p", "a", "s"), True),
            (Scope(project="p"), Scope("p", "a", "s"), True),
            (Scope(project="p"), Scope("q", "a", "s"), False),
            (Scope(project="p"), Scope(), False),
            (Scope(agent="a"), Scope("p", "a"), True),
            (Scope(agent="a"), Scope("p", "b"), False),
            (Scope(session="s"), Scope(session="s"), True),
            (Scope(session="s"), Scope(session="t"), False),
            (Scope("p", "a", "s"), Scope("p", "a", "t"), False),
        ],
    )
    def test_scope_holds_on_every_read(
        self, ledger: Ledger, clock: FrozenClock, audience: Scope, reader: Scope, *, seen: bool
    ) -> None:
        """Each part of the audience is empty or equal to the reader's."""
        memory = put(ledger, "mem_1_000001", "tea is hot", scope=audience)
        lens = Lens(clock.now(), scope=reader)
        with ledger.read("default") as snapshot:
            assert bool(snapshot.get([memory.id], lens)) is seen
            assert bool(snapshot.page(lens, 10, None)) is seen
        assert bool(found(ledger, "tea", lens)) is seen
        across = replace(lens, across=frozenset({"project", "agent", "session"}))
        assert found(ledger, "tea", across) == ["tea is hot"]

    def test_validity_decides_what_is_read_now_and_then(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """From inclusive, until exclusive; `next_bound` names the next change."""
        start, end = clock.now() + _SECOND, clock.now() + 2 * _SECOND
        put(ledger, "mem_1_000001", "tea is hot", valid_from=start, valid_until=end)
        seen = {}
        for moment in (clock.now(), start, end):
            seen[moment] = found(ledger, "tea", Lens(moment))
        assert seen == {clock.now(): [], start: ["tea is hot"], end: []}
        with ledger.read("default") as snapshot:
            assert snapshot.next_bound(Lens(clock.now())) == start
            assert snapshot.next_bound(Lens(start)) == end
            assert snapshot.next_bound(Lens(end)) is None

    def test_rarer_words_rank_higher(self, ledger: Ledger, clock: FrozenClock) -> None:
        """BM25: a rare word outweighs a common one."""
        for number in range(20):
            put(ledger, f"mem_1_{number:06x}", f"tea {number}")
        put(ledger, "mem_1_0000ff", "coffee")
        assert found(ledger, "tea coffee", Lens(clock.now()))[0] == "coffee"

    def test_pages_cover_everything_once(self, ledger: Ledger, clock: FrozenClock) -> None:
        """Newest first, no overlap, no gap, and an end."""
        ids = [put(ledger, f"mem_1_{number:06x}", f"tea {number}").id for number in range(7)]
        lens, cursor, listed = Lens(clock.now()), None, []
        while True:
            with ledger.read("default") as snapshot:
                page = snapshot.page(lens, 3, cursor)
            listed += [memory.id for memory in page]
            cursor = page.cursor
            if cursor is None:
                break
        assert listed == ids[::-1]

    def test_the_chain_links_every_block_and_verifies(self, ledger: Ledger) -> None:
        """Positions without gap, each block after the one before, the first after the namespace."""
        put(ledger, "mem_1_000001", "one")
        put(ledger, "mem_1_000002", "two")
        first, second = ledger.blocks("default", 0, 10)
        assert first.prev_hash == audit.genesis("default")
        assert second.prev_hash == first.hash
        assert [first.position, second.position] == [1, 2]
        verification = ledger.verify("default")
        assert verification.ok, verification.findings
        assert verification.checked["chained blocks"] == 2

    def test_blocks_are_handed_out_in_whole_commits(self, ledger: Ledger) -> None:
        """A limit never cuts a commit in two."""
        put_many(ledger, ["one", "two", "three"])
        put(ledger, "mem_2_000001", "four")
        assert len(ledger.blocks("default", 0, 1)) == 3
        assert len(ledger.blocks("default", 0, 4)) == 4
        assert len(ledger.blocks("default", 1, 1)) == 1
        assert ledger.blocks("default", 2, 1) == []

    def test_a_sample_stands_for_all_by_its_share(self, ledger: Ledger, clock: FrozenClock) -> None:
        """Of no more than the sample all are counted; without counting the chain is still known."""
        put_many(ledger, [f"shelf {number} holds a box" for number in range(40)])
        lens = Lens(clock.now())
        with ledger.read("default") as snapshot:
            assert snapshot.counts(lens, "kind", 40) == {"fact": 40}
            assert snapshot.counts(lens, "kind", 8) == {"fact": 40}
            assert sum(snapshot.counts(lens, "day", 8).values()) == 40
        told = ledger.stats("default", counted=False)
        assert (told.blocks, told.seq, told.memories) == (40, 1, 0)

    def test_what_waits_is_listed_newest_first(self, ledger: Ledger, clock: FrozenClock) -> None:
        """Whatever else there is."""
        for number in range(6):
            waits = Status.QUARANTINED if number % 2 else Status.ACTIVE
            put(ledger, f"mem_1_00000{number}", f"shelf {number}", status=waits, status_today=waits)
        with ledger.read("default") as snapshot:
            lens = Lens(clock.now(), statuses=frozenset({Status.QUARANTINED}))
            first = snapshot.page(lens, 2, None)
            rest = snapshot.page(lens, 2, first.cursor)
        assert [each.text for each in (*first, *rest)] == ["shelf 5", "shelf 3", "shelf 1"]

    def test_uses_and_votes_are_counted_in_place(self, ledger: Ledger, clock: FrozenClock) -> None:
        """Counters are no part of a version, and only votes move the seq."""
        memory = put(ledger, "mem_1_000001", "tea is hot")
        ledger.use("default", [memory.id], None)
        once = replace(memory, helpful=1)
        twice = replace(memory, helpful=1, harmful=1)
        ledger.commit("default", Wanted(), lambda _: Commit(counted=(once,)))
        ledger.commit("default", Wanted(), lambda _: Commit(counted=(twice,)))
        with ledger.read("default") as snapshot:
            (counted,) = snapshot.get([memory.id], Lens(clock.now()))
            assert (counted.uses, counted.helpful, counted.harmful) == (1, 1, 1)
            assert counted.last_used == clock.now()
            assert len(snapshot.history(memory.id)) == 1
            assert snapshot.head().seq == 3

    def test_recall_blocks_are_recorded_but_not_chained(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """They come with the next commit, and the chain does not know them."""
        put(ledger, "mem_1_000001", "one")
        ledger.note("default", recall_entry("yamo_recall_1_000001", clock))
        assert ledger.recalls("default", 10) == []
        put(ledger, "mem_1_000002", "two")
        (block,) = ledger.recalls("default", 10)
        assert block.entry == recall_entry("yamo_recall_1_000001", clock)
        assert (block.position, block.hash, block.prev_hash) == (None, None, None)
        assert len(ledger.blocks("default", 0, 10)) == 2

    def test_sixty_four_recall_blocks_wait_no_longer(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """Nor does any at close."""
        put(ledger, "mem_1_000001", "one")
        for number in range(65):
            ledger.note("default", recall_entry(f"yamo_recall_1_{number:06x}", clock))
        assert len(ledger.recalls("default", 100)) == 64
        ledger.close()
        assert len(self.open_ledger(clock).recalls("default", 100)) == 65

    def test_a_sink_moves_on_after_the_last_attempt(self, ledger: Ledger) -> None:
        """Each failure counts; the last gives the commit up, and the cursor never goes back."""
        put(ledger, "mem_1_000001", "one")
        assert _place(ledger) == (0, 0)
        for attempt in range(1, ATTEMPTS):
            ledger.sink_moved("default", "s", 1, "refused")
            assert _place(ledger) == (0, attempt)
        ledger.sink_moved("default", "s", 1, "refused")
        assert _place(ledger) == (1, 0)
        ledger.sink_moved("default", "s", 3, None)
        ledger.sink_moved("default", "s", 2, None)
        assert _place(ledger) == (3, 0)

    def test_a_dead_letter_stays_until_it_arrives(self, ledger: Ledger) -> None:
        """It goes again only where somebody asks; another failure keeps it, the cursor stays."""
        assert ledger.revive("default", None) == 0
        put(ledger, "mem_1_000001", "one")
        for seq in (1, 2):
            for _ in range(ATTEMPTS):
                ledger.sink_moved("default", "s", seq, "refused")
        assert ledger.dead_letters("default") == [("s", 1, "refused"), ("s", 2, "refused")]
        assert ledger.revive("default", [3]) == 0
        assert ledger.revive("default", [2]) == 1
        assert ledger.dead_letters("default") == [("s", 1, "refused"), ("s", 2, "")]
        ledger.sink_moved("default", "s", 2, "away")
        assert ledger.dead_letters("default") == [("s", 1, "refused"), ("s", 2, "away")]
        assert ledger.revive("default", None) == 2
        ledger.sink_moved("default", "s", 2, None)
        assert ledger.dead_letters("default") == [("s", 1, "")]
        assert _place(ledger) == (2, 0)

    def test_what_is_deleted_today_is_forgotten(self, ledger: Ledger) -> None:
        """Whatever it was when it was written."""
        memory = put(ledger, "mem_1_000001", "tea")
        put(ledger, "mem_1_000002", "cake")
        change(ledger, memory, status=Status.DELETED)
        asked = ["mem_1_000001", "mem_1_000002", "mem_1_000003"]
        assert ledger.forgotten("default", asked) == {"mem_1_000001"}

    def test_a_vector_is_written_with_its_text(self, ledger: Ledger, clock: FrozenClock) -> None:
        """In the same transaction, and found by meaning at once; the best window counts."""
        put(ledger, "mem_1_000001", "tea", vectors=(axis(0), axis(1)))
        put(ledger, "mem_1_000002", "cake", vectors=(axis(2),))
        assert near(ledger, axis(1), Lens(clock.now())) == [("tea", 1.0), ("cake", 0.0)]
        assert [state.vectors for state in ledger.stats("default").spaces] == [3]

    def test_spaces_are_never_mixed(self, ledger: Ledger, clock: FrozenClock) -> None:
        """A question in one space does not see vectors of another."""
        put(ledger, "mem_1_000001", "tea", vectors=(axis(0),))
        other = replace(SPACE, model="other")
        assert near(ledger, axis(0), Lens(clock.now()), other) == []

    def test_scope_and_time_hold_for_meaning_too(self, ledger: Ledger, clock: FrozenClock) -> None:
        """A candidate is checked against its row before it is returned."""
        memory = put(ledger, "mem_1_000001", "tea", scope=Scope(session="s"), vectors=(axis(0),))
        before = clock.now()
        clock.advance(_SECOND)
        seen = Lens(clock.now(), scope=Scope(session="s"))
        assert near(ledger, axis(0), Lens(clock.now())) == []
        assert near(ledger, axis(0), seen) == [("tea", 1.0)]
        change(ledger, memory, status=Status.DELETED)
        assert near(ledger, axis(0), seen) == []
        assert near(ledger, axis(0), replace(seen, as_of=before)) == [("tea", 1.0)]

    def test_texts_wait_until_their_vector_comes(self, ledger: Ledger, clock: FrozenClock) -> None:
        """Pending is counted, handed out in order, and ends when the vectors are committed."""
        put(ledger, "mem_1_000001", "tea")
        put(ledger, "mem_1_000002", "cake", vectors=(axis(1),))
        put(ledger, "mem_1_000003", "pie")
        with ledger.read("default") as snapshot:
            waiting = snapshot.pending(SPACE, 10)
        assert [text for _, text in waiting.texts] == ["tea", "pie"]
        assert waiting.count == 2
        late = tuple(TextVectors(text, SPACE, (axis(0),)) for text, _ in waiting.texts)
        ledger.commit("default", Wanted(), lambda _: Commit(vectors=late))
        put(ledger, "mem_1_000004", "jam", vectors=(axis(2),))
        with ledger.read("default") as snapshot:
            assert snapshot.pending(SPACE, 10) == Pending(0)
        assert len(near(ledger, axis(0), Lens(clock.now()))) == 4
        assert ledger.verify("default").ok


def _place(ledger: Ledger) -> tuple[int, int]:
    cursor = ledger.sink_cursors("default").get("s", Cursor())
    return cursor.seq, cursor.attempts


# What every Ledger promises of links, proposals and small values, as tests.


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
