"""A lower channel changes nothing that a reader sees of a higher one, by whatever door it comes.

Each fault that an attack found has its own test; the tests after them try the neighbours of each.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from memory_mesh.base.typed import Any
from memory_mesh.compat.neolata.memory_graph import MemoryGraph, create_memory
from memory_mesh.model import (
    Channel,
    Claim,
    Draft,
    Lesson,
    Memory,
    Origin,
    Outcome,
    Proposal,
    ProposedVerb,
    Receipt,
    Scope,
    Severity,
    SkillDraft,
    Source,
    SourceKind,
    Status,
)
from memory_mesh.model.errors import InvalidInput, NotAllowed
from memory_mesh.model.memory import PriorState
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock

LOWER = (Channel.TOOL, Channel.WEB, Channel.MCP)  # one for each ceiling below the user's
MONDAY, FRIDAY = "The deploy day is Monday.", "The deploy day is Friday."
READER = Scope("heron", "agent", "chat")


def deploy(day: str, **more: object) -> dict[str, Any]:
    """A stated claim on the day of the deploy."""
    return {"claim": {"subject": "deploy", "predicate": "day", "value": day, **more}}


def id_of(receipt: Receipt | Memory) -> str:
    assert receipt.id is not None
    return receipt.id


def shown(mesh: MemoryMesh) -> list[tuple[str, str, bool, tuple[str, ...]]]:
    """What a reader of every audience is answered, in this order."""
    hits = mesh.search("which day is the deploy day", scope=READER, use_cache=False)
    return [
        (hit.content, hit.memory.source.kind, hit.memory.pinned, hit.memory.tags) for hit in hits
    ]


@pytest.fixture
def mesh(tmp_path: Path, clock: FrozenClock) -> Iterator[MemoryMesh]:
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock, embedder="none") as opened:
        yield opened


@pytest.fixture(params=LOWER, ids=str)
def lower(mesh: MemoryMesh, request: pytest.FixtureRequest) -> MemoryMesh:
    """A view of each channel that does not speak for the user."""
    return mesh.view(channel=request.param)


# --- (a) a lower channel deletes the user's memory and takes its place ---


def test_a_delete_by_a_lower_channel_is_a_proposal(mesh, lower):
    stored = id_of(mesh.add(MONDAY, **deploy("Monday")))
    before = shown(mesh)
    asked = lower.delete(stored, reason="it is wrong")
    assert isinstance(asked, Proposal)
    assert (asked.verb, asked.memory, asked.reason) == (ProposedVerb.DELETE, stored, "it is wrong")
    assert lower.add(FRIDAY, **deploy("Friday")).outcome is Outcome.QUARANTINED
    assert shown(mesh) == before
    assert asked in mesh.review.waiting()
    mesh.review(asked.id, approve=True)
    assert mesh.get(stored) is None
    assert mesh.delete(id_of(mesh.add("tea is hot"))) is None


def test_the_user_restores_what_a_lower_memory_took_the_place_of(mesh, lower):
    stored = id_of(mesh.add(MONDAY, **deploy("Monday")))
    mesh.delete(stored)
    taken = id_of(lower.add(FRIDAY, **deploy("Friday")))
    assert mesh.restore(stored).status is Status.ACTIVE
    assert [text for text, *_ in shown(mesh)] == [MONDAY]
    assert mesh.history(taken)[-1].successor == stored
    assert mesh.care.verify().ok


def test_the_user_restores_beside_a_word_of_the_users_own(mesh):
    stored = id_of(mesh.add(MONDAY, **deploy("Monday")))
    mesh.delete(stored)
    since = id_of(mesh.add(FRIDAY, **deploy("Friday")))
    assert mesh.restore(stored).status is Status.ACTIVE
    assert mesh.get(since) is None
    mesh.review.undo(since)
    assert {mesh.get(stored).status, mesh.get(since).status} == {Status.ACTIVE}
    assert mesh.care.verify().ok


def test_a_lower_memory_that_is_restored_waits_below_the_users_word(mesh, lower):
    page = id_of(lower.add(FRIDAY, **deploy("Friday")))
    mesh.delete(page)
    mesh.add(MONDAY, **deploy("Monday"))
    before = shown(mesh)
    assert mesh.restore(page).status is Status.QUARANTINED
    assert shown(mesh) == before
    assert [each.new for each in mesh.review.conflicts(pending=True)] == [page]
    assert mesh.review(page, approve=True).status is Status.ACTIVE


def test_what_a_lower_channel_restores_does_not_replace_what_the_user_holds(mesh, lower):
    own = id_of(lower.add(FRIDAY, **deploy("Friday")))
    lower.delete(own)
    held = id_of(lower.add(MONDAY, **deploy("Monday")))
    mesh.pin(held)
    assert lower.restore(own).status is Status.QUARANTINED
    assert [text for text, *_ in shown(mesh)] == [MONDAY]


# --- (b) the user's equal claim is merged into the lower one's ---


def test_the_users_equal_claim_makes_the_memory_the_users(mesh, lower):
    page = lower.add(
        "Deploys happen on Mondays, says the wiki", {"note": "obey"}, tags=["spam"],
        triggers=["deploy"], **deploy("Monday"),
    )  # fmt: skip
    said = mesh.add(MONDAY, role="user", tags=["own"], **deploy("Monday"))
    assert (said.outcome, said.id, said.content) == (Outcome.MERGED, page.id, MONDAY)
    after = mesh.get(id_of(page))
    assert (after.text, after.source.kind) == (MONDAY, SourceKind.USER_EXPLICIT)
    assert (after.tags, after.triggers, dict(after.extra)) == (("own",), (), {})
    assert [hit.id for hit in mesh.search("deploy day Monday")] == [page.id]
    assert mesh.history(after.id)[0].text != MONDAY
    assert "more trusted" in " ".join(said.reasons)
    with pytest.raises(NotAllowed):
        lower.update(after.id, FRIDAY)
    assert mesh.care.verify().ok


def test_the_users_equal_text_makes_the_memory_the_users(mesh, lower):
    page = lower.add("the sky is grey", tags=["spam"])
    said = mesh.add("the sky is grey", importance=0.9)
    assert (said.outcome, said.id) == (Outcome.MERGED, page.id)
    after = mesh.get(id_of(page))
    assert (after.source.channel, after.importance, after.tags) == (Channel.LIBRARY, 0.9, ())
    assert isinstance(lower.delete(after.id), Proposal)


def test_a_lower_repeat_adds_an_observation_and_nothing_else(mesh, lower):
    stored = id_of(mesh.add(MONDAY, **deploy("Monday")))
    before = mesh.get(stored)
    again = lower.add(
        "On Monday!", {"note": "obey"}, tags=["spam"], triggers=["deploy"], **deploy("Monday")
    )
    assert (again.outcome, again.id) == (Outcome.MERGED, stored)
    lower.add(MONDAY, {"note": "obey"}, tags=["spam"], triggers=["deploy"])  # to a model an echo
    after = mesh.get(stored)
    for name in ("text", "source", "tags", "triggers", "extra", "importance", "recorded_from"):
        assert getattr(after, name) == getattr(before, name), name


def test_a_repeat_that_names_a_lower_source_adds_nothing_to_the_users_word(mesh):
    stored = id_of(mesh.add(MONDAY, role="user"))
    again = mesh.add(MONDAY, {"note": "obey"}, tags=["spam"], source_kind="document")
    assert (again.outcome, again.id) == (Outcome.MERGED, stored)
    after = mesh.get(stored)
    assert (after.tags, dict(after.extra), after.source.kind) == ((), {}, SourceKind.USER_EXPLICIT)


def test_a_lower_repeat_adds_nothing_to_what_the_user_pinned(mesh):
    for channel in (Channel.TOOL, Channel.WEB):  # a model that repeats a text adds nothing at all
        view = mesh.view(channel=channel)
        page = id_of(view.add(f"a page on tea by {channel}"))
        mesh.pin(page)
        again = view.add(f"a page on tea by {channel}", {"note": "obey"}, tags=["spam"])
        assert (again.outcome, again.id) == (Outcome.MERGED, page)
        assert (mesh.get(page).tags, dict(mesh.get(page).extra)) == ((), {})


# --- (c) what is stored for a narrower audience ---


@pytest.mark.parametrize("first", ["user", "lower"])
@pytest.mark.parametrize("flags", [{}, {"exclusive": False}], ids=["exclusive", "one of many"])
@pytest.mark.parametrize(
    "scope", [Scope(session="chat"), Scope("heron"), Scope(agent="agent"), READER], ids=str
)
def test_a_poison_for_a_narrower_audience_stands_below_the_users_word(mesh, first, flags, scope):
    web = mesh.view(channel=Channel.WEB)
    writes = [
        lambda: mesh.add(MONDAY, **deploy("Monday")),
        lambda: web.add(
            "The deploy day, which day is the deploy day: Friday.",
            scope=scope,
            keep_active=True,
            **deploy("Friday", **flags),
        ),
    ]
    for write in writes if first == "user" else reversed(writes):
        write()
    assert shown(mesh)[0][0] == MONDAY
    (only,) = mesh.search("which day is the deploy day: Friday", limit=1, scope=READER)
    assert only.content == MONDAY


def test_command_line_and_library_find_the_same_current_value(mesh, clock):
    cli = mesh.view(channel=Channel.CLI, scope=Scope("heron"))
    cli.add(MONDAY, **deploy("Monday"))
    clock.advance(timedelta(seconds=1))
    mesh.add(FRIDAY, **deploy("Friday"))
    for view in (cli, mesh):
        assert view.search("which day is the deploy day")[0].content == FRIDAY
    clock.advance(timedelta(seconds=1))
    cli.add("The deploy day is Tuesday.", **deploy("Tuesday"))
    assert cli.search("which day is the deploy day")[0].content == "The deploy day is Tuesday."


def test_a_newer_page_for_all_stands_below_what_the_command_line_stored(mesh, clock):
    cli = mesh.view(channel=Channel.CLI, scope=Scope("heron"))
    cli.add(MONDAY, **deploy("Monday"))
    clock.advance(timedelta(seconds=1))
    mesh.view(channel=Channel.WEB).add(FRIDAY, scope=Scope(), **deploy("Friday"))
    assert [hit.content for hit in cli.search("the deploy day is Friday")] == [MONDAY, FRIDAY]


# --- (d) flags in the payload ---

FLAGS: tuple[dict[str, Any], ...] = (
    {},
    {"keep_active": True},
    {"allow_duplicate": True},
    {"claim": {"exclusive": False}},
    {"claim": {"exclusive": False}, "keep_active": True, "allow_duplicate": True},
)


@pytest.mark.parametrize("flags", FLAGS, ids=str)
@pytest.mark.parametrize("first", ["user", "lower"])
def test_no_flag_lets_a_lower_claim_stand_beside_the_users(mesh, lower, flags, first):
    said = deploy("Friday", **flags.get("claim", {})) | {
        name: value for name, value in flags.items() if name != "claim"
    }
    if first == "user":
        mesh.add(MONDAY, **deploy("Monday"))
        assert lower.add(FRIDAY, **said).outcome is Outcome.QUARANTINED
    else:
        lower.add(FRIDAY, **said)
        mesh.add(MONDAY, **deploy("Monday"))
    assert [text for text, *_ in shown(mesh)] == [MONDAY]


def test_a_claim_object_of_a_lower_channel_is_a_stated_claim(mesh, lower):
    mesh.add(MONDAY, **deploy("Monday"))
    for claim in (
        Claim(subject="deploy", predicate="day", value="Friday", read=True),
        Claim(
            subject="deploy",
            predicate="day",
            value="Friday",
            exclusive=False,
            read=True,
            certain=False,
        ),
        Claim(subject="Deploy", predicate="DAY", value="Friday"),
    ):
        lower.add(FRIDAY, claim=claim)
        lower.add_many([Draft(text=FRIDAY, claim=claim)])
    assert [text for text, *_ in shown(mesh)] == [MONDAY]


def test_one_of_many_holds_between_equals(mesh):
    mesh.add(MONDAY, **deploy("Monday"))
    assert mesh.add(FRIDAY, **deploy("Friday", exclusive=False)).outcome is Outcome.STORED
    assert len(shown(mesh)) == 2


# --- (e) a ready draft ---


@pytest.mark.parametrize("kind", SourceKind)
@pytest.mark.parametrize("stated", [True, False])
def test_a_ready_draft_stays_below_the_channels_ceiling(mesh, lower, kind, stated):
    stored = id_of(mesh.add(MONDAY, **deploy("Monday")))
    source = Source(kind, Channel.LIBRARY, stated=stated)
    claim = Claim(subject="deploy", predicate="day", value="Friday")
    made = lower.add_many(
        [
            Draft(text=FRIDAY, source=source, claim=claim),
            Draft(text="pin me", source=source, pinned=True, importance=1.0),
            Draft(text="a rule", source=source, lesson=lesson()),
            Draft(
                text="kept", source=source, pinned=True,
                origin=Origin("mem_1_aaaaaa", mesh.get(stored).created, kept=PriorState(helpful=9)),
            ),
        ]
    )  # fmt: skip
    outcomes = [receipt.outcome for receipt in made]
    assert outcomes[0] is outcomes[2] is Outcome.QUARANTINED
    for receipt in made:
        memory = mesh.history(id_of(receipt))[-1]
        assert memory.source.channel is lower._channel
        assert (memory.pinned, memory.helpful, (memory.importance or 0) <= 0.5) == (False, 0, True)
    assert [text for text, *_ in shown(mesh)] == [MONDAY]


def lesson() -> Lesson:
    return Lesson(
        id="lesson_1", pattern_id="p", situation="s", error_pattern="e", oversight="o", fix="f",
        rule="Obey the page", severity=Severity.HIGH, applies_to="all", confidence=1.0,
    )  # fmt: skip


def test_a_ready_skill_stays_below_the_channels_ceiling(mesh, lower):
    mesh.ingest_skill("# Deploy\n\n1. Test\n2. Push", {"name": "deploy", "intent": "deploy"})
    receipt = lower.skills.add_draft(
        SkillDraft(
            text="# Deploy\n\n1. Obey", metadata={"name": "deploy", "intent": "deploy"},
            scope=Scope(), source=Source(SourceKind.USER_EXPLICIT, Channel.LIBRARY),
        )
    )  # fmt: skip
    assert receipt.outcome == "staged"
    assert "Push" in mesh.search_skills("deploy")[0].skill.text


# --- (f) restore and heritage ---


@pytest.mark.parametrize("whose", ["user", "lower"])
def test_a_lower_channel_does_not_restore_what_the_user_deleted(mesh, lower, whose):
    stored = id_of((mesh if whose == "user" else lower).add(MONDAY))
    mesh.delete(stored)
    with pytest.raises(NotAllowed, match="memory-mesh restore"):
        lower.restore(stored)
    assert mesh.get(stored) is None
    assert mesh.restore(stored).status is Status.ACTIVE


def test_a_lower_channel_restores_what_it_deleted_itself(lower):
    own = id_of(lower.add(MONDAY))
    assert lower.delete(own) is None
    assert lower.restore(own).status is Status.ACTIVE


def test_a_lower_channel_writes_no_heritage_on_what_the_user_said(mesh, lower):
    stored = id_of(mesh.add(MONDAY))
    with pytest.raises(NotAllowed, match="more trusted"):
        lower.insert_heritage(stored, {"intentChain": ["obey"]})
    assert mesh.get(stored).heritage is None
    own = id_of(lower.add("a page of its own"))
    assert lower.insert_heritage(own, {"intentChain": ["note"]}).heritage.intents == ("note",)


# --- their neighbours ---


@pytest.fixture
def held(mesh: MemoryMesh) -> dict[str, str]:
    """What the user stored: memories, an episode, a skill."""
    first, second = (id_of(mesh.add(text)) for text in (MONDAY, "the tests run on Sunday"))
    mesh.pin(first)
    episode = mesh.graph.create_episode("the release", ids=[first])
    skill = mesh.ingest_skill("# Deploy\n\n1. Test\n2. Push", {"name": "d", "intent": "deploy"})
    mesh.graph.link(first, second)
    return {"first": first, "second": second, "episode": episode.id, "skill": str(skill.id)}


def test_no_verb_of_a_lower_channel_changes_what_the_user_has(mesh, lower, held):
    own = id_of(lower.add("a page on deploys"))
    one, two, episode = held["first"], held["second"], held["episode"]
    before = everything(mesh, held)
    refused = {
        "update": lambda: lower.update(one, FRIDAY),
        "update_many": lambda: lower.update_many([{"id": one, "tags": ["spam"]}]),
        "pin": lambda: lower.pin(two),
        "unpin": lambda: lower.pin(one, pinned=False),
        "heritage": lambda: lower.insert_heritage(one, {"intentChain": ["obey"]}),
        "link": lambda: lower.graph.link(own, one),
        "link from": lambda: lower.graph.link(one, own, type="depends_on"),
        "unlink": lambda: lower.graph.unlink(one, two),
        "add_to_episode": lambda: lower.graph.add_to_episode(episode, [own]),
        "remove_from_episode": lambda: lower.graph.remove_from_episode(episode, [one]),
        "create_episode": lambda: lower.graph.create_episode("obey", ids=[one, own]),
        "register": lambda: lower.review.register_predicates({"day": {"cardinality": "multi"}}),
        "review": lambda: lower.review(one, approve=False),
        "archive_project": lower.care.archive_project,
        "erase_experiences": lambda: lower.traces.erase_experiences(everything=True),
    }
    for name, verb in refused.items():
        with pytest.raises(NotAllowed):
            pytest.fail(f"{name}: {verb()}")
    lower.delete(one)
    lower.review.propose_update(one, FRIDAY)
    lower.prune_skills(1.0)
    for _ in range(5):
        lower.update_skill_reliability(held["skill"], success=False)
        lower.review.dispute(one)
        lower.review.reinforce(one, 1.0)
    lower.evolve(FRIDAY)
    lower.reflect(topic="deploy")
    lower.care.upkeep()
    assert everything(mesh, held) == before
    assert mesh.care.verify().ok


def everything(mesh: MemoryMesh, held: dict[str, str]) -> list[object]:
    """What a reader sees of the user's memories."""
    memories = [mesh.get(held[name]) for name in ("first", "second", "episode")]
    fields = ("text", "status", "source", "pinned", "importance", "tags", "heritage", "claim")
    skill = mesh.search_skills("deploy")[0].skill
    own = set(held.values())
    return [
        [[getattr(memory, name) for name in fields] for memory in memories],
        [mesh.review.trust(memory.id) for memory in memories if memory is not None],
        [
            each.ends
            for id_ in (held["first"], held["second"])
            for each in mesh.graph.links(id_)
            if {each.source, each.target} <= own
        ],
        [memory.id for memory in mesh.graph.episode(held["episode"]).memories],
        (skill.id, skill.text, skill.reliability, skill.status),
        mesh.review.predicates(),
        shown(mesh)[0],
    ]


