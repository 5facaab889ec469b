"""Memory Lane on a real store: its face, its file and its embedder."""

import json
import re
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from memory_mesh.cli.main import run
from memory_mesh.compat.lane.import_ import bring_in_lane, bring_out_lane
from memory_mesh.compat.lane.memory_lane import LaneSettings, MemoryLane
from memory_mesh.model import Channel, Kind, Outcome, SourceKind, Status
from memory_mesh.model.errors import InvalidInput, NotFound, StoreIsDamaged
from memory_mesh.sync import MemoryMesh
from tests.servers import Reply, Request, serve

SCHEMA = """
CREATE TABLE memories (
  id TEXT PRIMARY KEY,
  content TEXT NOT NULL,
  metadata TEXT,
  collection TEXT DEFAULT 'memory-lane',
  tags TEXT,
  embedding BLOB,
  decay_factor REAL DEFAULT 1.0,
  valid_from TEXT,
  valid_until TEXT,
  superseded_by TEXT,
  auto_tags TEXT,
  keywords TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
"""
MADE = "2025-06-01T10:00:00.000Z"
DAY = timedelta(days=1)


@pytest.fixture
def meaning(tmp_path, clock, real_embedder) -> Iterator[MemoryMesh]:
    with MemoryMesh(
        db_dir=tmp_path / "store", clock=clock, custom_embedder=real_embedder
    ) as opened:
        yield opened


@pytest.fixture
def lane(meaning) -> MemoryLane:
    return MemoryLane(meaning)


@pytest.fixture
def importing(tmp_path, clock) -> Iterator[MemoryMesh]:
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock, channel=Channel.IMPORT) as mesh:
        yield mesh


def written(path, *rows):
    """A file of Memory Lane, made with its own schema."""
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(SCHEMA)
    return written_again(path, *rows)


def written_again(path, *rows):
    """The file with more rows."""
    with closing(sqlite3.connect(path)) as db, db:
        for row in rows:
            plain = {"created_at": MADE, "updated_at": MADE} | row
            if isinstance(plain.get("metadata"), dict):
                plain["metadata"] = json.dumps(plain["metadata"])
            marks = ", ".join("?" for _ in plain)
            db.execute(
                f"INSERT INTO memories ({', '.join(plain)}) VALUES ({marks})", list(plain.values())
            )
    return path


def said(type_, **more):
    return {"lane_version": "1.0.0", "memory_type": type_} | more


@pytest.mark.req("R-004-010", "R-004-032", "R-004-044", "R-004-046")
def test_what_is_stored_is_found_by_meaning_with_every_part_of_a_result(lane, meaning, clock):
    receipt = lane.store(
        "We picked PostgreSQL for the billing service",
        said("decision", confidence_score=90, tags=["db"], source_chunk="we will take postgres"),
    )
    (found,) = lane.find("which database do invoices use")
    hit = meaning.search("which database do invoices use", profile="lane")[0]
    assert found.id == receipt.id
    assert found.content == "We picked PostgreSQL for the billing service"
    assert found.score == pytest.approx(hit.parts["cosine"])
    assert found.collection == "memory-lane"
    assert (found.decay_factor, found.effective_confidence) == (1.0, 90)
    assert found.metadata["memory_type"] == "decision"
    assert found.metadata["source_chunk"] == "we will take postgres"
    assert found.metadata["tags"] == ["db"]


@pytest.mark.req("R-004-030")
def test_the_last_access_is_null_until_there_is_one(lane, clock):
    id_ = lane.store("Backups run at two", said("learning")).id
    assert lane.metadata(id_)["last_accessed_at"] is None
    (found,) = lane.find("when do backups run")
    assert found.metadata["last_accessed_at"] is None  # as it was before this search
    assert lane.metadata(id_)["last_accessed_at"] == "2026-01-01T00:00:00.000Z"
    with pytest.raises(InvalidInput, match="last_accessed_at"):
        lane.store("Backups run at three", said("learning", last_accessed_at=7))


@pytest.mark.req("R-004-036")
def test_finding_counts_as_access_and_keeps_a_memory_fresh(lane, clock):
    id_ = lane.store("Deploys run from the release branch", said("learning")).id
    clock.advance(40 * DAY)
    (old,) = lane.find("where do deploys run from")
    assert (old.decay_factor, old.metadata["access_count"]) == (0.6, 0)
    assert old.effective_confidence == 42
    clock.advance(DAY)
    (again,) = lane.find("where do deploys run from")
    assert (again.decay_factor, again.metadata["access_count"]) == (1.0, 1)
    assert again.metadata["last_accessed_at"] == "2026-02-10T00:00:00.000Z"
    assert lane.metadata(id_)["access_count"] == 2
    assert lane.metadata(id_)["access_count"] == 2  # looking at its metadata is no use


