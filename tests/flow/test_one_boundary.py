"""Doors by which secrets came past the redaction; tests/faults/test_secrets.py walks all doors."""

import json
import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memory_mesh.cli.main import run
from memory_mesh.compat.lane.import_ import bring_in_lane
from memory_mesh.compat.lane.memory_lane import MemoryLane
from memory_mesh.compat.neolata.hooks import EVENTS, markdown_writethrough
from memory_mesh.compat.neolata.memory_graph import MemoryGraph
from memory_mesh.model import Channel, Claim, Draft
from memory_mesh.model.errors import InvalidInput, MeshError, NotFound, shown
from memory_mesh.platform import telemetry
from memory_mesh.sync import MemoryMesh
from tests.faults.planted import everything_in

SECRET = "Hunter2xyzzy9"
SAID = f"the password is {SECRET}"
KEY = "sk-proj4abcdEFGH5678ijklMNOP9012qrst"


def assert_gone(folder: Path, *secrets: str) -> None:
    for name, data in everything_in(folder):
        for secret in (SECRET, *secrets):
            assert secret.lower().encode() not in data.lower(), name


@pytest.mark.parametrize("said", [SAID, f"password: {SECRET}", KEY, "jane.doe@example.com"])
def test_a_claim_s_subject_and_predicate_are_redacted_before_they_are_folded(mesh, said):
    words = {"subject": said, "predicate": "colour", "value": "red"}
    mesh.add("the first door", claim=words)
    mesh.add("the second door", claim={"subject": "door", "predicate": said, "value": "red"})
    mesh.add_many([Draft(text="the third", claim=Claim(subject=said, predicate=said, value="x"))])
    folder = mesh.folder
    mesh.close()
    assert_gone(folder, "proj4abcd", "doe@example")


def test_a_value_is_a_secret_where_its_claim_is_about_one(mesh):
    claim = {"subject": "the shop", "predicate": "password", "value": SECRET}
    memory = mesh.add("the shop has a new one", claim=claim).id
    mesh.review.propose_update(
        memory, claim={"subject": "db password", "predicate": "is", "value": SECRET}
    )
    folder = mesh.folder
    mesh.close()
    assert_gone(folder)


def test_equal_subjects_still_meet_after_redaction(mesh):
    for value in ("red", "blue"):
        claim = {"subject": "jane.doe@example.com", "predicate": "Colour", "value": value}
        receipt = mesh.add(f"it is {value}", claim=claim)
    assert len(receipt.superseded) == 1


def test_a_registered_predicate_s_name_is_redacted(mesh):
    for name in (SAID, KEY):
        mesh.review.register_predicates({name: {"cardinality": "multi"}})
        mesh.add(f"a door of {len(name)}", claim={"subject": "a", "predicate": name, "value": "b"})
    assert not any(SECRET.lower() in name for name in mesh.review.predicates())
    folder = mesh.folder
    mesh.close()
    assert_gone(folder, KEY[3:], "proj4abcd")


def test_memory_lane_takes_its_words_from_the_redacted_text(mesh):
    lane = MemoryLane(mesh)
    receipt = lane.store(f"tabs everywhere; {SAID}", {"memory_type": "learning"})
    kept = mesh.get(receipt.id).extra
    assert "tab" in str(kept["keywords"])
    assert SECRET.lower() not in json.dumps(kept).lower()
    folder = mesh.folder
    mesh.close()
    assert_gone(folder)


def test_words_that_another_store_took_from_a_secret_are_taken_anew(tmp_path, clock):
    path = tmp_path / "memories.db"
    made = "2025-06-01T10:00:00.000Z"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE memories (id, content, auto_tags, keywords, created_at)")
        row = ("a", f"tabs; {SAID}", json.dumps([SECRET.lower()]), f"tab {SECRET.lower()}", made)
        db.execute("INSERT INTO memories VALUES (?,?,?,?,?)", row)
        row = ("jane.doe@example.com", "spaces", '["spaces"]', "space", made)
        db.execute("INSERT INTO memories VALUES (?,?,?,?,?)", row)
    store = tmp_path / "store"
    with MemoryMesh(db_dir=store, clock=clock, channel=Channel.IMPORT) as mesh:
        assert bring_in_lane(mesh, path).stored == 2
        assert bring_in_lane(mesh, path).merged == 2  # under the same ids as before
        kept = {memory.text: memory.extra for memory in mesh.get_all()}
        assert kept["spaces"]["keywords"] == "space"
        assert "tab" in str(next(kept[text] for text in kept if "tabs" in text)["keywords"])
    assert_gone(store, "jane.doe")


