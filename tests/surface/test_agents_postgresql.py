"""MCP, hooks and the daemon on a store in PostgreSQL: the variables of whoever asks count."""

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from memory_mesh.agents import journal
from memory_mesh.agents.daemon import place
from tests.postgres import APP, SECRET, Server
from tests.surface import daemons
from tests.surface.command import CommandLine
from tests.surface.hooking import Host
from tests.surface.mcp_client import RawClient

OTHER = "ab" * 32  # a key that is not the database's
PLANTED = "The staging database of the shop listens on port 6543 behind pgbouncer."


@pytest.fixture
def home(tmp_path: Path) -> Iterator[daemons.Place]:
    """A machine that has no key; whatever daemon is started there is killed at the end."""
    with daemons.in_a_home(tmp_path) as found:
        yield found


@pytest.fixture
def front(home: daemons.Place, database: str) -> Callable[..., RawClient]:
    """Starts an MCP server on the database, by default without a daemon."""

    def start(*, daemon: bool = False, **variables: str) -> RawClient:
        home.variables |= {"MEMORY_MESH_STORE": database, **variables}
        if daemon:
            home.started()
        stated = {**home.environment, "MEMORY_MESH_DAEMON": str(daemon).lower(), **variables}
        client = RawClient(home.home, **stated)
        client.greet()
        return client

    return start


def stated(variable: str, folder: Path, key: str = SECRET.hex()) -> dict[str, str]:
    """The variable, with a value that leads to the key."""
    file = folder / "team.key"
    file.write_text(key)
    file.chmod(0o600)
    printing = [sys.executable, "-c", f"print(open({str(file)!r}).read())"]
    values = {"": key, "_FILE": str(file), "_COMMAND": shlex.join(printing)}
    return {variable: values[variable.removeprefix("MEMORY_MESH_KEY")]}


def ways(home: daemons.Place) -> list[str]:
    """Through what each call of a tool went, by the journal."""
    lines = journal.read(place.folder_of(home.environment))
    return [str(line["through"]) for line in lines if line["what"] == "mcp"]


@pytest.mark.parametrize("daemon", [False, True])
@pytest.mark.parametrize(
    "variable", ["MEMORY_MESH_KEY", "MEMORY_MESH_KEY_FILE", "MEMORY_MESH_KEY_COMMAND"]
)
def test_a_stated_key_opens_the_database_for_an_agent(
    front: Callable[..., RawClient],
    home: daemons.Place,
    tmp_path: Path,
    variable: str,
    *,
    daemon: bool,
) -> None:
    with front(daemon=daemon, **stated(variable, tmp_path)) as client:
        client.said("memory_store", content=PLANTED)
        assert "6543" in client.text("memory_search", query="port of the staging database")
    assert ways(home) == ["daemon" if daemon else "process"] * 2


def test_a_key_file_is_looked_for_in_the_folder_of_whoever_names_it(
    front: Callable[..., RawClient], home: daemons.Place
) -> None:
    stated("MEMORY_MESH_KEY_FILE", home.home)
    with front(daemon=True, MEMORY_MESH_KEY_FILE="team.key") as client:
        client.said("memory_store", content=PLANTED)
    assert ways(home) == ["daemon"]


def test_a_key_command_is_looked_for_on_the_path_of_whoever_names_it(
    front: Callable[..., RawClient], home: daemons.Place
) -> None:
    command = home.home / "bin" / "team-key"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\necho "$HOME" > "$HOME/asked"; echo {SECRET.hex()}\n')
    command.chmod(0o700)
    with front(daemon=True):
        path = f"{command.parent}:{home.environment['PATH']}"
        with front(daemon=True, MEMORY_MESH_KEY_COMMAND="team-key", PATH=path) as client:
            client.said("memory_store", content=PLANTED)
    assert ways(home) == ["daemon"]
    assert (home.home / "asked").read_text().strip() == str(home.home)


def test_a_daemon_gives_nobody_what_another_key_opened(
    front: Callable[..., RawClient], home: daemons.Place
) -> None:
    with front(daemon=True, MEMORY_MESH_KEY=SECRET.hex()) as client:
        client.said("memory_store", content=PLANTED)
        with front(daemon=True, MEMORY_MESH_KEY=OTHER) as other:
            for _ in range(2):
                assert "set up with another key" in other.refused("memory_search", query="port")
        home.variables.pop("MEMORY_MESH_KEY")
        with front(daemon=True) as keyless:
            assert "has no key" in keyless.refused("memory_search", query="port")
        assert "6543" in client.text("memory_search", query="staging database")
    assert ways(home) == ["daemon"] * 5