@pytest.mark.req("R-004-059", "R-004-060", "R-004-061")
def test_feedback_steps_the_score_and_the_rank_each_time(lane):
    first = lane.store("The cache is warmed at night", said("learning")).id
    second = lane.store("The cache is warmed by a cron job", said("learning")).id
    found = {each.id: each.score for each in lane.find("when is the cache warmed")}
    lane.feedback(first, helpful=True)
    lane.feedback(second, helpful=False)
    later = lane.find("when is the cache warmed")
    assert [each.id for each in later] == [first, second]
    scores = {each.id: each.score for each in later}
    assert scores[first] == pytest.approx(found[first] * 1.1)
    assert scores[second] == pytest.approx(found[second] * 0.5)
    assert later[0].metadata["feedback_score"] == pytest.approx(1.1)
    assert later[1].metadata["feedback_count"] == 1
    lane.feedback(first, helpful=True)
    lane.feedback(first, {"helpful": True})
    assert lane.metadata(first)["feedback_score"] == pytest.approx(1.331)


def test_what_a_memory_supersedes_gives_way(lane):
    first = lane.store("We deploy with terraform", said("decision"))
    second = lane.store("We deploy with pulumi", said("decision") | {"supersedes": [first.id]})
    assert second.superseded == (first.id,)
    assert lane.metadata(second.id)["supersedes"] == [first.id]
    assert lane.metadata(first.id)["superseded_by"] == second.id
    assert [each.id for each in lane.find("deploy", {"limit": 5, "entities": []})] == [second.id]


@pytest.mark.req("R-004-035")
def test_a_repeated_observation_is_counted_and_moves_the_last_one(lane, clock):
    id_ = lane.store("Standup is at nine", said("workflow_note")).id
    assert lane.metadata(id_)["times_observed"] == 1
    for day in (2, 3):
        clock.set(datetime(2026, 1, day, tzinfo=UTC))
        assert lane.store("Standup is at nine", said("workflow_note")).outcome is Outcome.MERGED
    seen = lane.metadata(id_)
    assert seen["times_observed"] == 3
    assert seen["first_observed_at"] == "2026-01-01T00:00:00.000Z"
    assert seen["last_observed_at"] == "2026-01-03T00:00:00.000Z"


@pytest.mark.req("R-004-066", "R-004-065")
def test_an_entity_filter_returns_only_its_own_and_asks_for_less(lane, meaning):
    ours = lane.store("project:mesh gives up after five retries", said("decision")).id
    lane.store("project:other never gives up: endless retries", said("decision"))
    stated = lane.store(
        "Retries wait a second", said("decision", entity_slugs=["project:mesh", "person:ada"])
    ).id
    found = lane.find("retries", entities=["project:mesh"])
    assert {each.id for each in found} == {ours, stated}
    assert {each.id for each in lane.find("retries", entities=["person:ada"])} == {stated}
    assert lane.find("retries", entities=["person:nobody"]) == []
    with pytest.raises(InvalidInput, match="names no entity"):
        lane.find("retries", entities=["x' OR tags IS NOT NULL"])
    asked, unlike = "retries", 0.0
    for hit in meaning.search(asked, profile="lane", min_similarity=0.0, filter="tags IS NOT NULL"):
        unlike = max(unlike, hit.parts["cosine"])
    strict = MemoryLane(meaning, settings=LaneSettings(min_score_threshold=unlike + 0.01))
    assert strict.find(asked) == []
    assert strict.find(asked, entities=["project:mesh"]) != []


@pytest.mark.req("R-004-033")
def test_what_is_not_valid_now_is_not_found(lane, clock):
    lane.store("The office is closed in May", said("insight", valid_from="2026-05-01T00:00:00Z"))
    ended = lane.store(
        "The office is closed in spring", said("insight", valid_until="2026-02-01T00:00:00Z")
    ).id
    assert [each.id for each in lane.find("when is the office closed")] == [ended]
    clock.set(datetime(2026, 3, 1, tzinfo=UTC))
    assert lane.find("when is the office closed") == []


