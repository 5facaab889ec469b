"""The command line in a home of its own, outside of any git work tree."""

from pathlib import Path

import pytest

from tests.surface.command import CommandLine


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    home = tmp_path / "home"
    home.mkdir()
    return CommandLine(home)
