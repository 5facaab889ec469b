"""Items of a LangGraph store as memories: read one, put and delete several, keep one alive.

::

    put ── newest memory of its address ── there ──▶ update: a new version
                                       └── none, deleted, expired ──▶ add, keyed by the one before

Two processes that put a new key at the same moment use the same idempotency key, so one of them
adds and the other looks again and updates.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from langgraph.store.base import Item, SearchItem

from memory_mesh.agents.adapters import addresses
from memory_mesh.agents.adapters.addresses import Labels
from memory_mesh.errors import InvalidInput, NotAllowed, NotFound
from memory_mesh.fastdataclass import dataclass
from memory_mesh.model import Memory, Outcome, Scope, Status
from memory_mesh.policy.writing.limits import MEMORY_CHARS
from memory_mesh.sync import MemoryMesh
from memory_mesh.typed import Any

INDEXED, UNINDEXED = "langgraph", "langgraph, not indexed"  # labels of the memories
_NO_TEXT = "An item that is not indexed."
_ALWAYS = "0001-01-01T00:00:00Z"  # at this time what has expired since is valid, too
_ROUNDS = 8  # in which a put looks again after other writers
_LONGER = 1.1  # a read moves the end of a life by this much more, so that not every read writes


@dataclass(frozen=True, slots=True)
class Put:
    """One write: where, what, the text that finds it, and the minutes that it lives."""

    file: str
    ref: str
    namespace: Labels
    key: str
    value: Mapping[str, Any] | None
    text: str
    minutes: float | None


@dataclass(frozen=True, slots=True)
class Stored:
    """One item as it was read, with the memory that holds it."""

    view: MemoryMesh
    memory: Memory
    namespace: Labels
    key: str
    value: dict[str, Any]
    score: float | None = None

    @property
    def address(self) -> tuple[Labels, str]:
        """Namespace and key."""
        return self.namespace, self.key

    @property
    def times(self) -> tuple[datetime, datetime]:
        """When it was created and last put."""
        kept = _about(self.memory).get("updated_at")
        updated = datetime.fromisoformat(kept) if isinstance(kept, str) else None
        return self.memory.created, updated or self.memory.recorded_from

    def item(self) -> Item:
        """The item as LangGraph's `get` answers it."""
        created, updated = self.times
        return Item(
            value=self.value,
            key=self.key,
            namespace=self.namespace,
            created_at=created,
            updated_at=updated,
        )

    def search_item(self) -> SearchItem:
        """The item as LangGraph's `search` answers it."""
        return SearchItem(self.namespace, self.key, self.value, *self.times, score=self.score)


def stored(view: MemoryMesh, file: Labels, memory: Memory) -> Stored | None:
    """A memory as an item; None if it is none. `file` are the labels that its file stands for."""
    address, value = addresses.read_reference(memory.source.ref), memory.extra.get("value")
    if address is None or not isinstance(value, dict):
        return None
    inside, key = address
    return Stored(view, memory, (*file, *inside), key, value)


def put_all(view: MemoryMesh, puts: Sequence[Put]) -> None:
    """Writes the items of one file: new ones in one transaction, changed ones in another."""
    for put in puts:
        if put.value is None:
            _delete(view, put)
    waiting = [put for put in puts if put.value is not None]
    for _ in range(_ROUNDS):
        known = [(put, _newest(view, put.ref)) for put in waiting]
        changes = [(put, memory) for put, memory in known if _lives(view, memory)]
        news = [(put, memory) for put, memory in known if not _lives(view, memory)]
        waiting = [*_added(view, news), *_changed(view, changes)]
        if not waiting:
            return
    raise InvalidInput(
        f"other writers kept changing {waiting[0].key!r} in {waiting[0].namespace}; put it again"
    )


