"""Every block of Python and of the console on a page runs and prints what the page shows.

`page_text.py` says how a block is read. `UPDATE_GOLDEN=1` writes what was printed into the pages.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.agents.fake_openai import fake_openai
from tests.surface import page_text
from tests.surface.page_run import Page

ROOT = Path(__file__).parent.parent.parent
ELSEWHERE = {  # pages and folders with a test of their own
    "README.md": "tests/surface/test_quickstart.py",
    "docs/agents/claude-code.md": "tests/agents/test_claude_code_page.py",
    "docs/reference/evaluation.md": "tests/surface/test_cli_eval.py",
    "docs/how-to/postgresql.md": "tests/surface/test_postgresql_page.py",
    "docs/reference/python": "tests/surface/test_reference.py",
    "docs/reference/cli.md": "tests/surface/test_reference.py",
}
FIXED = {  # the names that the site links to
    "backup-and-restore", "chat-loop", "documents", "embedders", "evaluate-in-ci", "files-in-git",
    "filters", "forget", "index", "langgraph", "multi-user", "postgresql", "privacy", "review",
    "web-service",
}  # fmt: skip
NOT_RUN = 41  # blocks that say what they need; write how many are left when you add or mend one
LEFT_OUT = 0  # lines `…` in what the tutorial and the how-tos show
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if any(block.language in page_text.CODE for block in page_text.blocks(page.read_text("utf-8")))
]
HERE = [page for page in PAGES if not page_text.relative(page, ROOT).startswith(tuple(ELSEWHERE))]


@pytest.fixture
def services() -> Iterator[Mapping[str, str]]:
    """A stand-in of an OpenAI-compatible server, which answers "Noted."."""
    with fake_openai() as fake:
        yield {"OPENAI_BASE_URL": fake.url, "OPENAI_API_KEY": "none"}


@pytest.mark.slow
@pytest.mark.parametrize("page", HERE, ids=lambda page: page_text.relative(page, ROOT))
def test_a_page_prints_what_it_shows(
    page: Path, tmp_path: Path, services: Mapping[str, str]
) -> None:
    text = page.read_text(encoding="utf-8")
    variables = {**services, "MEMORY_MESH_EMBEDDER": _embedder(text)}
    if page.name == "daemon.md":  # it starts one and stops it
        variables |= {"MEMORY_MESH_DAEMON": "", "MEMORY_MESH_DAEMON_IDLE_SECONDS": "60"}
    with Page(text, page_text.relative(page, ROOT), tmp_path, variables) as running:
        now = running.rewritten()
    if os.environ.get("UPDATE_GOLDEN") == "1":
        page.write_text(now, encoding="utf-8")
    assert now == text


def _embedder(text: str) -> str:
    """What a page installs decides: with the extra `local` the default one, else none."""
    typed = re.findall(r"(?m)^\$ (pip install .*)$", text)
    return "" if any("local" in command for command in typed) else "none"


def test_a_block_that_is_not_run_says_what_it_needs() -> None:
    needed = [
        f"{page_text.relative(page, ROOT)}: {block.needs}"
        for page in HERE
        for block in page_text.blocks(page.read_text("utf-8"))
        if block.needs
    ]
    assert len(needed) == NOT_RUN, "\n".join(needed)


def test_no_block_is_left_unrun_by_a_title_that_nobody_reads() -> None:
    odd = [
        f"{page_text.relative(page, ROOT)}: {block.title}"
        for page in HERE
        for block in page_text.blocks(page.read_text("utf-8"))
        if block.language in page_text.CODE and not (block.runs or block.needs or block.file)
    ]
    assert odd == []


def test_a_page_with_a_test_of_its_own_has_it() -> None:
    for page, test in ELSEWHERE.items():
        assert page.removeprefix("docs/") in (ROOT / test).read_text(encoding="utf-8")


def test_the_pages_that_the_site_names_are_there_and_leave_nothing_out() -> None:
    pages = {page.stem: page.read_text("utf-8") for page in (ROOT / "docs/how-to").glob("*.md")}
    assert set(pages) == FIXED
    pages["tutorial"] = (ROOT / "docs/tutorial.md").read_text("utf-8")
    gaps = [text for text in pages.values() for _ in re.findall(r"(?m)^ *…$", text)]
    assert len(gaps) == LEFT_OUT


def test_an_extra_that_a_page_installs_is_one_of_ours() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    for page in PAGES:
        for named in re.findall(r"pip install '(?:\.|memory-mesh)\[([^\]]+)\]'", page.read_text()):
            assert set(named.split(",")) <= set(extras), page


PYTHON = "```python\nimport memory_mesh\nprint('{said}')\n```\n\n```text\n{shown}\n```\n"
CONSOLE = "```console\n$ echo {said}\n{shown}\n```\n"


@pytest.mark.parametrize("page", [PYTHON, CONSOLE])
@pytest.mark.parametrize(
    ("said", "shown", "same"),
    [
        ("tea", "tea", True),
        ("tea", "milk", False),
        ("2026-01-01", "2025-12-31", True),
        ("mem_1767225600000_0a1b2c", "mem_1767225600001_ffffff", True),
        ("score 0.31", "score 0.32", False),
    ],
)
def test_what_differs_is_noticed(
    page: str,
    said: str,
    shown: str,
    same: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    text = page.format(said=said, shown=shown)
    with Page(text, "page", tmp_path, {}) as running:
        assert (running.rewritten() == text) == same


@pytest.mark.parametrize(
    "page",
    [
        "```python\nprint(mesh)\n```\n",
        "```python\nmesh = 1\n```\n\n```python\nimport memory_mesh\nmesh\n```\n",
        "```console\n$ false\n```\n",
        "```console\n$ false\n$ echo next\nnext\n```\n",
        "```python\nimport socket\nsocket.create_connection(('192.0.2.1', 80), 1)\n```\n",
    ],
)
def test_a_block_that_fails_fails_the_page(page: str, tmp_path: Path) -> None:
    with Page(page, "page", tmp_path, {}) as running, pytest.raises(AssertionError, match="page:"):
        running.rewritten()


def test_a_page_goes_on_in_order_with_its_own_ids_files_and_folder(tmp_path: Path) -> None:
    text = (
        '```text title="notes/a.txt"\ntea\n```\n\n'
        "```console\n$ cd notes\n$ cat a.txt \\\n    a.txt\ntea\ntea\n$ false\n$ echo $?\n1\n"
        "$ N=7; echo mem_1767225600000_00000$N\nmem_1111111111111_aaaaaa\n```\n\n"
        '```console title="Needs luck"\n$ false\n```\n\n'
        "```console\n$ echo mem_1111111111111_aaaaaa | tail -c 2\n7\n```\n"
    )
    with Page(text, "page", tmp_path, {}) as running:
        assert running.rewritten() == text
