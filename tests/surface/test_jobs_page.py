"""The example of docs/jobs.md prints what the page shows; commands and settings are read."""

import re
import sys
import tomllib
from pathlib import Path

from memory_mesh import config
from tests.surface.command import CommandLine

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/jobs.md").read_text(encoding="utf-8")


def _block(language: str) -> str:
    (found,) = re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)
    return str(found)


def test_the_example_prints_what_the_page_shows(cli: CommandLine) -> None:
    python = CommandLine(cli.home, start=(sys.executable,), variables=cli.variables)
    done = python("-c", _block("python"))
    assert (done.out, done.err, done.code) == (_block("text"), "", 0)


def test_the_commands_of_the_page_run(cli: CommandLine) -> None:
    lines = re.findall(r"(?m)^\$ (memory-mesh .+)$", PAGE)
    assert len(lines) == 5
    assert cli("trace", "record", "Deploy the shop", "--project", "shop").code == 0
    shown = [cli.shell(line) for line in lines]
    assert [(done.code, done.err) for done in shown] == [(0, "")] * len(lines)


def test_the_page_shows_the_settings_with_their_defaults() -> None:
    shown = tomllib.loads(_block("toml"))
    assert shown == {name: getattr(config.Config(), name) for name in shown}
    assert set(shown) == {
        item for item in config.SETTINGS if item.startswith(("retention_", "consolidate_"))
    }
