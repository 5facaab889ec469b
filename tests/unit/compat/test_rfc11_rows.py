"""Rows of the original's tables and our values, without any table."""

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from memory_mesh.compat import millis
from memory_mesh.compat.rfc11.columns import (
    BLOCK_COLUMNS,
    PROMOTED,
    SKILL_COLUMNS,
    V1_COLUMNS,
    V2_COLUMNS,
    block_row,
    is_schema_v1,
    is_schema_v2,
    memory_row,
    skill_row,
)
from memory_mesh.compat.rfc11.rows import memory_draft, skill_given, wire_lesson
from memory_mesh.formats import yamo
from memory_mesh.model import (
    Block,
    BlockOperation,
    Channel,
    Entry,
    Heritage,
    Json,
    Kind,
    Lesson,
    Memory,
    Scope,
    Severity,
    Skill,
    Source,
    SourceKind,
)
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.memory import read_heritage, read_lesson
from memory_mesh.rules.arguments import INTEGER

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
AT = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
LESSON = Lesson(
    id="lesson_1700000000000_00000a",
    pattern_id="0123456789abcdef",
    error_pattern="auth_fallback_bypass",
    applies_to="all login flows",
    severity=Severity.HIGH,
    rule="Never skip the second factor.",
    confidence=0.9,
    situation="A login went through",
    oversight="The fallback was on",
    fix="It was switched off",
    inverse="Logins with it on",
    agent="YAMO_AGENT",
)


def row(**values):
    plain = {"id": "mem_1700000000000_00000a", "content": "a fact", "created_at": millis(AT)}
    return plain | values


def said(**metadata):
    return json.dumps(metadata)


def memory(**values: Any) -> Memory:
    plain: dict[str, Any] = {"id": "m1", "text": "a fact", "created": AT, "recorded_from": AT}
    return Memory(**(plain | values))


@pytest.mark.req("R-000-042", "R-000-246")
@pytest.mark.parametrize(
    ("columns", "second"),
    [(V1_COLUMNS, False), (V2_COLUMNS, True), (PROMOTED[:1], True), ((), False)],
)
def test_a_schema_is_v2_by_its_session_id_and_else_v1(columns, second):
    names = [column.name for column in columns]
    assert is_schema_v2(names) is second
    assert is_schema_v1(names) is not second


@pytest.mark.req("R-000-031", "R-000-032", "R-000-054")
def test_the_columns_are_those_of_the_rfc():
    assert [(c.name, c.holds) for c in V1_COLUMNS] == [
        ("id", "text"), ("vector", "vector"), ("content", "text"), ("metadata", "text"),
        ("created_at", "time"), ("updated_at", "time"),
    ]  # fmt: skip
    assert V2_COLUMNS[: len(V1_COLUMNS)] == V1_COLUMNS
    assert [(c.name, c.holds) for c in PROMOTED] == [
        ("session_id", "text"), ("agent_id", "text"), ("memory_type", "text"),
        ("importance_score", "float"), ("access_count", "int"), ("last_accessed", "time"),
        ("heritage_chain", "text"), ("lesson_pattern_id", "text"), ("source_skill_id", "text"),
    ]  # fmt: skip
    assert all(column.nullable for column in PROMOTED)
    assert [c.name for c in SKILL_COLUMNS] == [
        "id", "name", "intent", "yamo_text", "vector", "metadata", "created_at",
    ]  # fmt: skip
    assert [c.name for c in BLOCK_COLUMNS] == [
        "id", "agent_id", "operation_type", "yamo_text", "timestamp", "block_hash", "prev_hash",
        "metadata",
    ]  # fmt: skip


def test_a_v1_row_keeps_id_time_and_metadata():
    draft = memory_draft(
        row(metadata=said(type="event", source="cli", tags=["a"], rationale="why", mine={"x": 1}))
    )
    assert draft.origin is not None
    assert (draft.origin.id, draft.origin.created) == ("mem_1700000000000_00000a", AT)
    assert (draft.kind, draft.label, draft.tags) == (Kind.EVENT, "event", ("a",))
    assert draft.source == Source(SourceKind.DOCUMENT, Channel.IMPORT, "cli")
    assert draft.extra == {"rationale": "why", "mine": {"x": 1}}


def test_columns_win_over_metadata():
    chain = said(intentChain=["i"], hypotheses=[], rationales=["r"])
    draft = memory_draft(
        row(
            metadata=said(
                session_id="old", importance_score=0.1, heritage_chain={"intents": ["no"]}
            ),
            session_id="new",
            importance_score=0.800000011920929,
            access_count=7,
            last_accessed=millis(AT + timedelta(days=1)),
            heritage_chain=chain,
            source_skill_id="skill_1_a",
        )
    )
    assert draft.scope == Scope()
    assert draft.importance == 0.8
    assert draft.heritage == Heritage(("i",), (), ("r",))
    assert draft.skill == "skill_1_a"
    assert draft.origin is not None
    assert (draft.origin.uses, draft.origin.last_used) == (7, AT + timedelta(days=1))
    assert draft.extra == {"session_id": "new"}


