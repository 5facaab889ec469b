"""Items of a LangGraph store as memories: read one, put and delete several, keep one alive.

::

    put ── newest memory of its address ── there ──▶ update: a new version
                                       └── none, deleted, expired ──▶ add, keyed by the one before

Two processes that put a new key at the same moment use the same idempotency key, so one of them
adds and the other looks again and updates.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from operator import ge, gt, le, lt

from langgraph.store.base import Item, SearchItem, get_text_at_path, tokenize_path

from memory_mesh.base.typed import Any, TypeAlias, dataclass
from memory_mesh.model import InvalidInput, Memory, NotAllowed, NotFound, Outcome, Scope, Status
from memory_mesh.rules.arguments import MEMORY_CHARS, NAME_CHARS, user_of
from memory_mesh.sync import MemoryMesh

Labels: TypeAlias = tuple[str, ...]

OF_A_FILE = 2  # labels that name a file; the others are inside it
_SCHEME = "langgraph:"
_AFTER = "~"  # after every character that a source_ref has
_LETTERS = "abcdefghijklmnop"
_MOST_NAMESPACE_CHARS = 80  # of a namespace of ours

_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
_MARKUP = re.compile(r"<[^<>]*>")
_OPERATORS = ("$eq", "$ne", *_ORDERS)

INDEXED, UNINDEXED = "langgraph", "langgraph, not indexed"  # labels of the memories
_NO_TEXT = "An item that is not indexed."
_ALWAYS = "0001-01-01T00:00:00Z"  # at this time what has expired since is valid, too
_ROUNDS = 8  # in which a put looks again after other writers
_LONGER = 1.1  # a read moves the end of a life by this much more, so that not every read writes


@dataclass(frozen=True, slots=True)
class ItemWrite:
    """One write: where, what, the text that finds it, and the minutes that it lives."""

    file: str
    ref: str
    namespace: Labels
    key: str
    value: Mapping[str, Any] | None
    text: str
    minutes: float | None


@dataclass(frozen=True, slots=True)
class StoredItem:
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


def stored(view: MemoryMesh, file: Labels, memory: Memory) -> StoredItem | None:
    """A memory as an item; None if it is none. `file` are the labels that its file stands for."""
    address, value = read_reference(memory.source.ref), memory.extra.get("value")
    if address is None or not isinstance(value, dict):
        return None
    inside, key = address
    return StoredItem(view, memory, (*file, *inside), key, value)


def put_all(view: MemoryMesh, puts: Sequence[ItemWrite]) -> None:
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


def keep_alive(found: Iterable[StoredItem]) -> None:
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
    found = view.get_all(limit=1, filter=one(ref), include=tuple(Status), valid_at=_ALWAYS)
    return next(iter(found), None)


def _lives(view: MemoryMesh, memory: Memory | None) -> bool:
    if memory is None or memory.status is not Status.ACTIVE:
        return False
    return memory.valid_until is None or memory.valid_until > view._now()  # noqa: SLF001


def _details(view: MemoryMesh, put: ItemWrite) -> dict[str, object]:
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


def _added(view: MemoryMesh, news: Sequence[tuple[ItemWrite, Memory | None]]) -> list[ItemWrite]:
    """Adds items; returns those that another process added first."""
    if not news:
        return []
    drafts = [
        _details(view, put)
        | {
            "source_ref": put.ref,
            "scope": Scope(),  # for every reader of the file, and no session that ends
            "allow_duplicate": True,
            "key": digest(f"{put.ref} after {None if before is None else before.id}"),
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


def _changed(
    view: MemoryMesh, changes: Sequence[tuple[ItemWrite, Memory | None]]
) -> list[ItemWrite]:
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


def _delete(view: MemoryMesh, put: ItemWrite) -> None:
    """Deletes an item; one that is not there is no error, as in every LangGraph store."""
    for memory in view.get_all(limit=1, filter=one(put.ref)):
        try:
            proposal = view.delete(memory.id, reason="deleted from a LangGraph store")
        except NotFound:  # another process was faster
            return
        if proposal is not None:
            raise NotAllowed(
                f"{put.key!r} in {put.namespace} comes from a more trusted source than this mesh's "
                f"channel may delete; the wish waits for review as {proposal.id}"
            )


# What an item's value says to a search, and whether it meets a filter of LangGraph's.


def searched_text(value: Mapping[str, Any], paths: Sequence[str] | None) -> str:
    """The text that a search finds an item by: of these paths, or all of it; empty for none."""
    found = [
        text
        for path in (["$"] if paths is None else paths)
        for text in (
            _lines(value, "") if path == "$" else get_text_at_path(value, tokenize_path(path))
        )
    ]
    whole = "\n".join(found)
    return whole if any(char.isalnum() for char in _MARKUP.sub("", whole)) else ""


def _lines(value: object, name: str) -> Iterator[str]:
    """Each value at the end of a path, behind the name of its key."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _lines(inner, str(key).replace("_", " "))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _lines(inner, name)
    elif value is not None and value != "":
        yield f"{name}: {value}" if name else str(value)


