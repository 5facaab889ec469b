"""Our own store keeps each of the 24 obligations, and a store that does nothing keeps none."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.peers.obligations import face, ours
from bench.peers.obligations.obligations import OBLIGATIONS, verdict

ADAPTERS = ("ours", "mem0", "chroma", "langgraph")


class Nothing:
    """Takes everything and gives nothing back, as nothing that was stored could be found."""

    def add(self, text: str, said: face.Said = face.PLAIN) -> face.Answer:
        return face.Answer("1", "stored")

    def update(self, id: str, text: str, who: str = face.ANN) -> None: ...

    def delete(self, id: str, said: face.Said = face.PLAIN) -> None: ...

    def restore(self, id: str, who: str = face.ANN) -> None: ...

    def search(
        self, query: str, who: str = face.ANN, days_ago: float | None = None
    ) -> list[face.Item]:
        return []

    def get(self, id: str, who: str = face.ANN) -> face.Item | None:
        return None

    def history(self, id: str, who: str = face.ANN) -> list[str]:
        return []

    def prompt(self, query: str, who: str = face.ANN) -> str:
        return ""

    def erase(self, who: str) -> None: ...

    def care(self, days: float = 0) -> list[str]:
        return []


@contextmanager
def nothing(_: Path) -> Iterator[Nothing]:
    yield Nothing()


def test_there_are_twenty_four_and_a_face_of_ten_methods() -> None:
    assert len(OBLIGATIONS) == 24
    assert len([name for name in vars(face.Face) if not name.startswith("_")]) == 10


@pytest.mark.parametrize("name", OBLIGATIONS)
def test_our_store_keeps(name: str, tmp_path: Path) -> None:
    assert verdict(name, ours.opened, tmp_path) == "yes", OBLIGATIONS[name][0]


@pytest.mark.parametrize("name", OBLIGATIONS)
def test_a_store_that_does_nothing_keeps_none(name: str, tmp_path: Path) -> None:
    assert verdict(name, nothing, tmp_path) in {"control failed", "not offered"}


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_is_no_more_than_sixty_lines(adapter: str) -> None:
    path = Path(face.__file__).with_name(f"{adapter}.py")
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(lines) <= 60