@pytest.mark.req("R-004-034")
def test_what_was_superseded_is_not_found_and_its_chain_is_followed(lane, meaning):
    claim = {"subject": "mesh", "predicate": "port"}
    old = meaning.add("The port is 3000", kind="decision", claim=claim | {"value": "3000"}).id
    new = meaning.add("The port is 8080", kind="decision", claim=claim | {"value": "8080"}).id
    assert [each.id for each in lane.find("which port")] == [new]
    assert lane.metadata(old)["superseded_by"] == new
    assert lane.metadata(new)["supersedes"] == [old]
    assert [each.id for each in meaning.review.chain(old)] == [old, new]


@pytest.mark.req("R-004-003", "R-004-041", "R-004-062", "R-004-063", "R-004-064", "R-004-065")
def test_the_settings_are_those_of_the_seed():
    settings = LaneSettings()
    assert settings.db_path == "~/.opencode/memories.db"
    assert settings.embedding_model == "mixedbread-ai/mxbai-embed-large-v1"
    assert settings.dimension == 1024
    assert settings.lm_studio_url == "http://127.0.0.1:1234"
    assert (settings.min_score_threshold, settings.min_score_of_an_entity) == (0.2, 0.15)


@pytest.mark.req("R-004-009", "R-004-041", "R-004-042", "R-004-064")
def test_lm_studio_is_asked_for_vectors_of_the_model(tmp_path):
    def answer(request: Request) -> Reply:
        texts = json.loads(request.body)["input"]
        rows = [
            {"index": at, "embedding": [1.0, float(len(text)), *[0.0] * 1022]}
            for at, text in enumerate(texts)
        ]
        return Reply(json.dumps({"object": "list", "data": rows}).encode())

    with serve(answer) as server:
        settings = LaneSettings(lm_studio_url=server.url)
        with MemoryMesh(**settings.embedder() | {"db_dir": tmp_path}) as mesh:
            lane = MemoryLane(mesh, settings=settings)
            id_ = str(lane.store("Tea is hot", said("learning")).id)
            assert lane.find("tea")[0].content == "Tea is hot"
            (space,) = [state.space for state in mesh.stats().spaces]
            (part,) = mesh.care.vectors([id_], space)[id_]
    assert len(part.vector) == 1024 * 4  # 32-bit floats
    assert (space.model, space.dimension) == ("mixedbread-ai/mxbai-embed-large-v1", 1024)
    assert {request.path for request in server.requests} == {"/v1/embeddings"}
    asked = json.loads(server.requests[0].body)
    assert asked["model"] == "mixedbread-ai/mxbai-embed-large-v1"


@pytest.mark.req("R-004-002", "R-004-004", "R-004-005", "R-004-006", "R-004-007", "R-004-008")
@pytest.mark.req("R-004-011", "R-004-013")
def test_a_row_is_brought_in_with_id_times_and_metadata(tmp_path, importing):
    metadata = said(
        "commitment", entity_slugs=["person:ada"], entities=[{"name": "Ada"}], confidence_score=85,
        decay_factor=0.8, source_chunk="ada: tabs please", tags=["style"], access_count=4,
        last_accessed_at="2025-12-30T00:00:00Z", feedback_score=1.1, feedback_count=1,
        times_observed=3, first_observed_at="2025-05-01T00:00:00Z", own={"deep": [1]},
    )  # fmt: skip
    path = written(
        tmp_path / "memories.db",
        {"id": "550e8400-e29b-41d4-a716-446655440000", "content": "Ada likes tabs in docs/style.md",
         "metadata": metadata, "tags": '["editor"]', "embedding": struct.pack("<2f", 0.0, 0.0),
         "valid_from": "2025-05-01T00:00:00Z", "auto_tags": '["tabs"]', "keywords": "ada tabs",
         "decay_factor": 0.25},
        {"id": "b", "content": "Nothing else is said", "collection": "other"},
    )  # fmt: skip
    done = bring_in_lane(importing, path)
    assert (done.read, done.stored, done.refused) == (2, 2, 0)
    memory = importing.history("550e8400-e29b-41d4-a716-446655440000")[-1]
    assert memory.created == datetime(2025, 6, 1, 10, tzinfo=UTC)
    assert memory.valid_from == datetime(2025, 5, 1, tzinfo=UTC)
    assert (memory.kind, memory.confidence, memory.uses) == (Kind.COMMITMENT, 0.85, 4)
    assert memory.last_used == datetime(2025, 12, 30, tzinfo=UTC)
    assert (memory.source.kind, memory.source.channel) == (SourceKind.DOCUMENT, Channel.IMPORT)
    assert set(memory.tags) == {"editor", "style", "person:ada", "other:style"}
    assert memory.extra["own"] == {"deep": [1]}
    assert (memory.extra["auto_tags"], memory.extra["keywords"]) == ('["tabs"]', "ada tabs")
    assert memory.extra["origin_updated_at"] == MADE
    assert (memory.usefulness, memory.helpful) == (1.1, 1)
    lane = MemoryLane(importing)
    view = lane.metadata(memory.id)
    assert view["decay_factor"] == 1.0  # by its use two days ago, not what the file says
    assert view["times_observed"] == 3
    assert view["first_observed_at"] == "2025-05-01T00:00:00Z"
    assert (view["entities"], view["source_chunk"]) == ([{"name": "Ada"}], "ada: tabs please")
    assert lane.find("nothing else")[0].collection == "other"
    assert lane.find("tabs")[0].collection == "memory-lane"
    assert importing.care.verify().ok


