"""A library, not a runtime: nothing happens but what the host calls."""

import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest

from memory_mesh.sync import MemoryContextManager, MemoryMesh
from memory_mesh.testing import ScriptedLLM

FAILURE = {
    "status": "error", "error_pattern": "db_timeout", "severity": "high",
    "preventative_rule": "Always set a statement timeout", "applicable_scope": "database access",
}  # fmt: skip
WINDOW = 200_000  # characters: more than a context window of the usual size takes


def state_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.req("R-003-072", "R-003-075")
def test_an_idle_store_stays_as_it_is_until_the_host_calls_upkeep(tmp_path, clock):
    before = set(threading.enumerate())
    options = {"db_dir": tmp_path, "clock": clock, "enable_wisdom_distillation": True}
    with MemoryMesh(**options) as mesh:
        mesh.add("The nightly report hung on a lock", FAILURE)
        mesh.search("report")
        held = state_of(tmp_path)
        clock.advance(timedelta(hours=12))
        time.sleep(0.3)
        assert set(threading.enumerate()) == before  # nobody is there to watch or to schedule
        assert state_of(tmp_path) == held
        assert mesh.lessons.due()
        assert mesh.query_lessons("") == []
        assert mesh.care.upkeep().lessons == 1


@pytest.mark.req("R-003-073", "R-003-074")
def test_more_than_a_context_window_is_kept_as_it_was_said(tmp_path):
    texts = [f"Note {number}: " + f"word{number} " * 1_000 for number in range(30)]
    assert sum(map(len, texts)) > WINDOW
    llm = ScriptedLLM()
    with MemoryMesh(db_dir=tmp_path, custom_llm=llm) as mesh:
        for text in texts:
            mesh.add(text)
        assert len(mesh.search("note", limit=30)) == 30
        assert [memory.text for memory in mesh.get_all(limit=100)][::-1] == [
            text.strip() for text in texts
        ]
        assert [block.entry.operation for block in mesh.care.blocks()] == ["retain"] * 30
    assert llm.prompts == []


@pytest.mark.req("R-003-076")
def test_the_conversation_is_the_hosts_and_no_turn_of_it_is_taken(tmp_path):
    llm = ScriptedLLM(["I take over."])
    with MemoryMesh(db_dir=tmp_path, custom_llm=llm) as mesh:
        manager = MemoryContextManager(mesh=mesh)
        for port in (8080, 9090):
            assert manager.capture_interaction(f"We decided to use port {port}.", "Good.")
        assert manager.capture_interaction("hi", "Hello!") is None
        recalled = manager.recall_memories("which port")
        manager.format_memories_for_prompt(recalled)
        assert len(mesh.get_all()) == 2
        assert llm.prompts == []
        mesh.reflect(topic="port")  # only what the host asks for reaches a model
        assert len(llm.prompts) == 1
