"""What the author of document 000 (RFC-0011) would try first, each situation in its own words."""

import asyncio
import hashlib
import json
import re
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import memory_mesh
from memory_mesh.cli.main import run
from memory_mesh.model import BlockOperation
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryContextManager, MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.receipts import id_of

LESSON = {
    "situation": "The gateway fell back to the anonymous user when the token had expired",
    "errorPattern": "auth_fallback_bypass",
    "oversight": "Nobody checked that the fallback is off in production",
    "fix": "Removed the fallback and returned 401",
    "preventativeRule": "Refuse a request whose token has expired",
    "severity": "critical",
    "applicableScope": "gateway authentication",
    "inverseLesson": "A 401 lets the client renew its token",
    "confidence": 0.9,
}
SKILL = """agent: ReleaseAgent;
intent: publish_a_release;
context:
  name;ReleaseNotes;
  description;Write the notes of a release from merged pull requests;
constraints:
  - Never publish on a Friday;
priority: medium;
output:
  notes;markdown;
meta:
  rationale;Readers want to know what changed;
log: release_published;
handoff: End;
"""


def lesson(**changes: object) -> dict[str, object]:
    """The lesson above, with changes."""
    return LESSON | changes


def lines_of(wire: str | None) -> list[str]:
    """The lines of a block's text."""
    assert wire is not None
    return wire.splitlines()


def test_an_agent_runs_the_memory_loop_twice_and_acts_on_what_the_first_turn_taught(
    tmp_path: Path, clock: FrozenClock
) -> None:
    """§10: "The canonical pattern for integrating memory into a YAMO agent"."""

    async def turn(request: str, *, fails: bool) -> tuple[list[str], list[str]]:
        mesh: Any = memory_mesh.MemoryMesh(
            db_dir=tmp_path / "store", agent_id="MyAgent", enable_yamo=True, clock=clock
        )
        await mesh.init()
        lessons = await mesh.query_lessons(request, limit=5)
        memories = await mesh.search(request, limit=10)
        await mesh.add(
            "The staging deploy of the billing service failed because the migration lock was held",
            {
                "type": "event",
                "source": "MyAgent",
                "rationale": "the deploy was asked for",
                "hypothesis": "the next deploy meets the same lock",
                "session_id": "session-1",
            },
        )
        if fails:
            await mesh.distill_lesson(
                {
                    "situation": "deploy of the billing service to staging",
                    "errorPattern": "migration_lock_held",
                    "oversight": "the migration lock was not released",
                    "fix": "released the lock by hand",
                    "preventativeRule": "Release the migration lock before a deploy",
                    "severity": "high",
                    "applicableScope": "MyAgent execution",
                }
            )
        await mesh.close()
        return [each.preventative_rule for each in lessons], [each.content for each in memories]

    request = "Deploy the billing service to staging again: is the migration lock a problem?"
    assert asyncio.run(turn(request, fails=True)) == ([], [])
    constraints, memories = asyncio.run(turn(request, fails=False))
    assert constraints == ["Release the migration lock before a deploy"]
    assert any("migration lock was held" in each for each in memories)


def test_every_id_follows_the_grammar(mesh: MemoryMesh) -> None:
    """§1.1: "MEMORY_ID = "mem_" TIMESTAMP "_" RANDOM_HEX_6"."""
    memory = id_of(mesh.add("The API listens on port 8443"))
    taught: Any = mesh.distill_lesson(lesson())
    skill = mesh.ingest_skill(SKILL)
    assert re.fullmatch(r"mem_\d{13}_[0-9a-f]{6}", memory)
    assert re.fullmatch(r"lesson_\d{13}_[0-9a-f]{6}", taught.lesson_id)
    assert re.fullmatch(r"mem_\d{13}_[0-9a-f]{6}", taught.memory_id)
    assert re.fullmatch(r"skill_\d{13}_[0-9a-f]{6}", skill.id)
    first = mesh.care.blocks()[0].entry
    assert re.fullmatch(r"yamo_retain_\d{13}_[0-9a-f]{6}", first.id)


