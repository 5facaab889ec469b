"""The documentation builds without a warning, and the examples of its own pages run as shown."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memory_mesh.formats import yamo
from memory_mesh.sync import MemoryMesh
from tests.surface.command import CommandLine

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = ("index.md", "trust.md", "time.md")
EXAMPLE = re.compile(r"(?ms)^```python\n(.*?)^```\n\n```text\n(.*?)^```$")


def build(folder: Path, **settings: object) -> list[str]:
    """The warnings of MkDocs about the pages, such as a lost anchor, by the rules of mkdocs.yml.

    Menus and the search index need no check and take half of the time: `just docs` makes them.
    """
    (folder / "theme").mkdir()
    (folder / "theme/main.html").write_text("{{ page.content }}")
    config = {
        "INHERIT": str(ROOT / "mkdocs.yml"),
        "docs_dir": str(DOCS),
        "site_dir": str(folder / "site"),
        "plugins": [],
        "theme": {"name": None, "custom_dir": str(folder / "theme")},
    }
    (folder / "mkdocs.yml").write_text(json.dumps(config | settings))
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(folder / "mkdocs.yml")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    warnings = [line for line in done.stdout.splitlines() if line.startswith(("WARN", "ERROR"))]
    assert bool(warnings) == (done.returncode != 0), done.stdout[-2_000:]
    return warnings


def test_the_pages_build_without_a_warning(tmp_path: Path) -> None:
    assert build(tmp_path) == []
    assert (tmp_path / "site/reference/python/search/index.html").is_file()


def test_a_lost_anchor_and_a_page_that_no_menu_lists_are_noticed(tmp_path: Path) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    (pages / "index.md").write_text("# A\n\n[b](index.md#gone)\n")
    (pages / "lost.md").write_text("# B\n")
    found = "\n".join(build(tmp_path, docs_dir=str(pages), nav=["index.md"]))
    assert "no such anchor" in found
    assert "index.md#gone" in found
    assert "outside the nav" in found or "not included in the" in found


@pytest.mark.parametrize("page", PAGES)
def test_an_example_prints_what_the_page_shows(page: str, cli: CommandLine) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    examples = EXAMPLE.findall(text)
    assert text.count("```python") == len(examples) > 0
    for number, (code, shown) in enumerate(examples):
        home = cli.home / str(number)
        home.mkdir()
        done = CommandLine(home, start=(sys.executable,), variables=cli.variables)("-c", code)
        assert (done.out, done.err, done.code) == (shown, "", 0)


def test_the_first_commands_run(cli: CommandLine) -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    install, *lines = re.findall(r"(?m)^\$ (.+)$", text)
    assert install.startswith("pip install")
    done = [cli.shell(line) for line in lines]
    assert [(each.err, each.code) for each in done] == [("", 0)] * 2
    assert "The user prefers dark themes" in done[-1].out


def test_the_block_on_the_page_of_yamo_is_one_that_a_store_writes(tmp_path: Path) -> None:
    text = (DOCS / "reference/yamo.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"(?ms)^```text\n(.*?)^```$", text)
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        mesh.add("The user prefers dark themes")
        wire = mesh.care.blocks()[0].entry.wire
    assert wire is not None
    assert _without_values(shown) == _without_values(wire)
    assert yamo.parse(shown).agent == yamo.parse(wire).agent


def _without_values(block: str) -> str:
    return re.sub(r"mem_\w+|\d{4}-\d\d-\d\dT[\d:.]+Z", "…", block)
