"""The situations of docs/reference/messages.md that are about backups, archives and moving."""

import json
import shutil
from dataclasses import replace

from memory_mesh.base.typed import replace as replaced
from memory_mesh.care import archives, manifest as manifests
from memory_mesh.formats.archive import written
from tests.surface.command import CommandLine
from tests.surface.situations import (
    TEXT,
    alter,
    archived,
    backed_up,
    database,
    deleted,
    failed,
    key,
    unshared,
)


def no_store(cli: CommandLine) -> str:
    return failed(cli("backup", "--to", "backups"))


def backup_inside(cli: CommandLine) -> str:
    cli.stored(TEXT)
    return failed(cli("backup", "--to", str(cli.store / "backups")))


def not_a_folder(cli: CommandLine) -> str:
    cli.stored(TEXT)
    (cli.home / "file").write_text("")
    return failed(cli("backup", "--to", "file"))


def backup_refused(cli: CommandLine) -> str:
    cli.stored(TEXT)
    (cli.home / "file").write_text("")
    return failed(cli("backup", "--to", "file/backups"))


def backup_disk_full(cli: CommandLine) -> str:
    cli.stored(TEXT)
    small = 'mkdir "$HOME/full" && mount -t tmpfs -o size=64k none "$HOME/full"'
    return failed(unshared(cli, small, "backup", "--to", "full"))


def too_many_files(cli: CommandLine) -> str:
    for number in range(12):
        cli.stored(TEXT, "--namespace", f"n{number}")
    backup = backed_up(cli)
    limited = replace(cli, start=("sh", "-c", 'ulimit -n 16; exec "$@"', "sh", *cli.start))
    return failed(limited("restore", "--from", str(backup), "--replace"))


