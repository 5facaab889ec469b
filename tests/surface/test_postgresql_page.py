"""The blocks of docs/how-to/postgresql.md run, in their order, on a real server."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.postgres import Server
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
    assert "The shop opens at nine" in typed[-1].out
    assert len(typed) == 4


def test_a_database_that_is_not_set_up_says_what_to_run(server: Server, tmp_path: Path) -> None:
    with psycopg.connect(server.url("memories"), autocommit=True) as db:
        db.execute("CREATE ROLE mesh LOGIN")
    told = CommandLine(tmp_path)("--store", server.url("memories", "mesh"), "list")
    assert told.code == 1
    assert "setup-server" in told.err
    refused = CommandLine(tmp_path)("--store", server.url("memories", "mesh"), "backup", "copy")
    assert "pg_dump" in refused.err


def test_another_key_opens_nothing(database: str, tmp_path: Path) -> None:
    cli = CommandLine(tmp_path, variables={"MEMORY_MESH_KEY": "ab" * 32})
    told = cli("--store", database, "list")
    assert told.code == 1
    assert "MEMORY_MESH_KEY_FILE" in told.err
