"""TODO docstring."""

from collections.abc import Callable

from memory_mesh.fastdataclass import dataclass
from memory_mesh.model import (
    SourceKind,
    Standing,
)
from memory_mesh.ports import Embedder, Ids, Index, Ledger, Redactor
from memory_mesh.process.cache import SearchCache


@dataclass(frozen=True, slots=True)
class Desk:
    """The parts every write needs."""

    ledger: Ledger
    ids: Ids
    namespace: str
    agent: str
    yamo: bool = True
    embedder: Embedder | None = None
    redactor: Redactor | None = None
    heritage_depth: int | None = None  # None: heritage is not tracked
    kind: SourceKind = SourceKind.USER_EXPLICIT  # the most that who writes here may claim to be
    read_claims: bool = True  # claims are read from plain text where none is stated
    seal: Callable[[str], bytes] | None = None  # a keyed digest of what must not come back


def fresh(desk: Desk, prefix: str, rivals: Standing) -> str:
    """An id nobody has; another process may have drawn the same one this millisecond."""
    id_ = desk.ids.draw(prefix)
    while rivals.taken(id_):
        id_ = desk.ids.draw(prefix)
    return id_


@dataclass(frozen=True, slots=True)
class Reader:
    """Where and by whom is read: the parts every read needs."""

    ledger: Ledger
    ids: Ids
    cache: SearchCache
    namespace: str
    agent: str
    yamo: bool = True
    embedder: Embedder | None = None
    index: Index | None = None
    redactor: Redactor | None = None
