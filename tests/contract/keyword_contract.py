"""What every Ledger promises a keyword search: counts, scores, visibility, stored words.

The plan of a search (search/keyword_plan.py) is made of these answers alone.
"""

import pytest

from memory_mesh.model import Lens, Scope, Status
from memory_mesh.model.ports import Ledger
from memory_mesh.model.query import AllOf, AnyOf, Expression, Name
from memory_mesh.search.ranking.words import inverse_frequency
from memory_mesh.testing.doubles import FrozenClock
from tests.contract.ledger_values import EmptyLedger, change, put

TEA, CAKE, PIE = (Name((word,)) for word in ("tea", "cake", "pie"))
K1, B = 1.2, 0.75  # of BM25


class KeywordContract(EmptyLedger):
    """The suite of `keyword_ports.Keywords`."""

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            (TEA, ["tea one", "tea cake", "cake and pie and tea"]),
            (Name(("t",)), []),
            (Name(('te"a',)), []),
            (Name(("tea", "cake")), ["tea cake", "cake and pie and tea"]),
            (Name(("far", "away")), ["far x x x x away"]),
            (AnyOf((PIE, Name(("one",)))), ["tea one", "cake and pie and tea"]),
            (AllOf((TEA, CAKE)), ["tea cake", "cake and pie and tea"]),
            (AllOf((AnyOf((PIE, Name(("one",)))), CAKE)), ["cake and pie and tea"]),
            (AnyOf((AllOf((TEA, PIE)), AllOf((CAKE, TEA)))), ["tea cake", "cake and pie and tea"]),
        ],
    )
    def test_an_expression_finds_the_texts_that_hold_it(
        self, ledger: Ledger, clock: FrozenClock, expression: Expression, expected: list[str]
    ) -> None:
        """Words, any of them, all of them, and several words close together in either order."""
        numbers = _stored(
            ledger,
            "tea one",
            "tea cake",
            "cake and pie and tea",
            "far x x x x away",
            "far x x x x x away",
        )
        with ledger.read("default") as snapshot:
            words = snapshot.keywords(Lens(clock.now()))
            held = list(words.holding(expression))
            (postings,) = words.postings([expression], exact=10, listed=10)
        assert held == [numbers[text] for text in expected][::-1]
        assert postings.count == len(expected)
        assert sorted(postings.texts or ()) == sorted(held)

    def test_counts_are_exact_up_to_a_bound(self, ledger: Ledger, clock: FrozenClock) -> None:
        """Above it an estimate that is never below it; texts are named where they are few."""
        numbers = _stored(ledger, *(f"tea {number}" for number in range(30)), "cake")
        with ledger.read("default") as snapshot:
            words = snapshot.keywords(Lens(clock.now()))
            assert words.texts() >= 31
            tea, cake, pie = words.postings([TEA, CAKE, PIE], exact=30, listed=1)
            assert (tea.count, tea.texts) == (30, None)
            assert (cake.count, cake.texts) == (1, (numbers["cake"],))
            assert (pie.count, pie.texts) == (0, ())
            (many,) = words.postings([TEA], exact=10, listed=1)
            assert 10 < many.count <= words.texts()
            assert words.postings([], exact=10, listed=1) == []

    def test_scores_are_bm25_with_the_one_idf(self, ledger: Ledger, clock: FrozenClock) -> None:
        """Best first; what is added is added; only the newest are scored."""
        texts = ["tea", "tea cake", "cake " * 3 + "tea", *(f"pie number {n}" for n in range(7))]
        numbers = _stored(ledger, *texts)
        mean = sum(len(text.split()) for text in texts) / len(texts)
        with ledger.read("default") as snapshot:
            words = snapshot.keywords(Lens(clock.now()))
            found = words.best(TEA, deepest=10, limit=10)
            assert [text for text, _ in found] == [numbers[text] for text in texts[:3]]
            for text, score in found:
                length = len(next(each for each in texts if numbers[each] == text).split())
                weight = (K1 + 1) / (1 + K1 * (1 - B + B * length / mean))
                assert score == pytest.approx(weight * inverse_frequency(3, 10))
            added = dict(words.best(TEA, [(CAKE, 2.5)], deepest=10, limit=10))
            for text, score in found:
                more = 2.5 if text != numbers["tea"] else 0.0
                assert added[text] == pytest.approx(score + more)
            assert len(words.best(TEA, deepest=10, limit=2)) == 2
            (newest,) = words.best(TEA, deepest=1, limit=10)
            assert newest[0] == numbers[texts[2]]

    def test_of_equal_scores_the_newest_comes_first(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """Also where only one is asked for."""
        numbers = _stored(ledger, "tea one", "tea two", "pie one", "pie two", "pie three")
        with ledger.read("default") as snapshot:
            words = snapshot.keywords(Lens(clock.now()))
            found = [text for text, _ in words.best(TEA, deepest=10, limit=10)]
            assert found == [numbers["tea two"], numbers["tea one"]]
            assert [text for text, _ in words.best(TEA, deepest=10, limit=1)] == found[:1]

    def test_only_the_lens_decides_what_is_seen(self, ledger: Ledger, clock: FrozenClock) -> None:
        """A word that others keep is counted and not seen, and its text has no version here."""
        put(ledger, "mem_1_000001", "tea", scope=Scope("p"))
        put(ledger, "mem_1_000002", "cake", scope=Scope("q"))
        with ledger.read("default") as snapshot:
            words = snapshot.keywords(Lens(clock.now(), Scope("p")))
            counted = words.postings([TEA, CAKE, PIE], exact=10, listed=10)
            assert [postings.count for postings in counted] == [1, 1, 0]
            assert words.seen([TEA, CAKE, PIE, AnyOf((CAKE, TEA))]) == [True, False, False, True]
            (tea,), (cake,) = counted[0].texts or (), counted[1].texts or ()
            ((text, version),) = words.versions([tea, cake])
            assert text == tea
            assert snapshot.load([version])[version].text == "tea"
            assert not words.versions([])
            assert not words.seen([])

    def test_texts_out_of_use_answer_where_the_lens_asks_for_them(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """Not for the present; with their status, or as of before, in counts and scores too."""
        memory = put(ledger, "mem_1_000001", "tea")
        put(ledger, "mem_1_000002", "tea cake")
        change(ledger, memory, status=Status.DELETED)
        everything = Lens(clock.now(), statuses=frozenset(Status))
        then = Lens(clock.now(), as_of=memory.recorded_from)
        for lens, count, visible in (
            (Lens(clock.now()), 1, 1),
            (everything, 2, 2),
            (then, 2, 1),
        ):
            with ledger.read("default") as snapshot:
                words = snapshot.keywords(lens)
                (postings,) = words.postings([TEA], exact=10, listed=10)
                assert postings.count == len(postings.texts or ()) == count
                assert len(words.best(TEA, deepest=10, limit=10)) == count
                assert len(list(words.holding(TEA))) == count
                assert len(words.versions(postings.texts or ())) == visible

    def test_stored_words_are_listed_by_their_beginning(
        self, ledger: Ledger, clock: FrozenClock
    ) -> None:
        """In the order of the alphabet, each once; and words are known or not."""
        put(ledger, "mem_1_000001", "teapot tea team")
        put(ledger, "mem_1_000002", "tea cake")
        with ledger.read("default") as snapshot:
            words = snapshot.keywords(Lens(clock.now()))
            assert words.beginning("tea") == ["tea", "team", "teapot"]
            assert words.beginning("x") == []
            assert words.stored(["cake", "te", "teapot", "x"]) == ["cake", "teapot"]
            words.none_held()

    def test_an_empty_namespace_holds_no_word(self, ledger: Ledger, clock: FrozenClock) -> None:
        """Every question has an answer there, too."""
        with ledger.read("default") as snapshot:
            words = snapshot.keywords(Lens(clock.now()))
            assert words.texts() == 0
            assert [each.count for each in words.postings([TEA], exact=10, listed=10)] == [0]
            assert words.seen([TEA]) == [False]
            assert not words.best(TEA, deepest=10, limit=10)
            assert not list(words.holding(TEA))
            assert words.beginning("tea") == words.stored(["tea"]) == []
            words.none_held()


def _stored(ledger: Ledger, *texts: str) -> dict[str, int]:
    """Stores texts in order; returns the number of each."""
    for number, text in enumerate(texts):
        put(ledger, f"mem_1_{number:06x}", text)
    with ledger.read("default") as snapshot:
        return {
            said: each.number for each in snapshot.indexed("text", None, 100) for said in each.said
        }
