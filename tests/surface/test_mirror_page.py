"""docs/how-to/files-in-git.md says what a user without other knowledge meets."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/how-to/files-in-git.md").read_text(encoding="utf-8")


def test_the_example_in_python_runs_and_mirrors_what_the_command_line_does(cli):
    code, *_ = re.findall(r"^```python\n(.*?)^```\n", PAGE, re.MULTILINE | re.DOTALL)
    project = cli.home / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    python = replace(cli, start=(sys.executable, "-c"))
    done = python(code, cwd=project)
    assert done.code == 0, done.err
    (said,) = re.findall(r"print\(.*\)  # (\S+):", code)
    assert done.out.strip() == said
    assert (project / ".rawko" / "memories" / "handlers-are-async.md").is_file()
    done = cli("mirror", cwd=project)
    assert "1 file; no change." in done.out


@pytest.mark.parametrize(("words", "files"), [([], 1), (["--project", "vault"], 0)])
def test_outside_a_project_the_memories_of_no_project_are_mirrored(cli, words, files):
    assert "--project vault" in PAGE
    cli("store", "--content", "Handlers are async.")
    done = cli("mirror", "init", "vault", *words)
    assert done.code == 0, done.err
    assert len(list((cli.home / "vault").glob("*.md"))) == files
