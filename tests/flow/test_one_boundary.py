"""One boundary for privacy: whatever text enters, by a draft or by any verb, is stored redacted.

The tests walk the fields of Draft, Query and SkillDraft and the text arguments of every verb, so a
new field or argument fails here until somebody says how a secret is planted in it.
"""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memory_mesh.errors import MeshError
from memory_mesh.fastdataclass import fields
from memory_mesh.model import (
    Claim,
    Draft,
    Heritage,
    Lesson,
    Query,
    Scope,
    Severity,
    SkillDraft,
    Source,
)
from memory_mesh.model.trace import Step, Trace
from memory_mesh.sync import MemoryMesh

SECRET = "jane.doe@example.com"
NAMES = {"project": SECRET, "agent": SECRET, "session": SECRET}
LESSON = Lesson(
    id="lesson_1_abcdef",
    pattern_id="p",
    error_pattern=SECRET,
    applies_to=SECRET,
    severity=Severity.LOW,
    rule=SECRET,
    confidence=0.9,
    situation=SECRET,
    oversight=SECRET,
    fix=SECRET,
    inverse=SECRET,
)
IN_A_DRAFT: dict[str, object] = {
    "text": f"write to {SECRET}",
    "scope": Scope(**NAMES),
    "source": Source(agent=SECRET, ref=SECRET),
    "label": SECRET,
    "speaker": SECRET,
    "role": SECRET,
    "tags": (SECRET,),
    "triggers": (SECRET,),
    "extra": {SECRET: [{"deep": SECRET}]},
    "lesson": LESSON,
    "heritage": Heritage((SECRET,), (SECRET,), (SECRET,)),
    "skill": SECRET,
    "claim": Claim(subject=SECRET, predicate=SECRET, value=SECRET, replaces=SECRET),
    "key": SECRET,
    "topic": SECRET,
    "quarantine": SECRET,
    "notes": (SECRET,),
}
TRACE = Trace(SECRET, plan=SECRET, steps=(Step(SECRET, SECRET),), learnings=(SECRET,))
NO_TEXT = {  # of Draft: numbers, times, enums, ids of this store
    "kind", "order", "occurred_at", "valid_from", "valid_until", "importance", "confidence", "tier",
    "pinned", "allow_duplicate", "derived_from", "origin", "keep_active",
}  # fmt: skip
FREE_TEXT: dict[str, Any] = {  # arguments of verbs that take a text or a value with texts in it
    "content": SECRET,
    "query": SECRET,
    "question": SECRET,
    "topic": SECRET,
    "reason": SECRET,
    "project": SECRET,
    "speaker": SECRET,
    "role": SECRET,
    "kind": SECRET,
    "source": SECRET,
    "source_agent": SECRET,
    "source_ref": SECRET,
    "source_skill": SECRET,
    "source_file_path": f"/home/{SECRET}/skill.md",
    "key": SECRET,
    "quarantine": SECRET,
    "filter": f"speaker = '{SECRET}'",
    "tags": [SECRET],
    "triggers": [SECRET],
    "metadata": {"note": SECRET, SECRET: 1},
    "scope": Scope(**NAMES),
    "reader": Scope(**NAMES),
    "claim": {"subject": SECRET, "predicate": SECRET, "value": SECRET},
    "heritage": {"intentChain": [SECRET], "hypotheses": [SECRET], "rationales": [SECRET]},
    "context": {
        "situation": SECRET,
        "error_pattern": SECRET,
        "oversight": SECRET,
        "fix": SECRET,
        "preventative_rule": SECRET,
        "applicable_scope": SECRET,
        "severity": "low",
        "confidence": 0.9,
    },
    "items": [SECRET, {"content": SECRET, "speaker": SECRET}],
    "changes": [{"content": SECRET, "speaker": SECRET, "reason": SECRET, "tags": [SECRET]}],
    "yamo_text": f"---\nname: Mail\nintent: mail {SECRET}\n---\n1. write to {SECRET}\n",
    "schemas": {SECRET: {"cardinality": "single"}},
    "trace": SECRET,
    "goal": SECRET,
    "plan": SECRET,
    "results": SECRET,
    "steps": [(SECRET, SECRET)],
    "learnings": [SECRET],
    "tools_used": [SECRET],
    "files_created": [f"/home/{SECRET}/a.md"],
    "trace_id": f"trace-1-{SECRET}",
    "follows": [f"trace-1-{SECRET}"],
    "part_of": [f"trace-1-{SECRET}"],
    "depends_on": [f"trace-1-{SECRET}"],
    "task": f"paint the red door of {SECRET}",
    "current_plan": f"write to {SECRET}",
    "agent": SECRET,
    "agent_name": SECRET,
    "prompt": SECRET,
    "title": SECRET,
    "session": SECRET,
}
OTHER_TEXT = {  # ids, times, words of an enum, files of the caller and names of the store itself
    "memory_id", "id", "ids", "by", "conflict_id", "pattern_id", "before", "cursor", "as_of",
    "valid_at", "occurred_at", "valid_from", "valid_until", "importance", "tier", "source_kind",
    "include", "across", "see_across", "order_by", "profile", "weights", "resolution", "checkpoint",
    "against",
    "namespace", "user_id", "derived_from", "draft", "wire_format", "source_id",
    "target_id", "type", "status", "timestamp", "time_window", "min_importance",
    "names", "progress",  # of jobs
    "types", "episode_id", "since", "until",  # of links and episodes
    "format", "count_tokens",  # of context
}  # fmt: skip


