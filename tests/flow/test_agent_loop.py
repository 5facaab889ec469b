"""RFC-0011 section 10: the loop of an agent, as the example shows it."""

import asyncio
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from examples import agent_loop
from memory_mesh.sync import MemoryMesh

SCRIPT = Path(agent_loop.__file__)


@pytest.mark.req("R-000-239", "R-000-240", "R-000-241", "R-000-242")
def test_the_loop_learns_from_its_failure(tmp_path):
    folder = str(tmp_path)
    sessions = map(str, count())  # no two requests share one

    def serve(request: str) -> str:
        return asyncio.run(agent_loop.serve(request, folder, next(sessions)))

    assert serve("divide 7 by 2") == "divide 7 by 2 gives 3.5 (0 recalled)"
    assert serve("divide 1 by 0") == "divide 1 by 0: failed"
    assert serve("divide 1 by 0") == "divide 1 by 0: refused, the divisor is zero"
    assert serve("divide 7 by 4") == "divide 7 by 4 gives 1.75 (3 recalled)"
    with MemoryMesh(db_dir=folder, agent_id="MyAgent") as mesh:
        (lesson,) = mesh.query_lessons("divide")
        assert lesson.preventative_rule == "Check that the divisor is not zero"
        events = [memory for memory in mesh.get_all() if memory.label == "event"]
        assert {event.scope.session for event in events} == {None}
        assert {event.metadata["session_id"] for event in events} == {"0", "1", "2", "3"}
        (first,) = mesh.get_all(filter="session_id = '0'")
        assert first.content == "divide 7 by 2 gives 3.5 (0 recalled)"
        assert {event.source.agent for event in events} == {"MyAgent"}
        assert {event.metadata["hypothesis"] for event in events} == {"divisions repeat"}
        operations = [block.entry.operation for block in mesh.care.blocks()]
        assert operations == ["retain", "retain", "lesson", "retain", "retain"]
        assert mesh.care.verify().ok


def test_the_example_runs_as_it_is_and_recalls_what_it_stores(tmp_path):
    for recalled in (3, 3):  # a second run on the same folder finds the first
        done = subprocess.run(
            [sys.executable, str(SCRIPT), str(tmp_path)], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1].endswith(f"({recalled} recalled)")
    alone = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=True
    )
    assert "(3 recalled)" in alone.stdout
