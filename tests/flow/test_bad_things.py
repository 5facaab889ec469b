"""One bad thing stops only itself: it is reported with its place, and the rest goes on."""

import json
import logging
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memory_mesh.cli.main import run
from memory_mesh.compat.lane.import_ import bring_in_lane
from memory_mesh.compat.lane.memory_lane import MemoryLane
from memory_mesh.compat.rfc11.import_ import bring_in
from memory_mesh.mirror import Mirror
from memory_mesh.model import Draft, Outcome, Scope, SkillDraft, Source, Space
from memory_mesh.model.errors import IdempotencyConflict, InvalidInput
from memory_mesh.model.memory import Origin
from memory_mesh.model.trace import Trace
from memory_mesh.sync import MemoryMesh
from memory_mesh.traces.files import export_files, import_files
from tests import tables
from tests.flow.angles import Angles
from tests.flow.test_lane import written

GOOD_SKILL = "---\nname: deploy\nintent: to deploy\n---\nPush the tag.\n"
BRACKETS = 5_000
SKILL = SkillDraft(text="x", metadata={}, scope=Scope(), source=Source())
MADE = datetime(2026, 1, 1, tzinfo=UTC)


def test_one_clash_of_a_key_refuses_one_of_a_thousand(mesh):
    mesh.add("the first fact", key="key-500")
    items = [{"content": f"fact {number}", "key": f"key-{number}"} for number in range(1_000)]
    receipts = mesh.add_many(items)
    refused = [number for number, one in enumerate(receipts) if one.outcome is Outcome.REFUSED]
    assert refused == [500]
    assert "idempotency key was used for another content" in receipts[500].reasons[0]
    assert (receipts[500].id, receipts[499].content) == (None, "fact 499")
    assert mesh.stats().memories == 1_000
    (block,) = [
        one for one in mesh.care.blocks(limit=1_000) if one.entry.id == receipts[500].block_id
    ]
    assert "fact 500" not in str(block)
    assert mesh.care.verify().ok
    with pytest.raises(IdempotencyConflict):
        mesh.add("fact 500", key="key-500")


def test_a_key_that_clashes_inside_one_batch_refuses_the_later_item(mesh):
    items = [{"content": text, "key": "once"} for text in ("tea", "coffee", "tea")]
    outcomes = [receipt.outcome for receipt in mesh.add_many(items)]
    assert outcomes == [Outcome.STORED, Outcome.REFUSED, Outcome.STORED]
    assert [memory.text for memory in mesh.get_all()] == ["tea"]


def test_a_clash_is_refused_where_texts_are_embedded_too(tmp_path, clock, real_embedder):
    with MemoryMesh(db_dir=tmp_path / "s", clock=clock, custom_embedder=real_embedder) as mesh:
        mesh.add("tea is hot", key="once")
        receipts = mesh.add_many([{"content": "tea is cold", "key": "once"}, "milk is white"])
    assert [receipt.outcome for receipt in receipts] == [Outcome.REFUSED, Outcome.STORED]


@pytest.mark.parametrize(
    "bad",
    [
        {"content": "x", "importance": 7},
        {"content": "x", "spaeker": "Ann"},
        {"content": 7},
        {"metadata": {}},
        7,
        None,
        {"content": "x", "order": 2**70},
        {"content": "x\udc80"},
        Draft(text="x", order=2**70),
        Draft(text="x\udc80"),
        Draft(text=7),  # type: ignore[arg-type]  # that is the point
        Draft(text="x", extra={"a": float("nan")}),
        Draft(text="x", origin=Origin("mem_1", MADE, uses=2**70)),
        Draft(text="x", occurred_at=MADE.replace(tzinfo=None)),
    ],
    ids=str,
)
def test_an_item_that_is_not_valid_is_refused_with_its_place(mesh, bad):
    receipts = mesh.add_many(["tea is hot", bad, "milk is white"])
    assert [one.outcome for one in receipts] == [Outcome.STORED, Outcome.REFUSED, Outcome.STORED]
    assert receipts[1].reasons[0].startswith("items[1]: ")
    assert (receipts[1].id, receipts[1].content) == (None, "")
    with pytest.raises(InvalidInput):
        mesh.add_many([bad])
    assert mesh.stats().memories == 2