def test_reasons_reach_hooks_redacted(tmp_path, clock):
    told = list[str]()
    hook = markdown_writethrough(dir=tmp_path / "notes", events=EVENTS)
    with MemoryGraph(
        db_dir=tmp_path / "store",
        clock=clock,
        writethrough=[hook, lambda event: told.append(event.reason)],
    ) as graph:
        user = {"source": "user_explicit"}
        for number in range(2):
            claim = {"subject": f"door {number}", "predicate": "colour"}
            graph.store("a", f"{number} is red", claim=claim | {"value": "red"}, provenance=user)
            graph.store("a", f"{number} is blue", claim=claim | {"value": "blue"})
        first, second = graph.pending_conflicts()
        graph.resolve_conflict(first.id, "supersede", reason=SAID)
        waiting = graph.list_quarantined()[0]
        graph.review_quarantine(waiting.id, action="reject", reason=SAID)
        graph.wait_for_hooks()
        assert second.id != first.id
    assert any("the password is [" in reason for reason in told)
    assert not any(SECRET in reason for reason in told)
    assert_gone(tmp_path)


@pytest.mark.parametrize(
    "call",
    [
        lambda mesh: mesh.get_all(filter=f"{KEY} = 'x'"),
        lambda mesh: mesh.add("a", importance=SAID),
        lambda mesh: mesh.add("a", occurred_at=f"{'x' * 10} {SAID}"),
        lambda mesh: mesh.review.register_predicates({"a": {SAID: "x"}}),
        lambda mesh: mesh.graph.link(SAID, SAID, type=SAID),
        lambda mesh: mesh.review.resolve(SAID, "keep_both"),
        lambda mesh: mesh.care.run_jobs([SAID]),
    ],
)
@pytest.mark.req("R-003-081")
def test_no_error_repeats_a_secret(mesh, call):
    with pytest.raises(MeshError) as caught:
        call(mesh)
    for said in (str(caught.value), repr(caught.value), repr(caught.value.args)):
        assert SECRET not in said
        assert KEY not in said


def test_an_error_keeps_its_other_words():
    assert str(NotFound(f"there is no memory {KEY} here")) == "there is no memory [OPENAI_KEY] here"
    assert str(InvalidInput("mem_1767225600000_0a1b2c waits")) == "mem_1767225600000_0a1b2c waits"


def test_a_message_masks_before_it_cuts():
    assert shown(f"{'x' * 30} {KEY}", 45) == repr(f"{'x' * 30} [OPENAI_KEY]"[:45])
    assert shown(["a", KEY]) == "['a', '[OPENAI_KEY]']"


def test_no_log_record_holds_a_secret(caplog):
    with caplog.at_level(logging.DEBUG, telemetry.NAME):
        telemetry.info("search", filter=SAID, hits=3)
        telemetry.debug("retry", name=KEY)
        telemetry.warn_once("a secret in a warning", f"{SAID} was skipped")
    assert len(caplog.records) == 3
    assert "hits=3" in caplog.text
    assert SECRET not in caplog.text
    assert KEY not in caplog.text


def test_settings_and_paths_are_shown_without_secrets(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MEMORY_MESH_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("MEMORY_MESH_LLM_BASE_URL", f"https://user:{SECRET}@models.example.com")
    monkeypatch.chdir(tmp_path)
    run(["config"])
    run(["config", "--json"])
    run(["trace", "export", KEY])
    run(["review", "--source", KEY, "--approve"])
    shown = capsys.readouterr()
    for text in (shown.out, shown.err):
        assert SECRET not in text
        assert KEY not in text


def test_the_goal_of_a_plan_is_redacted(mesh):
    assert SECRET not in repr(mesh.traces.plan(f"rotate it; {SAID}"))
