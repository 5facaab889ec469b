"""What every Index promises, as tests: inherit, provide `open_index`, and run with pytest."""

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import pytest

from memory_mesh.base.typed import TYPE_CHECKING, TypeAlias
from memory_mesh.model import Body
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.ports import Index

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]

Source: TypeAlias = Callable[[int], Iterable[Sequence[tuple[int, bytes, int]]]]
DIMENSION = 32
SPACE = "contract/model/1/32"


def clustered(count: int, dimension: int = DIMENSION, seed: int = 1) -> "Floats":
    """Vectors of length 1 around some centres, as texts on some topics have them."""
    import numpy as np

    chance = np.random.default_rng(seed)
    centres = chance.normal(size=(max(1, count // 50), dimension))
    near = centres[chance.integers(len(centres), size=count)]
    vectors = (near + 0.7 * chance.normal(size=near.shape)).astype("<f4")
    scaled: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


def source(vectors: "Floats", last: int | None = None, step: int = 1) -> Source:
    """A ledger's rows: vector i has number `step * (i + 1)`; only the first `last` are there."""
    count = len(vectors) if last is None else last

    def above(number: int) -> Iterable[Sequence[tuple[int, bytes, int]]]:
        rows = [(step * (i + 1), vectors[i].tobytes(), audience(i + 1)) for i in range(count)]
        rows = [row for row in rows if row[0] > number]
        for start in range(0, len(rows), 300):
            yield rows[start : start + 300]

    return above


def audience(number: int) -> int:
    """Whose a row is: of a thousand rows 3 are of audience 1, 10 of 2, 100 of 3, 500 of 4."""
    place = number % 1_000
    for which, last in enumerate((3, 13, 113, 613), start=1):
        if place < last:
            return which
    return 1_000 + number


def exact(vectors: "Floats", question: "Floats", count: int) -> list[int]:
    """The numbers of the nearest by exact scan: the oracle."""
    import numpy as np

    return [int(i) + 1 for i in np.argsort(-(vectors @ question))[:count]]


class IndexContract:
    """The suite; each test gets an empty folder."""

    def open_index(self) -> Index:
        """An index over the same, at first empty, folder at every call."""
        raise NotImplementedError

    def remove_files(self) -> None:
        """Take every file of the index away, as a person might."""
        raise NotImplementedError

    @pytest.fixture
    def index(self) -> Index:
        """The index under test."""
        return self.open_index()

    def test_what_is_absorbed_is_found_in_this_process_and_through_another_handle(
        self, index: Index
    ) -> None:
        """Cosines are the true ones, best first."""
        vectors = clustered(500)
        body = absorb(index, vectors)
        assert body == Body(body.version, 500, 500)
        for reader in (index, self.open_index()):
            found = near(reader, body, vectors[7], 10)
            assert found[0][0] == 8
            for number, cosine in found:
                assert cosine == pytest.approx(float(vectors[number - 1] @ vectors[7]), abs=1e-5)
            assert [c for _, c in found] == sorted((c for _, c in found), reverse=True)

    @pytest.mark.parametrize("alike", [True, False])
    def test_recall_at_ten_is_near_that_of_an_exact_scan(
        self, index: Index, *, alike: bool
    ) -> None:
        """5,000 clustered vectors, 100 questions from their clusters or, as real ones, far off."""
        vectors = clustered(5_100)
        vectors, questions = vectors[:5_000], vectors[5_000:]
        if not alike:
            questions = clustered(100, seed=2)
        body = absorb(index, vectors)
        hits = sum(
            len({n for n, _ in near(index, body, question, 10)} & set(exact(vectors, question, 10)))
            for question in questions
        )
        assert hits >= 0.98 * 10 * len(questions)

    def test_an_absorb_adds_what_is_above_its_base_and_nothing_twice(self, index: Index) -> None:
        """Also when the source gives everything once more."""
        vectors = clustered(900)
        everything = source(vectors)
        first = absorb(index, vectors, last=400)
        second = absorb(index, vectors, base=first, rows=lambda _: everything(0))
        assert (second.highest, second.rows) == (900, 900)
        assert sorted(index.numbers("n", SPACE, second)) == list(range(1, 901))
        assert absorb(index, vectors, base=second) == second

    def test_an_absorb_that_the_ledger_never_heard_of_leaves_no_trace(self, index: Index) -> None:
        """The base is what counts: what came after it is rolled back, ghosts included."""
        vectors = clustered(900)
        base = absorb(index, vectors, last=400)
        absorb(index, vectors, base=base, rows=source(clustered(900, seed=2), step=3))
        body = absorb(index, vectors, base=base, last=600)
        assert sorted(index.numbers("n", SPACE, body)) == list(range(1, 601))
        assert near(index, body, vectors[500], 1)[0][0] == 501

    def test_an_absorb_without_a_base_starts_anew(self, index: Index) -> None:
        """So a rebuild is an absorb of everything."""
        vectors = clustered(600)
        absorb(index, vectors)
        body = absorb(index, vectors[:200])
        assert sorted(index.numbers("n", SPACE, body)) == list(range(1, 201))

    def test_a_reader_of_one_version_sees_it_whatever_comes_after(self, index: Index) -> None:
        """Questions during absorbs and deletions answer as before."""
        vectors = clustered(3_000)
        first = absorb(index, vectors, last=1_000)
        before = near(index, first, vectors[3], 10)
        reader, answers, done = self.open_index(), [before], threading.Event()

        def ask() -> None:
            while not done.is_set():
                answers.append(near(reader, first, vectors[3], 10))

        asking = threading.Thread(target=ask)
        asking.start()
        body = first
        for last in (2_000, 3_000):
            body = absorb(index, vectors, base=body, last=last)
        shrunk = index.forget("n", SPACE, base=body, numbers=[n for n, _ in before])
        done.set()
        asking.join()
        assert shrunk is not None
        assert all(answer == before for answer in answers)
        assert near(self.open_index(), first, vectors[3], 10) == before

    def test_a_deeper_look_reaches_every_row_once(self, index: Index) -> None:
        """However few rows the first look considered."""
        vectors = clustered(3_000)
        body = absorb(index, vectors)
        for limit in (0, 1, 10, 1_000, 3_000, 9_999):
            found = [number for number, _ in near(index, body, vectors[0], limit)]
            assert len(found) == len(set(found)) == min(limit, 3_000)

    @pytest.mark.parametrize(
        "audiences", [{1}, {2}, {3}, {4}, {1, 3}, {3, 4, *range(1_000, 9_000)}], ids=len
    )
    def test_only_rows_of_the_audiences_are_looked_at(
        self, index: Index, audiences: set[int]
    ) -> None:
        """However few or many they are, the nearest of them are found, and each at some depth."""
        vectors = clustered(5_000)
        body = absorb(index, vectors)
        seen = [number for number in range(1, 5_001) if audience(number) in audiences]
        ask = partial(index.near, "n", SPACE, body=body, audiences=audiences)
        everything = ask(vector=vectors[0].tobytes(), limit=9_999)
        assert everything is not None
        assert sorted(number for number, _ in everything) == seen
        hits, most = 0, min(10, len(seen))
        for question in clustered(50, seed=2):
            nearest = exact(vectors[[number - 1 for number in seen]], question, most)
            found = ask(vector=question.tobytes(), limit=10)
            assert found is not None
            hits += len({number for number, _ in found} & {seen[place - 1] for place in nearest})
        assert hits >= 0.98 * most * 50

    def test_without_an_audience_nothing_is_found(self, index: Index) -> None:
        """Nor with one that has no row; with more than an index takes it gives no answer."""
        vectors = clustered(2_000)
        body = absorb(index, vectors)
        ask = partial(index.near, "n", SPACE, body=body, vector=vectors[0].tobytes(), limit=3_000)
        assert ask(audiences=[]) == []
        assert ask(audiences=[77, 78, 79, 99]) == []
        scattered = ask(audiences=range(1_001, 30_000, 2))
        seen = {n for n in range(1, 2_001) if audience(n) > 1_000 and audience(n) % 2}
        assert scattered is None or {number for number, _ in scattered} == seen

    def test_rows_keep_their_audience_when_the_body_grows_and_shrinks(self, index: Index) -> None:
        """Also those that a deletion left, compacted or not."""
        vectors = clustered(1_500)
        body = absorb(index, vectors, base=absorb(index, vectors, last=700))
        for gone in (range(1, 50), range(50, 700)):
            shrunk = index.forget("n", SPACE, base=body, numbers=gone)
            assert shrunk is not None
            body = shrunk
            found = index.near(
                "n", SPACE, body=body, vector=vectors[0].tobytes(), limit=2_000, audiences={3}
            )
            left = range(gone.stop, 1_501)
            assert sorted(n for n, _ in found or ()) == [n for n in left if audience(n) == 3]

    @pytest.mark.parametrize("dead", [30, 900])
    def test_what_is_forgotten_is_gone_and_the_rest_stays(self, index: Index, dead: int) -> None:
        """Whether a few rows or most of them, and a later absorb does not bring them back."""
        vectors = clustered(1_500)
        body = absorb(index, vectors, last=1_000)
        shrunk = index.forget("n", SPACE, base=body, numbers=range(1, dead + 1))
        assert shrunk is not None
        assert (shrunk.highest, shrunk.rows) == (1_000, 1_000 - dead)
        grown = absorb(index, vectors, base=shrunk)
        for kept, last in ((shrunk, 1_000), (grown, 1_500)):
            assert sorted(index.numbers("n", SPACE, kept)) == list(range(dead + 1, last + 1))
            assert all(number > dead for number, _ in near(index, kept, vectors[0], 100))

    def test_a_body_that_lost_everything_is_none(self, index: Index) -> None:
        """And nothing absorbed is none, too."""
        vectors = clustered(50)
        body = absorb(index, vectors)
        assert index.forget("n", SPACE, base=body, numbers=range(51)) is None
        assert index.forget("n", SPACE, base=body, numbers=[1]) is None
        nothing = partial(index.absorb, "n", SPACE, dimension=DIMENSION, base=None)
        assert nothing(rows=source(vectors, 0)) is None

    def test_files_taken_away_are_no_body_and_come_back_by_an_absorb(self, index: Index) -> None:
        """On the base that the ledger still names, from the first row on, with the same answers."""
        vectors = clustered(800)
        body = absorb(index, vectors, last=500)
        before = near(index, body, vectors[3], 10)
        self.remove_files()
        for reader in (self.open_index(), index):
            assert reader.near("n", SPACE, body=body, vector=vectors[3].tobytes(), limit=10) in (
                None,
                before,
            )  # a version that is still open may still answer, and then rightly
        fresh = self.open_index()
        assert not fresh.holds("n", SPACE, body)
        assert list(fresh.numbers("n", SPACE, body)) == []
        rebuilt = absorb(fresh, vectors, base=body, last=500)
        assert index.holds("n", SPACE, rebuilt)
        assert near(index, rebuilt, vectors[3], 10) == before

    def test_a_body_of_another_making_is_not_taken_for_the_one_named(self, index: Index) -> None:
        """The same version number after a rebuild with other rows does not pass."""
        vectors = clustered(900)
        body = absorb(index, vectors, last=500)
        near(index, body, vectors[0], 1)
        self.remove_files()
        other = absorb(self.open_index(), vectors, last=900)
        assert other.version == body.version
        assert len(near(index, other, vectors[0], 2_000)) == 900
        assert not self.open_index().holds("n", SPACE, body)

    def test_a_dropped_body_is_gone_and_others_stay(self, index: Index) -> None:
        """By space, or all of a namespace."""
        vectors = clustered(60)
        kept = {
            (namespace, space): absorb(index, vectors, namespace=namespace, space=space)
            for namespace in ("a", "b")
            for space in ("x", "y")
        }
        index.drop("a", "x")
        index.drop("b")
        index.drop("never there")
        assert [key for key, body in kept.items() if index.holds(*key, body)] == [("a", "y")]

    def test_a_wrong_dimension_is_refused_and_changes_nothing(self, index: Index) -> None:
        """In a row and in a question."""
        vectors, wrong = clustered(400), clustered(400, dimension=16)
        body = absorb(index, vectors)
        with pytest.raises(InvalidInput):
            absorb(index, vectors, base=body, rows=source(wrong, step=1_000))
        assert sorted(index.numbers("n", SPACE, body)) == list(range(1, 401))
        with pytest.raises(InvalidInput):
            near(index, body, wrong[0], 1)

    def test_rows_out_of_order_are_refused(self, index: Index) -> None:
        """Else the body would not hold all that lies below its highest number."""
        vectors = clustered(3)
        rows = [(number, vectors[0].tobytes(), 0) for number in (1, 3, 2)]
        with pytest.raises(InvalidInput):
            absorb(index, vectors, rows=lambda _: [rows])

    def test_any_name_is_a_body_of_its_own(self, index: Index) -> None:
        """Names that a file system would take for something else, too."""
        vectors = clustered(40)
        names = [
            "a",
            "A",
            "a/b",
            "../a",
            "a b#%3f?",
            "日本語",
            "ü" * 80,
            ".",
            "con",
            "a:b",
            "s3://a/b",
        ]
        bodies = {
            name: absorb(index, vectors[:count], namespace=name, space=name)
            for count, name in enumerate(names, start=1)
        }
        for name, body in bodies.items():
            held = sorted(self.open_index().numbers(name, name, body))
            assert held == list(range(1, names.index(name) + 2))

    def test_a_closed_index_opens_again_when_asked(self, index: Index) -> None:
        """Closing gives memory back and forgets nothing."""
        vectors = clustered(40)
        body = absorb(index, vectors)
        index.close()
        assert near(index, body, vectors[1], 1)[0][0] == 2


def absorb(
    index: Index,
    vectors: "Floats",
    *,
    base: Body | None = None,
    last: int | None = None,
    rows: Source | None = None,
    namespace: str = "n",
    space: str = SPACE,
) -> Body:
    """The body after an absorb of vectors 1 to `last`, or of other rows."""
    body = index.absorb(
        namespace, space, dimension=DIMENSION, base=base, rows=rows or source(vectors, last)
    )
    assert body is not None
    return body


def near(index: Index, body: Body, question: "Floats", limit: int) -> list[tuple[int, float]]:
    """What the index finds; it must be readable."""
    found = index.near("n", SPACE, body=body, vector=question.tobytes(), limit=limit)
    assert found is not None
    return found
