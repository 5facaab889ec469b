"""A LangGraph store on a mesh: `graph.compile(store=MeshStore(mesh))`.

A put is exact: every key has a memory of its own whose metadata holds the value. Equal values of
two keys stay two items, claims are not read, so nothing is merged, contradicted or kept for review.
A put that cannot be kept raises. A value that changes is a new version of the same memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from memory_mesh.model import InvalidInput, Memory, MissingExtra, Scope

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        validate_op_namespace,
    )
except ModuleNotFoundError:
    raise MissingExtra.of("langgraph", "MeshStore") from None

from memory_mesh.agents.adapters import langgraph_items as adapters_items
from memory_mesh.agents.adapters.exchange_memory import blocking
from memory_mesh.base.typed import TYPE_CHECKING, replace
from memory_mesh.rules.arguments import MAX_RESULTS
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from memory_mesh import MemoryMesh as AsyncMesh

_WRITER = "langgraph"  # the agent of every process, so that their idempotency keys meet
_FIRST_PAGE = 100  # items of a listing that are read at first


class MeshStore(BaseStore):
    """Items of LangGraph as memories; two processes may use one store."""

    supports_ttl = True

    def __init__(
        self,
        mesh: "MemoryMesh | AsyncMesh",
        *,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        """Keep the mesh; whoever opened it closes it.

        With `mesh.for_user(id)` every item is among the memories of that user. With any other mesh
        the first two labels of a namespace name a file of their own.

        Options:
            fields: the paths that a query searches where `put` names none; default: all of a value.
            ttl: default_ttl in minutes, and refresh_on_read.
        """
        self._mesh = blocking(mesh)
        self._base = adapters_items.Base(self._mesh.config.namespace)
        self._fields = None if fields is None else list(fields)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answers every read from before the writes; of two writes of a key the last counts."""
        asked = list(ops)
        for op in asked:
            validate_op_namespace(op)
        results = [self._read(op) for op in asked]
        puts = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        by_file: dict[str, list[adapters_items.ItemWrite]] = {}
        for put in map(self._put, puts.values()):
            by_file.setdefault(put.file, []).append(put)
        for file, found in by_file.items():
            adapters_items.put_all(self._view(file), found)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Runs `batch` in a thread."""
        import asyncio

        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                return self._get(op)
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return self._list_namespaces(op)
            case PutOp():
                return None
            case _:
                raise InvalidInput(f"a store has no operation {type(op).__name__}")

    def _put(self, op: PutOp) -> adapters_items.ItemWrite:
        if not op.namespace:
            raise InvalidInput("an item needs a namespace of at least one label")
        text = ""
        if op.value is not None and op.index is not False:
            text = adapters_items.searched_text(op.value, op.index or self._fields)
        ref = adapters_items.reference(self._base.inside(op.namespace), op.key)
        return adapters_items.ItemWrite(
            self._base.file_of(op.namespace), ref, op.namespace, op.key, op.value, text, op.ttl
        )

    def _get(self, op: GetOp) -> Item | None:
        if not op.namespace:
            return None
        view = self._view(self._base.file_of(op.namespace))
        ref = adapters_items.reference(self._base.inside(op.namespace), op.key)
        found = self._items(view, view.get_all(limit=1, filter=adapters_items.one(ref)))
        if op.refresh_ttl:
            adapters_items.keep_alive(found)
        return found[0].item() if found else None

    def _search(self, op: SearchOp) -> list[SearchItem]:
        """The items that a query finds, best first; after them those that it does not find."""
        end = max(op.offset + op.limit, 0)
        found = {each.address: each for each in (self._ranked(op) if op.query and end else ())}
        if len(found) < end:
            for each in self._listed(op.namespace_prefix):
                if adapters_items.meets(each.value, op.filter):
                    found.setdefault(each.address, each)
                if len(found) >= end:
                    break
        page = list(found.values())[op.offset : end]
        if op.refresh_ttl:
            adapters_items.keep_alive(page)
        return [each.search_item() for each in page]

    def _ranked(self, op: SearchOp) -> list[adapters_items.StoredItem]:
        """The best of every file that the prefix names; a filter is applied to a thousand each."""
        most = MAX_RESULTS if op.filter else min(op.offset + op.limit, MAX_RESULTS)
        test = self._test(op.namespace_prefix, adapters_items.INDEXED)
        found: list[adapters_items.StoredItem] = []
        for view in self._files(op.namespace_prefix):
            hits = view.search(op.query or "", limit=most, filter=test, min_relevance=0.0)
            scores = {hit.id: hit.score for hit in hits}
            items = self._items(view, (hit.memory for hit in hits))
            found += (replace(each, score=scores[each.memory.id]) for each in items)
        fitting = [each for each in found if adapters_items.meets(each.value, op.filter)]
        return sorted(fitting, key=lambda each: -(each.score or 0.0))

    def _listed(self, prefix: adapters_items.Labels) -> Iterator[adapters_items.StoredItem]:
        """All items below a prefix: file by file, the newest first, what is not indexed last."""
        for label in (adapters_items.INDEXED, adapters_items.UNINDEXED):
            for view in self._files(prefix):
                yield from self._paged(view, self._test(prefix, label))

    def _paged(self, view: MemoryMesh, test: str) -> Iterator[adapters_items.StoredItem]:
        page = view.get_all(limit=_FIRST_PAGE, filter=test)
        yield from self._items(view, page)
        while page.cursor is not None:
            page = view.get_all(limit=MAX_RESULTS, filter=test, cursor=page.cursor)
            yield from self._items(view, page)

    def _items(
        self, view: MemoryMesh, memories: Iterable[Memory]
    ) -> list[adapters_items.StoredItem]:
        file = self._base.labels_of(view.config.namespace) or ()
        found = (adapters_items.stored(view, file, memory) for memory in memories)
        return [each for each in found if each is not None]

    def _test(self, prefix: adapters_items.Labels, label: str) -> str:
        """The filter for items of a label below a prefix."""
        below = adapters_items.below(self._base.inside(prefix))
        return f"label = '{label}'" + (f" AND {below}" if below else "")

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        """Namespaces that hold an item; if only files are asked for, one item of each is read."""
        conditions = op.match_conditions or ()
        of_files = not self._base.is_one_file and _asks_for_files(op)
        found: set[adapters_items.Labels] = set()
        for view in self._files(()):
            items = (
                each
                for label in (adapters_items.INDEXED, adapters_items.UNINDEXED)
                for each in self._paged(view, self._test((), label))
            )
            for each in islice(items, 1) if of_files else items:
                if all(_matches(condition, each.namespace) for condition in conditions):
                    found.add(each.namespace[: op.max_depth])
        return sorted(found)[op.offset : op.offset + op.limit]

    def _files(self, prefix: adapters_items.Labels) -> Iterator[MemoryMesh]:
        """A view of every namespace of ours that may hold items below a prefix."""
        if self._base.is_one_file or len(prefix) >= adapters_items.OF_A_FILE:
            yield self._view(self._base.file_of(prefix))
            return
        for name in self._mesh.care.namespaces():
            labels = self._base.labels_of(name)
            if labels is not None and labels[: len(prefix)] == tuple(prefix):
                yield self._view(name)

    def _view(self, file: str) -> MemoryMesh:
        """A view that reads no claims: an item is data, and what it says decides nothing."""
        own = file == self._mesh.config.namespace
        writer = Scope(agent=_WRITER)
        view = self._mesh.view(namespace=None if own else file, scope=writer)
        view._config = replace(view.config, read_claims=False)  # noqa: SLF001  # of our own package
        return view


def _asks_for_files(op: ListNamespacesOp) -> bool:
    """True if nothing but the labels that name a file decides, and no more of them is asked."""
    depth = op.max_depth is not None and op.max_depth <= adapters_items.OF_A_FILE
    return depth and all(
        condition.match_type == "prefix" and len(condition.path) <= adapters_items.OF_A_FILE
        for condition in op.match_conditions or ()
    )


def _matches(condition: MatchCondition, namespace: adapters_items.Labels) -> bool:
    """True if the namespace begins or ends as the condition says; `*` stands for any label."""
    path = condition.path
    if condition.match_type not in {"prefix", "suffix"}:
        raise InvalidInput(f"a condition is a prefix or a suffix, not {condition.match_type!r}")
    part = namespace[: len(path)]
    if condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :] if len(path) <= len(namespace) else ()
    return len(part) == len(path) and all(
        wanted in {"*", label} for wanted, label in zip(path, part, strict=True)
    )
