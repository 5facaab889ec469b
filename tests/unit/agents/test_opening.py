"""One open store per settings, and for each request a view with its sender's own settings."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_mesh.agents import request as requests
from memory_mesh.agents.opening import Stores, answer, config_of
from memory_mesh.model import Channel
from memory_mesh.model.errors import Closed, InvalidInput


@pytest.fixture
def stores() -> Iterator[Stores]:
    found = Stores()
    yield found
    found.close()


def asked(tmp_path: Path, **variables: str) -> dict[str, Any]:
    """A request of somebody with these variables."""
    plain = {"HOME": str(tmp_path / "home"), "MEMORY_MESH_DIR": str(tmp_path / "store")}
    chosen = {"MEMORY_MESH_EMBEDDER": "none", "MEMORY_MESH_OWN_NAMES": "off"}
    return requests.made(
        "hook", environment={**plain, **chosen, **variables}, cwd=str(tmp_path), host="codex"
    )


def test_settings_are_those_of_the_sender_and_none_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_MESH_NAMESPACE", "of-the-starter")
    monkeypatch.setenv("MEMORY_MESH_PROJECT", "of-the-starter")
    config = config_of(asked(tmp_path, MEMORY_MESH_NAMESPACE="work"), session="s1")
    assert config.namespace == "work"
    assert config.project is None
    assert config.agent_id == "codex"
    assert config.session == "s1"
    assert config.db_dir == tmp_path / "store"


def test_relative_folders_and_those_at_home_are_the_senders(tmp_path: Path) -> None:
    config = config_of(
        asked(tmp_path, MEMORY_MESH_MODEL_DIR="~/models/a", MEMORY_MESH_MODELS_DIR="models")
    )
    assert config.model_dir == tmp_path / "home/models/a"
    assert config.models_dir == tmp_path / "models"


def test_the_project_is_that_of_the_senders_folder(stores: Stores, tmp_path: Path) -> None:
    def project(**variables: str) -> str | None:
        return stores.mesh_for(asked(tmp_path, **variables), channel=Channel.HOOK).config.project

    assert project() is None
    (tmp_path / ".git").mkdir()
    assert project() == str(tmp_path)
    (tmp_path / ".git/config").write_text('[remote "origin"]\nurl = git@github.com:ada/app.git\n')
    assert project() == "github.com/ada/app"
    assert project(MEMORY_MESH_PROJECT="mine") == "mine"


def test_a_former_name_of_the_senders_project_is_read(stores: Stores, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for _ in range(2):  # the second request takes note of the project
        mesh = stores.mesh_for(asked(tmp_path), channel=Channel.HOOK)
        mesh.add("the parser is recursive")
    (tmp_path / ".git/config").write_text('[remote "origin"]\nurl = git@github.com:ada/app.git\n')
    mesh = stores.mesh_for(asked(tmp_path), channel=Channel.HOOK)
    assert [hit.content for hit in mesh.search("parser")] == ["the parser is recursive"]


def test_requests_with_the_same_settings_share_a_store(stores: Stores, tmp_path: Path) -> None:
    one = stores.mesh_for(asked(tmp_path), channel=Channel.HOOK)
    two = stores.mesh_for(asked(tmp_path, MEMORY_MESH_NAMESPACE="b"), channel=Channel.MCP)
    assert one._store is two._store
    assert one.add("We deploy on Fridays").id is not None
    assert [hit.memory.text for hit in one.search("deploy")] == ["We deploy on Fridays"]
    assert two.search("deploy") == []


def test_a_key_is_where_the_senders_home_is(stores: Stores, tmp_path: Path) -> None:
    for home in ("ann", "bob"):
        variables = {
            "HOME": str(tmp_path / home),
            "MEMORY_MESH_DIR": str(tmp_path / home / "store"),
        }
        mesh = stores.mesh_for(asked(tmp_path, **variables), channel=Channel.HOOK)
        mesh.add("Write to ann.kowalska@example.org")
    assert [len(list((tmp_path / home).rglob("*.key"))) for home in ("ann", "bob")] == [1, 1]


def test_only_so_many_stores_stay_open_and_those_in_use_among_them(tmp_path: Path) -> None:
    stores = Stores(most=2)
    meshes = []
    with stores.borrowing():
        for count in range(4):
            variables = {"MEMORY_MESH_LOCK_WAIT_SECONDS": str(count)}
            mesh = stores.mesh_for(asked(tmp_path, **variables), channel=Channel.HOOK)
            mesh.add(f"text {count}")
            meshes.append(mesh)
        assert all(mesh.stats() for mesh in meshes)  # none was closed under a request
    with stores.opened() as found:
        assert len(found) == 2
    for mesh in meshes[:2]:
        with pytest.raises(Closed):
            mesh.stats()
    assert all(mesh.stats() for mesh in meshes[2:])
    stores.close()
    with pytest.raises(Closed):
        stores.mesh_for(asked(tmp_path), channel=Channel.HOOK)


def test_many_threads_share_a_store_while_others_are_closed(tmp_path: Path) -> None:
    stores, failures = Stores(most=1), []

    def work(number: int) -> None:
        try:
            for count in range(5):
                with stores.borrowing():
                    wait = str(5 + (number + count) % 3)
                    request = asked(tmp_path, MEMORY_MESH_LOCK_WAIT_SECONDS=wait)
                    stores.mesh_for(request, channel=Channel.HOOK).add(f"text {number} {count}")
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert stores.mesh_for(asked(tmp_path), channel=Channel.HOOK).stats().memories == 30
    stores.close()


def test_who_cannot_wait_is_answered_by_words_while_the_model_is_loaded(
    stores: Stores, tmp_path: Path, model_folder: Path
) -> None:
    variables = {"MEMORY_MESH_EMBEDDER": "local", "MEMORY_MESH_MODEL_DIR": str(model_folder)}
    hasty = asked(tmp_path, **variables) | {"seconds": 0.1}
    mesh = stores.mesh_for(hasty, channel=Channel.HOOK)
    assert mesh._access().embedder is None
    with stores.opened() as (opened,):
        assert opened._warming is not None
        opened._warming.join()
    assert stores.mesh_for(hasty, channel=Channel.HOOK)._access().embedder is not None
    front = Stores(embedder=False)
    assert front.mesh_for(hasty | {"seconds": 9}, channel=Channel.MCP)._access().embedder is None
    front.close()


def test_warm_opens_the_store_and_loads_the_model(
    stores: Stores, tmp_path: Path, model_folder: Path
) -> None:
    variables = {"MEMORY_MESH_EMBEDDER": "local", "MEMORY_MESH_MODEL_DIR": str(model_folder)}
    assert answer(stores, asked(tmp_path, **variables) | {"do": "warm"}) == {}
    with stores.opened() as (opened,):
        assert opened.is_warm()


def test_what_nobody_can_do_is_refused(stores: Stores, tmp_path: Path) -> None:
    known = "hook, tool, resource, prompt, search, follow, warm"
    with pytest.raises(InvalidInput, match=f"do must be one of {known}"):
        answer(stores, asked(tmp_path) | {"do": "erase"})
