"""What every Ledger promises a search beyond its two legs: places, speakers, literal words."""

from datetime import timedelta

import pytest

from memory_mesh.model import (
    Body,
    Channel,
    Commit,
    Lens,
    Placed,
    Question,
    Scope,
    Source,
    SourceKind,
    Status,
    Terms,
    Wanted,
)
from memory_mesh.model.ports import Ledger
from memory_mesh.model.trigger import Triggered
from memory_mesh.search import keyword_plan
from memory_mesh.testing.doubles import FrozenClock
from tests.contract.ledger_values import SPACE, EmptyLedger, axis, change, found, near, put

FIRST, SECOND, THIRD = "mem_1_000001", "mem_1_000002", "mem_1_000003"

HERE = Scope(session="s")


class SearchContract(EmptyLedger):
    """The suite of searching."""

    def test_terms_written_anew_take_the_place_of_the_old(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """In use or not, a text is found by its new terms only, and nothing else changes."""
        put(ledger, "mem_1_000001", "tea is hot", tags=("drinks",))
        change(ledger, put(ledger, "mem_1_000002", "tea is cold"), status=Status.DELETED)
        with ledger.read("default") as snapshot:
            last, first = snapshot.indexed("text", None, 10)
            assert snapshot.indexed("text", first.number, 10) == [first]
            assert (first.said, first.tags, first.terms) == (
                ("tea is hot",), ("drinks",), ("tea is hot",),
            )  # fmt: skip
        anew = Terms("text", 1, last.number, {first.number: ("chai",), last.number: ("chai ice",)})
        ledger.commit("default", Wanted(), lambda _: Commit(terms=anew))
        lens = Lens(clock.now())
        everything = Lens(clock.now(), statuses=frozenset(Status))
        assert found(ledger, "chai", lens) == ["tea is hot"]
        assert sorted(found(ledger, "chai", everything)) == ["tea is cold", "tea is hot"]
        assert not found(ledger, "tea hot cold", everything)
        assert ledger.verify("default").ok

    def test_a_version_is_numbered_as_the_lens_sees_it(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """The number is the one that a search finds; what the lens does not see has none."""
        put(ledger, "mem_1_000001", "tea is hot")
        put(ledger, "mem_1_000002", "tea is cold", scope=HERE)
        lens = Lens(clock.now())
        asked = ["mem_1_000001", "mem_1_000002", "mem_1_000003"]
        with ledger.read("default") as snapshot:
            numbered = snapshot.numbers(asked, lens)
            (match,) = keyword_plan.match(snapshot, ["tea"], lens, 10).found
            assert numbered == {"mem_1_000001": match.version}
            assert set(snapshot.numbers(asked, Lens(clock.now(), HERE))) == set(asked[:2])

    def test_a_version_comes_with_its_place(self, ledger: Ledger, clock: FrozenClock) -> None:
        """Words, people and time, and who stands before and after it."""
        moment = clock.now()
        put(ledger, "mem_1_000001", "is tea hot?", scope=HERE, order=1, speaker="Bob")
        put(
            ledger, "mem_1_000002", "tea is hot", scope=HERE, order=5, speaker="Ann", role="user",
            occurred_at=moment,
        )  # fmt: skip
        put(ledger, "mem_1_000003", "thanks", scope=HERE, order=9)
        placed = around(ledger, "tea is hot", Lens(moment, HERE))
        assert list(placed) == ["is tea hot?", "tea is hot", "thanks"]
        before, own, after = placed.values()
        assert own == Placed(
            own.version, "tea is hot", "s", "Ann", "user", moment.timestamp(), 1.0,
            before.version, after.version, authority=own.authority,
        )  # fmt: skip
        assert (before.before, before.after) == (None, own.version)
        assert (after.before, after.after) == (own.version, None)

    def test_a_place_knows_whose_words_it_holds(self, ledger: Ledger, clock: FrozenClock) -> None:
        """The user's stand first; a page that the user handed in is a page."""
        user = Source(SourceKind.USER_IMPLICIT, Channel.LIBRARY, stated=False)
        page = Source(SourceKind.DOCUMENT, Channel.LIBRARY, stated=False)
        agent = Source(SourceKind.INFERENCE, Channel.MCP, stated=False)
        for order, source in enumerate((user, page, agent)):
            put(
                ledger,
                f"mem_1_00000{order}",
                f"tea {order}",
                scope=HERE,
                order=order,
                source=source,
            )
        placed = around(ledger, "tea 1", Lens(clock.now(), HERE))
        kinds = tuple(SourceKind)
        assert [kinds[row.authority] for row in placed.values()] == [
            SourceKind.USER_EXPLICIT,
            SourceKind.DOCUMENT,
            SourceKind.INFERENCE,
        ]

    def test_a_place_knows_how_near_it_is(self, ledger: Ledger, clock: FrozenClock) -> None:
        """Neighbours too; what has no vector is not near and not far."""
        put(ledger, "mem_1_000001", "one", scope=HERE, order=1, vectors=(axis(0), axis(1)))
        put(ledger, "mem_1_000002", "two", scope=HERE, order=2, vectors=(axis(2),))
        put(ledger, "mem_1_000003", "three", scope=HERE, order=3)
        lens = Lens(clock.now(), HERE)
        near = around(ledger, "two", lens, Question(SPACE, axis(1), 0))
        assert [row.cosine for row in near.values()] == [1.0, 0.0, None]
        assert {row.cosine for row in around(ledger, "two", lens).values()} == {None}

    @pytest.mark.parametrize("status", [status for status in Status if status is not Status.ACTIVE])
    def test_a_hidden_row_is_nobodys_neighbour(
        self, ledger: Ledger, clock: FrozenClock, status: Status
    ) -> None:
        """The next one that is seen takes its place, and as of then it is back."""
        put(ledger, "mem_1_000001", "one", scope=HERE, order=1)
        memory = put(ledger, "mem_1_000002", "two", scope=HERE, order=2)
        last = put(ledger, "mem_1_000003", "three", scope=HERE, order=3)
        lens = Lens(clock.now(), HERE)
        change(ledger, memory, status=status)
        assert list(around(ledger, "three", lens)) == ["one", "three"]
        then = Lens(clock.now(), HERE, as_of=last.recorded_from)
        assert list(around(ledger, "three", then)) == ["two", "three"]

    @pytest.mark.parametrize("other", [Scope("p", None, "s"), Scope(None, "a", "s"), Scope()])
    def test_neighbours_are_of_one_audience(
        self, ledger: Ledger, clock: FrozenClock, other: Scope
    ) -> None:
        """A session of the same name elsewhere is another one, even for who sees both."""
        put(ledger, "mem_1_000001", "one", scope=HERE, order=1)
        put(ledger, "mem_1_000002", "two", scope=other, order=2)
        put(ledger, "mem_1_000003", "three", scope=HERE, order=3)
        lens = Lens(clock.now(), across=frozenset({"project", "agent", "session"}))
        assert list(around(ledger, "three", lens)) == ["one", "three"]
        assert list(around(ledger, "two", lens)) == ["two"]

    def test_of_two_in_one_place_the_newer_is_the_neighbour(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """On either side; and those of one place are not beside each other."""
        for number, (text, order) in enumerate(
            [("old left", 1), ("new left", 1), ("own", 2), ("old right", 3), ("new right", 3)]
        ):
            put(ledger, f"mem_1_{number:06x}", text, scope=HERE, order=order)
        placed = around(ledger, "own", Lens(clock.now(), HERE))
        assert list(placed) == ["new left", "own", "new right"]

    def test_nothing_asked_is_nothing_placed(self, ledger: Ledger, clock: FrozenClock) -> None:
        """No version, no row; and a version that the lens does not see has none."""
        memory = put(ledger, "mem_1_000001", "one")
        with ledger.read("default") as snapshot:
            (match,) = keyword_plan.match(snapshot, ["one"], Lens(clock.now()), 1).found
            assert snapshot.around([], Lens(clock.now()), None) == {}
        change(ledger, memory, status=Status.DELETED)
        with ledger.read("default") as snapshot:
            assert snapshot.around([match.version], Lens(clock.now()), None) == {}

    @pytest.mark.parametrize(
        ("word", "known"),
        [("Ann", True), ("aNN", True), ("Lee", False), ("An", False), ("Anne", False),
         ("Bob", True), ("Ann%", False), ("", False)],
    )  # fmt: skip
    def test_a_speaker_goes_by_the_name_or_its_first_word(
        self, ledger: Ledger, clock: FrozenClock, word: str, *, known: bool
    ) -> None:
        """Capital letters make no difference, and signs of a pattern are no pattern."""
        put(ledger, "mem_1_000001", "one", speaker="Ann Lee")
        put(ledger, "mem_1_000002", "two", speaker="bob")
        put(ledger, "mem_1_000003", "three")
        with ledger.read("default") as snapshot:
            assert snapshot.speakers([word, "Zoe"], Lens(clock.now())) == (
                {word} if known else set()
            )

    def test_only_who_is_heard_is_a_speaker(self, ledger: Ledger, clock: FrozenClock) -> None:
        """Audience, status and time decide, and namesakes whom nobody hears hide no one."""
        for number in range(80):
            put(ledger, f"mem_1_{number:06x}", f"q {number}", speaker="Ann", scope=Scope("q"))
        lens, seen = Lens(clock.now(), Scope("p")), Lens(clock.now(), Scope("q"))
        with ledger.read("default") as snapshot:
            assert snapshot.speakers(["Ann"], lens) == frozenset()
            assert snapshot.speakers(["Ann"], seen) == {"Ann"}
        memory = put(ledger, "mem_2_000001", "p", speaker="Ann", scope=Scope("p"))
        with ledger.read("default") as snapshot:
            assert snapshot.speakers(["Ann"], lens) == {"Ann"}
        change(ledger, memory, status=Status.DELETED)
        with ledger.read("default") as snapshot:
            assert snapshot.speakers(["Ann"], lens) == frozenset()
            then = Lens(clock.now(), Scope("p"), as_of=memory.recorded_from)
            assert snapshot.speakers(["Ann"], then) == {"Ann"}

    def test_literal_words_mean_themselves(self, ledger: Ledger, clock: FrozenClock) -> None:
        """Else other names and what a misspelt word may be are looked for, and told."""
        put(ledger, "mem_1_000001", "kubernet typescript")
        lens = Lens(clock.now())
        for words, other in (["k8s"], "kubernet"), (["typsecript"], "typescript"):
            with ledger.read("default") as snapshot:
                literal = keyword_plan.match(snapshot, words, lens, 10, literal=True)
                assert (literal.found, dict(literal.read_as)) == ((), {})
                read = keyword_plan.match(snapshot, words, lens, 10)
                assert len(read.found) == 1
                assert other in read.read_as[words[0]]
        assert found(ledger, "kubernet", lens) == ["kubernet typescript"]


def around(
    ledger: Ledger, text: str, lens: Lens, question: Question | None = None
) -> dict[str, Placed]:
    """A text and its neighbours by their texts, in the order of their places."""
    with ledger.read("default") as snapshot:
        matches = keyword_plan.match(snapshot, text.split(), lens, 10, literal=True).found
        loaded = snapshot.load([match.version for match in matches])
        (version,) = (number for number, memory in loaded.items() if memory.text == text)
        placed = snapshot.around([version], lens, question)
        memories = snapshot.load(list(placed))
    rows = sorted(placed.values(), key=lambda row: memories[row.version].order or 0)
    return {memories[row.version].text: row for row in rows}


# What a Ledger promises whose vectors an index of its own may absorb, as tests.


class BodyContract(EmptyLedger):
    """The suite of a ledger beside an index; one that searches vectors itself needs none."""

    def test_the_body_answers_for_what_it_absorbed(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """Below its highest number the body is asked, above it the scan is exact."""
        for number in range(4):
            put(ledger, f"mem_1_{number:06x}", f"tea {number}", vectors=(axis(number),))
        numbers = [row[0] for block in ledger.vectors("default", SPACE, 0) for row in block]
        assert len(numbers) == 4
        ledger.absorbed("default", SPACE, None, Body(7, numbers[1], 2))
        ledger.absorbed("default", SPACE, None, Body(8, numbers[3], 4))  # too late
        asked: list[tuple[Body, int]] = []

        def body(which: Body, limit: int, _: object) -> list[tuple[int, float]]:
            asked.append((which, limit))
            return [(numbers[0], 0.5)][:limit]

        found = near(ledger, axis(3), Lens(clock.now()), body=body)
        assert found == [("tea 3", 1.0), ("tea 0", 0.5), ("tea 2", 0.0)]
        assert asked[0][0] == Body(7, numbers[1], 2)
        gone = near(ledger, axis(0), Lens(clock.now()), body=lambda _body, _limit, _among: None)
        assert gone[0] == ("tea 0", 1.0)
        assert len(gone) == 4


# What every Ledger promises of memories that have triggers, as tests.


class CallingContract(EmptyLedger):
    """The suite of triggers."""

    def test_memories_with_triggers_are_read_newest_first(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """Those without triggers, and those the lens does not see, are left out."""
        put(ledger, FIRST, "tea is hot", triggers=("tea|kettle",), importance=0.8)
        put(ledger, SECOND, "milk is cold")
        put(ledger, THIRD, "for others", triggers=("tea",), scope=Scope(project="other"))
        put(ledger, "mem_1_000004", "cups are blue", triggers=("cup",))
        with ledger.read("default") as snapshot:
            newest, oldest = snapshot.triggered(Lens(clock.now()), 10)
            assert newest.triggers == ("cup",)
            assert (oldest.triggers, oldest.importance) == (("tea|kettle",), 0.8)
            (cut,) = snapshot.triggered(Lens(clock.now()), 1)
            assert cut == newest
            also = snapshot.triggered(Lens(clock.now()), 1, [oldest.version, newest.version])
            assert also == [newest, Triggered(oldest.version, oldest.triggers, 0.8)]
            seen = snapshot.triggered(Lens(clock.now(), across=frozenset({"project"})), 10)
            assert len(seen) == 3

    def test_the_past_has_its_own_triggers(self, ledger: Ledger, clock: FrozenClock) -> None:
        """A read of the past sees what was recorded then."""
        then = clock.now()
        put(ledger, FIRST, "tea is hot", triggers=("tea",))
        clock.advance(timedelta(days=1))
        with ledger.read("default") as snapshot:
            lens = Lens(clock.now(), as_of=then - timedelta(days=1))
            assert snapshot.triggered(lens, 10) == []
            assert snapshot.triggered(Lens(clock.now(), as_of=clock.now()), 10)

    def test_a_description_has_everything_but_the_text(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """A stated title goes before the beginning of the text."""
        put(ledger, FIRST, "# Tea\n" + "hot " * 500, triggers=("tea",), tags=("kitchen",))
        put(ledger, SECOND, "cups", triggers=("cup",), extra={"title": "Blue cups"})
        with ledger.read("default") as snapshot:
            versions = [each.version for each in snapshot.triggered(Lens(clock.now()), 10)]
            second, first = sorted(snapshot.described(versions), key=lambda each: -each.version)
        assert (second.id, second.title) == (SECOND, "Blue cups")
        assert (first.id, first.tags, first.usefulness) == (FIRST, ("kitchen",), 1.0)
        assert first.title.startswith("# Tea\n")
        assert len(first.title) < 500
