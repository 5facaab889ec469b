"""chroma: a persistent client, a collection for each person; it keeps what it is given."""
# ruff: noqa: ANN401, D101, D102, D103  # the face says what each does

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from bench.peers.obligations import vectors
from bench.peers.obligations.face import ANN, PLAIN, Answer, Item, NotOffered, Said

PACKAGE = "chromadb"


class Chroma:
    def __init__(self, client: Any) -> None:
        self._client = client

    def _of(self, who: str) -> Any:
        return self._client.get_or_create_collection(f"person-{who}")

    def add(self, text: str, said: Said = PLAIN) -> Answer:
        if said.ends:
            raise NotOffered
        id, about = said.key or str(uuid.uuid4()), [dict(said.metadata)] if said.metadata else None
        self._of(said.who).add([id], [vectors.of(text)], about, [text])
        return Answer(id, "added")

    def update(self, id: str, text: str, who: str = ANN) -> None:
        self._of(who).update(ids=[id], documents=[text], embeddings=[vectors.of(text)])

    def delete(self, id: str, said: Said = PLAIN) -> None:
        self._of(said.who).delete(ids=[id])

    def search(self, query: str, who: str = ANN, days_ago: float | None = None) -> list[Item]:
        if days_ago is not None:
            raise NotOffered
        found = self._of(who).query(query_embeddings=[vectors.of(query)], n_results=10)
        return [Item(*pair) for pair in zip(found["ids"][0], found["documents"][0], strict=True)]

    def get(self, id: str, who: str = ANN) -> Item | None:
        found = self._of(who).get(ids=[id])
        return Item(id, found["documents"][0]) if found["ids"] else None

    def erase(self, who: str) -> None:
        self._client.delete_collection(f"person-{who}")

    def restore(self, *_: object) -> NoReturn:
        raise NotOffered

    history = prompt = care = restore


@contextmanager
def opened(folder: Path) -> Iterator[Chroma]:
    import chromadb  # type: ignore[import-not-found]  # only in .venv-peers

    chromadb.api.client.SharedSystemClient.clear_system_cache()  # a new process would have none
    settings = chromadb.Settings(anonymized_telemetry=False)
    yield Chroma(chromadb.PersistentClient(str(folder / "chroma"), settings))
