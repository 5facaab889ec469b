"""Shapes and defaults that the specifications leave open, as the verbs hand them out."""

import pytest

from memory_mesh.compat.neolata import memory_graph
from memory_mesh.mesh.conversation import ContextManagerConfig, MemoryContextManager
from memory_mesh.model.conversation import FormatOptions, InteractionContext
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.stats import Health

STEPS = "To release a version:\n1. Run `just test`.\n2. Write the notes.\n3. Tag the commit."
AGREEING = (
    "Deploys of the API go through staging first.",
    "The API is always deployed to staging before production.",
)
LESSON = {
    "situation": "s", "error_pattern": "e", "oversight": "o", "fix": "f",
    "preventative_rule": "Never do it.", "severity": "high", "applicable_scope": "here",
}  # fmt: skip


@pytest.fixture
def graph(tmp_path):
    with memory_graph.create_memory(db_dir=tmp_path / "graph") as opened:
        yield opened


@pytest.fixture
def manager(mesh):
    return MemoryContextManager(
        ContextManagerConfig(recall_limit=1, captures_per_session=2), mesh=mesh
    )


@pytest.mark.req("R-000-267")
def test_reflect_and_synthesize_take_a_topic_and_a_lookback_and_say_what_they_used(mesh):
    used = {mesh.add(text).id for text in AGREEING}
    reflection = mesh.reflect(topic="API deploys", lookback=5, store=False)
    assert (reflection.topic, reflection.count) == ("API deploys", 2)
    assert set(reflection.sources) == used
    assert reflection.text
    assert 0 < reflection.confidence <= 1
    assert (reflection.id, reflection.by_llm, reflection.failure) == (None, False, None)
    assert "staging" in reflection.prompt
    procedure = mesh.add(STEPS).id
    synthesis = mesh.synthesize(topic="release", lookback=5)
    assert (synthesis.status, synthesis.sources) == ("staged", (procedure,))
    assert synthesis.analysis
    (staged,) = mesh.review.waiting()
    assert (synthesis.skill_id, synthesis.skill_name) == (staged.id, staged.name)
    assert synthesis.yamo_text == staged.text


@pytest.mark.req("R-000-267")
def test_skills_are_handed_out_with_score_reliability_and_what_pruning_did(mesh):
    kept = mesh.ingest_skill("name; Deploy;\nintent; ship a release;")
    assert (kept.skill.name, kept.skill.intent, kept.outcome) == (
        "Deploy",
        "ship a release",
        "stored",
    )
    (hit,) = mesh.search_skills("deploy")
    assert (hit.skill.id, 0 < hit.score <= 1) == (kept.id, True)
    assert hit.parts["keyword"] > 0
    update = mesh.update_skill_reliability(kept.id, success=False)
    assert (update.id, update.before, update.uses) == (kept.id, 0.5, 1)
    assert update.reliability == pytest.approx(0.3)
    pruned = mesh.prune_skills(0.4)
    assert (pruned.threshold, pruned.archived, pruned.kept) == (0.4, (kept.id,), 0)


@pytest.mark.req("R-000-267")
def test_lessons_are_asked_for_with_limit_order_and_confidence(mesh):
    mesh.distill_lesson(LESSON | {"confidence": 0.9})
    mesh.distill_lesson(LESSON | {"error_pattern": "x", "confidence": 0.5, "severity": "critical"})
    asked = mesh.query_lessons("", limit=1, order_by="severity DESC", min_confidence=0.4)
    assert [lesson.severity for lesson in asked] == ["critical"]


@pytest.mark.req("R-000-267")
def test_stats_and_cache_stats_are_numbers(mesh):
    mesh.add("tea is hot")
    for _ in range(2):
        mesh.search("tea")
    stats, cache = mesh.stats(), mesh.get_cache_stats()
    assert (stats.memories, stats.skills, stats.blocks) == (1, 0, 1)
    assert dict(stats.by_status) == {"active": 1}
    assert (cache.size, cache.max_size, cache.hits, cache.misses) == (1, 500, 1, 1)


@pytest.mark.req("R-000-267")
def test_a_conversation_takes_its_configuration_context_and_format(manager):
    context = InteractionContext(tools_used=("psql",), files=("a.sql",), tags=("db",))
    for port in (8080, 9090):
        kept = manager.capture_interaction(f"We decided to use port {port}.", "Good.", context)
        assert kept is not None
        assert kept.metadata["tools_used"] == ["psql"]
        assert "db" in kept.metadata["tags"]
    assert manager.capture_interaction("We decided to use Rust.", "Good.") is None
    assert "2 exchanges" in manager.last_refusal[0]
    (recalled,) = manager.recall_memories("port")
    short = manager.format_memories_for_prompt([recalled], FormatOptions(max_content_chars=20))
    assert "decided to use port" not in short
    assert "decided to use port" in manager.format_memories_for_prompt([recalled])
    health = manager.health_check()
    assert "store" in {check.name for check in health.checks}
    assert health.status is max((check.health for check in health.checks), key=tuple(Health).index)


@pytest.mark.req("R-003-116")
def test_the_graph_face_has_defaults_and_names_its_fields(graph):
    claim = {
        "subject": "door", "predicate": "colour", "value": "red", "scope": "global",
        "validFrom": "2020-01-01", "validUntil": "2999-01-01", "exclusive": False,
    }  # fmt: skip
    said = {"source": "user_explicit", "sourceId": "mail 7"}
    graph.store("a", "The door is red", claim=claim, provenance=said)
    (hit,) = graph.search("a", "door")
    assert (hit.claim.subject, hit.claim.predicate, hit.claim.value, hit.claim.exclusive) == (
        "door", "colour", "red", False,
    )  # fmt: skip
    assert (hit.provenance.source, hit.provenance.source_id) == ("user_explicit", "mail 7")
    assert (hit.category, hit.importance) == ("fact", 0.7)
    categories = ("decision", "finding", "fact", "insight", "task", "event", "preference")
    for category in (*categories, "digest", "a word of one's own"):
        graph.store("a", f"word of {category}", category=category)
    found = graph.search("a", "word", limit=20)
    assert {each.category for each in found} == {*categories, "digest", "a word of one's own"}
    graph.store_many("a", [f"number {number}" for number in range(12)])
    assert len(graph.search("a", "number")) == 10
    for wrong in ({"claim": {"subject": "s"}}, {"provenance": {"mood": "good"}}):
        with pytest.raises(InvalidInput):
            graph.store("a", "x", **wrong)
