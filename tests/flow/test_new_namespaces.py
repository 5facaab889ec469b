"""A namespace that is just made while its store is moved or restored: no write goes astray."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from memory_mesh import care
from memory_mesh.ledgers.sqlite.open_file import create
from memory_mesh.model.errors import StoreWasMoved
from memory_mesh.platform import moved_marks
from memory_mesh.platform.locks import FairLock, folder_held
from tests.flow.test_move import filled, found, opened
from tests.until import until, waits_in_line

Start = Callable[[Callable[[], object]], "Future[object]"]


@pytest.fixture
def start() -> Iterator[Start]:
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit


def begin(store: Path, name: str = "new") -> None:
    with opened(store, name) as mesh:
        mesh.add("the first of a new namespace")


def waits(running: "Future[object]", lock: Path) -> bool:
    """Whether somebody comes to wait for a lock, and does not go by."""
    until(lambda: running.done() or waits_in_line(lock))
    return not running.done()


@pytest.mark.parametrize("what", ["move", "restore"])
def test_a_move_and_a_restore_wait_for_whoever_makes_a_namespace(
    tmp_path: Path, what: str, start: Start
) -> None:
    store = filled(tmp_path / "store")
    backup = care.backup(store, tmp_path / "backups").folder
    path = store / "namespaces/new.db"
    with closing(FairLock(path.with_suffix(".lock"))) as lock, lock.held():
        create(path)  # as a write does before it fills the file
        if what == "move":
            running = start(lambda: care.move_store(store, tmp_path / "to"))
        else:
            running = start(lambda: care.restore(backup, store, replace=True))
        assert waits(running, path.with_suffix(".lock"))
        assert path.exists()
    running.result()
    assert len(found(tmp_path / "to" if what == "move" else store)) == 2


def test_no_namespace_is_made_while_the_folder_is_exchanged(tmp_path: Path, start: Start) -> None:
    store = filled(tmp_path / "store")
    with folder_held(store / "namespaces"):
        running = start(lambda: begin(store))
        assert waits(running, store / "namespaces")
        assert not (store / "namespaces/new.db").exists()
        with opened(store) as mesh:
            mesh.add("namespaces that are there go on")
    running.result()
    assert found(store, "new") == ["the first of a new namespace"]


def test_who_waited_while_the_folder_was_exchanged_begins_in_the_new_one(
    tmp_path: Path, start: Start
) -> None:
    store, other = filled(tmp_path / "store"), filled(tmp_path / "other")
    with folder_held(store / "namespaces"):
        running = start(lambda: begin(store))
        assert waits(running, store / "namespaces")
        (store / "namespaces").rename(tmp_path / "aside")
        (other / "namespaces").rename(store / "namespaces")
    running.result()
    assert found(store, "new") == ["the first of a new namespace"]
    assert not (tmp_path / "aside/new.db").exists()


def test_who_waited_while_the_store_was_moved_is_told_where(tmp_path: Path, start: Start) -> None:
    store = filled(tmp_path / "store")
    with folder_held(store / "namespaces"):
        running = start(lambda: begin(store))
        assert waits(running, store / "namespaces")
        moved_marks.write(moved_marks.of_store(store), tmp_path / "to", "2026-11-16T23:40:00Z")
        (store / "namespaces").rename(tmp_path / "aside")
    with pytest.raises(StoreWasMoved, match=f"--db-dir {tmp_path / 'to'}"):
        running.result()
    assert not (store / "namespaces").exists()
