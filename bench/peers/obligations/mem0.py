"""mem0 with `infer=False` over its default store, Qdrant in a folder; no model is called."""
# ruff: noqa: ANN401, ARG002, D101, D102, D103  # the face says what each does

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

from bench.peers.obligations import vectors
from bench.peers.obligations.face import ANN, PLAIN, Answer, Item, NotOffered, Said

PACKAGE = "mem0ai"
_UNUSED = {"provider": "openai", "config": {"api_key": "unused"}}


class Mem0:
    def __init__(self, memory: Any) -> None:
        self._memory = memory
        self.erase = lambda who: memory.delete_all(user_id=who)

    def add(self, text: str, said: Said = PLAIN) -> Answer:
        if said.key is not None or said.ends:
            raise NotOffered
        about = {"user_id": said.who, "metadata": said.metadata, "infer": False}
        (done,) = self._memory.add(text, **about)["results"]
        return Answer(done["id"], done["event"])

    def update(self, id: str, text: str, who: str = ANN) -> None:
        self._memory.update(id, text)

    def delete(self, id: str, said: Said = PLAIN) -> None:
        self._memory.delete(id)

    def search(self, query: str, who: str = ANN, days_ago: float | None = None) -> list[Item]:
        if days_ago is not None:
            raise NotOffered
        found = self._memory.search(query, filters={"user_id": who})["results"]
        return [Item(one["id"], one["memory"]) for one in found]

    def get(self, id: str, who: str = ANN) -> Item | None:
        found = self._memory.get(id)
        return None if found is None else Item(id, found["memory"])

    def history(self, id: str, who: str = ANN) -> list[str]:
        return [one["new_memory"] for one in self._memory.history(id) if one["new_memory"]]

    def restore(self, *_: object) -> NoReturn:
        raise NotOffered

    prompt = care = restore


@contextmanager
def opened(folder: Path) -> Iterator[Mem0]:
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder)}
    from mem0 import Memory  # type: ignore[import-not-found]  # only in .venv-peers

    place = {"path": f"{folder}/q", "embedding_model_dims": vectors.DIMENSION, "on_disk": True}
    config = {"vector_store": {"provider": "qdrant", "config": place}, "embedder": _UNUSED}
    memory = Memory.from_config(
        config | {"llm": _UNUSED, "history_db_path": f"{folder}/history.db"}
    )
    memory.embedding_model = SimpleNamespace(embed=lambda text, _=None: vectors.of(text))
    yield Mem0(memory)
    memory.vector_store.client.close()
    memory.close()