def meets(value: Mapping[str, Any], filter_: Mapping[str, Any] | None) -> bool:
    """True if every field of the filter fits."""
    return all(_fits(value.get(name), wanted) for name, wanted in (filter_ or {}).items())


def _fits(value: object, wanted: object) -> bool:
    """Compares as LangGraph's own stores do: objects by the keys named, lists item by item."""
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            return all(_passes(value, sign, than) for sign, than in wanted.items())
        return isinstance(value, Mapping) and all(
            _fits(value.get(key), inner) for key, inner in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(wanted)
            and all(map(_fits, value, wanted))
        )
    return value == wanted


def _passes(value: object, sign: str, than: object) -> bool:
    if sign not in _OPERATORS:
        raise InvalidInput(f"a filter has no operator {sign!r}; it has {', '.join(_OPERATORS)}")
    if sign in {"$eq", "$ne"}:
        return (value == than) is (sign == "$eq")
    numbers = isinstance(value, int | float) and isinstance(than, int | float)
    texts = isinstance(value, str) and isinstance(than, str)
    return (numbers or texts) and _ORDERS[sign](value, than)


# Where an item of a LangGraph store lies in a mesh.
#
# ::
#
#     ("memories", "alice", "work"), "k1"     LangGraph's namespace and key
#        default.langgraph.memories.alice     our namespace: the first two labels, so a file
#        langgraph:<work>/#<k1>               source_ref in it, which has an index
#
# A text in a source_ref is spelled with the letters a to p, two for each byte. So no rule of
# privacy
# takes a key for a phone number, a key comes back as it was put, and the items below a label are
# one
# range of the index.


@dataclass(frozen=True, slots=True)
class Base:
    """The namespace of the mesh that a store was made for."""

    namespace: str

    @property
    def is_one_file(self) -> bool:
        """True for the mesh of one user: what it stores stays in the namespace of that user."""
        return user_of(self.namespace) is not None

    def file_of(self, labels: Labels) -> str:
        """Our namespace that holds the items of a LangGraph namespace."""
        if self.is_one_file:
            return self.namespace
        name = ".".join((self.namespace, "langgraph", *labels[:OF_A_FILE]))
        if len(name) > _MOST_NAMESPACE_CHARS or not name.isprintable():
            room = _MOST_NAMESPACE_CHARS - len(f"{self.namespace}.langgraph..")
            raise InvalidInput(
                f"the first two labels of a namespace have at most {room} printable characters "
                "together here; use a shorter id, such as a number or a hash"
            )
        return name

    def labels_of(self, namespace: str) -> Labels | None:
        """The labels that a namespace of ours stands for; None if it is not of this store."""
        if self.is_one_file:
            return () if namespace == self.namespace else None
        start = f"{self.namespace}.langgraph."
        labels = tuple(namespace.removeprefix(start).split("."))
        proper = 1 <= len(labels) <= OF_A_FILE and all(labels)
        return labels if namespace.startswith(start) and proper else None

    def inside(self, labels: Labels) -> Labels:
        """The labels that are told apart inside the file."""
        return labels if self.is_one_file else labels[OF_A_FILE:]


def reference(inside: Labels, key: str) -> str:
    """The source_ref of an item."""
    found = f"{_path(inside)}#{_spelled(key)}"
    if len(found) > NAME_CHARS:
        raise InvalidInput(
            f"the key and the labels after the second have at most "
            f"{(NAME_CHARS - len(_SCHEME)) // 2 - 1} bytes together; use a shorter key, such as a "
            "hash of it"
        )
    return found


def read_reference(ref: str | None) -> tuple[Labels, str] | None:
    """The labels inside the file and the key; None for a source_ref of something else."""
    if ref is None or not ref.startswith(_SCHEME) or "#" not in ref:
        return None
    path, _, key = ref.removeprefix(_SCHEME).partition("#")
    try:
        return tuple(map(_read, path.split("/")[:-1])), _read(key)
    except ValueError:  # somebody else's, in our form
        return None


def one(ref: str) -> str:
    """The filter for the item with this source_ref."""
    return f"source_ref = '{ref}'"


def below(inside: Labels) -> str | None:
    """The filter for items whose namespace begins with these labels; None if all do."""
    start = _path(inside)
    return f"source_ref BETWEEN '{start}' AND '{start}{_AFTER}'" if inside else None


def digest(text: str) -> str:
    """A digest in the same letters, for a key of a write."""
    from hashlib import sha256

    return _letters(sha256(text.encode()).digest())


def _path(labels: Labels) -> str:
    return _SCHEME + "".join(f"{_spelled(label)}/" for label in labels)


def _spelled(text: str) -> str:
    return _letters(text.encode())


def _letters(data: bytes) -> str:
    return "".join(_LETTERS[byte >> 4] + _LETTERS[byte & 15] for byte in data)


def _read(letters: str) -> str:
    """The text behind the letters; ValueError for anything else."""
    digits = [_LETTERS.index(letter) for letter in letters]
    if len(digits) % 2:
        raise ValueError(letters)
    return bytes(
        high << 4 | low for high, low in zip(digits[::2], digits[1::2], strict=True)
    ).decode()
