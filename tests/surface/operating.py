"""The situations of docs/reference/messages.md, each brought about; what was then printed."""

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from memory_mesh.ledgers.sqlite.namespace_places import refuse_network_folder
from memory_mesh.model.errors import UnsafeFolder
from memory_mesh.platform import moved_marks
from tests.surface.command import CommandLine
from tests.surface.situations import (
    READ_ONLY,
    TEXT,
    alter,
    database,
    failed,
    key,
    sealed,
    unshared,
    verified,
)

Situation = Callable[[CommandLine], str]
LOCKING = """
import sys, time
from pathlib import Path
from memory_mesh.platform.locks import FairLock
with FairLock(Path(sys.argv[1])).held():
    print("held", flush=True)
    time.sleep(600)
"""
MOUNTS = "36 35 98:0 / / rw - ext4 /dev/root rw\n37 36 0:50 / /mnt/team rw - nfs4 host:/x rw\n"
# A small disk with the store, and room for SQLite's shared memory alone.
FULL = (
    'cp -r "$1" "$1.copy" && mount -t tmpfs -o size=2m none "$1" && cp -r "$1.copy/." "$1"; '
    'cat /dev/zero > "$1/filler" 2>&-; truncate -s -64K "$1/filler"'
)


def not_a_ledger(cli: CommandLine) -> str:
    cli.stored(TEXT)
    database(cli).write_bytes(b"no database" * 1_000)
    return failed(cli("list"))


def database_emptied(cli: CommandLine) -> str:
    cli.stored(TEXT)
    database(cli).write_bytes(b"")
    return failed(cli("list"))


def older_copy(cli: CommandLine) -> str:
    _put_back_an_older_copy(cli)
    return failed(cli("list"))


def older_copy_verified(cli: CommandLine) -> str:
    _put_back_an_older_copy(cli)
    return verified(cli)


def _put_back_an_older_copy(cli: CommandLine) -> None:
    cli.stored(TEXT)
    older = database(cli).read_bytes()
    cli.stored("The office is in Hamburg")
    database(cli).write_bytes(older)


def database_gone(cli: CommandLine) -> str:
    cli.stored(TEXT)
    database(cli).unlink()
    return failed(cli("list"))


def replaced_file(cli: CommandLine) -> str:
    cli.stored(TEXT)
    cli.stored("another", "--namespace", "other")
    database(cli).write_bytes((cli.store / "namespaces/other.db").read_bytes())
    return failed(cli("list"))


def read_only_write(cli: CommandLine) -> str:
    cli.stored(TEXT)
    return failed(unshared(cli, READ_ONLY, "store", "--content", "another"))


def read_only_read(cli: CommandLine) -> str:
    cli.stored(TEXT)
    done = unshared(cli, READ_ONLY, "list")
    assert (done.code, TEXT in done.out) == (0, True), done
    return done.err