@pytest.mark.req("R-000-029")
@pytest.mark.parametrize(
    ("columns", "scope", "kind"),
    [
        ({"memory_type": "global", "session_id": "s", "agent_id": "a"}, Scope(), Kind.FACT),
        ({"memory_type": "session", "session_id": "s"}, Scope(session="s"), Kind.FACT),
        ({"memory_type": "agent", "session_id": "s", "agent_id": "a"}, Scope(agent="a"), Kind.FACT),
        ({"memory_type": "agent"}, Scope(), Kind.FACT),
        ({"memory_type": "session"}, Scope(), Kind.FACT),
        ({"memory_type": "reflection", "session_id": "s"}, Scope(), Kind.REFLECTION),
        ({"memory_type": "lesson"}, Scope(), Kind.LESSON),
        ({"session_id": "s"}, Scope(), Kind.FACT),
        ({"agent_id": "a"}, Scope(), Kind.FACT),
        ({"metadata": said(type="session", session_id="s")}, Scope(session="s"), Kind.FACT),
        ({"metadata": said(type="session")}, Scope(), Kind.FACT),
        ({"metadata": said(type="agent")}, Scope(), Kind.FACT),
        ({"metadata": said(type="global", session_id="s")}, Scope(), Kind.FACT),
        ({"memory_type": "global", "metadata": said(type="lesson")}, Scope(), Kind.LESSON),
    ],
)  # fmt: skip
def test_a_row_is_for_whom_its_type_says_and_goes_back_as_it_came(columns, scope, kind):
    draft = memory_draft(row(**columns))
    assert (draft.scope, draft.kind) == (scope, kind)
    back = memory_row(stored(draft))
    for name in ("session_id", "agent_id", "memory_type"):
        if columns.get(name) is not None:
            assert back[name] == columns[name]


def stored(draft, **values):
    names = ("text", "scope", "source", "kind", "label", "importance", "tags", "extra", "lesson",
             "heritage", "skill", "speaker", "role", "order", "occurred_at", "valid_from",
             "valid_until", "confidence")  # fmt: skip
    kept = {name: getattr(draft, name) for name in names}
    assert draft.origin is not None
    kept |= {"id": draft.origin.id, "created": draft.origin.created}
    kept |= {"uses": draft.origin.uses, "last_used": draft.origin.last_used}
    return memory(**(kept | values))


@pytest.mark.parametrize(
    "metadata",
    ["no json", "[1]", '"text"', '{"a":NaN}', "{" * 5_000, '{"a":' * 3_000 + "1" + "}" * 3_000],
)
def test_metadata_that_is_no_object_is_kept_as_text(metadata):
    draft = memory_draft(row(metadata=metadata))
    assert draft.extra == {"unread_metadata": metadata}


@pytest.mark.parametrize(
    "metadata",
    [
        {"tags": "a,b"}, {"tags": ["a", 1]}, {"tags": {"a": 1}}, {"importance_score": 7},
        {"importance_score": True}, {"importance_score": "high"}, {"source": 5}, {"type": ["x"]},
        {"heritage_chain": "no"}, {"heritage_chain": {"other": 1}},
    ],
)  # fmt: skip
def test_a_field_that_is_not_what_it_promises_is_set_aside_and_goes_back(metadata):
    draft = memory_draft(row(metadata=json.dumps(metadata)))
    ((name, value),) = metadata.items()
    assert draft.extra == {f"unread_{name}": value}
    assert json.loads(str(memory_row(stored(draft))["metadata"])) == metadata


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"id": None}, "id"),
        ({"id": "x" * 513}, "id"),
        ({"content": None}, "content"),
        ({"content": "a\0b"}, "NUL"),
        ({"id": "strange", "created_at": None}, "created"),
        ({"created_at": 2**60}, "created_at"),
        ({"metadata": '{"__proto__": 1}'}, "__proto__"),
        ({"metadata": said(x=INTEGER + 1)}, "64 bits"),
        ({"metadata": said(x={"y": [-INTEGER - 2]})}, "64 bits"),
    ],
)
def test_a_row_that_cannot_be_taken_says_why(values, word):
    with pytest.raises(InvalidInput, match=word):
        memory_draft(row(**values))