@pytest.mark.parametrize(
    "text",
    [
        "---\nname: bad\nintent: " + "[" * BRACKETS + "\n---\nx\n",
        "---\nname: bad\nintent: " + "[" * BRACKETS + "]" * BRACKETS + "\n---\nx\n",
        "---\nname: bad\ntags: " + "{a: " * BRACKETS + "\n---\nx\n",
        "---\n" + "[" * BRACKETS + "\n---\nx\n",
        "---\nname: bad\n---\n" + "[" * BRACKETS + "]" * BRACKETS + "(x)\n",
        "[" * BRACKETS,
        "agent: bad;\ncontext:\n  a;" + "[" * BRACKETS + ";\n",
    ],
)
def test_a_skill_file_with_brackets_stops_only_itself(tmp_path, clock, text, caplog):
    folder = tmp_path / "skills"
    folder.mkdir()
    (folder / "a.md").write_text(text)
    (folder / "b.md").write_text(GOOD_SKILL)
    with (
        caplog.at_level(logging.WARNING),
        MemoryMesh(db_dir=tmp_path / "s", clock=clock, skill_directories=[str(folder)]) as mesh,
    ):
        names = [skill.name for skill in mesh.list_skills()]
    assert "deploy" in names
    assert len(names) + caplog.text.count("a.md was skipped") == 2


def test_a_skill_file_with_any_bytes_in_its_name_is_taken(tmp_path, clock):
    folder = tmp_path / "skills"
    folder.mkdir()
    (folder / os.fsdecode(b"a\xff.md")).write_text(GOOD_SKILL)
    (folder / "b.md").write_text(GOOD_SKILL.replace("deploy", "release"))
    with MemoryMesh(db_dir=tmp_path / "s", clock=clock, skill_directories=[str(folder)]) as mesh:
        found = {skill.name: skill.source.ref for skill in mesh.list_skills()}
    assert found["deploy"] == str(folder / "a\ufffd.md")
    assert sorted(found) == ["deploy", "release"]


def test_a_skill_file_that_cannot_be_read_is_named(tmp_path, clock, caplog):
    folder = tmp_path / "skills"
    (folder / "deep").mkdir(parents=True)
    (folder / "b.md").write_text(GOOD_SKILL)
    (folder / "deep").chmod(0)
    try:
        with MemoryMesh(
            db_dir=tmp_path / "s", clock=clock, skill_directories=[str(folder)]
        ) as mesh:
            assert [skill.name for skill in mesh.list_skills()] == ["deploy"]
    finally:
        (folder / "deep").chmod(0o700)
    if os.geteuid():  # root reads everything
        assert "deep was skipped: it cannot be read" in caplog.text


@pytest.mark.parametrize("ignoring", [True, False])
def test_a_file_name_with_any_bytes_stops_no_ingest(tmp_path, capsys, ignoring):
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in (b"a\xff.md", b"b.md", b"\xe4\xb8.md"):
        (folder / os.fsdecode(name)).write_text(f"The text of {name!r} is its own.")
    if ignoring:
        (folder / ".git").mkdir()
        (folder / ".gitignore").write_text("*.log\nb*.tmp\n")
    store = ["--db-dir", str(tmp_path / "s"), "--json"]
    assert run(["ingest-dir", str(folder), *store, "--extension", ".md"]) == 0
    assert json.loads(capsys.readouterr().out)["ingested"] == 3


HUGE = [
    {"access_count": 2**70},
    {"feedback_count": 2**70},
    {"times_observed": 10**400},
    {"feedback_score": 10**400},
    {"confidence_score": 2**70},
    {"last_accessed_at": "9" * 40},
]


@pytest.mark.parametrize("huge", HUGE, ids=str)
def test_a_row_of_a_lane_file_with_a_huge_number_is_refused_alone(tmp_path, mesh, huge):
    stated = {"lane_version": "1.0.0", "memory_type": "learning"}
    file = written(
        tmp_path / "lane.db",
        {"id": "a", "content": "tea is hot", "metadata": stated},
        {"id": "b", "content": "milk is white", "metadata": stated | huge},
        {"id": "c", "content": "coffee is black", "metadata": stated},
    )
    done = bring_in_lane(mesh, file)
    assert (done.read, done.stored, done.refused) == (3, 2, 1)
    ((named, why),) = done.refusals
    assert named == "b"
    assert next(iter(huge)) in why