def test_a_record_is_got_by_its_id_listed_and_gone_after_delete(mesh: MemoryMesh) -> None:
    """§4.1: "get(id: string): Promise<MemoryRecord | null>" and "delete(id: string)"."""
    kept = id_of(mesh.add("The wiki moved to the new host", {"source": "ops"}))
    gone = id_of(mesh.add("The old wiki is at wiki-old"))
    record = mesh.get(kept)
    assert record is not None
    assert (record.id, record.content) == (kept, "The wiki moved to the new host")
    assert record.metadata["source"] == "ops"
    assert record.created_at.startswith("2026-01-01T00:00:00")
    mesh.delete(gone)
    assert mesh.get(gone) is None
    assert [each.id for each in mesh.get_all()] == [kept]
    assert gone not in [each.id for each in mesh.search("old wiki", min_relevance=0)]
    assert mesh.get("mem_1700000000000_abcdef") is None


def test_ingest_does_what_add_does(mesh: MemoryMesh) -> None:
    """Backwards Compatibility: "`ingest()` is a stable alias for `add()`. Both are permanent."."""
    one = mesh.add("The build runs on Debian 13", {"type": "event", "tags": ["ci"]})
    other = mesh.ingest("The nightly build runs on Alpine", {"type": "event", "tags": ["ci"]})
    found = {each.id: each for each in mesh.get_all()}
    assert set(found) == {one.id, other.id}
    assert other.metadata["type"] == one.metadata["type"] == "event"
    assert found[id_of(other)].tags == ("ci",)


def test_search_returns_records_with_a_score_and_ten_at_most(mesh: MemoryMesh) -> None:
    """§4.2: "limit?: number; // default: 10" and "score: number; // 0.0-1.0"."""
    mesh.add_many([f"Turbine {n} was inspected by team {n % 3} in spring" for n in range(14)])
    assert (len(mesh.get_all()), len(mesh.get_all(limit=3))) == (14, 3)
    found = mesh.search("turbine inspected in spring")
    assert len(found) == 10
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= each <= 1.0 for each in scores)
    assert all(each.id and each.content and each.created_at for each in found)


def test_a_filter_is_a_where_expression_over_the_promoted_fields(mesh: MemoryMesh) -> None:
    """§4.2: "filter?: string; // LanceDB SQL WHERE expression"."""
    mesh.add("Invoice export takes an hour", {"session_id": "s1", "type": "event"})
    mesh.add("Invoice export takes a minute", {"session_id": "s2", "type": "event"})
    for each in ("Invoice export is nightly", "Invoice export is in CSV"):
        mesh.add(each, {"type": "reflection"})
    only = mesh.search("invoice export", filter="session_id = 's1'")
    assert [each.content for each in only] == ["Invoice export takes an hour"]
    thoughts = mesh.search("invoice export", filter="memory_type = 'reflection'")
    assert {each.content for each in thoughts} == {
        "Invoice export is nightly",
        "Invoice export is in CSV",
    }


def test_the_same_question_again_comes_from_the_cache_until_it_is_cleared(
    mesh: MemoryMesh,
) -> None:
    """§5.1: "key = "search:{query}:{limit}:{filter}"; ttl = 5 minutes, max 500 entries"."""
    mesh.add("The canteen closes at three")
    mesh.search("when does the canteen close")
    before = mesh.get_cache_stats()
    mesh.search("when does the canteen close")
    after = mesh.get_cache_stats()
    assert (after.hits, after.max_size) == (before.hits + 1, 500)
    assert after.size >= 1
    mesh.add("Since May the canteen closes at four")
    assert len(mesh.search("when does the canteen close")) == 2
    mesh.clear_cache()
    assert mesh.get_cache_stats().size == 0


