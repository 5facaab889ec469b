"""Two laptops in step by a shared folder, as their person types it: two homes, real commands."""

import json
from pathlib import Path

import pytest

from tests.surface.command import CommandLine

pytest.importorskip("nacl")


@pytest.fixture
def homes(tmp_path) -> tuple[CommandLine, CommandLine, Path]:
    for name in ("first", "second", "shared"):
        (tmp_path / name).mkdir()
    first, second = (CommandLine(tmp_path / name) for name in ("first", "second"))
    return first, second, tmp_path / "shared"


def done(cli: CommandLine, *words: str) -> str:
    ran = cli(*words)
    assert ran.code == 0, ran.err
    return ran.out


def key(out: str) -> str:
    (found,) = (line for line in out.splitlines() if line.startswith("mm1-"))
    return found


def test_two_laptops_are_in_step_after_seven_commands(homes):
    first, second, shared = homes
    done(first, "store", "The build server is called anvil")
    done(second, "store", "The dentist is in Mill Street")
    mine = key(done(first, "sync", "init", str(shared), "--name", "laptop"))
    yours = key(done(second, "sync", "join", str(shared), "--name", "desktop", "--key", mine))
    done(first, "sync", "join", str(shared), "--key", yours)
    assert "received 1" in done(second, "sync", "now")
    done(first, "sync", "now")
    for home in (first, second):
        shown = done(home, "list")
        assert "anvil" in shown
        assert "dentist" in shown
    status = json.loads(done(first, "sync", "status", "--json"))
    assert {each["name"] for each in status["machines"]} == {"laptop", "desktop"}
    assert status["findings"] == []


def test_a_key_may_come_in_a_file_and_a_wrong_use_says_what_is_right(homes):
    first, second, shared = homes
    mine = key(done(first, "sync", "init", str(shared)))
    (second.home / "key.txt").write_text(f"{mine}\n")
    done(second, "sync", "join", str(shared), "--key", "key.txt")
    for words, said in (
        (("sync", "init"), "sync init needs FOLDER"),
        (("sync", "join", str(shared)), "--key"),
        (("sync", "now", "here"), "takes no more"),
        (("sync", "revoke", "nobody"), "no paired machine has the name nobody"),
        (("sync", "join", str(shared), "--key", "1234"), "not a whole key"),
        (("sync", "init", str(first.store / "inside")), "must not lie in each other"),
    ):
        ran = first(*words)
        assert ran.code
        assert said in ran.err


def test_a_machine_that_revokes_itself_says_its_new_key(homes):
    first, _, shared = homes
    old = key(done(first, "sync", "init", str(shared), "--name", "laptop"))
    new = key(done(first, "sync", "revoke", "laptop"))
    assert new != old
    assert json.loads(done(first, "sync", "status", "--json"))["key"] == new


def test_an_altered_file_is_a_failure_and_a_folder_that_is_away_is_said(homes):
    first, _, shared = homes
    done(first, "sync", "init", str(shared), "--name", "laptop")
    (file,) = shared.glob("*.segment")
    file.write_bytes(file.read_bytes()[:-5])
    for action in ("now", "status"):
        ran = first("sync", action)
        assert ran.code == 1
        assert "it was altered" in ran.out
    file.unlink()
    done(first, "sync", "now")
    shared.rename(shared.with_name("away"))
    assert "is not there; connect it" in done(first, "sync", "status")


def test_a_store_that_takes_no_part_says_how_to_begin(homes):
    first, *_ = homes
    for action in ("now", "status"):
        ran = first("sync", action)
        assert ran.code
        assert "memory-mesh sync init FOLDER" in ran.err
    assert not (first.store / "identity").exists(), "a question makes no store"


def test_an_agent_pairs_and_revokes_nothing(homes):
    first, _, shared = homes
    agent = CommandLine(first.home, variables={"CLAUDECODE": "1"})
    ran = agent("sync", "init", str(shared))
    assert ran.code
    assert "an agent may not run sync init" in ran.err
