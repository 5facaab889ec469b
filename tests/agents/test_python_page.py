"""docs/agents/python.md does what it shows, in an empty home."""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "agents" / "python.md"
BLOCK = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
CHANGES = (  # from run to run
    (re.compile(r"mem_\d+_[0-9a-f]+"), "ID"),
    (re.compile(r"memories-[0-9a-f]{12}"), "FENCE"),
    (re.compile(r"\d{4}-\d\d-\d\d"), "DATE"),
    (re.compile(r"score of [0-9.]+\."), "SCORE"),  # depends on the embedder that is installed
)


def plain(text: str) -> str:
    for pattern, name in CHANGES:
        text = pattern.sub(name, text)
    return text


def test_each_block_of_the_page_prints_what_the_page_shows(tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 3
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    for code, shown in blocks:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
            timeout=120,
            check=True,
        )
        assert plain(done.stdout) == plain(shown)