@dataclass
class Stored:
    """Ids that verbs are called with."""

    memory_id: str
    rival_id: str
    conflict_id: str
    skill: str


@pytest.fixture
def stored(mesh: MemoryMesh) -> Stored:
    claim = {"subject": "d", "predicate": "p", "value": "red"}
    memory = mesh.add("the door is red", claim=claim, triggers="red door", importance="critical")
    rival = {"subject": "d", "predicate": "p", "value": "blue"}
    other = mesh.add("it is blue", claim=rival, source_kind="inference")
    conflict = mesh.conflicts(decided=True)[0].id
    skill = mesh.ingest_skill("---\nname: Deploy\nintent: deploy\n---\n1. run make ship\n")
    return Stored(memory.id or "", other.id or "", conflict, skill.id)


def bytes_of(folder: Path) -> Iterator[bytes]:
    yield from (file.read_bytes() for file in folder.rglob("*") if file.is_file())


def assert_gone(mesh: MemoryMesh) -> None:
    folder = mesh.folder
    mesh.close()
    for data in bytes_of(folder):
        assert SECRET.encode() not in data
        assert b"jane.doe" not in data


@pytest.mark.parametrize("name", IN_A_DRAFT)
def test_a_secret_in_a_field_of_a_draft_is_not_stored(mesh, name):
    fields_of_one: dict[str, Any] = {"text": "nothing in it", name: IN_A_DRAFT[name]}
    assert mesh.add_many([Draft(**fields_of_one)])
    assert_gone(mesh)


def test_every_field_of_a_draft_is_planted_or_holds_no_text():
    assert {field.name for field in fields(Draft)} == IN_A_DRAFT.keys() | NO_TEXT


def test_every_field_of_a_query_and_of_a_skill_is_known_here():
    lens_and_numbers = {"lens", "limit", "profile", "keyword_only", "weights", "rules"}
    thresholds = {"min_similarity", "min_relevance"}
    assert {field.name for field in fields(Query)} == {"text"} | lens_and_numbers | thresholds
    planted = {"text", "metadata", "scope", "source"}
    numbers = {"sources", "staged", "watched", "origin"}
    assert {field.name for field in fields(SkillDraft)} == planted | numbers


def text_arguments() -> list[tuple[str, str]]:
    """Every verb with each of its arguments that takes text, a scope or a value with texts."""
    holding = ("str", "Scope", "Claim", "Heritage", "Draft", "Mapping")
    return [
        (verb, parameter.name)
        for verb, method in sorted(inspect.getmembers(MemoryMesh, inspect.isfunction))
        if not verb.startswith("_")
        for parameter in list(inspect.signature(method).parameters.values())[1:]
        if any(word in str(parameter.annotation) for word in holding)
    ]


def test_every_text_argument_of_a_verb_is_planted_or_takes_no_free_text():
    assert {name for _, name in text_arguments()} <= FREE_TEXT.keys() | OTHER_TEXT


@pytest.mark.parametrize(
    ("verb", "name"), [(verb, name) for verb, name in text_arguments() if name in FREE_TEXT]
)
def test_a_secret_in_an_argument_of_a_verb_is_not_stored(mesh, stored, verb, name):
    given = {**needed(verb, stored), name: FREE_TEXT[name]}
    if name == "changes":
        given[name] = [{"id": stored.memory_id, **FREE_TEXT[name][0]}]
    with suppress(MeshError):  # refused: what matters is that nothing of it is kept
        getattr(mesh, verb)(**given)
    assert_gone(mesh)


def needed(verb: str, stored: Stored) -> Mapping[str, object]:
    """What a verb cannot be called without."""
    values: dict[str, object] = {
        "content": "a text",
        "memory_id": stored.memory_id,
        "id": stored.skill if "skill" in verb else stored.memory_id,
        "conflict_id": stored.conflict_id,
        "resolution": "keep_both",
        "query": "door",
        "yamo_text": FREE_TEXT["yamo_text"],
        "heritage": {},
        "context": FREE_TEXT["context"],
        "items": [],
        "changes": [],
        "ids": [stored.memory_id],
        "helpful": True,
        "success": True,
        "approve": False,
        "source": "nobody",
        "pattern_id": "none",
        "wire_format": "none",
        "schemas": {},
        "by": stored.memory_id,
        "source_id": stored.memory_id,
        "target_id": stored.rival_id,
        "trace": "a goal",
        "traces": [TRACE],
        "goal": "a goal",
        "trace_id": "trace-1-a",
        "task": "paint the red door",
        "agent": "developer",
        "title": "a trip",
        "episode_id": stored.memory_id,
    }
    parameters = inspect.signature(getattr(MemoryMesh, verb)).parameters.values()
    empty = inspect.Parameter.empty
    return {
        each.name: values[each.name]
        for each in parameters
        if each.default is empty and each.name != "self"
    }


def test_the_test_would_see_a_secret(tmp_path):
    with MemoryMesh(db_dir=tmp_path, embedder="none", redact=False) as mesh:
        mesh.add(f"write to {SECRET}")
        folder = mesh.folder
    assert any(SECRET.encode() in data for data in bytes_of(folder))