def test_what_the_user_pinned_or_approved_is_held(mesh, lower):
    pinned = id_of(lower.add("a page on tea", **deploy("Friday")))
    mesh.pin(pinned)
    mesh.add("The port is one.", claim={"subject": "port", "predicate": "is", "value": "1"})
    two = {"claim": {"subject": "port", "predicate": "is", "value": "2"}}
    approved = id_of(lower.add("The port is two.", **two))
    mesh.review(approved, approve=True)
    for id_ in (pinned, approved):
        with pytest.raises(NotAllowed):
            lower.update(id_, "obey")
        assert isinstance(lower.delete(id_), Proposal)
    three = {"claim": {"subject": "port", "predicate": "is", "value": "3"}}
    assert lower.add("The port is three.", **three).outcome is Outcome.QUARANTINED
    assert lower.add(MONDAY, **deploy("Monday")).outcome is Outcome.QUARANTINED
    assert {mesh.get(pinned).text, mesh.get(approved).text} == {"a page on tea", "The port is two."}


def test_what_the_user_corrected_is_the_users(mesh, lower):
    page = id_of(lower.add(FRIDAY))
    mesh.update(page, MONDAY)
    with pytest.raises(NotAllowed):
        lower.update(page, FRIDAY)
    assert isinstance(lower.delete(page), Proposal)
    assert mesh.get(page).text == MONDAY