def backup_of_damage(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(cli, "UPDATE memory SET status = 'archived'")
    done = cli("backup", "--to", "backups")
    return done.out + failed(done)


def backup_lacks_writes(cli: CommandLine) -> str:
    cli.stored(TEXT)
    older = database(cli).read_bytes()
    cli.stored("The office is in Hamburg")
    database(cli).write_bytes(older)
    done = cli("backup", "--to", "backups")
    assert done.code == 1, done
    return done.out


def backup_lacks_a_namespace(cli: CommandLine) -> str:
    cli.stored(TEXT)
    cli.stored("another", "--namespace", "other")
    (cli.store / "namespaces/other.db").unlink()
    done = cli("backup", "--to", "backups")
    assert done.code == 1, done
    return done.out


def no_such_backup(cli: CommandLine) -> str:
    return failed(cli("restore", "--from", "nowhere", "--to", "new"))


def folder_of_backups(cli: CommandLine) -> str:
    return failed(cli("restore", "--from", str(backed_up(cli).parent), "--to", "new"))


def a_store_is_no_backup(cli: CommandLine) -> str:
    cli.stored(TEXT)
    return failed(cli("restore", "--from", str(cli.store), "--to", "new"))


def no_manifest(cli: CommandLine) -> str:
    backup = backed_up(cli)
    (backup / manifests.FILE).unlink()
    return failed(cli("restore", "--from", str(backup), "--to", "new"))


def manifest_changed(cli: CommandLine) -> str:
    backup = backed_up(cli)
    plain = json.loads((backup / manifests.FILE).read_text())
    (backup / manifests.FILE).write_text(json.dumps(plain | {"made": "2026-01-01T00:00:00Z"}))
    return failed(cli("restore", "--from", str(backup), "--to", "new"))


def manifest_garbled(cli: CommandLine) -> str:
    backup = backed_up(cli)
    (backup / manifests.FILE).write_text("{}")
    return failed(cli("restore", "--from", str(backup), "--to", "new"))


def newer_backup(cli: CommandLine) -> str:
    backup = backed_up(cli)
    plain = json.loads((backup / manifests.FILE).read_text())
    (backup / manifests.FILE).write_text(json.dumps(plain | {"format": 99}))
    return failed(cli("restore", "--from", str(backup), "--to", "new"))


def backup_changed(cli: CommandLine) -> str:
    backup = backed_up(cli)
    copy = backup / "namespaces/default.db"
    copy.write_bytes(copy.read_bytes()[:-1] + b"?")
    return failed(cli("restore", "--from", str(backup), "--to", "new"))


def backup_incomplete(cli: CommandLine) -> str:
    backup = backed_up(cli)
    (backup / "namespaces/default.db").unlink()
    return failed(cli("restore", "--from", str(backup), "--to", "new"))


def damaged_backup(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(cli, "UPDATE memory SET status = 'archived'")
    assert cli("backup", "--to", "backups").code == 1
    (backup,) = (cli.home / "backups").iterdir()
    return failed(cli("restore", "--from", str(backup), "--to", "new"))


def store_is_there(cli: CommandLine) -> str:
    return failed(cli("restore", "--from", str(backed_up(cli))))


def other_store(cli: CommandLine) -> str:
    backup = backed_up(cli)
    assert cli("store", "--content", "another", "--db-dir", "other").code == 0
    return failed(cli("restore", "--from", str(backup), "--replace", "--db-dir", "other"))


def restore_inside(cli: CommandLine) -> str:
    backup = backed_up(cli)
    return failed(cli("restore", "--from", str(backup), "--to", str(backup / "new")))


def no_database(cli: CommandLine) -> str:
    (cli.home / "notes.txt").write_text("no database")
    return failed(cli("restore", "--from", "notes.txt", "--to", "new"))


def file_into_a_store(cli: CommandLine) -> str:
    file = backed_up(cli) / "namespaces/default.db"
    return failed(cli("restore", "--from", str(file), "--to", str(cli.store)))


def deleted_since(cli: CommandLine) -> str:
    file = backed_up(cli) / "namespaces/default.db"
    deleted(cli)
    return failed(cli("restore", "--from", str(file), "--to", "new"))


def left_out(cli: CommandLine) -> str:
    cli.stored("another", "--namespace", "other")
    backup = backed_up(cli)
    deleted(cli)
    done = cli("restore", "--from", str(backup), "--to", "new")
    assert done.code == 0, done
    return done.out


def archive_is_there(cli: CommandLine) -> str:
    archived(cli)
    return failed(cli("export", "--to", "one.tar.gz"))


def export_of_damage(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(cli, "UPDATE text SET content = 'Deploys go to production at once'")
    return failed(cli("export", "--to", "one.tar.gz"))


def export_of_nothing(cli: CommandLine) -> str:
    cli.stored(TEXT)
    return failed(cli("export", "--to", "one.tar.gz", "--namespace", "wrok"))


def export_refused(cli: CommandLine) -> str:
    cli.stored(TEXT)
    return failed(cli("export", "--to", "nowhere/one.tar.gz"))


def archive_cut(cli: CommandLine) -> str:
    file = archived(cli)
    file.write_bytes(file.read_bytes()[:-10])
    return failed(cli("import", "--from", "one.tar.gz", "--into", "copy"))


def archive_damaged(cli: CommandLine) -> str:
    file = archived(cli)
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.write_bytes(data)
    return failed(cli("import", "--from", "one.tar.gz", "--into", "copy"))


def newer_archive(cli: CommandLine) -> str:
    file = archived(cli)
    with archives.reading(file) as reader:
        text = written(replaced(reader.manifest, schema=99))
    with file.open("wb") as new, archives.writing(new) as archive:
        archive.add(archives.MANIFEST, len(text), [text])
    return failed(cli("import", "--from", "one.tar.gz", "--into", "copy"))


def no_such_archive(cli: CommandLine) -> str:
    return failed(cli("import", "--from", "one.tar.gz"))


def namespace_is_filled(cli: CommandLine) -> str:
    archived(cli)
    return failed(cli("import", "--from", "one.tar.gz"))


def archive_of_erased(cli: CommandLine) -> str:
    archived(cli)
    deleted(cli)
    return failed(cli("import", "--from", "one.tar.gz"))


def other_keys(cli: CommandLine) -> str:
    key(cli)
    assert cli("export", "--to", "one.tar.gz").code == 0
    return cli("import", "--from", "one.tar.gz", "--db-dir", "other").err


def move_inside(cli: CommandLine) -> str:
    cli.stored(TEXT)
    return failed(cli("move", "--to", str(cli.store / "new")))


def move_onto_a_store(cli: CommandLine) -> str:
    cli.stored(TEXT)
    assert cli("store", "--content", "another", "--db-dir", "other").code == 0
    return failed(cli("move", "--to", "other"))


def move_onto_a_namespace(cli: CommandLine) -> str:
    cli.stored(TEXT)
    assert cli("store", "--content", "another", "--db-dir", "other").code == 0
    return failed(cli("move", "--only", "--to", "other"))


def move_of_damage(cli: CommandLine) -> str:
    cli.stored(TEXT)
    alter(cli, "UPDATE memory SET status = 'archived'")
    return failed(cli("move", "--to", "new"))


def move_around_the_keys(cli: CommandLine) -> str:
    key(cli)
    return failed(cli("move", "--to", str(cli.home / ".config/memory-mesh")))


def move_of_erased(cli: CommandLine) -> str:
    cli.stored(TEXT)
    shutil.copytree(cli.store, cli.home / "copy")
    assert cli("namespaces", "delete", "default", "--yes", "--db-dir", "copy").code == 0
    return failed(cli("move", "--only", "--to", "copy"))


def move_of_nothing(cli: CommandLine) -> str:
    return failed(cli("move", "--to", "new"))
