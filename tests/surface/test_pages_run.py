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
ELSEWHERE: dict[str, str] = {}
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if any(block.language in page_text.CODE for block in page_text.blocks(page.read_text("utf-8")))
    and page_text.relative(page, ROOT) not in ELSEWHERE
]


def embedder_of(text: str) -> str:
    """What a page installs: a page that asks for an extra with vectors runs with them."""
    typed = re.findall(r"(?m)^\$ (pip install .*)$", text)
    return "" if any("local" in command for command in typed) else "none"


@pytest.fixture
def services() -> Iterator[Mapping[str, str]]:
    with fake_openai() as fake:
        yield {"OPENAI_BASE_URL": fake.url, "OPENAI_API_KEY": "none"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page_text.relative(page, ROOT))
def test_a_page_prints_what_it_shows(
    page: Path, tmp_path: Path, services: Mapping[str, str]
) -> None:
    text = page.read_text(encoding="utf-8")
    variables = {**services, "MEMORY_MESH_EMBEDDER": embedder_of(text)}
    with Page(text, page_text.relative(page, ROOT), tmp_path, variables) as running:
        now = running.rewritten()
    if os.environ.get("UPDATE_GOLDEN") == "1":
        page.write_text(now, encoding="utf-8")
    assert now == text
