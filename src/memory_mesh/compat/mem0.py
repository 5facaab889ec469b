"""mem0's `Memory` over a store of ours: code moves by its import line alone.

::

    from memory_mesh.compat.mem0 import Memory

    memory = Memory()
    memory.add("Alice prefers tea", user_id="alice")
    memory.search("what to drink", filters={"user_id": "alice"})

Answers have mem0's shape. What is ours: a user's memories stand in a file of their own, so a search
names its user, and `agent_id` or `run_id` alone reaches only what was added without one. `infer`
asks the language model of the store's settings; where there is none, what users wrote is kept as it
is. What its rules refuse is not in the results. An expired memory is gone, not shown on demand.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256

from memory_mesh.base.typed import Any, Self, TypeAlias
from memory_mesh.model import (
    Channel,
    InvalidInput,
    Memory as Stored,
    NotFound,
    Outcome,
    Receipt,
    Status,
)
from memory_mesh.model.times import iso
from memory_mesh.sync import MemoryMesh

Answer: TypeAlias = dict[str, Any]
Message: TypeAlias = Mapping[str, Any]

_OF_USER = "~"  # between the id of a memory and the user whose it is
_ENTITIES = ("user_id", "agent_id", "run_id")
_KEYS = {"agent_id": "for_agent", "run_id": "for_run"}  # in the metadata: ours have these names
_SAME = ("eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains")  # operators of both
_PAGE = 200


class Mem0Memory:
    """Long-term memory with mem0's methods; `mesh` is the store behind it."""

    def __init__(self, config: Mapping[str, Any] | None = None, **options: Any) -> None:  # noqa: ANN401
        """Open the store of `config["store"]`, or the default one; mem0's own settings say nothing.

        Options are those of `MemoryMesh`.
        """
        given = dict(config or {})
        self.mesh = MemoryMesh(given.get("store"), **options)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """The memory of mem0's configuration: `store` is where ours lies."""
        return cls(config_dict)

    def add(
        self,
        messages: str | Message | Sequence[Message],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: str | None = None,
        infer: bool = True,
        memory_type: str | None = None,  # noqa: ARG002  # mem0's; the text says what kind it is
        prompt: str | None = None,  # noqa: ARG002  # mem0's; the prompt is ours
    ) -> Answer:
        """Stores what was said; returns each memory with its id and what happened to it."""
        _named({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        said = _messages(messages)
        entities = {"agent_id": agent_id, "run_id": run_id}
        about = dict(metadata or {})
        about |= {_KEYS[name]: value for name, value in entities.items() if value}
        view = self._of(user_id)
        if infer and self.mesh.config.llm_provider:
            done = view.learn.extract(said, roles=("user", "assistant"), metadata=about)
            receipts = list(done.receipts)
        else:
            receipts = []
            for each in said:
                if infer and each["role"] != "user":
                    continue
                own = view if each["role"] == "user" else view.view(channel=Channel.ASSISTANT)
                details = {"role": each["role"], "speaker": each.get("name")}
                stated: Answer = {name: value for name, value in details.items() if value}
                if expiration_date:
                    stated["expires_at"] = expiration_date
                receipts.append(own.add(each["content"], about, **stated))
        kept = [one for one in receipts if one.outcome is not Outcome.REFUSED]
        return {"results": [_added(one, user_id) for one in kept]}

    def get(self, memory_id: str) -> Answer | None:
        """One memory, or None."""
        view, id_, user = self._found(memory_id)
        memory = view.get(id_)
        return None if memory is None else _item(memory, user)

    def get_all(
        self, *, filters: Mapping[str, Any] | None = None, top_k: int = 20, **wrong: object
    ) -> Answer:
        """The newest memories of what the filters name."""
        user, condition = _read(filters, wrong, "get_all")
        found = self._of(user).get_all(limit=top_k, filter=condition)
        return {"results": [_item(memory, user) for memory in found]}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        rerank: bool = False,
        explain: bool = False,
        **wrong: object,
    ) -> Answer:
        """The best memories for a question, however far; `threshold`: what the best must reach."""
        user, condition = _read(filters, wrong, "search")
        if threshold is not None and not 0 <= threshold <= 1:
            raise ValueError(
                f"Invalid threshold: {threshold}. Must be between 0 and 1 (inclusive)."
            )
        hits = self._of(user).search(
            query,
            limit=top_k,
            filter=condition,
            min_relevance=threshold or 0.0,
            rerank=rerank or None,
        )
        found = []
        for hit in hits:
            item = {**_item(hit.memory, user), "score": hit.score}
            found.append({**item, "score_details": dict(hit.parts)} if explain else item)
        return {"results": found}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: str | None = None,
        data: str | None = None,
    ) -> Answer:
        """Gives a memory a new text or more metadata; the earlier version stays in its history."""
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is None:
            raise ValueError("At least one of text, metadata, or expiration_date must be provided.")
        view, id_, _ = self._found(memory_id)
        more: Answer = {} if expiration_date is None else {"expires_at": expiration_date}
        with _missing(memory_id):
            view.update(id_, text, dict(metadata or {}), merge=True, **more)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> Answer:
        """Deletes a memory; `mesh.erase` is what leaves no byte of it."""
        view, id_, _ = self._found(memory_id)
        with _missing(memory_id):
            view.delete(id_)
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> Answer:
        """Deletes all memories of a user, an agent or a run."""
        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        if not any(given.values()):
            raise ValueError(
                "At least one filter is required to delete all memories. "
                "If you want to delete all memories, use the `reset()` method."
            )
        user, condition = _read({name: value for name, value in given.items() if value}, {}, "")
        self._emptied(self._of(user), condition)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[Answer]:
        """What happened to a memory, oldest first."""
        view, id_, user = self._found(memory_id)
        before: str | None = None
        events: list[Answer] = []
        for version in view.history(id_):
            gone = version.status is Status.DELETED
            now = None if gone else version.text
            event = "DELETE" if gone else "ADD" if before is None else "UPDATE"
            events.append(
                {
                    "memory_id": _id(version.id, user),
                    "old_memory": before,
                    "new_memory": now,
                    "event": event,
                    "created_at": version.created_at,
                    "updated_at": iso(version.recorded_from),
                    "is_deleted": gone,
                    "role": version.role,
                }
            )
            before = version.text
        return events

    def reset(self) -> None:
        """Deletes every memory of every user."""
        for user in (None, *self.mesh.users()):
            self._emptied(self._of(user), None)

    def close(self) -> None:
        """Release the store."""
        self.mesh.close()

    def __enter__(self) -> Self:
        """The memory itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release the store."""
        self.close()

    def _of(self, user: str | None) -> MemoryMesh:
        return self.mesh if user is None else self.mesh.for_user(user)

    def _found(self, memory_id: str) -> tuple[MemoryMesh, str, str | None]:
        """The view that an id belongs to, our id, and the user."""
        id_, _, user = memory_id.partition(_OF_USER)
        return self._of(user or None), id_, user or None

    @staticmethod
    def _emptied(view: MemoryMesh, condition: Mapping[str, Any] | None) -> None:
        cursor = None
        while True:
            page = view.get_all(limit=_PAGE, filter=condition, cursor=cursor)
            for memory in page:
                view.delete(memory.id, reason="delete_all")
            cursor = page.cursor
            if cursor is None:
                return


