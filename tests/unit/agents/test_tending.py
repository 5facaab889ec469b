"""Upkeep of a daemon: texts stored without a model get their vectors, and requests go first."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from memory_mesh.agents import request as requests
from memory_mesh.agents.daemon.server import Tending
from memory_mesh.agents.opening import Stores
from memory_mesh.agents.sessions import KEPT_DAYS
from memory_mesh.model import Channel
from memory_mesh.sync import MemoryMesh


@pytest.fixture
def request_(tmp_path: Path, model_folder: Path) -> dict[str, Any]:
    variables = {
        "HOME": str(tmp_path),
        "MEMORY_MESH_DIR": str(tmp_path / "store"),
        "MEMORY_MESH_OWN_NAMES": "off",
        "MEMORY_MESH_EMBEDDER": "local",
        "MEMORY_MESH_MODEL_DIR": str(model_folder),
    }
    return requests.made("hook", environment=variables, cwd=str(tmp_path))


def pending(mesh: MemoryMesh) -> int:
    """How many texts have no vector yet."""
    stats = mesh.stats()
    return stats.memories - sum(state.vectors for state in stats.spaces)


def stored(request: dict[str, Any], count: int) -> None:
    """Stores texts as a front without a daemon does: without a model."""
    front = Stores(embedder=False)
    mesh = front.mesh_for(request, channel=Channel.HOOK)
    mesh.add_many([f"The pump number {each} leaks near the valve" for each in range(count)])
    front.close()


def test_texts_that_a_front_stored_without_a_model_get_their_vectors(
    tmp_path: Path, request_: dict[str, Any]
) -> None:
    stored(request_, 5)
    stores, done = Stores(), []
    mesh = stores.mesh_for(request_, channel=Channel.HOOK)
    assert pending(mesh) == 5
    tending = Tending(
        str(tmp_path / "store"), stores, wanted=lambda: False, done=lambda: done.append(1)
    )
    assert tending.is_due()
    tending.begin()
    tending.finish()
    assert pending(mesh) == 0
    assert done == [1]
    assert not tending.is_due()
    stores.close()


def test_upkeep_gives_way_after_one_small_step_and_goes_on_later(
    tmp_path: Path, request_: dict[str, Any]
) -> None:
    stored(request_, 300)
    stores, looks = Stores(), []

    def wanted() -> bool:
        looks.append(1)
        return len(looks) == 2

    mesh = stores.mesh_for(request_, channel=Channel.HOOK)
    tending = Tending(str(tmp_path / "store"), stores, wanted=wanted, done=lambda: None)
    tending.begin()
    tending.finish()
    assert 0 < pending(mesh) < 300
    assert tending.is_due()
    tending.begin()
    tending.finish()
    assert pending(mesh) == 0
    stores.close()


def test_sessions_that_ended_long_ago_are_forgotten(tmp_path: Path) -> None:
    sessions = tmp_path / "agents" / "sessions"
    sessions.mkdir(parents=True)
    for name, days in (("old.jsonl", KEPT_DAYS + 1), ("new.jsonl", 1)):
        (sessions / name).touch()
        then = time.time() - days * 86_400
        os.utime(sessions / name, (then, then))
    tending = Tending(str(tmp_path), Stores(), wanted=lambda: False, done=lambda: None)
    tending.begin()
    tending.finish()
    assert [path.name for path in sessions.iterdir()] == ["new.jsonl"]
