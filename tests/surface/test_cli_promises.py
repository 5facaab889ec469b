"""What the command line says of expired sessions, votes, waiting texts and imports."""

import json
import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_mesh.cli import command_table
from memory_mesh.model import Scope
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.surface.command import CommandLine

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def test_get_says_that_a_session_expired_and_how_to_see_it(cli: CommandLine) -> None:
    with MemoryMesh(db_dir=cli.store, clock=FrozenClock(LONG_AGO)) as mesh:
        id_ = str(mesh.add("tea is hot", scope=Scope(session="chat")).id)
    done = cli("get", "--id", id_, "--session", "chat")
    assert (done.code, done.out) == (1, "")
    assert f"memory-mesh get --id {id_} --session chat --expired" in done.err
    shown = cli("get", "--id", id_, "--session", "chat", "--expired")
    assert "expired" in shown.out
    assert shown.out.endswith("\n\ntea is hot\n")
    assert "tea is hot" in cli("list", "--session", "chat", "--include", "expired").out
    assert cli("list", "--session", "chat").out == ""
    assert "[MemoryMesh] Expired: 1\n" in cli("stats", "--verbose").out


def test_search_says_on_standard_error_how_many_texts_have_no_vector(
    cli: CommandLine, model_folder: Path
) -> None:
    cli.stored("Tea is hot. " * 300)
    model = {"MEMORY_MESH_EMBEDDER": "local", "MEMORY_MESH_MODEL_DIR": str(model_folder)}
    meaning = replace(cli, variables=model)
    told = "1 text has no vector yet and is found by its words only; run `memory-mesh upkeep`."
    done = meaning("search", "tea")
    assert (done.code, done.err) == (0, f"[MemoryMesh] {told}\n")
    assert "upkeep" not in done.out
    found = meaning("search", "tea", "--json")
    assert (len(json.loads(found.out)["items"]), json.loads(found.err)) == (1, {"note": told})
    assert cli("search", "tea", "--keyword").err == ""
    assert meaning("upkeep").out == "[MemoryMesh] Reindexed 0, embedded 1, indexed 0, pending 0.\n"
    assert meaning("search", "tea").err == ""


def test_upkeep_walks_every_namespace_and_passes_over_a_damaged_one(
    cli: CommandLine, model_folder: Path
) -> None:
    for name in ("alice", "bob", "carol"):
        cli.stored(f"{name} drinks tea", "--namespace", name)
    model = {"MEMORY_MESH_EMBEDDER": "local", "MEMORY_MESH_MODEL_DIR": str(model_folder)}
    meaning = replace(cli, variables=model)
    done = meaning("upkeep", "--all")
    counts = "reindexed 0, embedded 1, indexed 0, pending 0"
    assert done.out.splitlines() == [
        f"[MemoryMesh] alice: {counts}.",
        f"[MemoryMesh] bob: {counts}.",
        f"[MemoryMesh] carol: {counts}.",
        "[MemoryMesh] 3 of 3 namespaces: reindexed 0, embedded 3, indexed 0, pending 0.",
    ]
    (damaged,) = (cli.store / "namespaces").glob("bob*.db")
    damaged.write_bytes(b"no database " * 1_000)
    again = meaning("upkeep", "--all", "--json")
    assert again.code == 1
    assert sorted(json.loads(again.out)) == ["alice", "carol"]
    assert "[MemoryMesh Error] bob: " in again.err


def test_votes_from_the_command_line_are_counted_and_recorded(cli: CommandLine) -> None:
    id_ = cli.stored("tea is hot")
    assert cli("rate", id_, "--helpful").out == (
        f"[MemoryMesh] Rated record {id_}: 1 found it helpful, 0 did not\n"
    )
    rated = json.loads(cli("rate", "--id", id_, "--not-helpful", "--json").out)
    assert (rated["helpful"], rated["harmful"]) == (1, 1)
    assert rated["usefulness"] == pytest.approx(0.55)
    assert "trust now 1.00" in cli("reinforce", id_).out
    disputed = cli("dispute", id_, "--reason", "it is cold")
    assert disputed.out == f"[MemoryMesh] Disputed record {id_}, trust now 1.00, active\n"
    with MemoryMesh(db_dir=cli.store) as mesh:
        told = [block.entry.metadata.get("why") for block in mesh.care.blocks(as_owner=True)]
    assert told[1:] == ["rated helpful", "rated harmful", "reinforced", "it is cold"]