def test_a_store_leaves_a_retain_block_in_the_wire_format(
    tmp_path: Path, clock: FrozenClock
) -> None:
    """§3.2: "agent: MemoryMesh_{agentId}; intent: store_memory_for_future_retrieval;"."""
    text = "Customers in Norway pay by invoice; everybody else pays by card when they order"
    with MemoryMesh(db_dir=tmp_path, agent_id="Billing", clock=clock) as mesh:
        receipt = mesh.add(text, {"type": "event", "hypothesis": "Asked again next month"})
        (block,) = mesh.care.blocks()
    lines = lines_of(block.entry.wire)
    assert lines[:2] == [
        "agent: MemoryMesh_Billing;",
        "intent: store_memory_for_future_retrieval;",
    ]
    for wanted in (
        f"  memory_id;{receipt.id};",
        "  timestamp;2026-01-01T00:00:00.000Z;",
        f"  content_length;{len(text.encode())};",
        "  hypothesis;Asked again next month;",
        "priority: medium;",
        f"  memory_stored;{receipt.id};",
        "  rationale;Memory persisted for semantic search and retrieval;",
        "  confidence;1.0;",
        "handoff: End;",
    ):
        assert wanted in lines
    (preview,) = [each for each in lines if each.startswith("  content_preview;")]
    assert preview.count(";") == 2  # the semicolon of the text is escaped
    assert preview.startswith("  content_preview;Customers in Norway pay by invoice")
    assert block.entry.operation is BlockOperation.RETAIN


def test_a_search_leaves_a_recall_block_with_its_query(mesh: MemoryMesh) -> None:
    """§3.3: "intent: recall_relevant_memories; context: query;{search_query}; limit;{N}"."""
    mesh.add("The crane is serviced in March")
    mesh.search("when is the crane serviced", limit=4)
    mesh.add("The lift is serviced in May")  # records of searches are written with the next commit
    (block,) = mesh.care.recalls()
    lines = lines_of(block.entry.wire)
    assert "intent: recall_relevant_memories;" in lines
    assert "  query;when is the crane serviced;" in lines
    assert "  limit;4;" in lines
    assert "  results_found;1;" in lines
    assert any(each.startswith("log: memory_recalled;timestamp;") for each in lines)
    assert lines[-1] == "handoff: End;"


def test_the_blocks_of_a_store_are_chained_and_verify(mesh: MemoryMesh) -> None:
    """§2.3: "prev_hash: Utf8, // Previous block hash for chaining"."""
    mesh.add("The lab has two ovens")
    mesh.distill_lesson(lesson())
    mesh.add("The lab has one centrifuge")
    mesh.reflect(topic="lab")
    blocks = mesh.care.blocks()
    operations = [each.entry.operation.value for each in blocks]
    assert {"retain", "lesson", "reflect"} <= set(operations)
    for former, later in pairwise(blocks):
        assert later.prev_hash == former.hash
    assert mesh.care.verify().ok


def test_a_distilled_lesson_has_every_field_of_its_block(mesh: MemoryMesh) -> None:
    """§3.5: "`handoff` | Yes | Must be `SubconsciousReflector`"."""
    taught: Any = mesh.distill_lesson(lesson())
    lines = lines_of(taught.wire_format)
    assert lines[1] == "intent: distill_wisdom_from_execution;"
    for wanted in (
        "  error_pattern;auth_fallback_bypass;",
        "  severity;critical;",
        "priority: high;",
        f"  lesson_id;{taught.lesson_id};",
        "  oversight_description;Nobody checked that the fallback is off in production;",
        "  preventative_rule;Refuse a request whose token has expired;",
        "  rule_confidence;0.9;",
        "  applicability_scope;gateway authentication;",
        "  inverse_lesson;A 401 lets the client renew its token;",
        "handoff: SubconsciousReflector;",
    ):
        assert wanted in lines
    memory = mesh.get(taught.memory_id)
    assert memory is not None
    assert "#lesson_learned" in memory.metadata["tags"]  # type: ignore[operator]
    assert memory.metadata["type"] == "lesson"
    lessons = [each for each in mesh.care.blocks() if each.entry.operation.value == "lesson"]
    assert [each.entry.wire for each in lessons] == [taught.wire_format]


