"""`memory-mesh keys`, `memory-mesh namespaces delete`, and the container case of docs/keys.md."""

import json
import os
import pty
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.surface.command import CommandLine

MAIL = "Ada reads mail at ada@example.org"


def elsewhere(cli: CommandLine, tmp_path: Path, **variables: str) -> CommandLine:
    """The same store in another home: a container whose home is thrown away."""
    home = tmp_path / "throw-away"
    home.mkdir(exist_ok=True)
    return replace(cli, home=home, variables={"MEMORY_MESH_DIR": str(cli.store), **variables})


def test_keys_are_shown_without_any_secret(cli: CommandLine) -> None:
    assert "none yet" in cli("keys").out
    assert not cli.store.exists()
    cli.stored(MAIL)
    (file,) = (cli.home / ".config/memory-mesh/keys").glob("*.key")
    secret = file.read_text().split()[-2]
    shown = cli("keys", "show")
    assert shown.code == 0
    assert str(file) in shown.out
    assert "in use" in shown.out
    assert secret not in shown.out + cli("keys", "--json").out


def test_a_rotation_keeps_the_old_key_and_says_so(cli: CommandLine) -> None:
    cli.stored(MAIL)
    done = json.loads(cli("keys", "rotate", "--json").out)
    state = json.loads(cli("keys", "--json").out)
    assert [key["id"] for key in state["keys"]][-1] == done["key"]
    assert state["written_with"] == [key["id"] for key in state["keys"]]
    assert (state["missing"], state["problem"]) == ([], None)
    assert "stays out" in cli("keys", "rotate").out


def test_the_container_case_as_the_page_tells_it(cli: CommandLine, tmp_path: Path) -> None:
    cli.stored(MAIL)
    waiting = cli.stored("The port is 8080, says Bob", "--type", "fact")
    container = elsewhere(cli, tmp_path)
    refused = container("store", "--content", "Bob is bob@example.org")
    assert refused.code == 1
    for named in ("throw-away", "MEMORY_MESH_KEY_DIR", "memory-mesh keys replace"):
        assert named in refused.err
    assert container("get", "--id", waiting).code == 0
    assert container("list").code == 0
    assert container("verify").code == 0
    assert container("keys").code == 1
    assert not (container.home / ".config").exists()
    keys = str(cli.home / ".config/memory-mesh/keys")
    mended = elsewhere(cli, tmp_path, MEMORY_MESH_KEY_DIR=keys)
    assert mended("store", "--content", "Bob is bob@example.org").code == 0


def test_a_lost_key_is_replaced_and_what_no_longer_matches_is_counted(
    cli: CommandLine, tmp_path: Path
) -> None:
    cli.stored(MAIL)
    cli.stored("nothing personal")
    assert "nothing was replaced" in cli("keys", "replace").err
    container = elsewhere(cli, tmp_path)
    done = json.loads(container("keys", "replace", "--json").out)
    assert (done["placeholders"], done["tombstones"], len(done["lost"])) == (1, 0, 1)
    assert container("store", "--content", "Bob is bob@example.org").code == 0
    assert len(json.loads(container("keys", "--json").out)["missing"]) == 1


@pytest.mark.parametrize("words", [["keys", "rotate"], ["namespaces", "delete", "default"]])
def test_an_agent_does_neither(cli: CommandLine, words: list[str]) -> None:
    cli.stored(MAIL)
    before = cli("keys", "--json").out
    done = replace(cli, variables={"CLAUDECODE": "1"})(*words)
    assert done.code == 1
    assert "env -u CLAUDECODE" in done.err
    assert cli("keys", "--json").out == before
    assert cli("namespaces").out == "default\n"


def test_a_namespace_is_deleted_in_a_pipe_only_with_yes(cli: CommandLine) -> None:
    cli.stored("a zanzibar secret", "--namespace", "shop")
    refused = cli("namespaces", "delete", "shop")
    assert (refused.code, "--yes" in refused.err) == (1, True)
    assert cli("namespaces").out == "shop\n"
    done = json.loads(cli("namespaces", "delete", "shop", "--yes", "--json").out)
    assert (done["deleted"], done["memories"], done["noted"]) == ("shop", 1, True)
    assert cli("namespaces").out == ""
    files = [path for path in cli.store.rglob("*") if path.is_file()]
    assert not [path for path in files if b"zanzibar" in path.read_bytes()]
    again = cli("namespaces", "delete", "shop", "--yes")
    assert (again.code, "there is no namespace shop" in again.err) == (1, True)


def test_a_users_memories_are_deleted_by_the_users_id(cli: CommandLine) -> None:
    cli.stored("likes tea", "--user", "ada@example.org")
    cli.stored("likes coffee", "--user", "bob")
    done = cli("namespaces", "delete", "--user", "ada@example.org", "--yes")
    assert done.code == 0
    assert cli("namespaces").out == "user.bob\n"
    assert cli("namespaces", "delete", "user.bob", "--yes").code == 1
    assert cli("namespaces", "delete").code == 2


@pytest.mark.parametrize(("typed", "left"), [("shop", ""), ("ship", "shop\n"), ("", "shop\n")])
def test_on_a_terminal_the_name_is_asked_for(cli: CommandLine, typed: str, left: str) -> None:
    cli.stored("a zanzibar secret", "--namespace", "shop")
    ours, theirs = pty.openpty()
    command = [*cli.start, "namespaces", "delete", "shop"]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=cli.environment
    )
    os.write(ours, f"{typed}\n".encode())
    _, err = process.communicate(timeout=300)
    os.close(theirs)
    os.close(ours)
    assert b"Type shop to go on" in err
    assert process.returncode == (0 if not left else 1)
    assert cli("namespaces").out == left