def newer_store(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(cli, "UPDATE store SET min_reader = 9999")
    return failed(cli("list"))


def lock_held(cli: CommandLine) -> str:
    return _locked(cli, stopped=False)


def lock_held_by_a_stopped_process(cli: CommandLine) -> str:
    return _locked(cli, stopped=True)


def _locked(cli: CommandLine, *, stopped: bool) -> str:
    cli.stored(TEXT)
    path = database(cli).with_suffix(".lock")
    holder = subprocess.Popen(
        [sys.executable, "-c", LOCKING, str(path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        if stopped:
            holder.send_signal(signal.SIGSTOP)
        hasty = replace(cli, variables={"MEMORY_MESH_LOCK_WAIT_SECONDS": "0.2"})
        return failed(hasty("store", "--content", "another"))
    finally:
        holder.kill()
        holder.communicate()


def disk_full(cli: CommandLine) -> str:
    cli.stored(TEXT)
    return failed(unshared(cli, FULL, "store", "--content", "x" * 100_000))


def disk_refused(cli: CommandLine) -> str:
    cli.stored(TEXT)
    limited = replace(cli, start=("sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *cli.start))
    return failed(limited("store", "--content", "another"))


def no_such_folder(cli: CommandLine) -> str:
    (cli.home / "file").write_text("")
    return failed(cli("list", "--db-dir", str(cli.home / "file/store")))


def network_folder(cli: CommandLine) -> str:
    with pytest.raises(UnsafeFolder) as refused:  # no test can mount another machine's disk
        refuse_network_folder(Path("/mnt/team/store"), MOUNTS)
    return str(refused.value)


def no_store_yet(cli: CommandLine) -> str:
    done = cli("stats")
    assert done.code == 0
    return done.err


def store_moved(cli: CommandLine) -> str:
    cli.stored(TEXT)
    assert cli("move", "--to", str(cli.home / "elsewhere")).code == 0
    said = {failed(cli(*words)) for words in (("list",), ("store", "--content", "another"))}
    (message,) = said
    assert cli("list", "--db-dir", str(cli.home / "elsewhere")).code == 0
    return message


def namespace_moved(cli: CommandLine) -> str:
    cli.stored(TEXT)
    assert cli("move", "--only", "--to", str(cli.home / "elsewhere")).code == 0
    return failed(cli("store", "--content", "another"))


def two_databases(cli: CommandLine) -> str:
    cli.stored(TEXT)
    moved_marks.mark_folders(cli.store)
    cli.stored("in a folder", "--namespace", "work")
    (path,) = (cli.store / "namespaces").glob("??/work.db")
    shutil.copy(path, cli.store / "namespaces")
    return failed(cli("list", "--namespace", "work"))


def erasures_damaged(cli: CommandLine) -> str:
    cli.stored(TEXT)
    cli.stored("another", "--namespace", "other")
    assert cli("namespaces", "delete", "other", "--yes").code == 0
    path = cli.store / "erasures"
    path.write_text(path.read_text().replace("own", "0wn"))
    return failed(cli("backup", "--to", str(cli.home / "backups")))


def marker_not_written(cli: CommandLine) -> str:
    cli.stored(TEXT)
    (cli.store / "moved").mkdir()
    done = cli("move", "--to", str(cli.home / "elsewhere"))
    assert done.code == 0
    return done.out + done.err


def key_readable(cli: CommandLine) -> str:
    key(cli).chmod(0o644)
    return sealed(cli)


def key_folder_writable(cli: CommandLine) -> str:
    key(cli).parent.chmod(0o777)
    return sealed(cli)


def key_empty(cli: CommandLine) -> str:
    key(cli).write_text("")
    return sealed(cli)


def key_garbled(cli: CommandLine) -> str:
    key(cli).write_text("no key at all\n")
    return sealed(cli)


def identity_garbled(cli: CommandLine) -> str:
    key(cli)
    (cli.store / "identity").write_text("?\n")
    return sealed(cli)


def no_such_config(cli: CommandLine) -> str:
    return failed(replace(cli, variables={"MEMORY_MESH_CONFIG": "/no/such.toml"})("list"))


def bad_toml(cli: CommandLine) -> str:
    return _configured(cli, "namespace =\n")


def unknown_setting(cli: CommandLine) -> str:
    return _configured(cli, "lock_wait = 1\n")


def bad_value(cli: CommandLine) -> str:
    return failed(replace(cli, variables={"MEMORY_MESH_LOCK_WAIT_SECONDS": "soon"})("list"))


def blind_search(cli: CommandLine) -> str:
    cli.stored(TEXT)
    assert not cli("search", "zanzibar").err
    alter(cli, "UPDATE live_data SET block = zeroblob(length(block)) WHERE id > 10")
    done = cli("search", "staging")
    assert done.code == 0
    return done.err


def embedder_fails(cli: CommandLine) -> str:
    cli.stored(TEXT)
    variables = {"MEMORY_MESH_MODEL_DIR": "/nowhere", "MEMORY_MESH_EMBEDDER": "local"}
    done = replace(cli, variables=variables)("search", "staging")
    assert (done.code, TEXT in done.out) == (0, True)
    return done.err


def embedder_down(cli: CommandLine) -> str:
    cli.stored(TEXT)
    done = replace(cli, variables={"MEMORY_MESH_EMBEDDER": "openai"})("search", "staging")
    assert (done.code, TEXT in done.out) == (0, True)
    return done.err + done.out


def unknown_model(cli: CommandLine) -> str:
    return failed(cli("models", "pull", "nothing"))


def no_daemon(cli: CommandLine) -> str:
    done = cli("daemon")
    return done.out + done.err


def daemon_hangs(cli: CommandLine) -> str:
    assert cli("daemon", "start").code == 0
    (pid,) = [word for word in cli("daemon").out.replace(",", "").split() if word.isdigit()][:1]
    try:
        os.kill(int(pid), signal.SIGSTOP)
        done = cli("daemon", "stop")
        return done.out + done.err
    finally:
        os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.1)


def port_taken(cli: CommandLine) -> str:
    pytest.importorskip("mcp")
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        return failed(cli("mcp", "--http", "--port", port))


def agent_shell(cli: CommandLine) -> str:
    id_ = cli.stored(TEXT)
    agents = replace(cli, variables={"CLAUDECODE": "1"})
    return failed(agents("review", "--id", id_, "--approve"))


def row_changed(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(cli, "UPDATE memory SET status = 'archived'")
    return verified(cli)


def counters_changed(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(cli, "UPDATE memory SET uses = 7")
    return verified(cli)


def keywords_damaged(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(cli, "DELETE FROM live_data WHERE id > 10")
    return verified(cli)


def schema_changed(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(cli, "DROP TABLE link")
    return verified(cli)


def header_changed(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(cli, "PRAGMA application_id = 1")
    return verified(cli)


def text_changed(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(cli, "UPDATE text SET content = 'Deploys go to production at once'")
    return verified(cli)


def block_changed(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(cli, "UPDATE block SET wire = 'forged'")
    return verified(cli)


def chain_cut(cli: CommandLine) -> str:
    cli.stored(TEXT)
    cli.stored("The office is in Hamburg")
    alter(cli, "DELETE FROM block WHERE position = (SELECT max(position) FROM block)")
    return verified(cli)


def pages_damaged(cli: CommandLine) -> str:
    cli.stored(TEXT)
    with closing(sqlite3.connect(database(cli))) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memory'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    with database(cli).open("r+b") as file:
        file.seek((page - 1) * size + 3)  # how many cells the page of the table has
        file.write(b"\x00\x09")
    done = cli("verify")
    assert done.code == 1
    return done.out


def checkpoint_shorter(cli: CommandLine) -> str:
    cli.stored(TEXT)
    older = database(cli).read_bytes()
    cli.stored("The office is in Hamburg")
    assert cli("verify", "--checkpoint", "mark.json").code == 0
    database(cli).write_bytes(older)
    return verified(cli, "--against", "mark.json")


def checkpoint_differs(cli: CommandLine) -> str:
    cli.stored(TEXT)
    assert cli("verify", "--checkpoint", "mark.json").code == 0
    for path in database(cli).parent.iterdir():
        path.unlink()
    cli.stored("Deploys go to production at once")
    return verified(cli, "--against", "mark.json")


def _configured(cli: CommandLine, text: str) -> str:
    file = cli.home / ".config/memory-mesh/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return failed(cli("list"))