def test_the_pattern_id_is_the_hash_of_pattern_and_scope(mesh: MemoryMesh) -> None:
    """§8.2: "pattern_id = SHA256(errorPattern + applicableScope)[0:16]"."""
    taught: Any = mesh.distill_lesson(lesson())
    text = "auth_fallback_bypass" + "gateway authentication"
    assert taught.pattern_id == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert [each.id for each in mesh.get_memories_by_pattern(taught.pattern_id)] == [
        taught.memory_id
    ]


def test_a_known_lesson_is_returned_and_a_surer_one_takes_its_place(mesh: MemoryMesh) -> None:
    """§8.3: "MUST return the existing lesson without creating a duplicate"."""
    first: Any = mesh.distill_lesson(lesson(confidence=0.8))
    same: Any = mesh.distill_lesson(lesson(confidence=0.75, fix="Another fix"))
    assert (same.lesson_id, same.memory_id) == (first.lesson_id, first.memory_id)
    assert len(mesh.query_lessons("")) == 1
    surer: Any = mesh.distill_lesson(
        lesson(confidence=0.95, preventativeRule="Answer 401 when a token has expired")
    )
    assert surer.rule_confidence == 0.95
    assert [each.preventative_rule for each in mesh.query_lessons("")] == [
        "Answer 401 when a token has expired"
    ]


def test_the_top_lessons_come_worst_first_and_unsure_ones_are_not_injected(
    mesh: MemoryMesh,
) -> None:
    """§8.2: "queryLessons("", { limit: 10, orderBy: "severity DESC" })"; Security: ">= 0.7"."""
    for severity, rule, confidence in (
        ("low", "Name branches after the ticket", 0.9),
        ("critical", "Never delete a volume by hand", 0.8),
        ("medium", "Pin the base image", 0.7),
        ("high", "Test the restore each month", 0.95),
        ("critical", "Sleep eight hours", 0.5),
    ):
        mesh.distill_lesson(
            lesson(errorPattern=rule, preventativeRule=rule, severity=severity)
            | {"confidence": confidence}
        )
    found = mesh.query_lessons("", limit=10, order_by="severity DESC")
    assert [each.preventative_rule for each in found] == [
        "Never delete a volume by hand",
        "Test the restore each month",
        "Pin the base image",
        "Name branches after the ticket",
    ]


def test_the_distillation_cycle_learns_from_an_error_once(
    mesh: MemoryMesh, clock: FrozenClock
) -> None:
    """§8.2: "operation_type = "retain" with metadata.status = "error"", "existing … skip"."""
    mesh.add(
        "The nightly backup failed: the disk was full. Fixed by rotating the old dumps. "
        "Always check the free space before a backup.",
        {"status": "error", "error_pattern": "backup_disk_full"},
    )
    clock.advance(timedelta(hours=1))
    assert mesh.lessons.due()
    done = mesh.lessons.distill()
    assert len(done.learned) == 1
    assert "free space" in done.learned[0].preventative_rule
    assert done.learned[0].preventative_rule in done.constraints
    again = mesh.lessons.distill()
    assert again.learned == ()
    assert len(mesh.query_lessons("")) == 1


def test_heritage_is_put_into_a_memory_and_only_its_newest_levels_stay(mesh: MemoryMesh) -> None:
    """§4.2: "intentChain: string[]; // Ordered chain of agent intents", "maxHeritageDepth 5"."""
    id_ = id_of(mesh.add("We shard by customer"))
    mesh.insert_heritage(
        id_,
        {
            "intentChain": [f"intent_{n}" for n in range(7)],
            "hypotheses": ["Shards stay small"],
            "rationales": ["No customer asks for data of another"],
        },
    )
    memory = mesh.get(id_)
    assert memory is not None
    chain: Any = memory.metadata["heritage_chain"]
    told = json.loads(chain) if isinstance(chain, str) else chain
    assert told["intentChain"] == [f"intent_{n}" for n in range(2, 7)]
    assert told["hypotheses"] == ["Shards stay small"]
    assert told["rationales"] == ["No customer asks for data of another"]


