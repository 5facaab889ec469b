"""memory-mesh as it comes, without a model: its answers here are by words."""
# ruff: noqa: D101, D102, D103  # the face says what each does

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from bench.peers.obligations.face import ANN, PLAIN, Answer, Item, Said
from memory_mesh.model import Channel, Memory
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock

PACKAGE = "memory-mesh"
_CHANNELS = {"user": Channel.CLI, "agent": Channel.MCP, "web": Channel.WEB}


def _item(memory: Memory) -> Item:
    return Item(memory.id, memory.text, memory.source.kind.value)


class Ours:
    def __init__(self, mesh: MemoryMesh, clock: FrozenClock) -> None:
        self._mesh, self._clock = mesh, clock

    def _of(self, who: str, by: str = "user") -> MemoryMesh:
        return self._mesh.for_user(who).view(channel=_CHANNELS[by])

    def add(self, text: str, said: Said = PLAIN) -> Answer:
        until = said.until_days and self._clock.now() + timedelta(days=said.until_days)
        stated = {"key": said.key, "ttl": said.days and said.days * 86_400, "valid_until": until}
        details = {name: value for name, value in stated.items() if value}
        done = self._of(said.who, said.by).add(text, said.metadata, **details)  # type: ignore[arg-type]
        return Answer(done.id, done.outcome.value)

    def update(self, id: str, text: str, who: str = ANN) -> None:
        self._of(who).update(id, text)

    def delete(self, id: str, said: Said = PLAIN) -> None:
        self._of(said.who, said.by).delete(id)

    def restore(self, id: str, who: str = ANN) -> None:
        self._of(who).restore(id)

    def search(self, query: str, who: str = ANN, days_ago: float | None = None) -> list[Item]:
        at = None if days_ago is None else self._clock.now() - timedelta(days=days_ago)
        return [_item(hit.memory) for hit in self._of(who).search(query, as_of=at)]

    def get(self, id: str, who: str = ANN) -> Item | None:
        return next(map(_item, self._of(who).get_many([id])), None)

    def history(self, id: str, who: str = ANN) -> list[str]:
        return [version.text for version in self._of(who).history(id)]

    def prompt(self, query: str, who: str = ANN) -> str:
        return str(self._of(who).context(query))

    def erase(self, who: str) -> None:
        self._mesh.delete_user(who)

    def care(self, days: float = 0) -> list[str]:
        self._clock.advance(timedelta(days=days))
        self._of(ANN).care.upkeep()
        return [str(finding) for finding in self._of(ANN).care.verify().findings]


@contextmanager
def opened(folder: Path) -> Iterator[Ours]:
    clock = FrozenClock()
    with MemoryMesh(db_dir=folder / "store", clock=clock, embedder="none") as mesh:
        yield Ours(mesh, clock)