class AsyncMemory:
    """mem0's `AsyncMemory`: the methods of `Memory`, each in a thread."""

    def __init__(self, config: Mapping[str, Any] | None = None, **options: Any) -> None:  # noqa: ANN401
        """Open the store as `Memory` does."""
        self._sync = Mem0Memory(config, **options)

    @classmethod
    async def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """The memory of mem0's configuration."""
        return cls(config_dict)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the method answers
        """A method of `Memory`, to be awaited."""
        method = getattr(self._sync, name)
        if name.startswith("_") or not callable(method):
            raise AttributeError(name)
        return partial(asyncio.to_thread, method)

    def close(self) -> None:
        """Release the store."""
        self._sync.close()

    async def __aenter__(self) -> Self:
        """The memory itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Release the store."""
        self.close()


Memory = Mem0Memory  # as mem0 calls it


def _messages(given: object) -> list[dict[str, Any]]:
    """What was said, without what a system prompt says."""
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    listed = [given] if isinstance(given, Mapping) else given
    if not isinstance(listed, list) or not all(isinstance(each, Mapping) for each in listed):
        raise InvalidInput("messages must be str, dict, or list[dict]")
    return [
        dict(each)
        for each in listed
        if each.get("role") in {"user", "assistant"} and isinstance(each.get("content"), str)
    ]


