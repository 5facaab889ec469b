"""What the author of document 004 (Memory Lane) would try first, in its own words."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_mesh import Scope
from memory_mesh.compat.lane.memory_lane import LaneSettings, MemoryLane
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.receipts import id_of
from tests.until import until

DAY = timedelta(days=1)
WEIGHTS = {
    "correction": 1.0,
    "decision": 1.0,
    "commitment": 1.0,
    "insight": 0.7,
    "learning": 0.7,
    "confidence": 0.7,
    "pattern_seed": 0.4,
    "cross_agent": 0.4,
    "workflow_note": 0.4,
    "gap": 0.4,
}
Lanes = Callable[[str], MemoryLane]


@pytest.fixture
def lanes(tmp_path: Path, clock: FrozenClock) -> Iterator[Lanes]:
    """Opens a lane by its name, each with memories of its own."""
    with MemoryMesh(db_dir=tmp_path / "lanes", clock=clock, embedder="static") as mesh:
        yield lambda name: MemoryLane(mesh.view(namespace=name))


@pytest.fixture
def lane(lanes: Lanes) -> MemoryLane:
    return lanes("lane")


def said(memory_type: str, **more: object) -> dict[str, object]:
    """Metadata as `memory_lane_store` is given it."""
    return {"memory_type": memory_type} | more


def hook(tmp_path: Path, **event: object) -> None:
    """Hand an event of OpenCode to the hook, as its plugin does."""
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    subprocess.run(
        [Path(sys.executable).parent / "memory-mesh-hook", "--host", "opencode"],
        input=json.dumps(event | {"directory": str(folder)}).encode(),
        env=os.environ | {"MEMORY_MESH_DIR": str(tmp_path / "hooked"), "MEMORY_MESH_DAEMON": "off"},
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=300,
    )


def everything(folder: Path) -> list[Any]:
    """All memories of a store, whatever their project."""
    if not (folder / "namespaces").exists():
        return []
    with MemoryMesh(db_dir=folder) as mesh:
        return list(mesh.get_all(across=["project", "agent", "session"], include=["quarantined"]))


def test_every_type_of_the_taxonomy_has_its_weight(lanes: Lanes) -> None:
    """§3: "Higher weight = higher relevance in default ranking."."""
    scores = {}
    for memory_type in WEIGHTS:
        lane = lanes(memory_type)
        lane.store("The invoices are rendered by the billing worker", said(memory_type))
        (found,) = lane.find("what renders the invoices")
        scores[memory_type] = found.score
    for memory_type, weight in WEIGHTS.items():
        assert scores[memory_type] / scores["correction"] == pytest.approx(weight, abs=1e-3)


def test_a_type_outside_of_the_taxonomy_is_refused(lane: MemoryLane) -> None:
    """§2.2: "memory_type: z.enum([ 'correction', … 'gap' ])"."""
    with pytest.raises(InvalidInput, match="memory_type"):
        lane.store("The moon is far", said("hunch"))
    with pytest.raises(InvalidInput, match="memory_type"):
        lane.store("The moon is far", {})


def test_a_memory_has_the_defaults_of_the_schema(lane: MemoryLane) -> None:
    """§2.2: "confidence_score … default(70)", "feedback_score … default(1.0)"."""
    told = lane.metadata(id_of(lane.store("Logs are kept for a week", said("learning"))))
    assert told["memory_type"] == "learning"
    assert (told["confidence_score"], told["decay_factor"]) == (70, 1.0)
    assert (told["feedback_score"], told["feedback_count"]) == (1.0, 0)
    assert (told["times_observed"], told["access_count"]) == (1, 0)
    assert (told["valid_from"], told["valid_until"]) == (None, None)
    assert not told["supersedes"]
    assert told["superseded_by"] is None
    assert told["entity_slugs"] == []
    assert isinstance(told["lane_version"], str)


@pytest.mark.parametrize("score", [-1, 101])
def test_a_confidence_outside_of_0_to_100_is_refused(lane: MemoryLane, score: int) -> None:
    """§2.2: "confidence_score: z.number().min(0).max(100)"."""
    with pytest.raises(InvalidInput, match="confidence_score"):
        lane.store("Logs are kept for a week", said("learning", confidence_score=score))


def test_what_is_stated_comes_back_as_it_was_stated(lane: MemoryLane) -> None:
    """§2.2: "source_chunk: z.string().optional()", "tags: z.array(z.string()).optional()"."""
    given = said(
        "insight",
        confidence_score=85,
        source_chunk="turns out the proxy buffers the whole body",
        tags=["proxy", "upload"],
        valid_from="2025-12-01T00:00:00.000Z",
        valid_until="2027-01-01T00:00:00.000Z",
        entity_slugs=["project:harbour"],
    )
    told = lane.metadata(id_of(lane.store("The proxy buffers an upload before it is sent", given)))
    assert {name: told[name] for name in given} == given


def test_a_memory_decays_by_its_last_access(lane: MemoryLane, clock: FrozenClock) -> None:
    """§4.3: "< 7 days | 1.0", "7-30 days | 0.8", "30-90 days | 0.6", "90+ days | 0.4"."""
    lane.store("The ferry to Brodick takes an hour", said("decision", confidence_score=90))
    clock.advance(100 * DAY)
    lane.find("how long does the ferry take")
    table = ((3, 1.0), (6.9, 1.0), (8, 0.8), (29, 0.8), (31, 0.6), (89, 0.6), (91, 0.4))
    for days, factor in table:
        clock.advance(days * DAY)
        (found,) = lane.find("how long does the ferry take")  # finding it is the next access
        assert found.decay_factor == factor
        assert found.effective_confidence == round(90 * factor)


def test_decay_is_a_factor_of_the_score(lanes: Lanes, clock: FrozenClock) -> None:
    """§4.2: "finalScore = cosineSimilarity * PRIORITY_WEIGHTS * decay_factor * …"."""
    question, text = "how long does the ferry take", "The ferry to Brodick takes an hour"
    old = lanes("old")
    old.store(text, said("decision"))
    clock.advance(40 * DAY)
    fresh = lanes("fresh")
    fresh.store(text, said("decision"))
    assert old.find(question)[0].score == pytest.approx(0.6 * fresh.find(question)[0].score)


@pytest.mark.parametrize(
    ("question", "memory_type"),
    [
        ("which mistake did we make with the index", "correction"),
        ("what have we decided about the index", "decision"),
        ("what is our usual habit with the index", "commitment"),
        ("what have we learned about the index", "insight"),
    ],
)
def test_a_question_that_says_what_it_wants_boosts_that_type(
    lanes: Lanes, question: str, memory_type: str
) -> None:
    """§4.2: "(intent_boost ? 1.15 : 1.0)".

    Ruling (section 1, 004): the words of each intent, by word.
    """
    text = "The index is rebuilt with the worker stopped"
    other = {"correction": "decision", "decision": "correction", "commitment": "correction"}
    wanted, plain = lanes("wanted"), lanes("plain")
    wanted.store(text, said(memory_type))
    plain.store(text, said(other.get(memory_type, "confidence")))
    ratio = wanted.find(question)[0].score / plain.find(question)[0].score
    assert ratio == pytest.approx(1.15, abs=1e-3)


def test_helpful_and_harmful_votes_multiply(lane: MemoryLane) -> None:
    """§5.2: "memory.feedback_score *= 1.1;", "memory.feedback_score *= 0.5;"."""
    id_ = id_of(lane.store("Restart the worker after a migration", said("learning")))
    (before,) = lane.find("restart after a migration")
    lane.feedback(id_, helpful=True)
    lane.feedback(id_, helpful=True)
    lane.feedback(id_, helpful=False)
    told = lane.metadata(id_)
    assert told["feedback_score"] == pytest.approx(1.1 * 1.1 * 0.5)
    assert told["feedback_count"] == 3
    (after,) = lane.find("restart after a migration")
    assert after.score == pytest.approx(before.score * 1.1 * 1.1 * 0.5)


def test_nothing_below_the_threshold_is_returned(lane: MemoryLane) -> None:
    """§6: "`minScoreThreshold` | 0.2 … | Minimum similarity to return"."""
    lane.store("The invoices are rendered by the billing worker", said("correction"))
    assert lane.find("the colour of the kitten's collar") == []
    assert len(lane.find("who renders invoices")) == 1


def test_the_threshold_is_of_the_similarity_and_not_of_the_product(
    lane: MemoryLane, clock: FrozenClock
) -> None:
    """§6: "Minimum similarity to return"; ruling C66: threshold on similarity."""
    lane.store("There is no way to export invoices as PDF", said("gap"))
    clock.advance(120 * DAY)
    (found,) = lane.find("can invoices be exported to PDF")
    assert found.decay_factor == 0.4
    assert found.score < 0.2


def test_the_best_n_come_sorted_and_an_agent_gets_five(lane: MemoryLane) -> None:
    """§4.2: "Sort by final score and return top N results."."""
    for number, memory_type in enumerate(("gap", "insight", "correction", "workflow_note") * 2):
        lane.store(f"Invoices of country {number} are rendered at night", said(memory_type))
    found = lane.find("when are invoices rendered")
    assert len(found) == 5
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)
    assert {found[0].metadata["memory_type"], found[1].metadata["memory_type"]} == {"correction"}
    assert len(lane.find("when are invoices rendered", 2)) == 2
    assert {each.collection for each in found} == {"memory-lane"}


def test_knowledge_evolves_along_a_chain(lane: MemoryLane) -> None:
    """§2.2: "Supersession chains (knowledge evolution)"."""
    first = id_of(lane.store("Deploys run from main", said("decision")))
    second = id_of(lane.store("Deploys run from release", said("decision", supersedes=[first])))
    third = id_of(lane.store("Deploys run from tags", said("decision", supersedes=[second])))
    assert [each.id for each in lane.find("where do deploys run from")] == [third]
    assert lane.metadata(third)["supersedes"] == [second]
    assert lane.metadata(second)["superseded_by"] == third
    assert lane.metadata(first)["superseded_by"] == second


def test_what_holds_from_a_later_day_is_not_found_before_it(
    lane: MemoryLane, clock: FrozenClock
) -> None:
    """§2.2: "valid_from: z.string().nullable(), // ISO 8601 timestamp"."""
    from_may = (clock.now() + 30 * DAY).isoformat()
    lane.store("The canteen is closed on Mondays", said("learning", valid_from=from_may))
    assert lane.find("is the canteen closed") == []
    clock.advance(31 * DAY)
    assert len(lane.find("is the canteen closed")) == 1


def test_an_observation_that_comes_again_is_counted(lane: MemoryLane, clock: FrozenClock) -> None:
    """§2.2: "times_observed: z.number().optional().default(1)"."""
    text = "The user runs the linter before every commit"
    id_ = id_of(lane.store(text, said("pattern_seed")))
    clock.advance(3 * DAY)
    assert lane.store(text, said("pattern_seed")).merged_into == id_
    told = lane.metadata(id_)
    assert told["times_observed"] == 2
    assert told["first_observed_at"] == "2026-01-01T00:00:00.000Z"
    assert told["last_observed_at"] == "2026-01-04T00:00:00.000Z"


def test_entities_of_a_text_are_found_and_narrow_the_search(lane: MemoryLane) -> None:
    """§2.2: "entity_slugs: z.array(z.string())"; §6: "0.15 with entity filter"."""
    own = id_of(lane.store("In project:harbour the tests run in CI", said("learning")))
    lane.store("In project:airport the tests run by hand", said("learning"))
    assert lane.metadata(own)["entity_slugs"] == ["project:harbour"]
    found = lane.find("how do the tests run", entities=["project:harbour"])
    assert [each.id for each in found] == [own]


def test_another_agent_in_a_later_session_finds_it(tmp_path: Path, clock: FrozenClock) -> None:
    """Head: "a persistent knowledge sidecar for all agents, capturing cross-session learnings"."""

    def opened(agent: str) -> MemoryMesh:
        return MemoryMesh(db_dir=tmp_path, clock=clock, embedder="static", agent_id=agent)

    with opened("coder") as mesh:
        text = "Vitest needs the threads pool off here"
        id_ = id_of(MemoryLane(mesh).store(text, said("cross_agent")))
    clock.advance(DAY)
    with opened("reviewer") as mesh:
        assert [each.id for each in MemoryLane(mesh).find("vitest threads pool")] == [id_]
        assert "Vitest needs the threads pool off" in str(mesh.context("how do I run vitest?"))


def test_the_next_session_gets_what_the_last_one_learned(
    tmp_path: Path, clock: FrozenClock
) -> None:
    """§1: "The learning lifecycle follows a "Capture -> Vectorize -> Inject" pattern."."""
    with MemoryMesh(db_dir=tmp_path, clock=clock) as mesh:
        MemoryLane(mesh).store("The user wants answers in Dutch", said("commitment"))
    clock.advance(DAY)
    with MemoryMesh(db_dir=tmp_path, clock=clock) as mesh:
        assert "The user wants answers in Dutch" in str(mesh.context())


@pytest.mark.parametrize("event", ["session.idle", "session.deleted"])
def test_a_correction_is_caught_when_the_session_is_idle_or_deleted(
    tmp_path: Path, event: str
) -> None:
    """§5: "triggered by session lifecycle events (`session.idle`, `session.deleted`)"; §3."""
    hook(
        tmp_path,
        type=event,
        properties={"sessionID": "ses_1"},
        prompt="No, use pnpm, not npm, in this repository.",
        last_assistant_message="Understood, I will use pnpm from now on.",
    )
    store = tmp_path / "hooked"
    until(lambda: any("pnpm" in each.text for each in everything(store)), "nothing was caught")
    (caught,) = [each for each in everything(store) if "pnpm" in each.text]
    assert caught.kind.value == "correction"


def test_a_decision_of_a_session_is_caught_and_small_talk_is_not(tmp_path: Path) -> None:
    """§3: "`decision` | 1.0 | Architectural choices"; §5.1: "analyzes transcript for patterns"."""
    for prompt, answer in (
        ("thanks, that looks great!", "You are welcome."),
        ("We decided to use Postgres for the queue as well.", "Noted."),
    ):
        hook(
            tmp_path,
            type="session.idle",
            properties={"sessionID": "ses_2"},
            prompt=prompt,
            last_assistant_message=answer,
        )
    store = tmp_path / "hooked"
    until(lambda: everything(store), "nothing was caught")
    (caught,) = everything(store)
    assert "Postgres" in caught.text
    assert caught.kind.value == "decision"


def test_a_preference_is_caught_as_a_commitment_and_found_by_its_meaning_later(
    tmp_path: Path,
) -> None:
    """§3: "`commitment` | 1.0 | User preferences"; §1: "Semantic Search"."""
    hook(
        tmp_path,
        type="session.deleted",
        properties={"sessionID": "ses_3"},
        prompt="I prefer short answers without bullet points.",
        last_assistant_message="All right, short answers it is.",
    )
    store = tmp_path / "hooked"
    until(lambda: everything(store), "nothing was caught")
    with MemoryMesh(db_dir=store, embedder="static") as mesh:
        mesh.care.upkeep()
        project = mesh.care.projects.at(tmp_path / "work")
        reader = mesh.view(scope=Scope(project=project.name)) if project else mesh
        (found,) = MemoryLane(reader).find("which answers does the user prefer")
    assert "short answers" in found.content
    assert found.metadata["memory_type"] == "commitment"


def test_the_threshold_can_be_configured(tmp_path: Path, clock: FrozenClock) -> None:
    """§6: "| Setting | Default | Description |"."""
    with MemoryMesh(db_dir=tmp_path, clock=clock, embedder="static") as mesh:
        MemoryLane(mesh).store("Invoices are rendered by the billing worker", said("decision"))
        strict = MemoryLane(mesh, settings=LaneSettings(min_score_threshold=0.99))
        assert len(MemoryLane(mesh).find("who renders invoices")) == 1
        assert strict.find("who renders invoices") == []


def test_the_tools_of_an_agent_store_find_and_rate(tmp_path: Path) -> None:
    """§5.1: "Structured memories sent to memory_lane_store tool"; §5.2: "Users can rate"."""
    process = subprocess.Popen(
        [Path(sys.executable).parent / "memory-mesh-mcp", "--compat", "lane"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"MEMORY_MESH_DIR": str(tmp_path / "mcp"), "MEMORY_MESH_DAEMON": "off"},
        cwd=tmp_path,
    )

    def ask(number: int, method: str, **params: object) -> Any:
        assert process.stdin is not None
        assert process.stdout is not None
        asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        told = json.loads(process.stdout.readline())
        assert told["id"] == number
        return told["result"]

    def call(number: int, name: str, **arguments: object) -> str:
        told = ask(number, "tools/call", name=name, arguments=arguments)
        assert not told.get("isError"), told
        return json.dumps(told)

    try:
        client = {"name": "opencode", "version": "1"}
        ask(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        names = {each["name"] for each in ask(2, "tools/list")["tools"]}
        assert {"memory_lane_store", "memory_lane_find", "memory_lane_feedback"} <= names
        text = "The importer splits files at 50 MB"
        call(3, "memory_lane_store", content=text, memory_type="learning")
        found = call(4, "memory_lane_find", query="importer splits files")
        assert text in found
        (id_,) = [each.id for each in everything(tmp_path / "mcp")]
        call(5, "memory_lane_feedback", id=id_, feedback="helpful")
    finally:
        process.communicate(timeout=300)
    (rated,) = everything(tmp_path / "mcp")
    assert (rated.helpful, rated.usefulness) == (1, pytest.approx(1.1))
