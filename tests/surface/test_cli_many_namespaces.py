"""Commands that work on every namespace: in pages, and on after an interrupt."""

import signal
import subprocess

import pytest

from memory_mesh.care.sqlite import copies
from memory_mesh.platform import moved_marks
from memory_mesh.platform.locks import locked
from tests.surface.command import CommandLine
from tests.until import until, waits_in_line

NAMES = ["alpha", "beta", "default", "user.ann"]


@pytest.fixture
def many(cli: CommandLine) -> CommandLine:
    """A store of which two namespaces lie in folders."""
    cli.stored("in the flat folder")
    cli.stored("in the flat folder", "--namespace", "beta")
    moved_marks.mark_folders(cli.store)
    cli.stored("in a folder", "--namespace", "alpha")
    cli.stored("in a folder", "--user", "ann")
    return cli


def test_namespaces_are_listed_in_pages(many: CommandLine) -> None:
    assert many("namespaces").out.splitlines() == NAMES
    assert many("namespaces", "--limit", "2").out.splitlines() == NAMES[:2]
    assert many("namespaces", "--after", "beta", "--limit", "9").out.splitlines() == NAMES[2:]


def test_verify_and_upkeep_begin_after_a_namespace(many: CommandLine) -> None:
    whole = many("verify", "--all")
    assert [line.split()[1].rstrip(":") for line in whole.out.splitlines()] == NAMES
    rest = many("verify", "--all", "--after", "beta")
    assert [line.split()[1].rstrip(":") for line in rest.out.splitlines()] == NAMES[2:]
    done = many("upkeep", "--all", "--after", "alpha")
    assert "3 of 3 namespaces" in done.out
    assert many("upkeep", "--after", "alpha").code == 2
    assert many("verify", "--all", "--after", "user.zoe").code == 0


def test_an_interrupted_upkeep_says_how_to_go_on(many: CommandLine) -> None:
    third = copies.place(many.store, "default").with_suffix(".lock")
    patient = many.environment | {"MEMORY_MESH_LOCK_WAIT_SECONDS": "60"}
    with locked(third):
        words = [*many.start, "upkeep", "--all", "--rebuild-terms"]
        process = subprocess.Popen(
            words, cwd=many.home, env=patient, stdout=-1, stderr=-1, text=True
        )
        until(lambda: waits_in_line(third))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "To go on from here: memory-mesh upkeep --all --after beta" in said