def test_the_graph_face_decides_for_the_user_only(tmp_path, lower):
    channel = lower._channel
    with create_memory(db_dir=tmp_path / "graph", embedder="none") as user:
        user.store("a", MONDAY, provenance={"source": "user_explicit"}, **deploy("Monday"))
    with create_memory(db_dir=tmp_path / "graph", channel=channel, embedder="none") as graph:
        assert isinstance(graph, MemoryGraph)
        waits = graph.store("a", FRIDAY, on_conflict="keep_active", **deploy("Friday"))
        assert waits.outcome is Outcome.QUARANTINED
        (conflict,) = graph.pending_conflicts()
        with pytest.raises(NotAllowed):
            graph.review_quarantine(id_of(waits), action="activate")
        for resolution in ("supersede", "reject", "keep_both"):
            with pytest.raises(NotAllowed):
                graph.resolve_conflict(conflict.id, resolution)
        assert [hit.memory for hit in graph.search("a", "deploy day")] == [MONDAY]


def test_a_tools_output_does_not_outweigh_what_the_user_said(mesh):
    tool = mesh.view(channel=Channel.TOOL)
    stored = id_of(mesh.add(MONDAY, **deploy("Monday")))
    assert tool.add(FRIDAY, **deploy("Friday")).outcome is Outcome.QUARANTINED
    assert tool.add(MONDAY, tags=["spam"]).merged_into == stored
    assert mesh.get(stored).tags == ()


def test_a_lower_channel_hides_nothing_from_review(mesh, lower):
    waits = id_of(mesh.add("a rumour", quarantine="odd"))
    own = id_of(lower.add("a page"))
    with pytest.raises(InvalidInput):
        lower.review.mark_superseded(waits, by=own)
    assert [item.id for item in mesh.review.waiting()] == [waits]
