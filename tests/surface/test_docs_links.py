"""Every link of a page to another file of the repository leads to one that is there."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(
        page
        for folder in ("docs", "examples", "results", "src")
        for page in sorted((ROOT / folder).rglob("*.md"))
    ),
]
_LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)")
_OURS = re.compile(r"https://github\.com/memory-mesh/memory-mesh/(?:blob|tree)/main/(.+)")
_CODE = re.compile(r"(?ms)^ *(```+|~~~+).*?^ *\1 *$|`[^`\n]*`")


def broken(page: Path) -> list[str]:
    """The links of a page to files that are not there."""
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    links = [unquote(link.partition("#")[0]) for link in _LINK.findall(text)]
    files = [file for file in links if file and ":" not in file]
    ours = [found[1] for link in links if (found := _OURS.fullmatch(link))]
    return [
        *(file for file in files if not (page.parent / file).exists()),
        *(file for file in ours if not (ROOT / file).exists()),
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    ours = "https://github.com/memory-mesh/memory-mesh/blob/main"
    page.write_text(
        "[a](page.md#x) [b](gone.md) [c](https://x.org/y) `[d](code.md)`\n"
        f"[e]({ours}/SECURITY.md#x) [f]({ours}/lost.py)\n"
    )
    assert broken(page) == ["gone.md", "lost.py"]


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs/agents").glob("*.md")), ids=lambda page: page.name
)
def test_a_page_installs_from_a_checkout_while_there_is_no_release(page: Path) -> None:
    assert "no release on PyPI yet" in (ROOT / "README.md").read_text(encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"(?:pip|uv tool) install '?memory-mesh|uvx memory-mesh", text) == []
