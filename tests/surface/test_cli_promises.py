"""What the command line says of expired sessions, votes, waiting texts and imports."""

from datetime import UTC, datetime

from memory_mesh.model import Scope
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.surface.command import CommandLine

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def test_get_says_that_a_session_expired_and_how_to_see_it(cli: CommandLine) -> None:
    with MemoryMesh(db_dir=cli.store, clock=FrozenClock(LONG_AGO)) as mesh:
        id_ = str(mesh.add("tea is hot", scope=Scope(session="chat")).id)
    done = cli("get", "--id", id_, "--session", "chat")
    assert (done.code, done.out) == (1, "")
    assert f"memory-mesh get --id {id_} --session chat --expired" in done.err
    shown = cli("get", "--id", id_, "--session", "chat", "--expired")
    assert "expired" in shown.out
    assert shown.out.endswith("\n\ntea is hot\n")
    assert "tea is hot" in cli("list", "--session", "chat", "--include", "expired").out
    assert cli("list", "--session", "chat").out == ""
    assert "[MemoryMesh] Expired: 1\n" in cli("stats", "--verbose").out
