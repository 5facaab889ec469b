"""Whatever still names the folder of a moved store begins none there, and is told where it is."""

from pathlib import Path

import pytest

from memory_mesh import care
from tests.surface.hooking import PLANTED, Host
from tests.surface.mcp_client import RawClient


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A host whose store was moved."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    found = Host(home)
    with found.mesh() as mesh:
        mesh.add(PLANTED)
    care.move_store(found.store, home / "elsewhere")
    return found


def is_left_alone(host: Host) -> bool:
    names = {path.name for path in host.store.iterdir()}
    return "moved" in names and not names & {"namespaces", "identity", "key-record"}


def test_a_hook_begins_no_store(host: Host) -> None:
    for said in (host.start(), host.prompt(), host("Stop")):
        assert (said.code, PLANTED in said.context) == (0, False)
    assert any("StoreWasMoved" in str(line.get("reason")) for line in host.lines(3))
    assert is_left_alone(host)


def test_a_daemon_begins_no_store(host: Host) -> None:
    with host.daemon():
        assert PLANTED not in host.prompt().context
        assert is_left_alone(host)


def test_an_mcp_server_begins_no_store_and_says_where_it_is(host: Host) -> None:
    with RawClient(host.home) as client:
        client.greet()
        for tool, given in (
            ("memory_store", {"content": "The office is in Hamburg"}),
            ("memory_search", {"query": "port"}),
        ):
            answer = client.call(tool, **given)
            assert answer["isError"]
            assert f"--db-dir {host.home / 'elsewhere'}" in str(answer["content"])
    assert is_left_alone(host)