def test_a_stated_key_counts_more_than_the_one_of_this_machine(
    front: Callable[..., RawClient], home: daemons.Place, tmp_path: Path
) -> None:
    with front(MEMORY_MESH_KEY=SECRET.hex()) as client:
        client.said("memory_store", content=PLANTED)
    folder, keys = Path(home.store), tmp_path / "keys"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "identity").write_text("0123456789abcdef\n")
    keys.mkdir(mode=0o700)
    (keys / "0123456789abcdef.key").write_text(f"k1 {SECRET.hex()} 2026-01-01\n")
    (keys / "0123456789abcdef.key").chmod(0o600)
    home.variables.pop("MEMORY_MESH_KEY")
    with front(MEMORY_MESH_KEY_DIR=str(keys)) as client:
        assert "6543" in client.text("memory_search", query="staging database")
    with front(MEMORY_MESH_KEY_DIR=str(keys), MEMORY_MESH_KEY=OTHER) as client:
        assert "set up with another key" in client.refused("memory_search", query="port")


class ServerHost(Host):
    """A host whose store is in a database."""

    @property
    def store(self) -> Path:
        return Path(place.folder_of(self.environment))


@pytest.mark.parametrize("daemon", [False, True])
def test_a_hook_recalls_and_learns_with_a_stated_key(
    front: Callable[..., RawClient], home: daemons.Place, tmp_path: Path, *, daemon: bool
) -> None:
    with front(daemon=daemon, **stated("MEMORY_MESH_KEY_FILE", tmp_path)) as client:
        client.said("memory_store", content=PLANTED)
        host = ServerHost(home.home, {**home.environment, "MEMORY_MESH_DAEMON": str(int(daemon))})
        assert "6543" in host.start().context
        host.prompt("Remember that the shop closes at nine.")
        daemons.until(lambda: len(outcomes(host, "capture")) == 1)
    assert outcomes(host, "capture", "stored") == ["1"]
    assert "failed" not in outcomes(host, "hook")


def test_a_hook_without_the_key_makes_none(home: daemons.Place, database: str) -> None:
    host = ServerHost(home.home, {**home.environment, "MEMORY_MESH_STORE": database})
    host.variables["MEMORY_MESH_DAEMON"] = "0"
    host.prompt("Remember that the shop closes at nine.")
    daemons.until(lambda: len(outcomes(host, "capture", "reason")) == 1)
    host.prompt("Remember that the shop closes at nine.")
    daemons.until(lambda: len(outcomes(host, "capture", "reason")) == 2)
    assert outcomes(host, "capture", "reason") == ["WrongKey"] * 2
    assert not (host.store / "identity").exists()
    assert not (home.home / ".config/memory-mesh/keys").exists()


def test_the_doctor_has_the_mcp_server_answer_from_the_database(
    home: daemons.Place, database: str
) -> None:
    def trial(**variables: str) -> dict[str, str]:
        cli = CommandLine(home.home, variables={**home.environment, **variables})
        told = json.loads(cli("--json", "--store", database, "doctor").out)["checks"]
        (found,) = (check for check in told if check["check"] == "MCP trial")
        return dict(found)

    assert trial(MEMORY_MESH_KEY=SECRET.hex())["mark"] != "failed"
    refused = trial()
    assert refused["mark"] == "failed"
    assert "a call to the database failed: this machine has no key" in refused["said"]


@pytest.fixture
def locked(postgres: Server, database: str) -> Iterator[str]:
    """The database asks for a password, which is this."""
    name = database.rpartition("?")[0].rpartition("/")[2]
    rules = postgres.folder / "pg_hba.conf"
    before = rules.read_text()
    with psycopg.connect(postgres.url(), autocommit=True) as db:
        db.execute(f"ALTER ROLE {APP} PASSWORD 's3cret'")
        rules.write_text(f"local {name} {APP} scram-sha-256\n{before}")
        db.execute("SELECT pg_reload_conf()")
        yield "s3cret"
        rules.write_text(before)
        db.execute("SELECT pg_reload_conf()")
        db.execute(f"ALTER ROLE {APP} PASSWORD NULL")


def password_file(folder: Path, password: str, name: str = "pass") -> Path:
    file = folder / name
    file.write_text(f"*:*:*:*:{password}\n")
    file.chmod(0o600)
    return file