@pytest.mark.req("R-004-012", "R-004-034")
def test_superseded_rows_are_never_found_and_lead_to_their_successor(tmp_path, importing):
    path = written(
        tmp_path / "memories.db",
        {"id": "a", "content": "Port 3000 serves", "metadata": said("decision"),
         "superseded_by": "b"},
        {"id": "b", "content": "Port 4000 serves", "metadata": said("decision", superseded_by="c")},
        {"id": "c", "content": "Port 8080 serves", "metadata": said("decision", supersedes=["b"])},
        {"id": "d", "content": "Port 9999 serves", "metadata": said("decision"),
         "superseded_by": "lost"},
    )  # fmt: skip
    done = bring_in_lane(importing, path)
    assert (done.stored, done.quarantined, done.superseded) == (1, 3, 2)
    assert [hit.id for hit in importing.search("port serves")] == ["c"]
    assert [memory.id for memory in importing.get_all()] == ["c"]
    assert bring_out_lane(importing, tmp_path / "out.db") == 3
    with closing(sqlite3.connect(tmp_path / "out.db")) as db:
        found = db.execute("SELECT id, superseded_by FROM memories ORDER BY id").fetchall()
    assert found == [("a", "b"), ("b", "c"), ("c", None)]
    assert [importing.get(id_) is None for id_ in "abcd"] == [True, True, False, True]
    statuses = {id_: importing.history(id_)[-1].status for id_ in "abcd"}
    assert statuses == {
        "a": Status.SUPERSEDED, "b": Status.SUPERSEDED, "c": Status.ACTIVE,
        "d": Status.QUARANTINED,
    }  # fmt: skip
    assert {memory.id for memory in importing.review.chain("a")} == {"a", "b", "c"}
    assert MemoryLane(importing).metadata("c")["supersedes"] == ["b"]
    assert importing.care.verify().ok


@pytest.mark.req("R-004-014")
def test_both_times_of_a_row_are_brought_in_and_must_be_times(tmp_path, importing):
    later = "2025-07-02T11:30:00.000Z"
    path = written(tmp_path / "memories.db", {"id": "a", "content": "Tea", "updated_at": later})
    bring_in_lane(importing, path)
    memory = importing.history("a")[-1]
    assert memory.created == datetime(2025, 6, 1, 10, tzinfo=UTC)
    assert memory.extra["origin_updated_at"] == later
    written_again(path, {"id": "c", "content": "Rum", "created_at": "once"})
    written_again(path, {"id": "d", "content": "Gin", "updated_at": "once"})
    done = bring_in_lane(importing, path)
    assert dict(done.refusals) == {
        "c": "created_at is no time: 'once'", "d": "updated_at is no time: 'once'",
    }  # fmt: skip


@pytest.mark.req("R-004-028")
def test_what_a_row_says_of_its_observations_is_kept_until_it_is_seen_again(
    tmp_path, importing, clock
):
    times = {
        "first_observed_at": "2025-05-01T00:00:00Z",
        "last_observed_at": "2025-05-09T00:00:00Z",
    }
    path = written(
        tmp_path / "memories.db",
        {"id": "a", "content": "Tea at four", "metadata": said("learning", **times)},
        {"id": "b", "content": "Milk at five", "metadata": said("learning")},
    )
    bring_in_lane(importing, path)
    lane = MemoryLane(importing)
    seen = lane.metadata("a")
    assert {name: seen[name] for name in times} == times
    assert lane.metadata("b")["first_observed_at"] == MADE  # when it was made, for none is stated
    clock.advance(DAY)
    importing.add("Tea at four", kind="learning")
    again = lane.metadata("a")
    assert again["first_observed_at"] == times["first_observed_at"]
    assert again["last_observed_at"] == "2026-01-02T00:00:00.000Z"
    with pytest.raises(InvalidInput, match="last_observed_at"):
        lane.store("Rum at six", said("learning", last_observed_at="lately"))