def test_an_id_tells_its_time_where_the_column_does_not():
    draft = memory_draft(row(created_at=None))
    assert draft.origin is not None
    assert draft.origin.created == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.mark.req("R-000-040")
def test_a_lesson_goes_out_and_comes_back_whole():
    out = memory_row(memory(kind=Kind.LESSON, lesson=LESSON, tags=("#lesson_learned",)))
    assert out["lesson_pattern_id"] == LESSON.pattern_id
    draft = memory_draft(out)
    assert (draft.lesson, draft.kind, draft.extra) == (LESSON, Kind.LESSON, {})


ORIGINAL_WIRE = """agent: MemoryMesh_YAMO_AGENT;
intent: distill_wisdom_from_execution;
context:
  original_context;A login went through%3B twice;
  error_pattern;0123456789abcdef;
  severity;high;
  timestamp;2026-01-01T00:00:00.000Z;
constraints:
  hypothesis;This lesson prevents recurrence of similar failures;
  hypothesis_confidence;0.9;
priority: high;
output:
  lesson_id;lesson_1700000000000_00000a;
  oversight_description;The fallback was on;
  preventative_rule;Never skip the second factor.;
  rule_confidence;0.9;
meta:
  rationale;It was switched off;
  applicability_scope;all login flows;
  inverse_lesson;;
  confidence;0.9;
log: lesson_learned;timestamp;2026-01-01T00:00:00.000Z;pattern;0123456789abcdef;severity;high;id;x;
handoff: SubconsciousReflector;"""


def test_a_lesson_of_the_original_is_read_from_its_block():
    """Its own names in metadata, and the situation in the block alone."""
    metadata = said(
        type="lesson",
        tags=["#lesson_learned"],
        lesson_id="lesson_1700000000000_00000a",
        lesson_pattern_id="0123456789abcdef",
        severity="critical",
        oversight="The fallback was on",
        applicable_scope="all login flows",
        yamo_wire_format=ORIGINAL_WIRE,
    )
    lesson = memory_draft(row(metadata=metadata)).lesson
    assert lesson is not None
    assert lesson.situation == "A login went through; twice"
    assert (lesson.severity, lesson.pattern_id) == (Severity.CRITICAL, "0123456789abcdef")
    assert (lesson.inverse, lesson.confidence) == (None, 0.9)


def test_a_lesson_is_completed_by_the_blocks_table():
    told = wire_lesson(ORIGINAL_WIRE)
    assert told is not None
    assert told.pattern_id == "0123456789abcdef"
    asked: list[str] = []

    def taught(id_):
        asked.append(id_)
        return told if id_ == "mem_1700000000000_00000a" else None

    draft = memory_draft(row(memory_type="lesson"), taught)
    assert draft.lesson == told
    assert asked[-1] == "mem_1700000000000_00000a"


@pytest.mark.parametrize(
    "metadata",
    [
        {"type": "lesson", "severity": "high"},
        {"type": "lesson", "yamo_wire_format": "agent: x;"},
        {"type": "lesson", "lesson_id": "l", "error_pattern": "e", "applicability_scope": "a",
         "severity": "dreadful", "preventative_rule": "r", "original_context": "o",
         "rule_confidence": 0.5},
        {"type": "lesson", "lesson_id": "l", "error_pattern": "e", "applicability_scope": "a",
         "severity": "high", "preventative_rule": "r", "original_context": "o",
         "rule_confidence": 5},
    ],
)  # fmt: skip
def test_a_lesson_that_cannot_be_read_is_a_memory_of_kind_lesson_with_all_it_said(metadata):
    draft = memory_draft(row(metadata=json.dumps(metadata)))
    assert (draft.kind, draft.lesson) == (Kind.LESSON, None)
    assert draft.extra == {key: value for key, value in metadata.items() if key != "type"}


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"mood": []}, "a heritage chain has intentChain, hypotheses and rationales, not mood"),
        ({"intentChain": "a"}, "intentChain of a heritage chain must be a list of texts"),
        ({"hypotheses": ["a", 1]}, "hypotheses of a heritage chain must hold texts only"),
    ],
)
def test_a_heritage_chain_of_another_form_is_refused_by_what_is_wrong(given_, said):
    with pytest.raises(InvalidInput, match=said):
        read_heritage(given_)


def test_a_lesson_is_read_only_with_a_number_as_its_confidence():
    kept: dict[str, Json] = {"severity": "high", "preventative_rule": "w", "rule_confidence": 1}
    assert read_lesson(kept).confidence == 1.0
    with pytest.raises(TypeError, match="rule_confidence is not a number"):
        read_lesson(kept | {"rule_confidence": "0.9"})