def keep_alive(found: Iterable[Stored]) -> None:
    """Moves the end of life of items that have one and were read; `updated_at` stays."""
    for each in found:
        minutes, end = _about(each.memory).get("ttl"), each.memory.valid_until
        now = each.view._now()  # noqa: SLF001  # the mesh's clock, of our own package
        if not isinstance(minutes, int | float) or end is None:
            continue
        if end - now < timedelta(minutes=minutes):
            about = _about(each.memory) | {"updated_at": each.times[1].isoformat()}
            try:
                each.view.update(
                    each.memory.id,
                    metadata={"item": about},
                    merge=True,
                    valid_until=now + timedelta(minutes=minutes * _LONGER),
                    reason="read in a LangGraph store",
                )
            except NotFound:  # deleted since it was read
                continue


def _about(memory: Memory) -> dict[str, Any]:
    found = memory.extra.get("item")
    return found if isinstance(found, dict) else {}


def _newest(view: MemoryMesh, ref: str) -> Memory | None:
    """The newest memory of an address, whatever became of it."""
    found = view.get_all(
        limit=1, filter=addresses.one(ref), include=tuple(Status), valid_at=_ALWAYS
    )
    return next(iter(found), None)


def _lives(view: MemoryMesh, memory: Memory | None) -> bool:
    if memory is None or memory.status is not Status.ACTIVE:
        return False
    return memory.valid_until is None or memory.valid_until > view._now()  # noqa: SLF001


def _details(view: MemoryMesh, put: Put) -> dict[str, object]:
    """What `add` and `update` are told of a put."""
    about: dict[str, object] = {"namespace": list(put.namespace), "key": put.key}
    end: datetime | None = None
    if put.minutes is not None:
        about["ttl"] = put.minutes
        end = view._now() + timedelta(minutes=put.minutes)  # noqa: SLF001
    return {
        "content": put.text[:MEMORY_CHARS] or _NO_TEXT,
        "metadata": {"value": dict(put.value or {}), "item": about},
        "kind": INDEXED if put.text else UNINDEXED,
        "valid_until": end,
    }


def _added(view: MemoryMesh, news: Sequence[tuple[Put, Memory | None]]) -> list[Put]:
    """Adds items; returns those that another process added first."""
    if not news:
        return []
    drafts = [
        _details(view, put)
        | {
            "source_ref": put.ref,
            "scope": Scope(),  # for every reader of the file, and no session that ends
            "allow_duplicate": True,
            "key": addresses.digest(f"{put.ref} after {None if before is None else before.id}"),
        }
        for put, before in news
    ]
    again = []
    for (put, before), receipt in zip(news, view.add_many(drafts), strict=True):
        if receipt.outcome is Outcome.STORED and not receipt.again:
            continue
        now = _newest(view, put.ref)
        if now is None or (before is not None and now.id == before.id):
            raise InvalidInput(
                f"{put.key!r} in {put.namespace} was not stored: {'; '.join(receipt.reasons)}"
            )
        again.append(put)
    return again


def _changed(view: MemoryMesh, changes: Sequence[tuple[Put, Memory | None]]) -> list[Put]:
    """Changes items that are there; returns them all if one of them was deleted meanwhile."""
    if not changes:
        return []
    reason = "put into a LangGraph store"
    updates = [
        _details(view, put) | {"id": memory.id, "reason": reason}
        for put, memory in changes
        if memory is not None
    ]
    try:
        view.update_many(updates)
    except NotFound:
        return [put for put, _ in changes]
    return []


def _delete(view: MemoryMesh, put: Put) -> None:
    """Deletes an item; one that is not there is no error, as in every LangGraph store."""
    for memory in view.get_all(limit=1, filter=addresses.one(put.ref)):
        try:
            proposal = view.delete(memory.id, reason="deleted from a LangGraph store")
        except NotFound:  # another process was faster
            return
        if proposal is not None:
            raise NotAllowed(
                f"{put.key!r} in {put.namespace} comes from a more trusted source than this mesh's "
                f"channel may delete; the wish waits for review as {proposal.id}"
            )