def _named(entities: Mapping[str, object]) -> None:
    """Raises ValueError unless somebody is named, by a text that is not empty."""
    for name, value in entities.items():
        if value is not None and not (isinstance(value, str) and value.strip()):
            raise ValueError(f"Invalid {name}: cannot be empty or whitespace-only.")
    if not any(entities.values()):
        raise ValueError("At least one of 'user_id', 'agent_id', or 'run_id' must be provided.")


def _read(
    filters: Mapping[str, Any] | None, wrong: Mapping[str, object], method: str
) -> tuple[str | None, dict[str, Any] | None]:
    """The user that mem0's filters name, and the rest of them as a condition of ours."""
    if entities := sorted(set(wrong) & set(_ENTITIES)):
        raise ValueError(
            f"Top-level entity parameters {entities} are not supported in {method}(). "
            "Use filters={'user_id': '...'} instead."
        )
    if wrong:
        raise TypeError(f"{method}() does not know {', '.join(wrong)}")
    given = dict(filters or {})
    _named({name: given.get(name) for name in _ENTITIES})
    user = given.pop("user_id", None)
    return user, _condition(given) or None


def _condition(filters: Mapping[str, Any]) -> dict[str, Any]:
    """mem0's conditions as ours: what it calls `eq` is `$eq` here."""
    done: dict[str, Any] = {}
    for name, value in filters.items():
        if name in {"AND", "OR", "NOT"}:
            parts = [_condition(each) for each in value]
            joined = {"$or" if name in {"OR", "NOT"} else "$and": parts}
            done[f"${name.lower()}"] = joined if name == "NOT" else parts
        elif value == "*":
            done[_KEYS.get(name, name)] = {"$exists": True}
        elif isinstance(value, Mapping):
            done[_KEYS.get(name, name)] = dict(_test(*test) for test in value.items())
        else:
            done[_KEYS.get(name, name)] = value
    return done


def _test(operator: str, value: object) -> tuple[str, object]:
    if operator == "icontains":
        return "$like", f"%{value}%"
    if operator not in _SAME:
        raise ValueError(f"Unsupported metadata filter operator: {operator}")
    return f"${operator}", value


def _added(receipt: Receipt, user: str | None) -> Answer:
    """What became of one text; NONE where it was there already."""
    event = "NONE" if receipt.outcome is Outcome.MERGED else "ADD"
    return {"id": _id(receipt.id or "", user), "memory": receipt.content, "event": event}


def _item(memory: Stored, user: str | None) -> Answer:
    """A memory as mem0 shows it."""
    extra = dict(memory.extra)
    own: Answer = {"actor_id": memory.speaker, "role": memory.role}
    own |= {name: extra.pop(key, None) for name, key in _KEYS.items()}
    return {
        "id": _id(memory.id, user),
        "memory": memory.text,
        "hash": sha256(memory.text.encode()).hexdigest(),
        "metadata": extra or None,
        "created_at": memory.created_at,
        "updated_at": iso(memory.recorded_from),
        **({} if user is None else {"user_id": user}),
        **{name: value for name, value in own.items() if value is not None},
    }


def _id(id_: str, user: str | None) -> str:
    return id_ if user is None else f"{id_}{_OF_USER}{user}"


@contextmanager
def _missing(memory_id: str) -> Iterator[None]:
    """mem0's error for an id that there is not."""
    try:
        yield
    except NotFound:
        raise ValueError(f"Memory with id {memory_id} not found") from None
