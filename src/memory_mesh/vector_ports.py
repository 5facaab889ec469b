"""What a search by meaning and an index ask of a ledger; `ports` is composed of them too."""

from collections.abc import Iterator, Sequence

from memory_mesh.model import Body, Lens, Near, Question, Space
from memory_mesh.model.query import Looked, Reach
from memory_mesh.typed import Protocol


class VectorSearch(Protocol):
    """Find versions by meaning in one read transaction; `flows/nearest.py` says which way."""

    def reach(self, space: Space, lens: Lens) -> Reach | None:
        """How much of a space the lens may see; None where it holds no vector.

        Memories are counted without reading them. Where that is not cheap, they are not.
        """

    def nearest_seen(
        self, question: Question, lens: Lens, reach: Reach, most: int | None
    ) -> list[Near] | None:
        """The best among all vectors that the lens sees, exactly; None if they are over `most`."""

    def nearest_above(self, question: Question, lens: Lens, floor: int, count: int) -> Looked:
        """Those that the lens sees of the best `count` vectors above a number, exactly."""

    def seen(self, found: Sequence[tuple[int, float]], lens: Lens) -> tuple[Near, ...]:
        """Those that the lens sees of vectors that an index found, by number and cosine."""

    def cosines(self, question: Question, versions: Sequence[int]) -> list[Near]:
        """How near versions found otherwise are: of each its best part."""


class VectorFeed(Protocol):
    """Give an index the vectors of a space, and record which index counts."""

    def vectors(
        self, namespace: str, space: Space, after: int
    ) -> Iterator[Sequence[tuple[int, bytes, int]]]:
        """A space's vectors above a number, in order, block by block: number, vector, audience.

        A number keeps its audience: when that of a text changes, its vectors get new numbers.
        """

    def absorbed(self, namespace: str, space: Space, base: Body | None, body: Body | None) -> None:
        """Name the body that counts from now on, unless another took the place of `base`."""

    def index_some(self, namespace: str, space: Space) -> Body | None:
        """Take the next vectors into an index inside the ledger, for a moment: the index then.

        None where the ledger keeps none. Once every vector is in it, the answer stays the same.
        """