def test_a_skill_is_ingested_found_rated_and_pruned(mesh: MemoryMesh) -> None:
    """§4.1: "updateSkillReliability(id, success)", "pruneSkills(threshold?: number)"."""
    skill = mesh.ingest_skill(SKILL, {"tags": ["release"]})
    assert [each.name for each in mesh.list_skills()] == [skill.skill.name]
    (found,) = mesh.search_skills("write the notes of a release", limit=1)
    assert found.id == skill.id
    assert "publish_a_release" in skill.skill.yamo_text
    start = skill.skill.metadata["reliability"]
    assert start == 0.5
    better = mesh.update_skill_reliability(skill.id, success=True)
    assert (better.before, better.uses) == (0.5, 1)
    assert better.reliability > 0.5
    for _ in range(3):
        mesh.update_skill_reliability(skill.id, success=False)
    assert mesh.prune_skills(0.3).archived == (skill.id,)
    assert mesh.search_skills("write the notes of a release") == []


def test_personal_data_never_reaches_the_store_or_its_blocks(mesh: MemoryMesh) -> None:
    """§6.3: "email addresses, phone numbers, credit card numbers, and API key patterns"."""
    secrets = (
        "ada.king@analytical.example.org",
        "+44 20 7946 0018",
        "4111 1111 1111 1111",
        "sk-9aV3kQ0ZtB71mXe5LrW8cUd2",
    )
    id_ = id_of(
        mesh.add(
            f"Call {secrets[1]} or write to {secrets[0]}; she paid by card {secrets[2]} "
            f"and her key is {secrets[3]}",
            {"rationale": f"She wrote from {secrets[0]}"},
        )
    )
    mesh.search(f"who is {secrets[0]}")
    memory = mesh.get(id_)
    assert memory is not None
    told = [memory.content, json.dumps(memory.metadata)]
    told += [str(each.entry.wire) for each in (*mesh.care.blocks(), *mesh.care.recalls())]
    for secret in secrets:
        assert not any(secret in each for each in told)
    on_disk = b"".join(path.read_bytes() for path in mesh.folder.rglob("*") if path.is_file())
    assert not any(secret.encode() in on_disk for secret in secrets)


@pytest.mark.parametrize("key", ["__proto__", "constructor", "prototype"])
def test_metadata_that_would_pollute_a_prototype_is_rejected(mesh: MemoryMesh, key: str) -> None:
    """Security: "The `_validateMetadata()` method MUST reject keys in { "__proto__", … }"."""
    with pytest.raises(InvalidInput, match=key):
        mesh.add("The lamp is on", {key: {"admin": True}})
    with pytest.raises(InvalidInput, match=key):
        mesh.add("The lamp is on", {"nested": {key: 1}})
    assert mesh.stats().memories == 0


