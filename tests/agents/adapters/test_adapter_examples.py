"""examples/agents: they run, and print what they show."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_graph_of_the_examples_knows_its_users_in_the_second_run(tmp_path):
    script = ROOT / "examples/agents/langgraph_memory.py"
    command = [sys.executable, str(script), str(tmp_path / "store")]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        for _ in range(2)
    ]
    assert runs[0][2:] == ["ann: ['I drink green tea']", "bob: ['I drink black coffee']"]
    assert runs[1][0] == runs[0][2]
    assert runs[1][1] == runs[0][3]
