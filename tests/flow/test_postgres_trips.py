"""How often a process waits for PostgreSQL in one operation: what a network costs."""

import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from bench import memories
from memory_mesh.model import Scope
from memory_mesh.sync import MemoryMesh
from tests.faults.fault_proxy import Direction, Fault, FaultProxy
from tests.postgres import SECRET, Server

NOTES = [
    "The deploy runs on Tuesdays at nine in the morning",
    "Ben broke the build with a missing import last week",
    "Our staging cluster lives in Frankfurt",
    "The invoices are sent on the last working day of the month",
    "We decided to use PostgreSQL for the team store",
    "The backup job starts at two in the morning",
]
# At most: by words, by meaning too. A read's COMMIT is told to the server, not waited for.
MOST = {"get": (1, 1), "add": (5, 6), "search": (8, 8), "add_many": (6, 8)}
_ASKS = frozenset(b"QSH")  # Query, Sync and Flush: only after one of these the server answers
_LENGTH = struct.Struct(">I")


class TripsCounted(FaultProxy):
    """Lets everything through, and counts how often the client asks for the answers so far."""

    def __init__(self, server: Path, folder: Path) -> None:
        super().__init__(server, folder)
        self.trips = 0
        self._left, self._begun = b"", False
        self._reads = self._ends = False

    def _struck(self, data: bytes, direction: Direction) -> tuple[bytes, Fault | None]:
        if direction == "to server":
            self._left += data
            while (message := self._next()) is not None:
                self._look(*message)
        return data, None

    def _next(self) -> tuple[int, bytes] | None:
        """The next message that came whole: its kind, none for the first, and what it says."""
        head = 1 if self._begun else 0
        if len(self._left) < head + _LENGTH.size:
            return None
        end = head + _LENGTH.unpack_from(self._left, head)[0]
        if len(self._left) < end:
            return None
        kind, said = (self._left[0] if head else 0), self._left[head + _LENGTH.size : end]
        self._left, self._begun = self._left[end:], True
        return kind, said

    def _look(self, kind: int, said: bytes) -> None:
        if b"BEGIN" in said:
            self._reads = b"READ ONLY" in said
        self._ends = self._ends or (kind == ord("P") and b"COMMIT" in said)
        if kind in _ASKS:
            self.trips += not (self._ends and self._reads)
            self._ends = False


@pytest.fixture
def proxy(postgres: Server, database: str, tmp_path: Path) -> Iterator[TripsCounted]:
    with closing(TripsCounted(postgres.folder, tmp_path / "p")) as proxy:
        proxy.database = proxy.url(database)  # type: ignore[attr-defined]
        yield proxy


@contextmanager
def opened(proxy: TripsCounted, *, by_meaning: bool) -> Iterator[MemoryMesh]:
    found = {"custom_embedder": memories.Made()} if by_meaning else {"embedder": "none"}
    with MemoryMesh(proxy.database, **found) as mesh:  # type: ignore[attr-defined]
        yield mesh


@pytest.mark.parametrize("by_meaning", [False, True])
def test_an_operation_waits_for_the_server_a_few_times(proxy, by_meaning, monkeypatch, tmp_path):
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    monkeypatch.chdir(tmp_path)
    with opened(proxy, by_meaning=by_meaning) as mesh:
        known = [mesh.add(note).id for note in NOTES]
        many = [f"{note}, said by {count} people" for count, note in enumerate(NOTES * 3)]
        mesh.add_many(many)  # statements are prepared by then
        mesh.search("when does the deploy run", use_cache=False)
        mesh.get(str(known[0]))
        mesh.add("The office in Lyon closes at six")
        took = Counter[str]()

        def count(name: str, work: Callable[[], object]) -> None:
            before = proxy.trips
            work()
            took[name] = max(took[name], proxy.trips - before)

        count("get", lambda: mesh.get(str(known[1])))
        count("search", lambda: mesh.search("where does the staging cluster live"))
        count("search", lambda: mesh.search("who breaks the stagging builds in the nights"))
        count("add", lambda: mesh.add("The mobile app ships every second Thursday"))
        count("add_many", lambda: mesh.add_many([f"{note} again" for note in many]))
    assert {name: took[name] for name in MOST} == {
        name: min(took[name], bounds[by_meaning]) for name, bounds in MOST.items()
    }


def test_prompts_are_listed_for_their_reader_alone(database, monkeypatch):
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    with MemoryMesh(database, embedder="none") as mesh:
        web = mesh.view(scope=Scope(project="web"))
        web.add("Deploys go out on Tuesdays", scope=Scope(project="web"))
        first, second = (web.context(question).injection_id for question in ("deploys", "go out"))
        assert [each.id for each in web.care.prompts()] == [second, first]
        assert [each.id for each in web.care.prompts(before=second)] == [first]
        assert mesh.care.prompts() == []
        assert len(mesh.care.prompts(across=["project"])[0].memories) == 1
