"""What the situations of docs/reference/messages.md are made with."""

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.surface.command import CommandLine, Ran

TEXT = "Deploys go through staging first"
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"'


def database(cli: CommandLine) -> Path:
    return cli.store / "namespaces/default.db"


def alter(cli: CommandLine, statement: str) -> None:
    with closing(sqlite3.connect(database(cli))) as db, db:
        db.execute(statement)


def key(cli: CommandLine) -> Path:
    cli.stored("Write to ada@example.org")
    (file,) = (cli.home / ".config/memory-mesh/keys").glob("*.key")
    return file


def sealed(cli: CommandLine) -> str:
    """What is said when the key is needed again."""
    return failed(cli("store", "--content", "Write to bob@example.org"))


def failed(done: Ran) -> str:
    assert done.code == 1, done
    assert "[MemoryMesh Error] " in done.err, done
    return done.err


def verified(cli: CommandLine, *words: str) -> str:
    done = cli("verify", *words)
    assert done.code == 1, done
    return done.out


def unshared(cli: CommandLine, script: str, *words: str) -> Ran:
    """Runs a command with mounts of its own, which the script makes over the store ($1)."""
    whole = f'{script}; shift; exec "$@"'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", whole, "sh", str(cli.store), *cli.start, *words],
        capture_output=True,
        text=True,
        env=cli.environment,
        cwd=cli.home,
        check=False,
    )
    if "unshare:" in done.stderr or "mount:" in done.stderr:
        pytest.skip("this machine lets nobody mount anything")
    return Ran(done.returncode, done.stdout, done.stderr)


def backed_up(cli: CommandLine) -> Path:
    cli.stored(TEXT)
    done = cli("backup", "--to", "backups", "--json")
    assert done.code == 0, done
    return Path(json.loads(done.out)["folder"])


def archived(cli: CommandLine) -> Path:
    cli.stored(TEXT)
    assert cli("export", "--to", "one.tar.gz").code == 0
    return cli.home / "one.tar.gz"


def deleted(cli: CommandLine) -> None:
    assert cli("namespaces", "delete", "default", "--yes").code == 0