moments = st.integers(0, 7_000_000_000_000).map(lambda ms: EPOCH + timedelta(milliseconds=ms))
names = st.none() | st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=20
)
plain_json = st.recursive(
    st.none() | st.booleans() | st.integers(-INTEGER, INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner),
    max_leaves=5,
)  # fmt: skip
IMPORTED = Source(SourceKind.DOCUMENT, Channel.IMPORT)
memories = st.builds(
    memory,
    text=st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1),
    created=moments,
    scope=st.builds(Scope, names, names, names),
    source=st.builds(Source, st.just(SourceKind.DOCUMENT), st.just(Channel.IMPORT), names, names),
    kind=st.sampled_from(Kind),
    label=names | st.sampled_from(["session", "agent", "lesson", "event"]),
    speaker=names,
    role=names,
    order=st.none() | st.integers(-(2**62), 2**62),
    occurred_at=st.none() | moments,
    valid_from=st.none() | moments,
    importance=st.none() | st.floats(0, 1),
    confidence=st.none() | st.floats(0, 1),
    tags=st.lists(st.sampled_from(["a", "#b", "é"]), unique=True, max_size=2).map(tuple),
    extra=st.dictionaries(
        st.sampled_from(["x", "rationale", "hypothesis", "skill_name"]), plain_json
    ),
    lesson=st.none() | st.just(LESSON),
    heritage=st.none() | st.builds(Heritage, st.just(("a", "b")), st.just(("h",)), st.just(())),
    skill=names,
    uses=st.integers(0, 2**31 - 1),
    last_used=st.none() | moments,
)


@pytest.mark.req("R-000-030")
@given(memories)
@example(memory(source=IMPORTED, extra={"x": INTEGER, "y": [-INTEGER]}))
def test_what_goes_out_comes_back_the_same(kept):
    draft = memory_draft(memory_row(kept))
    back = stored(draft, id=kept.id, recorded_from=AT)
    for name in ("text", "created", "scope", "source", "kind", "label", "speaker", "role",
                 "order", "occurred_at", "valid_from", "importance", "confidence", "tags", "extra",
                 "lesson", "heritage", "skill", "uses", "last_used"):  # fmt: skip
        assert getattr(back, name) == getattr(kept, name), name


def test_a_block_is_hashed_as_the_rfc_says_and_our_operations_are_retains():
    wire = yamo.render(yamo.change("m1", "update", agent_id="a", reason="r", at=AT))
    entry = Entry(
        "yamo_change_1_a", BlockOperation.CHANGE, "a", AT, ("m1",), wire, {"type": "update"}
    )
    out = block_row(Block(entry, 4, 9, b"s", b"d", b"\1" * 32, b"\2" * 32), "before")
    assert out["operation_type"] == "retain"
    assert out["block_hash"] == hashlib.sha256(wire.encode()).hexdigest()
    assert out["prev_hash"] == "before"
    assert json.loads(str(out["metadata"])) == {
        "type": "update",
        "memories": ["m1"],
        "operation_type": "change",
        "chain": {"position": 4, "hash": "02" * 32, "prev_hash": "01" * 32},
    }


@pytest.mark.req("R-000-046")
@pytest.mark.parametrize("operation", list(BlockOperation))
def test_every_operation_is_written_as_one_of_the_five(operation):
    out = block_row(Block(Entry("i", operation, None, AT, (), None)), None)
    assert out["operation_type"] in {"retain", "recall", "reflect", "synthesize", "lesson"}
    assert (out["yamo_text"], out["block_hash"]) == ("", None)


@pytest.mark.req("R-000-055")
def test_a_skill_brings_along_what_its_row_said():
    given_row = {
        "id": "skill_1700000000000_00000a", "name": "Deploy", "intent": "ship it",
        "yamo_text": "name: Deploy;", "created_at": millis(AT),
        "metadata": said(reliability=0.8, use_count=3, last_used=None, tags=["ops"], more=1),
    }  # fmt: skip
    text, metadata, born = skill_given(given_row)
    assert (text, metadata["name"], metadata["intent"]) == ("name: Deploy;", "Deploy", "ship it")
    assert (born.id, born.created) == (given_row["id"], AT)
    assert (born.reliability, born.uses, born.last_used) == (0.8, 3, None)
    kept = Skill(
        id=born.id, name="Deploy", intent="ship it", text=text, tags=("ops",), reliability=0.8,
        uses=3, created=born.created, extra={"more": metadata["more"]},
    )  # fmt: skip
    out = skill_row(kept)
    assert (out["id"], out["created_at"]) == (given_row["id"], given_row["created_at"])
    back = json.loads(str(out["metadata"]))
    assert (back["reliability"], back["use_count"], back["more"]) == (0.8, 3, 1)
