"""From async objects to the blocking ones behind them."""

from collections.abc import Sequence

from memory_mesh import sync
from memory_mesh.typed import Protocol, TypeVar


class Async(Protocol):
    """An async mesh."""

    _sync: sync.MemoryMesh


Twin = TypeVar("Twin", bound=Async)


def blocking_views(given: Sequence[Twin], kind: type[Twin]) -> list[sync.MemoryMesh]:
    """Returns the blocking view behind each async one; refuses everything else."""
    if not given:
        return []
    from memory_mesh.verbs.search_views import checked_views

    return [view._sync for view in checked_views(given, kind)]  # our own