def test_a_daemon_connects_with_the_variables_of_whoever_asks(
    front: Callable[..., RawClient], home: daemons.Place, tmp_path: Path, locked: str
) -> None:
    def asked(**variables: str) -> str:
        with front(daemon=True, MEMORY_MESH_KEY=SECRET.hex(), **variables) as client:
            told = client.call("memory_search", query="port of the staging database")
        for name in variables:
            del home.variables[name]
        return str(told["content"][0]["text"]) if told["isError"] else "answered"

    right, wrong = (password_file(tmp_path, word, word) for word in (locked, "other"))
    assert asked(PGPASSFILE=str(right)) == "answered"
    assert "no password supplied" in asked()
    assert asked(PGPASSWORD=locked) == "answered"
    assert "authentication failed" in asked(PGPASSFILE=str(wrong))
    password_file(home.home, locked, ".pgpass")
    assert asked() == "answered"
    assert asked(PGPASSFILE=os.path.relpath(right, home.home)) == "answered"
    assert ways(home) == ["daemon"] * 6


def test_a_service_of_libpq_is_looked_up_without_a_daemon(
    front: Callable[..., RawClient], home: daemons.Place, tmp_path: Path, locked: str
) -> None:
    services = tmp_path / "services"
    services.write_text(f"[shop]\npassfile={password_file(tmp_path, locked)}\n")
    stated = {"PGSERVICE": "shop", "PGSERVICEFILE": str(services), "PGPASSFILE": "/nowhere"}
    with front(MEMORY_MESH_KEY=SECRET.hex()):
        with front(daemon=True) as client:
            assert "no password supplied" in client.refused("memory_search", query="port")
        home.variables |= stated
        variables = {**home.environment, "MEMORY_MESH_DAEMON": "true"}
        with RawClient(home.home, **variables) as client:
            client.greet()
            client.said("memory_store", content=PLANTED)
    assert ways(home) == ["daemon", "process"]


def outcomes(host: Host, what: str, fact: str = "outcome") -> list[str]:
    """How it went, by the journal."""
    return [str(line.get(fact)) for line in journal.read(str(host.store)) if line["what"] == what]


def entry_of(printed: str) -> dict[str, str]:
    (server,) = json.loads(printed)["mcpServers"].values()
    return dict(server["env"])


@pytest.mark.parametrize("words", [(), ("--store", "URL")])
def test_the_entry_for_an_agent_names_the_database_and_the_key_file(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    url = "postgresql://mesh@db.example.org/memories"
    variables = {} if words else {"MEMORY_MESH_STORE": url}
    words = tuple(url if word == "URL" else word for word in words)
    file = stated("MEMORY_MESH_KEY_FILE", tmp_path)
    expected = {"MEMORY_MESH_STORE": url, **file}
    told = CommandLine(tmp_path, variables=variables | file)(*words, "mcp")
    assert entry_of(told.out) == expected
    assert "MEMORY_MESH_KEY_FILE" not in told.err
    (tmp_path / ".claude").mkdir()
    done = CommandLine(tmp_path, variables=variables | file)(*words, "init", "--yes")
    assert done.code == 0, done.err
    (written,) = (tmp_path / ".claude").rglob(".mcp.json")
    assert entry_of(written.read_text()) == expected


@pytest.mark.parametrize("variable", ["MEMORY_MESH_KEY", "MEMORY_MESH_KEY_COMMAND"])
def test_a_key_is_never_written_but_named(tmp_path: Path, variable: str) -> None:
    key = stated(variable, tmp_path)
    url = "postgresql://mesh@db.example.org/memories"
    cli = CommandLine(tmp_path, variables={"MEMORY_MESH_STORE": url, **key})
    told = cli("mcp")
    assert entry_of(told.out) == {"MEMORY_MESH_STORE": url}
    (tmp_path / ".claude").mkdir()
    done = cli("init", "--yes")
    for said in (told.out + told.err, done.out + done.err):
        assert f"The agent needs {variable} as well" in said
        assert key[variable] not in said


def test_an_address_with_a_password_is_not_written(tmp_path: Path) -> None:
    url = "postgresql://mesh:s3cret@db.example.org/memories"
    told = CommandLine(tmp_path, variables={"MEMORY_MESH_STORE": url})("mcp")
    assert told.code == 1
    assert "~/.pgpass" in told.err
    assert "s3cret" not in told.out + told.err


@pytest.mark.parametrize("words", [["mcp"], ["mcp", "--http"], ["init", "--dry-run", "--yes"]])
def test_an_agent_is_given_a_namespace_and_not_a_user(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / ".claude").mkdir()
    told = CommandLine(tmp_path)("--user", "ada", *words)
    assert told.code == 2
    assert "--namespace ada" in told.err
