"""The wheel and the sdist as PyPI gets them: built twice, checked, and read as a stranger does."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from memory_mesh import __version__

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOME = "https://github.com/memory-mesh/memory-mesh"
NAME = f"memory_mesh-{__version__}"
_LINK = re.compile(r"\]\(<?([^)\s>]+)|\b(?:href|src|srcset)=\"([^\"]+)\"")
_FENCE = re.compile(r"(?ms)^```.*?^```$")
_CODE = re.compile(r"`[^`\n]*`")


def copied(folder: Path) -> Path:
    """A checkout without history in another folder, with other times and modes."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():  # one that was just removed is still listed
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
            os.utime(folder / name, (10**9, 10**9 + len(str(folder))))
    return folder


def built(checkout: Path, out: Path, *targets: str) -> None:
    wanted = [word for target in targets for word in ("--target", target)]
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", *wanted, "--directory", str(out)],
        cwd=checkout, env={**os.environ, "SOURCE_DATE_EPOCH": "1750000000"},
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    built(copied(tmp_path_factory.mktemp("a")), folder, "sdist", "wheel")
    return folder


@pytest.fixture(scope="module")
def metadata(dist: Path) -> Message:
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        return message_from_bytes(wheel.read(f"{NAME}.dist-info/METADATA"))


@pytest.fixture(scope="module")
def page(metadata: Message) -> str:
    text = metadata.get_payload(decode=True)
    assert isinstance(text, bytes)
    return text.decode()


def test_two_builds_in_two_folders_give_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    sdist = next(dist.glob("*.tar.gz"))
    built(copied(tmp_path / "another folder"), tmp_path, "sdist")
    assert (tmp_path / sdist.name).read_bytes() == sdist.read_bytes()
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    built(tmp_path / "unpacked" / NAME, tmp_path, "wheel")
    wheel = next(dist.glob("*.whl"))
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_twine_accepts_both(dist: Path) -> None:
    files = [str(file) for file in dist.iterdir()]
    assert len(files) == 2
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "--no-color", "check", "--strict", *files],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout


def test_the_sdist_has_what_a_reader_looks_for(dist: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        names = {name.removeprefix(f"{NAME}/") for name in archive.getnames()}
    wanted = {"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "CITATION.cff"}
    assert wanted | {"examples/agent_loop.py", "requirements/lock.txt"} <= names
    assert [name for name in names if name.startswith((".venv", ".git/", ".ci/tools"))] == []


def test_every_link_of_the_page_on_pypi_is_absolute_and_leads_to_a_file(page: str) -> None:
    text = _CODE.sub("", _FENCE.sub("", page))
    links = [first or second for first, second in _LINK.findall(text)]
    assert len(links) > 10
    assert [link for link in links if not link.startswith(("https://", "mailto:"))] == []
    own = re.compile(rf"{HOME}/blob/v{__version__}/([^#]*)")
    files = [found[1] for link in links if (found := own.match(link))]
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_only_links_of_the_readme_are_changed(page: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert _FENCE.findall(page) == _FENCE.findall(readme)
    assert _CODE.findall(page) == _CODE.findall(readme)


def test_the_project_has_one_address(metadata: Message) -> None:
    urls = dict(line.split(", ") for line in metadata.get_all("Project-URL", []))
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= set(urls)
    assert [url for url in urls.values() if not url.startswith(HOME)] == []
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nrepository-code: {HOME}\n" in citation
    assert f"\nversion: {__version__}\n" in citation
    forms = (ROOT / ".github/ISSUE_TEMPLATE/config.yml").read_text(encoding="utf-8")
    assert f"{HOME}/security" in forms


def test_a_command_has_the_name_of_the_distribution() -> None:  # `uvx memory-mesh` runs it
    assert PROJECT["project"]["name"] in PROJECT["project"]["scripts"]