@pytest.mark.parametrize("command", [("rate", "--helpful"), ("reinforce",), ("dispute",)])
def test_a_vote_on_an_unknown_id_says_what_to_do_next(
    cli: CommandLine, command: tuple[str, ...]
) -> None:
    done = cli(*command, "mem_1_ffffff")
    assert (done.code, done.out) == (1, "")
    assert "there is no memory mem_1_ffffff" in done.err
    assert "memory-mesh list --all-projects" in done.err


def test_a_vote_needs_one_id_and_one_direction(cli: CommandLine) -> None:
    for words in (("rate", "--helpful"), ("rate", "mem_1_ffffff"), ("reinforce",)):
        done = cli(*words)
        assert done.code == 2
        assert f"memory-mesh {command_table.place(words[0])} --help" in done.err


def test_an_import_says_whether_it_is_the_users_own_export(cli: CommandLine) -> None:
    cli.stored("tea is hot", "--importance", "0.9")
    assert cli("export-tables", "out").code == 0
    own = cli("import-tables", "out", "--namespace", "own")
    assert "From your own export, with trust, votes, pins and status: 1.\n" in own.out
    shutil.rmtree(cli.home / ".config" / "memory-mesh" / "keys")  # as on another machine
    elsewhere = ("--db-dir", "elsewhere")
    strange = cli("import-tables", "out", "--namespace", "strange", *elsewhere)
    assert "Exported with a key that is not known here, now documents: 1.\n" in strange.out
    assert "--trusted" in strange.out
    trusted = json.loads(
        cli("import-tables", "out", "--namespace", "trusted", "--trusted", "--json", *elsewhere).out
    )
    assert (trusted["own"], trusted["strange"]) == (1, 0)
    weights = {"own": (0.9, ()), "strange": (0.5, elsewhere), "trusted": (0.9, elsewhere)}
    for name, (weight, where) in weights.items():
        (memory,) = json.loads(cli("list", "--namespace", name, "--json", *where).out)["items"]
        assert memory["importance"] == weight


def test_the_owner_lists_what_waits_in_every_project(cli: CommandLine) -> None:
    with MemoryMesh(db_dir=cli.store, project="shop") as mesh:
        for kind, value in (("user_explicit", "red"), ("inference", "blue")):
            claim = {"subject": "door", "predicate": "colour", "value": value}
            mesh.add(f"the door is {value}", claim=claim, source_kind=kind)
    for command in ("conflicts", "review"):
        assert json.loads(cli(command, "--json").out) == {"items": []}
        assert "door" in cli(command, "--as-owner").out
        assert "door" in cli(command, "--project", "shop").out


def test_every_way_to_a_conflict_leads_to_the_command_that_resolves_it(cli: CommandLine) -> None:
    old, new = cli.stored("We deploy on Fridays"), cli.stored("We deploy on Mondays")
    assert cli("review").out == (
        "[MemoryMesh] 0 wait for review; 1 conflict: memory-mesh conflicts\n"
    )
    (conflict,) = json.loads(cli("conflicts", "--json").out)["items"]
    resolving = f"memory-mesh conflicts {conflict['id']} --resolve supersede "
    listed = cli("conflicts").out
    assert resolving in listed.splitlines()[-1]
    for id_, text in ((old, "We deploy on Fridays"), (new, "We deploy on Mondays")):
        assert re.search(rf"{id_} \(\d\.\d\d\): {text}\n", listed)
    for words in (("review", "approve"), ("resolve",), ("conflicts",)):
        assert resolving in cli(*words, conflict["id"]).err
    assert f"{old} conflicts with {new}: memory-mesh conflicts" in cli("search", "deploy").err
    assert f"{old} conflicts with {new}: memory-mesh conflicts" in cli("list").err
    assert "in a conflict: memory-mesh conflicts" in cli.on_terminal("list").out
    assert cli("resolve", conflict["id"], "--resolve", "supersede").code == 0
    assert f"It replaced {old}: We deploy on Fridays" in cli("history", new).out
    assert f"{old} ('We deploy on Fridays'): the other was replaced" in cli("explain", new).out
    for words in (("undo",), ("review", "undo")):
        assert f"memory-mesh review undo ID; decided were: {new}" in cli(*words).err
    told = cli("review", "undo", new).out
    assert f"{new} is kept, and so is the other; it is active" in told
    assert re.search(f"Undone: supersede of mem_\\w+ by {new}, ", told)
