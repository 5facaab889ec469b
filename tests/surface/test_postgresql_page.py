"""The blocks of docs/how-to/postgresql.md run, in their order, on a real server."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.postgres import SECRET, Server
from tests.surface import page_text
from tests.surface.command import CommandLine, Ran

PAGE = Path(__file__).parent.parent.parent / "docs/how-to/postgresql.md"
WRITTEN = "postgresql://{}@db.example.org/memories"


@pytest.fixture
def server(postgres: Server) -> Iterator[Server]:
    """The server with the database that the page names, which is not set up."""
    with psycopg.connect(postgres.url(), autocommit=True) as db:
        db.execute("CREATE DATABASE memories")
        db.execute("CREATE ROLE owner LOGIN SUPERUSER")
    yield postgres
    postgres.drop("memories")
    with psycopg.connect(postgres.url(), autocommit=True) as db:
        db.execute("DROP ROLE owner")
        db.execute("DROP ROLE mesh")


def _placed(text: str, server: Server) -> str:
    for role in ("owner", "mesh"):
        text = text.replace(WRITTEN.format(role), server.url("memories", role))
    return text


@pytest.fixture
def keyed(tmp_path: Path) -> CommandLine:
    """A machine that states the key of `database`."""
    return CommandLine(tmp_path, variables={"MEMORY_MESH_KEY": SECRET.hex()})


def _typed(cli: CommandLine, line: str) -> Ran:
    done = cli(*shlex.split(line)[1:])
    assert done.code == 0, done.err
    return done


def test_the_page_runs(server: Server, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    cli = CommandLine(home)
    cli.stored("The shop opens at nine", "--namespace", "shop")
    blocks = list(page_text.blocks(PAGE.read_text(encoding="utf-8")))
    typed: list[Ran] = []
    for number, block in enumerate(blocks):
        body = _placed(block.body, server)
        if block.language == "sql":
            with psycopg.connect(server.url("memories"), autocommit=True) as db:
                db.execute(body.encode())
        elif block.language == "console":
            typed += [_typed(cli, line[2:]) for line in body.splitlines()]
        elif block.language == "python":
            done = subprocess.run(
                [sys.executable, "-c", body],
                env=cli.environment,
                cwd=home,
                capture_output=True,
                text=True,
                timeout=120,
                check=True,
            )
            assert done.stdout == blocks[number + 1].body
    assert "is ready: " in typed[0].out
    assert "to every other machine, and set MEMORY_MESH_KEY_FILE there" in typed[0].out
    assert "The shop opens at nine" in typed[-1].out
    assert len(typed) == 5


def test_a_database_that_is_not_set_up_says_what_to_run(server: Server, tmp_path: Path) -> None:
    with psycopg.connect(server.url("memories"), autocommit=True) as db:
        db.execute("CREATE ROLE mesh LOGIN")
    told = CommandLine(tmp_path)("--store", server.url("memories", "mesh"), "list")
    assert told.code == 1
    assert "setup-server" in told.err
    refused = CommandLine(tmp_path)("--store", server.url("memories", "mesh"), "backup", "copy")
    assert "pg_dump" in refused.err


@pytest.mark.parametrize("variable", ["MEMORY_MESH_KEY", "MEMORY_MESH_KEY_FILE"])
def test_a_set_up_with_a_stated_key_says_that_every_process_must_state_it(
    server: Server, tmp_path: Path, variable: str
) -> None:
    with psycopg.connect(server.url("memories"), autocommit=True) as db:
        db.execute("CREATE ROLE mesh LOGIN")
    file = tmp_path / "memories.key"
    file.write_text(SECRET.hex())
    file.chmod(0o600)
    stated = str(file) if variable.endswith("FILE") else SECRET.hex()
    cli = CommandLine(tmp_path, variables={variable: stated})
    done = cli("--store", server.url("memories", "owner"), "setup-server", "--login", "mesh")
    assert f"Keep {variable} set in every process that uses the store" in done.out
    again = cli("--json", "--store", server.url("memories", "owner"), "setup-server")
    told = json.loads(again.out)
    assert told["key_variable"] == variable
    assert told["key_file"] == (str(file) if variable.endswith("FILE") else None)
    assert SECRET.hex() not in done.out + again.out


def test_another_key_opens_nothing(database: str, tmp_path: Path) -> None:
    cli = CommandLine(tmp_path, variables={"MEMORY_MESH_KEY": "ab" * 32})
    told = cli("--store", database, "list")
    assert told.code == 1
    assert "MEMORY_MESH_KEY_FILE" in told.err


def test_an_owner_who_is_no_superuser_is_told_what_to_ask_for(
    server: Server, tmp_path: Path
) -> None:
    cli, owner = CommandLine(tmp_path), server.url("memories", "plain")
    with psycopg.connect(server.url("memories"), autocommit=True) as db:
        db.execute("CREATE ROLE mesh LOGIN")
        db.execute("CREATE ROLE plain LOGIN")
        db.execute("ALTER DATABASE memories OWNER TO plain")
        told = cli("--store", owner, "setup-server", "--login", "mesh")
        assert told.code == 1
        assert "WITH ADMIN OPTION" in told.err
        assert db.execute("SELECT to_regnamespace('memory_mesh')").fetchone() == (None,)
        db.execute("CREATE EXTENSION vector SCHEMA public")
        db.execute("SET client_min_messages = error")
        if not db.execute("SELECT 1 FROM pg_roles WHERE rolname = 'memory_mesh_app'").fetchone():
            db.execute("CREATE ROLE memory_mesh_app NOLOGIN")
        db.execute("GRANT memory_mesh_app TO plain WITH ADMIN OPTION")
        done = cli("--store", owner, "setup-server", "--login", "mesh")
        assert done.code == 0, done.err
        mine = cli("--store", server.url("memories", "mesh"), "store", "Deploys run on Fridays")
        assert mine.code == 0, mine.err
        db.execute("REASSIGN OWNED BY plain TO postgres")
        db.execute("DROP OWNED BY plain")
        db.execute("ALTER DATABASE memories OWNER TO postgres")
        db.execute("DROP OWNED BY mesh")
    with psycopg.connect(server.url(), autocommit=True) as db:
        db.execute("REVOKE memory_mesh_app FROM plain CASCADE")
        db.execute("DROP ROLE plain")


def test_a_stated_key_is_rotated_where_it_is_kept(database: str, tmp_path: Path) -> None:
    file = tmp_path / "memories.key"
    file.write_text(SECRET.hex())
    file.chmod(0o600)
    cli = CommandLine(tmp_path, variables={"MEMORY_MESH_KEY_FILE": str(file)})
    assert cli("--store", database, "store", "It rains").code == 0
    refused = cli("--store", database, "keys", "rotate")
    assert refused.code == 1
    for word in ("MEMORY_MESH_KEY_FILE", "add a line", "every machine", "docs/how-to"):
        assert word in refused.err
    assert file.read_text() == SECRET.hex()
    file.write_text(f"{SECRET.hex()[:8]} {SECRET.hex()} 2026-01-01\nb2 {'6a' * 32} 2026-02-02\n")
    assert "It rains" in cli("--store", database, "list").out
    told = json.loads(cli("--json", "--store", database, "keys").out)
    assert (told["stated_by"], len(told["keys"])) == ("MEMORY_MESH_KEY_FILE", 2)
    assert "a database opens only with the key" in cli("--store", database, "keys", "replace").err


def test_a_rotation_on_one_machine_says_what_the_others_need(
    server: Server, tmp_path: Path
) -> None:
    with psycopg.connect(server.url("memories"), autocommit=True) as db:
        db.execute("CREATE ROLE mesh LOGIN")
    cli, store = CommandLine(tmp_path), server.url("memories", "mesh")
    assert (
        cli("--store", server.url("memories", "owner"), "setup-server", "--login", "mesh").code == 0
    )
    done = cli("--store", store, "keys", "rotate")
    (file,) = (tmp_path / ".config/memory-mesh/keys").glob("*.key")
    assert "is in use on this machine" in done.out
    assert f"No other machine has the new key. Copy {file} to each" in done.err
    replaced = cli("--store", store, "keys", "replace")
    assert (replaced.code, "a database opens only with the key" in replaced.err) == (1, True)
    file.unlink()
    lost = cli("--store", store, "list").err
    assert "The database opens with no other key" in lost
    assert "keys replace" not in lost


def test_a_key_that_one_machine_began_to_use_is_needed_on_every_other(
    database: str, tmp_path: Path
) -> None:
    """Else what is rejected on one would not be kept out on the others."""
    first = f"a1 {SECRET.hex()} 2026-01-01\n"
    clis = [
        CommandLine(tmp_path / name, variables={"MEMORY_MESH_KEY": first}) for name in ("a", "b")
    ]
    for cli in clis:
        cli.home.mkdir(parents=True, exist_ok=True)
        assert cli("--store", database, "store", f"It rains in {cli.home.name}").code == 0
    here, there = clis
    both = {"MEMORY_MESH_KEY": f"{first}b2 {'6a' * 32} 2026-02-02\n"}
    here = CommandLine(here.home, variables=both)
    assert here("--store", database, "store", "It snows").code == 0
    refused = there("--store", database, "store", "It hails")
    assert refused.code == 1
    for word in (
        "with the key b2",
        "which this one lacks",
        "nothing was written",
        "start it again",
    ):
        assert word in refused.err
    assert "It snows" in there("--store", database, "list").out
    assert "It snows" in there("--store", database, "search", "snows").out
    assert "It snows" in there("--store", database, "context", "snows").out
    there = CommandLine(there.home, variables=both)
    assert there("--store", database, "store", "It hails").code == 0
    bare = CommandLine(there.home, variables={"MEMORY_MESH_KEY": "6a" * 32})
    assert "set up with another key" in bare("--store", database, "list").err


def test_another_machine_without_the_key_is_told_so(database: str, tmp_path: Path) -> None:
    told = CommandLine(tmp_path)("--store", database, "list")
    assert told.code == 1
    assert "this machine has no key for the database" in told.err
    assert not (tmp_path / ".config/memory-mesh/keys").exists()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("postgresql://mesh@localhost/x?hots=y", "cannot be read"),
        ("postgresql://mesh:s3 cret@localhost/x", "cannot be read"),
        ("postgresql:/mesh@localhost/x", "two slashes"),
        ("postgresql://mesh@localhost", "must name a database"),
    ],
)
def test_a_wrong_address_is_named_for_what_it_is(address: str, said: str, tmp_path: Path) -> None:
    told = CommandLine(tmp_path, variables={"MEMORY_MESH_KEY": "ab" * 32})(
        "--store", address, "list"
    )
    assert told.code == 1
    assert said in told.err
    assert "s3 cret" not in told.err


def test_a_key_that_is_none_is_named_by_its_variable(database: str, tmp_path: Path) -> None:
    told = CommandLine(tmp_path, variables={"MEMORY_MESH_KEY": "abc"})("--store", database, "list")
    assert told.code == 1
    assert "MEMORY_MESH_KEY gives no key" in told.err


def test_the_doctor_speaks_of_the_database_and_not_of_a_folder(
    database: str, keyed: CommandLine
) -> None:
    for name in ("default", "shop"):
        assert keyed("--store", database, "--namespace", name, "store", "It rains").code == 0
    secret = database.replace("mesh_login@", "mesh_login:s3cret@")
    done = keyed("--store", secret, "doctor", "--quick", "--json")
    told = json.loads(done.out)
    said = {each["check"]: each["said"] for each in told["checks"]}
    assert (done.code, told["store"]) == (0, database), done.err
    assert said["store"].startswith(f"{database} opens, takes writes and answers; 1 memory")
    assert said["namespaces"] == "1 other namespace in the database"
    assert said["key"].startswith("1 key stated by MEMORY_MESH_KEY")
    assert "no file of the store is on this machine" in said["permissions"]
    assert "s3cret" not in done.out + done.err


def test_the_doctor_names_the_key_that_this_machine_lacks(database: str, tmp_path: Path) -> None:
    done = CommandLine(tmp_path)("--store", database, "doctor", "--quick")
    assert done.code == 1
    lacks = "this machine has no key for the database at this address"
    assert f"failed   key: {lacks} | fix: set MEMORY" in done.out
    assert "failed   namespaces: cannot be looked at, see store" in done.out


def test_stats_of_a_database_state_no_size_that_was_not_measured(
    database: str, keyed: CommandLine
) -> None:
    assert keyed("--store", database, "store", "It rains").code == 0
    told = keyed("--store", database, "stats", "--verbose").out
    assert "Total Memories: 1" in told
    assert "Seq: 1" in told
    figures = keyed("--store", database, "stats", "--format", "prometheus").out
    assert "memory_mesh_seq" in figures
    assert "ytes" not in told + figures
    plain = json.loads(keyed("--json", "--store", database, "stats").out)
    assert (plain["bytes"], plain["sizes"]) == (None, None)


def test_a_worker_says_that_it_works_only_once_the_database_answers(keyed: CommandLine) -> None:
    done = keyed("--store", "postgresql://mesh@127.0.0.1:1/memories", "worker", "--once")
    assert done.code == 1
    assert "cannot be reached" in done.err
    assert "Working for" not in done.err