def test_an_import_may_be_run_again_and_changes_nothing(tmp_path, importing):
    path = written(
        tmp_path / "memories.db",
        *(
            {"id": f"m{n}", "content": f"Fact number {n}",
             "metadata": said("insight", feedback_score=0.5, feedback_count=1),
             "superseded_by": "m0" if n == 7 else None}
            for n in range(600)
        ),
    )  # fmt: skip
    seen: list[int] = []
    done = bring_in_lane(importing, path, progress=seen.append)
    assert (done.read, done.stored, done.quarantined, done.superseded) == (600, 599, 1, 1)
    assert seen == [256, 512, 600]
    before = importing.stats().blocks
    again = bring_in_lane(importing, path)
    assert (again.merged, again.superseded, again.refused) == (600, 0, 0)
    assert importing.stats().blocks == before
    assert importing.history("m1")[-1].usefulness == 0.5


@pytest.mark.req("R-004-031")
def test_rows_that_break_the_schema_are_refused_by_name_and_the_others_come_in(tmp_path, importing):
    path = written(
        tmp_path / "memories.db",
        {"id": "good", "content": "Good", "metadata": said("gap")},
        {"id": "sure", "content": "Too sure", "metadata": said("gap", confidence_score=101)},
        {"id": "empty", "content": "  ", "metadata": said("gap")},
        {"id": "back", "content": "Backwards", "metadata": said("gap"),
         "valid_from": "2026-02-01T00:00:00Z", "valid_until": "2026-01-01T00:00:00Z"},
    )  # fmt: skip
    done = bring_in_lane(importing, path)
    assert (done.stored, done.refused) == (1, 3)
    assert {id_ for id_, _ in done.refusals} == {"sure", "empty", "back"}


def test_a_file_is_only_read_and_one_of_another_kind_is_named(tmp_path, importing):
    path = written(tmp_path / "memories.db", {"id": "a", "content": "Tea"})
    before = path.read_bytes()
    path.chmod(0o400)
    bring_in_lane(importing, path)
    assert path.read_bytes() == before
    assert [child.name for child in tmp_path.iterdir() if child.is_file()] == ["memories.db"]
    with pytest.raises(NotFound):
        bring_in_lane(importing, tmp_path / "none.db")
    foreign = tmp_path / "foreign.db"
    with closing(sqlite3.connect(foreign)) as db, db:
        db.execute("CREATE TABLE theirs (x)")
    with pytest.raises(NotFound, match="no table"):
        bring_in_lane(importing, foreign)
    foreign.write_bytes(b"not a database " * 500)
    with pytest.raises(StoreIsDamaged):
        bring_in_lane(importing, foreign)


@pytest.mark.req("R-004-004")
def test_a_file_of_memory_lane_goes_out_and_comes_back(tmp_path, capsys):
    path = written(
        tmp_path / "memories.db",
        {"id": "a", "content": "Tea is hot", "metadata": said("learning", tags=["drink"])},
        {"id": "b", "content": "We drink tea at five", "metadata": said("decision")},
    )
    assert run(["import-lane", str(path)]) == 0
    assert run(["store", "The office is in Rome"]) == 0
    out = tmp_path / "out.db"
    assert run(["export", "--to", str(out)]) == 0
    assert "Exported 3 memories" in capsys.readouterr().out
    with closing(sqlite3.connect(out)) as db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(memories)")]
        (key,) = [row for row in db.execute("PRAGMA table_info(memories)") if row[5]]
        rows = {row[0]: row for row in db.execute("SELECT * FROM memories")}
    assert columns == re.findall(r"^  (\w+)", SCHEMA, re.MULTILINE)
    assert (key[1], key[2]) == ("id", "TEXT")
    assert rows["a"][1] == "Tea is hot"
    assert json.loads(rows["a"][2])["memory_type"] == "learning"
    assert json.loads(rows["a"][4]) == ["drink"]
    others = [row for row in rows.values() if row[1] == "The office is in Rome"]
    assert json.loads(others[0][2])["memory_type"] == "learning"  # a fact is none of Lane's types
    assert out.stat().st_mode & 0o077 == 0
    with MemoryMesh(db_dir=tmp_path / "again") as mesh:
        done = bring_in_lane(mesh, out)
        assert done.stored == 3


