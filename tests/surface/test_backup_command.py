"""`memory-mesh backup` and `restore --from` in real processes."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_mesh.care import backups as care_backups
from tests.surface.command import CommandLine

DARK = "The user prefers dark themes"


def test_a_store_is_backed_up_and_restored_in_place(cli: CommandLine, tmp_path: Path) -> None:
    cli.stored(DARK)
    done = json.loads(cli("backup", "--to", str(tmp_path / "backups"), "--keep", "3", "--json").out)
    assert done["ok"]
    assert [kept["namespace"] for kept in done["namespaces"]] == ["default"]
    cli.stored("written after the backup")
    refused = cli("restore", "--from", done["folder"])
    assert (refused.code, "--replace" in refused.err) == (1, True)
    told = cli("restore", "--from", done["folder"], "--replace")
    assert told.code == 0
    assert told.out.startswith("[MemoryMesh] Restored 1 namespace to ")
    assert ".before-restore-" in told.out
    assert [found["content"] for found in json.loads(cli("list", "--json").out)["items"]] == [DARK]
    assert cli("verify").code == 0


def test_a_store_is_restored_beside_and_what_was_erased_stays_away(
    cli: CommandLine, tmp_path: Path
) -> None:
    cli.stored(DARK)
    cli.stored("Tea is served at four", "--user", "ann")
    done = json.loads(cli("backup", "--to", str(tmp_path / "backups"), "--json").out)
    manifest = json.loads((Path(done["folder"]) / "manifest.json").read_text())
    ann = next(kept for kept in manifest["namespaces"] if kept["namespace"] == "user.ann")
    care_backups.record(_store(cli), ann["identity"])
    told = cli("restore", "--from", done["folder"], "--to", str(tmp_path / "new"), "--json")
    assert json.loads(told.out)["erased"] == ["user.ann"]
    listed = cli("list", "--db-dir", str(tmp_path / "new"), "--json").out
    assert [found["content"] for found in json.loads(listed)["items"]] == [DARK]


def _link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def _link_to_another(path: Path) -> None:
    path.symlink_to("default.db")


def _link_to_nothing(path: Path) -> None:
    path.symlink_to("/nowhere/at/all.db")


ODD = (Path.mkdir, os.mkfifo, _link_to_itself, _link_to_another, _link_to_nothing)


@pytest.mark.parametrize("made", ODD)
def test_what_is_no_file_among_the_namespaces_is_reported_and_stops_nothing(
    cli: CommandLine, tmp_path: Path, made: Callable[[Path], None]
) -> None:
    cli.stored(DARK)
    odd = _store(cli) / "namespaces" / "default-copy.db"
    made(odd)
    cli.stored("Tea is served at four", "--user", "ann")
    said = f"{odd} is {'a link' if odd.is_symlink() else 'no file'}, so no namespace"
    verified = cli("verify", "--all", "--json")
    assert verified.code == 1
    findings = {one["namespace"]: one["findings"] for one in json.loads(verified.out)["items"]}
    assert findings["default"] == findings["user.ann"] == []
    (finding,) = findings["default-copy"]
    assert said in finding["detail"]
    if made in {Path.mkdir, _link_to_nothing}:  # it tries much else, and takes the longest
        assert said in cli("doctor", "--json").out.replace("\\n", " ")
    upkeep = cli("upkeep", "--all")
    assert (upkeep.code, said in upkeep.err, "2 of 3 namespaces" in upkeep.out) == (1, True, True)
    for words in (("stats",), ("store", "a text"), ("repair",)):
        done = cli(*words, "--namespace", "default-copy")
        assert (done.code, said in done.err) == (1, True), done.err
    backed_up = cli("backup", "--to", str(tmp_path / "backups"), "--json")
    done = json.loads(backed_up.out)
    assert (backed_up.code, done["ok"]) == (1, False)
    assert [kept["namespace"] for kept in done["namespaces"]] == ["default", "user.ann"]
    ((name, why),) = ((one["namespace"], one["why"]) for one in done["missing"])
    assert (name, said in why) == ("default-copy", True)
    salvaged = cli("salvage", "--to", str(tmp_path / "rescued"), "--json")
    done = json.loads(salvaged.out)
    assert (salvaged.code, done["complete"]) == (1, False)
    assert {one["namespace"]: one["memories"] for one in done["namespaces"]} == {
        "default": 1,
        "user.ann": 1,
    }
    assert said in done["failed"]["default-copy"]
    moved = cli("move", "--to", str(tmp_path / "moved"))
    assert (moved.code, said in moved.err) == (0, True)


@pytest.mark.parametrize("made", ODD)
def test_what_is_no_file_in_the_place_of_a_head_file_is_found_and_stops_nothing(
    cli: CommandLine, tmp_path: Path, made: Callable[[Path], None]
) -> None:
    cli.stored(DARK)
    head = _store(cli) / "namespaces" / "default.head"
    head.unlink()
    made(head)
    verified = cli("verify", "--all")
    assert (verified.code, f"{head} is no file" in verified.out) == (1, True)
    cli.stored("Tea is served at four")
    assert cli("stats").code == 0
    assert cli("salvage", "--to", str(tmp_path / "rescued")).code == 0
    assert cli("move", "--to", str(tmp_path / "moved")).code == 0


def test_usage_says_what_belongs_together(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "default.db"
    file.write_bytes(b"")
    for words, said in {
        ("restore",): "either the ID of a deleted memory, or --from a backup",
        ("restore", "--id", "mem_1_a", "--to", "x"): "--to and --replace belong to --from",
        ("restore", "--from", str(file)): "give --to FOLDER",
    }.items():
        done = cli(*words)
        assert (done.code, said in done.err) == (2, True), done.err


def test_a_folder_of_backups_names_the_newest(cli: CommandLine, tmp_path: Path) -> None:
    cli.stored(DARK)
    done = json.loads(cli("backup", "--to", str(tmp_path / "backups"), "--json").out)
    said = cli("restore", "--from", str(tmp_path / "backups"), "--to", str(tmp_path / "new"))
    assert (said.code, Path(done["folder"]).name in said.err) == (1, True)


def test_restore_says_what_the_backup_lacks(cli: CommandLine, tmp_path: Path) -> None:
    """A namespace that is newer than the backup, and writes that were lost before it was made."""
    cli.stored(DARK)
    database = _store(cli) / "namespaces" / "default.db"
    older = database.read_bytes()
    backups = str(tmp_path / "backups")
    sound = json.loads(cli("backup", "--to", backups, "--json").out)["folder"]
    cli.stored("lost before the second backup")
    database.write_bytes(older)
    for end in ("-wal", "-shm"):
        database.with_name(database.name + end).unlink(missing_ok=True)
    lossy = json.loads(cli("backup", "--to", backups, "--json").out)["folder"]
    said = cli("restore", "--from", backups, "--to", str(tmp_path / "new")).err
    assert f"{Path(lossy).name}, which holds damage; the newest without is {Path(sound).name}" in (
        said
    )
    cli.stored("Tea is served at four", "--user", "ann")
    done = cli("restore", "--from", lossy, "--replace")
    assert (done.code, "lacks what was lost" in done.err) == (1, True)
    told = done.out
    assert "Only in that store, and not in the backup: user.ann" in told
    assert "default, when the backup was made: " in told
    assert "lacks acknowledged writes" in told


def _store(cli: CommandLine) -> Path:
    return Path(json.loads(cli("stats", "--json").out)["db_path"])
