"""The completion scripts, read by the shells themselves."""

import shutil
import subprocess
from pathlib import Path

import pytest

from memory_mesh.cli import command_table, main

ASKED = "COMP_WORDS=({0}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); _shtab_memory_mesh; "


@pytest.fixture
def script(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Path:
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert main.run(["completion", shell]) == 0
    file = tmp_path / "_memory-mesh"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    return file


def said(*words: str) -> list[str]:
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split("\n")


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("memory-mesh sea", "search"),
        ("memory-mesh skill se", "search"),
        ("memory-mesh skill search --lim", "--limit"),
        ("memory-mesh search --lim", "--limit"),
        ("memory-mesh graph link --type dep", "depends_on"),
        ("memory-mesh vers", "version"),
    ],
)
def test_bash_offers(script: Path, typed: str, offered: str) -> None:
    line = f'source {script}; {ASKED.format(typed)} echo "${{COMPREPLY[@]}}"'
    assert said("bash", "-c", line)[0] == offered


@pytest.mark.parametrize("script", ["fish"], indirect=True)
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("memory-mesh searc", ["search"]),
        ("memory-mesh skill se", ["search"]),
        ("memory-mesh skill search --lim", ["--limit"]),
        ("memory-mesh search --lim", ["--limit"]),
        ("memory-mesh graph link --type dep", ["depends_on"]),
        ("memory-mesh help vers", []),
        ("memory-mesh help stor", ["store"]),
    ],
)
def test_fish_offers(script: Path, typed: str, offered: list[str]) -> None:
    told = said("fish", "--no-config", "-c", f"source {script}; complete -C {typed!r}")
    assert [line.split("\t")[0] for line in told if line] == offered


@pytest.mark.parametrize("script", ["zsh"], indirect=True)
def test_zsh_reads_the_script(script: Path) -> None:
    said("zsh", "-n", str(script))
    assert script.read_text("utf-8").startswith("#compdef memory-mesh\n")


def test_fish_knows_every_command_and_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["completion", "fish"]) == 0
    told = capsys.readouterr().out
    for name in command_table.FRONT:
        assert f" -a {name} -d " in told
        assert f"'__fish_seen_subcommand_from {name}; and not " in told
    for noun, names in command_table.GROUPS.items():
        assert f" -a {noun} -d " in told
        for name in names:
            within = f"'__fish_seen_subcommand_from {noun}; and __fish_seen_subcommand_from {name}'"
            assert f" -n {within} -l db-dir " in told
