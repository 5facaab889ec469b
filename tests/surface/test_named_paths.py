"""Every path that the pages for contributors name is there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import memory_mesh

ROOT = Path(__file__).parent.parent.parent
PACKAGE = Path(memory_mesh.__file__).parent
PAGES = ("docs/architecture.md", "CONTRIBUTING.md", "AGENTS.md")
MADE = {  # what a command makes
    ".venv", "site/", ".ci/tools/timing", "build/night", "dist/", "uv.lock",
}  # fmt: skip
_SPAN = re.compile(r"`([^`\n]+)`")
_DRAWN = re.compile(r"(?:[a-z_]+/)+(?:[a-z_]+\.(?:py|sql|md))?")
_PATH = re.compile(r"[\w.*{},/-]+")
_ENDING = re.compile(r"\w\.(?:py|md|toml|json|txt|sql|yml)$")


def named(text: str) -> Iterator[str]:
    """The paths in code spans and in drawings; spans of commands and names are no paths."""
    for language, block in re.findall(r"(?ms)^```(\w*)[^\n]*\n(.*?)^```$", text):
        if language in {"", "text"}:
            yield from _DRAWN.findall(block)
    prose = re.sub(r"(?ms)^```.*?^```$", "", text)
    for span in _SPAN.findall(prose):
        if _PATH.fullmatch(span) and ("/" in span or _ENDING.search(span)):
            yield span


def spread(path: str) -> Iterator[str]:
    """A path with `{a,b}` as several."""
    found = re.search(r"\{([^}]*)\}", path)
    if found is None:
        yield path
        return
    for part in found[1].split(","):
        yield from spread(path.replace(found[0], part))


def is_there(path: str) -> bool:
    """From the root, from the package, or a file of that name somewhere in the package."""
    return any(
        next(root.glob(path.strip("/")), None) is not None
        for root in (ROOT, PACKAGE, ROOT / "tests")
    ) or ("/" not in path and next(PACKAGE.rglob(path), None) is not None)


@pytest.mark.parametrize("page", PAGES)
def test_every_path_is_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = {each for path in named(text) for each in spread(path)} - MADE
    assert len(paths) > 4
    assert sorted(path for path in paths if not is_there(path)) == []


def test_a_path_that_is_gone_is_noticed() -> None:
    text = (
        "`write/add.py` `write/gone.py` `just check`\n\n```text\n remember   writes/add.py\n```\n"
    )
    assert [path for path in named(text) if not is_there(path)] == [
        "writes/add.py",
        "write/gone.py",
    ]
