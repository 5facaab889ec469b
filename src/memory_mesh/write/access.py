"""Access: what every flow needs to read and write one namespace."""

import time
from collections.abc import Callable, Sequence

from memory_mesh.base.typed import Protocol, dataclass, field
from memory_mesh.model import Scope, SourceKind, Standing
from memory_mesh.model.ports import Embedder, Ids, Index, Ledger, Redactor
from memory_mesh.model.reembedding import NamedModel
from memory_mesh.platform.cache import SearchCache


class Seal(Protocol):
    """Turns values that must not come back into digests that say nothing without a key."""

    def __call__(self, value: str) -> bytes:
        """The value under the key in use."""

    def under_each(self, value: str) -> Sequence[bytes]:
        """The value under every key there is, the one in use first."""

    def former(self, text: str) -> Sequence[str]:
        """A text with the placeholders of each older key."""


class Models(Protocol):
    """The embedding models that this process can open."""

    def find(self, named: "NamedModel") -> Embedder | None:
        """The model of a space; None where this process cannot open it."""

    def use(self, namespace: str, embedder: Embedder) -> None:
        """Let later calls use it for a namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The context of a read or a write: ledger, namespace, who it is and what it may do."""

    ledger: Ledger
    ids: Ids
    cache: SearchCache
    namespace: str
    agent: str  # as blocks name it: redacted
    reader: Scope = Scope()  # who reads and writes, as the ledger holds it
    kind: SourceKind = SourceKind.USER_EXPLICIT  # the most trusted source a write may state
    yamo: bool = True  # blocks carry RFC-0011's wire text
    embedder: Embedder | None = None
    redactor: Redactor | None = None  # used by prepare.py alone
    warns: bool = False  # the first redaction of a process is in the log
    trace_redactor: Redactor | None = None  # the same for traces: it knows the user's own names
    raw_input: str = "scrub"  # what traces keep of the user's words
    index: Callable[[], Index | None] = lambda: None
    seal: Seal | None = None  # a keyed digest of a value that must not come back
    heritage_depth: int | None = None  # None: heritage is not tracked
    timer: Callable[[], float] = time.monotonic  # seconds that only go forward
    pattern_vectors: dict[tuple[str, str], bytes] = field(default_factory=dict)  # of triggers
    keeps_importance: bool = False  # what the caller states, whatever source kind goes with it
    read_claims: bool = True  # claims are read from plain text where none is stated
    link_similar: bool = True  # a memory is linked to similar ones when its vector is written
    models: Models | None = None  # that a namespace may state as in use
    stays: bool = False  # searches by its own embedder, whatever the namespace states


def unused_id(access: Access, prefix: str, standing: Standing) -> str:
    """A new id; another process may have drawn the same one in this millisecond."""
    id_ = access.ids.draw(prefix)
    while standing.taken(id_):
        id_ = access.ids.draw(prefix)
    return id_
