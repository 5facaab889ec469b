"""LangGraph's InMemoryStore with an index over the text; a namespace for each person."""
# ruff: noqa: ANN401, ARG001, D101, D102, D103  # the face says what each does

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from bench.peers.obligations import vectors
from bench.peers.obligations.face import ANN, PLAIN, Answer, Item, NotOffered, Said

PACKAGE = "langgraph"


class Store:
    def __init__(self, store: Any) -> None:
        self._store = store

    def add(self, text: str, said: Said = PLAIN) -> Answer:
        if said.ends:  # `supports_ttl` is False of this store
            raise NotOffered
        id = said.key or str(uuid.uuid4())
        self._store.put((said.who,), id, {**(said.metadata or {}), "text": text})
        return Answer(id, "put")

    def update(self, id: str, text: str, who: str = ANN) -> None:
        self._store.put((who,), id, {"text": text})

    def delete(self, id: str, said: Said = PLAIN) -> None:
        self._store.delete((said.who,), id)

    def search(self, query: str, who: str = ANN, days_ago: float | None = None) -> list[Item]:
        if days_ago is not None:
            raise NotOffered
        return [Item(one.key, one.value["text"]) for one in self._store.search((who,), query=query)]

    def get(self, id: str, who: str = ANN) -> Item | None:
        found = self._store.get((who,), id)
        return None if found is None else Item(id, found.value["text"])

    def restore(self, *_: object) -> NoReturn:
        raise NotOffered

    history = prompt = erase = care = restore


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    from langgraph.store.memory import InMemoryStore

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [vectors.of(text) for text in texts]

    index: Any = {"dims": vectors.DIMENSION, "embed": embed, "fields": ["text"]}
    yield Store(InMemoryStore(index=index))