def test_the_command_that_imports_a_huge_number_says_which_row(tmp_path, capsys):
    stated = {"lane_version": "1.0.0", "memory_type": "learning"}
    file = written(
        tmp_path / "lane.db",
        {"id": "a", "content": "tea is hot", "metadata": stated | {"access_count": 2**70}},
        {"id": "b", "content": "milk is white", "metadata": stated},
    )
    code = run(["import-lane", str(file), "--db-dir", str(tmp_path / "s"), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (code, told["stored"], told["refused"]) == (1, 1, 1)
    assert told["refusals"][0][0] == "a"


def _spoilt(file, column, *ids):
    """Puts bytes that are no UTF-8 into a text column of these rows."""
    with closing(sqlite3.connect(file)) as db, db:
        for id_ in ids:
            bad = f"UPDATE memories SET {column} = CAST(x'c328ff' AS TEXT) WHERE id = ?"
            db.execute(bad, (id_,))


@pytest.mark.parametrize("column", ["content", "metadata", "tags", "id"])
def test_a_row_of_a_lane_file_that_is_no_utf8_is_refused_alone(tmp_path, mesh, column):
    stated = {"lane_version": "1.0.0", "memory_type": "learning"}
    rows = [
        {"id": f"m{number:03}", "content": f"fact number {number}", "metadata": stated}
        for number in range(300)
    ]
    file = written(tmp_path / "lane.db", *rows)
    _spoilt(file, column, "m270")
    done = bring_in_lane(mesh, file)
    assert (done.read, done.stored, done.refused) == (300, 299, 1)
    ((named, why),) = done.refusals
    assert named == ("row 300" if column == "id" else "m270")  # a spoilt id is sorted last
    assert f"{column} is not valid UTF-8" in why


def test_the_command_says_how_many_refusals_it_does_not_name(tmp_path, capsys):
    stated = {"lane_version": "1.0.0", "memory_type": "learning"}
    ids = [f"m{number:03}" for number in range(30)]
    rows = [{"id": id_, "content": f"fact {id_}", "metadata": stated} for id_ in ids]
    file = written(tmp_path / "lane.db", *rows)
    _spoilt(file, "content", *ids)
    command = ["import-lane", str(file), "--db-dir", str(tmp_path / "s")]
    assert run(command) == 1
    told = capsys.readouterr().out
    assert told.count("[MemoryMesh] Refused m") == 10
    assert "and 20 more refused; --json names them." in told
    assert run([*command, "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["refusals"]) == 30


@pytest.mark.parametrize(
    "stated",
    [
        {"use_count": 2**70},
        {"reliability": 2**2000},
        {"reliability": 2**70},
        {"use_count": "many"},
    ],
    ids=str,
)
def test_a_skill_row_with_a_huge_number_is_refused_alone(tmp_path, mesh, stated):
    folder = tables.write(
        tmp_path / "tables",
        synthesized_skills=(
            tables.SKILLS,
            [
                tables.skill(1, "Deploy", "name: Deploy\n", {}),
                tables.skill(2, "Release", "name: Release\n", stated),
            ],
        ),
    )
    done = bring_in(mesh, folder)
    assert (done.skills.read, done.skills.quarantined, done.skills.refused) == (2, 1, 1)
    assert next(iter(stated)) in done.refusals[0][1]


@pytest.mark.parametrize(
    ("name", "value"),
    [("helpful", 2**70), ("harmful", -1), ("usefulness", "much"), ("importance", 2**70)],
)
def test_a_row_of_an_own_export_with_a_huge_number_is_refused_alone(tmp_path, mesh, name, value):
    kept = {
        "source_kind": "user_explicit", "channel": "library", "stated": True, "importance": 0.5,
        "pinned": False, "tier": "long_term", "status": "active", "successor": None, "claim": None,
        "origins": 1, "helpful": 0, "harmful": 0, "usefulness": 1.0, "reinforcements": 0,
        "disputes": 0, "idle_reinforcements": 0, "idle_disputes": 0, "other_steps": 0,
    }  # fmt: skip
    folder = tables.write(
        tmp_path / "tables",
        memory_entries=(
            tables.V1,
            [
                tables.entry(1, "tea is hot", {"memory_mesh": {"kept": kept}}),
                tables.entry(2, "milk is white", {"memory_mesh": {"kept": kept | {name: value}}}),
            ],
        ),
    )
    done = bring_in(mesh, folder, trusted=True)
    assert (done.memories.stored, done.memories.refused) == (1, 1)
    assert done.refusals[0][0] == tables.memory_id(2)


def test_a_row_without_an_id_is_named_by_its_place(tmp_path, mesh):
    folder = tables.write(
        tmp_path / "tables",
        memory_entries=(
            tables.V1,
            [tables.entry(1, "tea is hot"), tables.entry(2, "milk is white") | {"id": ""}],
        ),
    )
    done = bring_in(mesh, folder)
    assert [named for named, _ in done.refusals] == ["row 2"]


def test_a_trace_file_with_any_bytes_in_its_name_or_brackets_stops_only_itself(tmp_path, mesh):
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / os.fsdecode(b"a\xff.md")).write_text("---\ntrace: " + "[" * BRACKETS + "\n---\n")
    (folder / "b.md").write_text("# no trace\n" + "[" * BRACKETS)
    done = import_files(mesh, [folder])
    assert len(done.faults) == 2
    assert done.stored == ()


def test_a_trace_that_is_not_valid_is_refused_with_its_place(mesh):
    bad = Trace("Ship it", duration_ms=-1)
    receipts = mesh.traces.record_many([Trace("Ship the release"), bad, Trace("Fix the printer")])
    assert [one.outcome for one in receipts] == [Outcome.STORED, Outcome.REFUSED, Outcome.STORED]
    assert receipts[1].reasons[0].startswith("traces[1]: duration_ms")
    with pytest.raises(InvalidInput, match="duration_ms"):
        mesh.traces.record_many([bad])


def test_an_option_without_a_value_is_a_misuse(tmp_path, capsys):
    assert run(["distill", "--session=--", "--db-dir", str(tmp_path)]) == 2
    assert "--session needs a value" in capsys.readouterr().err


@pytest.mark.parametrize(
    "call",
    [
        lambda mesh: mesh.get("\udc80"),
        lambda mesh: mesh.traces.get("x\ud800y"),
        lambda mesh: mesh.list_skills(before="\ud800"),
        lambda mesh: mesh.care.blocks(after_seq=2**70),
        lambda mesh: mesh.care.blocks(limit=2**70),
        lambda mesh: mesh.get_all(limit=10**5_000),
        lambda mesh: mesh.add("tea", {"n": 10**5_000}),
        lambda mesh: mesh.add("tea", importance=10**5_000),
        lambda mesh: mesh.skills.add_draft(replace(SKILL, scope=Scope(project="\ud800"))),
        lambda mesh: mesh.care.verify(against="/"),
        lambda mesh: mesh.care.vectors([], Space("p", "m", "r", 10**5_000, 1)),
        lambda mesh: mesh.traces.log_experience(Trace("x", duration_ms=10**5_000)),
    ],
)
def test_what_no_ledger_can_hold_is_invalid_input(tmp_path, clock, call):
    with MemoryMesh(db_dir=tmp_path / "s", clock=clock, settings={"system_memory": True}) as mesh:
        mesh.add("milk is white")
        with pytest.raises(InvalidInput):
            call(mesh)
        assert mesh.care.verify().ok


def test_a_memory_file_with_brackets_or_any_bytes_in_its_name_stops_only_itself(tmp_path, mesh):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("---\ntags: " + "[" * BRACKETS + "\n---\nbad\n")
    (folder / os.fsdecode(b"b\xff.md")).write_text("The printer is on the third floor.\n")
    (folder / "c.md").write_text("The kitchen is on the second floor.\n")
    report = Mirror(mesh, folder).run()
    texts = {memory.text for memory in mesh.get_all(across=("project", "agent", "session"))}
    assert texts == {"The kitchen is on the second floor."}
    assert [line.path for line in report.refused] == ["a.md", "b\\udcff.md"]
    assert mesh.care.verify().ok


def test_a_draft_is_checked_only_where_a_caller_made_it(mesh):
    draft = Draft(text="tea is hot", tags=("a",), extra={"n": 2**62})
    assert mesh.add_many([replace(draft, order=2**62)])[0].outcome is Outcome.STORED


def test_an_id_from_elsewhere_is_never_taken_for_a_place_in_the_batch(tmp_path, clock):
    with MemoryMesh(db_dir=tmp_path / "s", clock=clock, custom_embedder=Angles()) as mesh:
        mesh.add_many([Draft(text="The printer hums at 30", origin=Origin("#", MADE))])
        receipt = mesh.add("The printer rattles at 31")
        links = mesh.graph.links(str(receipt.id))
        assert {link.target for link in links if link.source == receipt.id} == {"#"}


def test_a_newer_statement_that_came_along_has_a_decay_in_memory_lane_too(tmp_path, clock):
    with MemoryMesh(db_dir=tmp_path / "s", clock=clock, custom_embedder=Angles()) as mesh:
        lane = MemoryLane(mesh)
        said = {"memory_type": "learning"}
        lane.store("Ann lives in Rome", said)
        clock.advance(timedelta(days=1))
        lane.store("Ann lives in Oslo", said)
        found = lane.find("Rome", limit=1)
    assert "Ann lives in Oslo" in {each.content for each in found}
    assert all(0 < each.decay_factor <= 1 for each in found)


def test_a_trace_that_no_file_can_hold_is_not_exported(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    for bad in (Trace("x", trace_id="../../x"), Trace("x\udc80")):
        with pytest.raises(InvalidInput):
            export_files([bad], tmp_path / "traces")
    with pytest.raises(InvalidInput, match="cannot be a folder"):
        export_files([], file)
