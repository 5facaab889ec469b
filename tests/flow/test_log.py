"""The log tells what was done by ids, counts, durations and outcomes, and no content."""

import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memory_mesh.model import Channel, Scope
from memory_mesh.model.errors import EmbeddingError
from memory_mesh.platform.locks import FairLock
from memory_mesh.sync import MemoryMesh
from tests.receipts import id_of
from tests.surface.command import CommandLine

WORDS = (
    "zebra", "quagga", "okapi", "tapir", "gnu", "ibex", "lynx", "otter", "puffin", "heron",
    "walrus", "badger", "marten", "osprey", "petrel",
)  # fmt: skip
LESSON = {
    "situation": "tapir",
    "error_pattern": "gnu",
    "oversight": "ibex",
    "fix": "lynx",
    "preventative_rule": "otter",
    "severity": "high",
    "applicable_scope": "puffin",
}


class Broken:
    """An embedder whose model is gone."""

    def embed(self, texts, *, query=False):
        raise EmbeddingError("the model file is missing")

    def close(self):
        """Nothing is open."""


def everything(mesh: MemoryMesh) -> None:
    """Writes, reads and changes of every kind, each with a word of its own."""
    claim = {"subject": "zebra", "predicate": "quagga", "value": "okapi"}
    one = id_of(mesh.add("a zebra runs", {"tapir": "gnu"}, tags=["ibex"], claim=claim))
    mesh.add("a zebra runs", {"tapir": "lynx"}, tags=["otter"])
    mesh.add("a zebra rests", claim=claim | {"value": "puffin"})
    mesh.view(channel=Channel.MCP).add("a heron flies", importance=1.0, pinned=True)
    mesh.add_many([{"content": "", "metadata": {"walrus": 1}}])
    mesh.search("badger zebra", filter="tags = 'ibex'")
    mesh.get(one, include=["superseded"])
    mesh.add_many(["marten one", "marten two"])
    two = id_of(mesh.add("an osprey dives", scope=Scope(project="petrel"), speaker="heron"))
    mesh.update(two, "an osprey rests", reader=Scope(project="petrel"), reason="walrus")
    mesh.rate(two, helpful=True, scope=Scope(project="petrel"))
    mesh.delete(two, scope=Scope(project="petrel"), reason="walrus")
    mesh.restore(two, scope=Scope(project="petrel"))
    mesh.ingest_skill("---\nname: badger\nintent: walrus\n---\n1. otter")
    mesh.search_skills("badger")
    mesh.distill_lesson(LESSON)
    mesh.query_lessons("puffin")
    mesh.care.rebuild_terms()
    mesh.reflect(topic="marten")


def test_no_content_appears_in_the_log_of_a_session_that_does_everything(mesh, caplog):
    with caplog.at_level(logging.DEBUG, logger="memory_mesh"):
        everything(mesh)
        with pytest.raises(EmbeddingError):
            mesh_with_a_broken_embedder(mesh.folder).care.upkeep()
    told = caplog.text.lower()
    assert [word for word in WORDS if word in told] == []
    events = {record.getMessage().split(" ")[0] for record in caplog.records}
    assert {"write", "search", "vote", "use", "reindex"} <= events
    assert all(record.name == "memory_mesh" for record in caplog.records)


def mesh_with_a_broken_embedder(folder: Path) -> MemoryMesh:
    return MemoryMesh(db_dir=folder, custom_embedder=Broken())


def test_a_write_tells_its_outcome_ids_and_duration(mesh, caplog):
    with caplog.at_level(logging.INFO, logger="memory_mesh"):
        receipt = mesh.add("tea is hot")
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert f"outcomes=stored changed={receipt.id} blocks=1" in record.getMessage()


def test_the_jobs_of_upkeep_tell_how_much_they_did(tmp_path, real_embedder, caplog):
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        mesh.add("tea is hot")
    with MemoryMesh(db_dir=tmp_path, custom_embedder=real_embedder) as mesh:
        caplog.set_level(logging.INFO, logger="memory_mesh")
        mesh.care.upkeep()
        mesh.care.rebuild_index()
    assert "embed texts=1 ms=" in caplog.text
    assert "reindex texts=0 ms=" in caplog.text
    assert "absorb vectors=1 ms=" in caplog.text


def test_waiting_for_a_lock_is_a_detail(tmp_path, caplog):
    one, two = FairLock(tmp_path / "lock"), FairLock(tmp_path / "lock")
    released = threading.Timer(0.05, lambda: None)
    with caplog.at_level(logging.DEBUG, logger="memory_mesh"):
        holding = one.held()
        holding.__enter__()
        waiting = threading.Thread(target=lambda: two.held().__enter__())
        waiting.start()
        released.start()
        released.join()
        holding.__exit__(None, None, None)
        waiting.join()
    assert "waited for the lock ms=" in caplog.text
    assert caplog.records[0].levelno == logging.DEBUG


def test_a_failing_embedder_is_told_once(tmp_path, caplog):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=Broken()) as mesh:
        mesh.add("tea is hot")
        mesh.add("coffee is hot")
        mesh.search("tea")
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "the embedder fails: the model file is missing. Texts are stored" in caplog.text


def test_a_library_user_sees_a_failing_embedder_without_configuring_anything(tmp_path):
    code = (
        "from memory_mesh.sync import MemoryMesh\n"
        f"mesh = MemoryMesh(db_dir={str(tmp_path)!r}, embedder='local', model_dir='/nowhere')\n"
        "mesh.add('tea is hot'); mesh.add('coffee is hot'); mesh.search('tea')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.count("memory-mesh: the embedder fails: ") == 1


def test_the_command_line_tells_a_failing_embedder_once(tmp_path):
    cli = CommandLine(tmp_path, variables={"MEMORY_MESH_EMBEDDER": "local"})
    cli.stored("tea is hot")
    broken = CommandLine(
        tmp_path, variables={"MEMORY_MESH_EMBEDDER": "local", "MEMORY_MESH_MODEL_DIR": "/nowhere"}
    )
    found = broken("search", "tea")
    assert found.code == 0
    assert found.err.count("memory-mesh: the embedder fails: ") == 1


@pytest.mark.parametrize(
    ("words", "variables", "shown"),
    [
        ((), {}, ()),
        (("-v",), {}, ("INFO write outcomes=stored",)),
        (("--verbose", "--verbose"), {}, ("INFO write",)),
        ((), {"MEMORY_MESH_LOG": "debug"}, ("INFO write",)),
    ],
)
def test_a_command_shows_the_log_where_it_is_asked_to(tmp_path, words, variables, shown):
    cli = CommandLine(tmp_path, variables=variables)
    done = cli(*words, "store", "--content", "tea is hot")
    assert (done.code, done.out.count("\n")) == (0, 1)
    assert all(part in done.err for part in shown)
    assert bool(done.err) == bool(shown)
    assert "tea" not in done.err


def test_an_unknown_level_is_refused(tmp_path):
    done = CommandLine(tmp_path, variables={"MEMORY_MESH_LOG": "loud"})("stats")
    assert (done.code, "info or debug" in done.err) == (2, True)
