"""What a search by meaning asks of a ledger; `ports.Snapshot` is composed of it too."""

from collections.abc import Sequence

from memory_mesh.model import Lens, Near, Question, Space
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