def test_the_command_line_stores_finds_counts_and_deletes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """§9.2: "[MemoryMesh] Ingested record {MEMORY_ID}" and the outputs that follow it."""
    at = ["--db-dir", str(tmp_path / "store")]
    content = ["--content", "The pump runs at 40 bar", "--type", "event"]
    assert run(["store", *content, "--rationale", "measured", *at]) == 0
    stored = re.search(
        r"^\[MemoryMesh\] Ingested record (mem_\d+_[0-9a-f]{6})$",
        capsys.readouterr().out,
        re.MULTILINE,
    )
    assert stored
    assert run(["search", "pump pressure in bar", "--limit", "3", *at]) == 0
    found = capsys.readouterr().out.splitlines()
    assert found[0] == "[MemoryMesh] Found 1 matches."
    assert "[ATTENTION DIRECTIVE]" in found
    assert "- ALIGN attention to entries with [IMPORTANCE >= 0.8]" in found
    assert "- TREAT entries with [IMPORTANCE <= 0.4] as auxiliary" in found
    assert "[MEMORY CONTEXT]" in found
    assert any(
        re.fullmatch(rf"--- MEMORY 1: {stored[1]} \[IMPORTANCE: [\d.]+\] ---", x) for x in found
    )
    assert "The pump runs at 40 bar" in found
    assert run(["stats", *at]) == 0
    counted = capsys.readouterr().out
    assert "[MemoryMesh] Total Memories: 1\n[MemoryMesh] Total Skills: 0\n" in counted
    assert "[MemoryMesh] Status: connected" in counted
    assert run(["delete", "--id", stored[1], *at]) == 0
    assert f"[MemoryMesh] Deleted record {stored[1]}\n" in capsys.readouterr().out


def test_errors_of_the_command_line_go_to_stderr_and_json_is_no_argument(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """§9: "Positional JSON arguments are prohibited"; §9.3: "[MemoryMesh Error] …"."""
    at = ["--db-dir", str(tmp_path / "store")]
    assert run(["store", '{"content": "The pump runs at 40 bar"}', *at]) != 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "[MemoryMesh Error] " in told.err
    assert run(["store", "--content", "A pump", *at]) == 0
    capsys.readouterr()
    assert run(["get", "--id", "mem_1700000000000_abcdef", *at]) != 0
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("[MemoryMesh Error] ")


def test_a_conversation_is_captured_recalled_with_lessons_and_formatted(mesh: MemoryMesh) -> None:
    """§4.3: "includeLessons?: boolean; // Also query #lesson_learned (default: false)"."""
    manager = MemoryContextManager(mesh=mesh)
    manager.initialize()
    kept = manager.capture_interaction(
        "We decided to answer 401 when the token of a request has expired", "Understood."
    )
    assert kept is not None
    mesh.distill_lesson(lesson())
    question = "what happens to a request whose token has expired"
    plain = manager.recall_memories(question, memory_type="global")
    assert any("401" in each.content for each in plain)
    both = manager.recall_memories(question, include_lessons=True)
    assert any("Refuse a request whose token has expired" in each.content for each in both)
    assert len(both) <= 5
    assert "token" in manager.format_memories_for_prompt(both)
    assert manager.health_check().status.value in {"healthy", "degraded"}
    manager.dispose()


def test_construction_loads_no_model_and_opens_nothing(tmp_path: Path) -> None:
    """§7.3: "Embedding models MUST NOT be loaded at `MemoryMesh` construction time."."""
    mesh = MemoryMesh(
        db_dir=tmp_path / "store", embedder="local", model_dir=tmp_path / "no-model-here"
    )
    assert not (tmp_path / "store").exists()
    mesh.close()


def test_without_a_language_model_reflection_and_synthesis_name_their_sources(
    mesh: MemoryMesh,
) -> None:
    """§3.4: "Aggregated high-signal patterns from recent memory", "source_count;{N}"."""
    said = [
        id_of(mesh.add(f"{who} says the night shift needs a second forklift"))
        for who in ("Ines", "Marek", "Tomoko")
    ]
    reflection = mesh.reflect(topic="forklift of the night shift", lookback=10)
    assert reflection.count == 3
    assert set(reflection.sources) <= set(said)
    assert "forklift" in reflection.text
    assert reflection.id is not None
    assert re.fullmatch(r"reflect_\d{13}_[0-9a-f]+", reflection.id)
    stored = mesh.get(reflection.id)
    assert stored is not None
    assert stored.metadata["type"] == "reflection"
    assert mesh.synthesize(topic="forklift").status in {"staged", "nothing"}
