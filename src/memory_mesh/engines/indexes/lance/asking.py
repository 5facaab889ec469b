"""A question to an open body: the nearest rows, all or those of some audiences, by true cosines."""

from collections.abc import Collection, Iterable, Iterator

from memory_mesh.engines.indexes.lance import loading
from memory_mesh.errors import InvalidInput
from memory_mesh.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lance import LanceDataset

# Why these: docs/decisions/0016-index-parameters.md and 0076-an-index-knows-audiences.md
PROBES = 1_000_000  # all there are: on real questions fewer lose answers and save little
COMPARED = 200  # rows at least whose cosines are computed from the vectors themselves
MOST_AUDIENCES = 1_000  # numbers and ranges in one question: each costs about 0.01 ms
_FARTHEST = 2.1  # a cosine distance is at most 2; that of a zero vector is no number
_RANGE = 3  # numbers in a row from which on they are told as a range


def only(audiences: Collection[int] | None) -> str | None:
    """The rows of these audiences as Lance reads it; empty for all rows, None for too many."""
    if audiences is None:
        return ""
    single: list[int] = []
    ranges: list[str] = []
    for first, last in _runs(sorted(set(audiences))):
        if last - first + 1 < _RANGE:
            single += range(first, last + 1)
        else:
            ranges.append(f"(audience >= {first} AND audience <= {last})")
        if len(single) + len(ranges) > MOST_AUDIENCES:
            return None
    listed = [f"audience IN ({', '.join(map(str, single))})"] if single else []
    return " OR ".join(listed + ranges)


def has_audiences(dataset: "LanceDataset") -> bool:
    """False for a body that was made before rows had audiences: it is to be made anew."""
    return "audience" in dataset.schema.names


def nearest(
    dataset: "LanceDataset", vector: bytes, count: int, wanted: str
) -> list[tuple[int, float]] | None:
    """The `count` nearest that are wanted, with exact cosines; None when a file is unreadable."""
    import numpy as np

    question = np.frombuffer(vector, "<f4")
    if len(question) != dataset.schema.field("vector").type.list_size:
        raise InvalidInput(f"a question of {len(question)} dimensions does not fit this space")
    asked = {
        "column": "vector",
        "q": question,
        "k": count,
        "nprobes": PROBES,
        "refine_factor": max(1, -(-COMPARED // count)),
    }
    among: dict[str, Any] = {"filter": wanted, "prefilter": True} if wanted else {}
    try:
        found = dataset.to_table(columns=["number", "_distance"], nearest=asked, **among)
    except loading.UNREADABLE:
        return None
    pairs = zip(found["number"].to_pylist(), found["_distance"].to_pylist(), strict=True)
    return [
        (number, min(1.0, 1.0 - distance)) for number, distance in pairs if distance <= _FARTHEST
    ]


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The first and last of each row of numbers without a gap."""
    first = last = None
    for number in numbers:
        if first is None or last is None:
            first = number
        elif number != last + 1:
            yield first, last
            first = number
        last = number
    if first is not None and last is not None:
        yield first, last