@pytest.mark.parametrize("votes", [[True, True], [True, False, False], []])
def test_what_a_file_brought_goes_out_as_it_came(tmp_path, clock, votes):
    first, second, third = (tmp_path / name for name in ("first.db", "second.db", "third.db"))
    with MemoryMesh(db_dir=tmp_path / "own", clock=clock) as own:
        lane = MemoryLane(own)
        lane.store("Tea is drunk at five", said("decision", supersedes=[]))
        (found,) = lane.find("tea")
        for helpful in votes:
            lane.feedback(found.id, helpful=helpful)
        clock.advance(DAY)
        bring_out_lane(own, first)
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock, channel=Channel.IMPORT) as importing:
        bring_in_lane(importing, first)
        clock.advance(DAY)
        bring_out_lane(importing, second)
        assert rows_of(second) == rows_of(first)
        MemoryLane(importing).feedback(found.id, helpful=True)
        importing.update(found.id, metadata={"own": 1})
        bring_out_lane(importing, third)
    (before,), (after,) = rows_of(second), rows_of(third)
    assert after["metadata"]["feedback_count"] == len(votes) + 1
    assert after["updated_at"] > before["updated_at"]


def rows_of(path):
    """The rows of a file; what time left of a memory is computed when it is written."""
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        rows = [dict(row) for row in db.execute("SELECT * FROM memories")]
    for row in rows:
        row["metadata"] = json.loads(row["metadata"])
        del row["decay_factor"], row["metadata"]["decay_factor"]
    return rows


def test_the_command_line_brings_a_file_in(tmp_path, capsys):
    path = written(
        tmp_path / "memories.db",
        {"id": "a", "content": "Tea is hot", "metadata": said("learning")},
        {"id": "x", "content": "Bad", "metadata": said("learning", decay_factor=2)},
    )
    assert run(["import-lane", str(path)]) == 1
    told = capsys.readouterr().out
    assert "2 read, 1 stored, 1 refused" in told
    assert "decay_factor" in told
    assert run(["import-lane", str(path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["merged"] == 1
    assert run(["get", "--id", "a"]) == 0
    assert "Tea is hot" in capsys.readouterr().out


@pytest.mark.req("R-004-003", "R-004-062")
def test_the_default_file_is_where_memory_lane_keeps_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".opencode").mkdir()
    written(tmp_path / ".opencode" / "memories.db", {"id": "a", "content": "Tea is hot"})
    assert run(["import-lane"]) == 0
    assert "1 read, 1 stored" in capsys.readouterr().out


@pytest.mark.req("R-004-045")
def test_every_memory_of_the_collection_is_considered(tmp_path, real_embedder):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=real_embedder) as mesh:
        gaps = [{"content": f"The deploy tool lacks option {n}", "kind": "gap"} for n in range(150)]
        mesh.add_many(gaps)
        chosen = mesh.add("We deploy with the blue tool", kind="decision")
        other = mesh.add("Releases are shipped by a script", kind="decision")  # no word in common
        found = [hit.id for hit in mesh.search("deploy tool", limit=5, profile="lane")]
        assert (found[0], found[1]) == (chosen.id, other.id)


def test_a_written_file_has_no_vectors_and_an_import_makes_them_anew(
    tmp_path, clock, meaning, real_embedder
):
    old = meaning.add("The harbour opens at six", kind="insight", tags=["sea"])
    meaning.update(str(old.id), "The harbour opens at seven")
    meaning.add("Tea is served at four", kind="decision")
    path = tmp_path / "lane.db"
    assert meaning.stats().spaces[0].vectors == 3
    assert run(["--db-dir", str(meaning.folder), "export", "--to", str(path)]) == 0
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT content, embedding FROM memories ORDER BY id").fetchall()
        columns = [row[1] for row in db.execute("PRAGMA table_info(memories)")]
    assert columns == re.findall(r"^  (\w+) ", SCHEMA, re.MULTILINE)
    assert rows == [("The harbour opens at seven", None), ("Tea is served at four", None)]
    with MemoryMesh(
        db_dir=tmp_path / "new", clock=clock, channel=Channel.IMPORT, custom_embedder=real_embedder
    ) as new:
        assert bring_in_lane(new, path).stored == 2
        assert sum(space.vectors for space in new.stats().spaces) == 2
        assert new.search("When can ships come in?")[0].content == "The harbour opens at seven"
