"""The situations of docs/reference/messages.md about keys, files that changed, and mending."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

from tests.surface.command import CommandLine
from tests.surface.situations import (
    READ_ONLY,
    TEXT,
    alter,
    backed_up,
    database,
    failed,
    key,
    sealed,
    unshared,
    verified,
)

OPEN = """
import sys
from memory_mesh.sync import MemoryMesh
with MemoryMesh(embedder="none") as mesh:
    print(mesh.add("The office is in Hamburg").id, flush=True)
    sys.stdin.readline()
    try:
        mesh.add("The office is in Bremen")
        mesh.get_all()
    except Exception as error:
        print(type(error).__name__, error)
"""


def wrong_key(cli: CommandLine) -> str:
    key(cli).unlink()
    return sealed(cli)


def other_key(cli: CommandLine) -> str:
    key(cli).write_text("k0000000 " + "00" * 32 + " 2026-01-01\n")
    return sealed(cli)


def identity_gone(cli: CommandLine) -> str:
    key(cli)
    (cli.store / "identity").unlink()
    return sealed(cli)


def identity_and_record_gone(cli: CommandLine) -> str:
    key(cli)
    for name in ("identity", "key-record"):
        (cli.store / name).unlink()
    return sealed(cli)


def key_record_gone(cli: CommandLine) -> str:
    key(cli)
    (cli.store / "key-record").unlink()
    return cli("verify").out


def identity_of_another(cli: CommandLine) -> str:
    key(cli)
    (cli.store / "identity").write_text("ab" * 16 + "\n")
    return cli("verify").out


def head_file_gone(cli: CommandLine) -> str:
    cli.stored(TEXT)
    database(cli).with_suffix(".head").unlink()
    return cli("verify").out


def key_is_there(cli: CommandLine) -> str:
    key(cli)
    return failed(cli("keys", "replace"))


def nothing_to_rotate(cli: CommandLine) -> str:
    cli.stored(TEXT)
    return failed(cli("keys", "rotate"))


def key_unreadable(cli: CommandLine) -> str:
    file = key(cli)
    file.unlink()
    file.mkdir(mode=0o700)
    return sealed(cli)


def key_folder_relative(cli: CommandLine) -> str:
    return sealed(replace(cli, variables={"MEMORY_MESH_KEY_DIR": "keys"}))


def keys_inside(cli: CommandLine) -> str:
    cli.stored(TEXT)
    inside = {"MEMORY_MESH_KEY_DIR": str(cli.store / "keys")}
    return sealed(replace(cli, variables=inside))


def store_gone(cli: CommandLine) -> str:
    return _while_open(cli, lambda: shutil.move(cli.store, cli.home / "elsewhere"))


def replaced_while_open(cli: CommandLine) -> str:
    cli.stored(TEXT, "--namespace", "other")

    def exchange() -> None:
        for path in database(cli).parent.glob("default.db*"):
            path.unlink()
        shutil.copy(cli.store / "namespaces/other.db", database(cli))

    return _while_open(cli, exchange)


def _while_open(cli: CommandLine, change: Callable[[], object]) -> str:
    """What a program says that has the store open while it is changed."""
    program = subprocess.Popen(
        [sys.executable, "-c", OPEN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=cli.environment,
        cwd=cli.home,
    )
    assert program.stdout is not None
    assert program.stdout.readline().startswith("mem_")
    change()
    said, _ = program.communicate("go on\n", timeout=300)
    return said


def copied_without_its_log(cli: CommandLine) -> str:
    """`cp` of the database alone, while a process has it open."""
    copied = cli.home / "copied/namespaces"
    copied.mkdir(parents=True)

    def copy() -> None:
        for name in ("default.db", "default.head"):
            shutil.copy(cli.store / "namespaces" / name, copied / name)

    cli.stored(TEXT)
    _while_open(cli, copy)
    return failed(cli("list", "--db-dir", "copied"))


def other_history(cli: CommandLine) -> str:
    cli.stored(TEXT)
    older = database(cli).read_bytes()
    cli.stored("The office is in Hamburg")
    head = database(cli).with_suffix(".head")
    known = head.read_bytes()
    head.unlink()
    database(cli).write_bytes(older)
    cli.stored("The office is in Bremen")
    head.write_bytes(known)
    return failed(cli("list"))


def uses_gone(cli: CommandLine) -> str:
    cli.stored(TEXT)
    older = database(cli).read_bytes()
    assert cli("search", "staging").code == 0
    database(cli).write_bytes(older)
    return failed(cli("list"))


def row_unreadable(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(cli, "UPDATE version SET tags = '{'")
    return failed(cli("list"))


def nothing_to_repair(cli: CommandLine) -> str:
    return failed(cli("repair"))


def cannot_repair(cli: CommandLine) -> str:
    cli.stored(TEXT)
    database(cli).write_bytes(b"no database" * 1_000)
    return failed(cli("repair"))


def left_after_repair(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(cli, "UPDATE text SET content = 'Deploys go to production at once'")
    return failed(cli("repair"))


def loss_accepted(cli: CommandLine) -> str:
    cli.stored(TEXT)
    older = database(cli).read_bytes()
    cli.stored("The office is in Hamburg")
    database(cli).write_bytes(older)
    done = cli("repair", "--accept-loss")
    assert done.code == 0, done
    return done.out


def salvage_of_nothing(cli: CommandLine) -> str:
    return failed(cli("salvage", "--to", "new"))


def salvage_onto_a_folder(cli: CommandLine) -> str:
    cli.stored(TEXT)
    return failed(cli("salvage", "--to", str(cli.store)))


def salvage_with_losses(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(cli, "UPDATE text SET content = 'Deploys go to production at once'")
    done = cli("salvage", "--to", "new")
    return failed(done)


def salvage_with_some_held_back(cli: CommandLine) -> str:
    cli.stored(TEXT)
    cli.stored("The office is in Hamburg")
    alter(cli, "UPDATE version SET project = 'atlas' WHERE number = 1")
    return failed(cli("salvage", "--to", "new"))


def salvage_without_a_database(cli: CommandLine) -> str:
    cli.stored(TEXT)
    cli.stored("another", "--namespace", "other")
    (cli.store / "namespaces/other.db").unlink()
    done = cli("salvage", "--to", "new")
    assert done.code == 1, done
    return done.out


def delete_in_a_pipe(cli: CommandLine) -> str:
    cli.stored(TEXT)
    return failed(cli("namespaces", "delete", "default"))


def delete_of_nothing(cli: CommandLine) -> str:
    cli.stored(TEXT)
    return failed(cli("namespaces", "delete", "defualt", "--yes"))


def delete_refused(cli: CommandLine) -> str:
    cli.stored(TEXT)
    (cli.store / "erasures").mkdir()
    return failed(cli("namespaces", "delete", "default", "--yes"))


def half_deleted(cli: CommandLine) -> str:
    cli.stored(TEXT)
    database(cli).with_suffix(".spool").unlink(missing_ok=True)
    database(cli).with_suffix(".spool").mkdir()
    return failed(cli("namespaces", "delete", "default", "--yes"))


def deleted_unnoted(cli: CommandLine) -> str:
    cli.stored(TEXT)
    database(cli).write_bytes(b"no database" * 1_000)
    database(cli).with_suffix(".head").unlink()
    done = cli("namespaces", "delete", "default", "--yes")
    assert done.code == 0, done
    return done.out


def erasures_unreadable(cli: CommandLine) -> str:
    backup = backed_up(cli)
    (cli.store / "erasures").mkdir()
    return failed(cli("restore", "--from", str(backup), "--replace"))


def read_only_mending(cli: CommandLine) -> str:
    key(cli)
    backup = backed_up(cli)
    assert cli("export", "--to", "one.tar.gz").code == 0
    said = [
        failed(unshared(cli, READ_ONLY, *words))
        for words in (
            ("repair",),
            ("import", "--from", "one.tar.gz", "--into", "copy"),
            ("move", "--to", "new"),
            ("move", "--only", "--to", "new"),
            ("restore", "--from", str(backup), "--replace"),
            ("keys", "rotate"),
            ("keys", "replace"),
            ("namespaces", "delete", "default", "--yes"),
        )
    ]
    assert all("cannot be written: its memories can be read" in each for each in said), said
    return said[0]


def misspelt_namespace(cli: CommandLine) -> str:
    cli.stored(TEXT)
    return failed(cli("verify", "--namespace", "wrok"))


def cannot_open(cli: CommandLine) -> str:
    cli.stored(TEXT)
    database(cli).write_bytes(b"no database" * 1_000)
    said = verified(cli)
    assert "memory-mesh verify" not in said, said
    return said


def vector_file_damaged(cli: CommandLine) -> str:
    cli.stored(TEXT)
    (database(cli).parent / "default.vectors-1").write_bytes(b"no vectors")
    return verified(cli)


def vectors_outgrown(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(
        cli,
        "INSERT INTO space (number, name, provider, model, revision, dimension, max_tokens, "
        "normalised, query_prefix, text_prefix) VALUES (9, 's', 'p', 'm', 'r', 4, 9, 1, '', '')",
    )
    alter(
        cli,
        "WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n <= 200000) "
        "INSERT INTO vector (text, space, part, seq, data) SELECT 1, 9, n, 1, x'' FROM many",
    )
    done = cli("stats")
    assert done.code == 0, done
    return done.out + done.err
