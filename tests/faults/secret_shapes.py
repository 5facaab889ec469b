"""How a secret is planted in an argument: by its name where that has a shape, else by its type.

A shape is given `say`, which makes a secret of its own for each part, and the targets of the call.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from inspect import Parameter

from memory_mesh.formats import yamo, yamo_learning
from memory_mesh.model import (
    Claim,
    Draft,
    Heritage,
    Lesson,
    PredicateSchema,
    Scope,
    Severity,
    SkillDraft,
    Source,
)
from memory_mesh.model.conversation import InteractionContext
from memory_mesh.model.trace import Step, Trace
from memory_mesh.model.trigger import MatchContext
from tests.faults.planted import Secret

Say = Callable[[str], Secret]
_TEXT = re.compile(r"\b(str|object|Json|PathLike|Scope|Claim|Heritage|Draft|SkillDraft|Trace|Step"
                   r"|Mapping|LessonContext|InteractionContext|MatchContext)\b")  # fmt: skip
_CALLED = re.compile(r"Callable\[.*?\](?:, [^]]*\])?")  # what a function takes is not the argument
_MANY = re.compile(r"(Iterable|Sequence|Collection|tuple)\[str\b")


@dataclass(frozen=True)
class Targets:
    """Ids that methods are called with."""

    memory_id: str = "mem_1767225600000_0a1b2c"
    rival_id: str = "mem_1767225600000_0a1b2d"
    conflict_id: str = "conflict_1767225600000_0a1b2c"
    skill_id: str = "skill_1767225600000_0a1b2c"
    episode_id: str = "ep_1767225600000_0a1b2c"
    waiting_id: str = ""  # of a memory, a proposal or a skill


def is_text(parameter: Parameter) -> bool:
    """True for an argument that takes a text, or a value that may hold texts."""
    return _TEXT.search(_CALLED.sub("", _annotation(parameter))) is not None


def shapes(parameter: Parameter, say: Say, targets: Targets) -> Iterator[object]:
    """The values of this argument with secrets in them, one call each; none if it has no plan."""
    typed = _annotation(parameter)
    if "MatchContext" in typed:
        yield MatchContext(say("task").said, say("agent").said, say("plan").said)
    elif "InteractionContext" in typed:
        yield from _interactions(say, targets)
    elif parameter.name == "trace" and "str" not in typed:
        yield trace_of(say)
    elif parameter.name in _SHAPES:
        yield from _SHAPES[parameter.name](say, targets)
    elif _MANY.search(_annotation(parameter)):
        yield [say("").said]
    elif re.search(r"\b(str|object)\b", _annotation(parameter)):
        yield say("").said
        yield say("alone").alone


def _annotation(parameter: Parameter) -> str:
    found = parameter.annotation
    return found if isinstance(found, str) else getattr(found, "__name__", "") + str(found)


def _metadata(say: Say, _: Targets) -> Iterator[Mapping[str, object]]:
    deep = [{"more": say("deep").said}]
    yield {"note": say("value").said, say("key").said: 1, "deep": deep}
    yield {"password": say("named").value, "source": say("source").said}
    yield {"type": say("type").said, "tags": [say("tag").said]}
    yield {"memory_type": "learning", "note": say("of Lane").said, "tags": [say("its tag").said]}


def _provenances(say: Say, _: Targets) -> Iterator[Mapping[str, object]]:
    yield {"source": "document", "sourceId": say("id").said}
    yield {"source": say("source").said}
    yield {say("key").said: 1}


def scope_of(say: Say) -> Scope:
    """A scope with a secret in each name."""
    return Scope(say("project").said, say("agent").said, say("session").said)


def _scopes(say: Say, _: Targets) -> Iterator[Scope]:
    yield scope_of(say)


def _claims(say: Say, _: Targets) -> Iterator[object]:
    parts = ("subject", "predicate", "value")
    yield {name: say(name).said for name in parts}
    yield {"subject": "the shop", "predicate": "owner", "value": say("one").said}
    yield {"subject": say("alone").alone, "predicate": say("what").alone, "value": "blue"}
    yield {"subject": "the shop", "predicate": "password", "value": say("named").value}
    yield {"subject": say("wrong").said, "predicate": "", "value": "x"}
    yield {"subject": "a", "predicate": "b", "value": "c", say("unknown").said: 1}
    yield claim_of(say)


def claim_of(say: Say) -> Claim:
    """A claim with a secret in each part."""
    names = ("subject", "predicate", "value", "replaces")
    return Claim(**{name: say(f"Claim.{name}").said for name in names})  # type: ignore[arg-type]


def _filters(say: Say, _: Targets) -> Iterator[str]:
    yield f"speaker = '{say('value').said}'"
    yield f"{say('broken').said} ="
    yield f"{say('field').alone} = 1 AND nothing"
    yield f"metadata.{say('name').alone} = 'x'"
    yield f"speaker = '{say('open').said}"


def _heritages(say: Say, _: Targets) -> Iterator[object]:
    names = ("intentChain", "hypotheses", "rationales")
    yield {name: [say(name).said] for name in names}
    intent, hypothesis, why = ((say(f"Heritage {name}").said,) for name in names)
    yield Heritage(intent, hypothesis, why)


def lesson_words(say: Say) -> dict[str, object]:
    """A failure with a secret in each sentence."""
    names = ("situation", "error_pattern", "oversight", "fix", "preventative_rule",
             "applicable_scope", "inverse_lesson")  # fmt: skip
    told: dict[str, object] = {name: f"never write {say(name).said}" for name in names}
    return told | {"severity": "low", "confidence": 0.9}


def _failures(say: Say, _: Targets) -> Iterator[object]:
    yield lesson_words(say)
    yield lesson_words(say) | {"severity": say("severity").said}
    yield {say("unknown").said: 1}


def draft_of(say: Say) -> Draft:
    """A draft with a secret in every field that holds text."""
    told = lesson_words(lambda name: say(f"lesson {name}"))
    lesson = Lesson(
        id="lesson_1_abcdef",
        pattern_id="p",
        severity=Severity.LOW,
        confidence=0.9,
        rule=str(told["preventative_rule"]),
        applies_to=str(told["applicable_scope"]),
        **{name: str(told[name]) for name in ("error_pattern", "situation", "oversight", "fix")},
        inverse=str(told["inverse_lesson"]),
    )
    return Draft(
        text=f"write {say('text').said}",
        scope=scope_of(say),
        source=Source(agent=say("agent").said, ref=say("ref").said),
        label=say("label").said,
        speaker=say("speaker").said,
        role=say("role").said,
        tags=(say("tag").said,),
        triggers=(say("trigger").said,),
        extra={say("key").said: [{"deep": say("deep").said}], "password": say("named").value},
        lesson=lesson,
        heritage=Heritage((say("intent").said,), (say("hypothesis").said,), (say("why").said,)),
        skill=say("skill").said,
        claim=claim_of(say),
        key=say("idempotency").said,
        topic=say("topic").said,
        quarantine=say("quarantine").said,
        notes=(say("note").said,),
        derived_from=(say("derived").said,),
    )


def _wires(say: Say, _: Targets) -> Iterator[str]:
    lesson = draft_of(say).lesson
    assert lesson is not None
    yield yamo.render(yamo_learning.lesson(lesson, at=datetime(2026, 1, 1, tzinfo=UTC)))
    yield say("broken").said


def _items(say: Say, targets: Targets) -> Iterator[object]:
    yield [say("text").said, {"content": say("content").said, "speaker": say("speaker").said}]
    yield [draft_of(lambda part: say(f"Draft {part}"))]
    yield [{"content": "a", say("unknown").said: say("its value").said}]
    yield [{"text": say("graph").said, "tags": [say("graph tag").said]}]
    for given in _claims(lambda part: say(f"claim {part}"), targets):
        yield [{"content": "a door", "claim": given}]
        yield [{"text": "a door", "claim": given}]


def _changes(say: Say, targets: Targets) -> Iterator[object]:
    said = {name: say(name).said for name in ("content", "speaker", "reason", "role", "key")}
    yield [{"id": targets.memory_id} | {name: said[name] for name in said if name != "key"}]
    yield [{"id": targets.memory_id, "tags": [say("tag").said], "key": said["key"]}]
    yield [{"id": say("id").said, "content": "x"}]


def skill_texts(say: Say, _: Targets) -> Iterator[str]:
    """Skills with secrets, one of which cannot be read."""
    head = f"name: {say('name').said}\nintent: mail {say('intent').said}\n"
    yield f"---\n{head}note: {say('note').said}\n---\n1. write to {say('step').said}\n"
    yield f"---\nname: [{say('broken').said}\n---\n"
    yield say("no skill").said


def _schemas(say: Say, _: Targets) -> Iterator[object]:
    yield {say("name").said: {"cardinality": "single"}}
    yield {say("alone").alone: {"cardinality": "multi"}}
    yield {say("typed").said: PredicateSchema()}
    yield {"colour": {say("field").said: "x"}}
    yield {"colour": {"cardinality": say("value").said}}
    yield {"colour": {"normalize": say("normalize").said}}


def trace_of(say: Say) -> Trace:
    """A trace with a secret in every text; its ids are plain."""
    return Trace(
        f"write {say('goal').said}",
        plan=say("plan").said,
        steps=(Step(say("step").said, say("status").said),),
        results=say("results").said,
        learnings=(say("learning").said,),
        tools_used=(say("tool").said,),
        files_created=(f"/tmp/{say('file').alone}.md",),
        timestamp=datetime(2026, 1, 1, tzinfo=UTC),
    )


def _traces(say: Say, _: Targets) -> Iterator[object]:
    yield [trace_of(say)]


def _trace(say: Say, _: Targets) -> Iterator[object]:
    yield say("goal alone").said
    yield trace_of(say)


def _steps(say: Say, _: Targets) -> Iterator[object]:
    yield [(say("text").said, say("status").said), say("plain").said]
    yield [{"text": say("mapping").said, "status": say("its status").said}, Step(say("Step").said)]


def _windows(say: Say, _: Targets) -> Iterator[object]:
    yield (say("since").said, None)
    yield (None, say("until").said)


def _settings_of_agents(say: Say, _: Targets) -> Iterator[object]:
    yield {say("agent").said: {"max_injected": 3}}
    yield {"planner": {say("field").said: 3}}
    yield {"planner": {"tags": [say("tag").said]}}


def _skill_drafts(say: Say, targets: Targets) -> Iterator[object]:
    text = next(skill_texts(say, targets))
    extra: dict[str, object] = {"note": say("extra").said, "password": say("named").value}
    source = Source(agent=say("agent").said, ref=say("ref").said)
    yield SkillDraft(text=text, metadata=extra, scope=scope_of(say), source=source)  # type: ignore[arg-type]


def _interactions(say: Say, _: Targets) -> Iterator[object]:
    yield InteractionContext(
        tools_used=(say("tool").said,),
        files=(f"/tmp/{say('file').alone}.md",),
        skill_name=say("skill").said,
        importance=1.0,
        tags=(say("tag").said,),
        scope=scope_of(say),
        metadata={"note": say("note").said},
    )


def _weights(say: Say, _: Targets) -> Iterator[object]:
    yield {say("name").said: 1.0}


def _paths(say: Say, _: Targets) -> Iterator[object]:
    yield f"/tmp/{say('path').alone}/skill.md"


def _faults(say: Say, _: Targets) -> Iterator[object]:
    yield [(say("name").said, say("why").said)]


_SHAPES: dict[str, Callable[[Say, Targets], Iterator[object]]] = {
    "metadata": _metadata,
    "provenance": _provenances,
    "scope": _scopes,
    "reader": _scopes,
    "claim": _claims,
    "filter": _filters,
    "heritage": _heritages,
    "context": _failures,
    "items": _items,
    "changes": _changes,
    "yamo_text": skill_texts,
    "schemas": _schemas,
    "predicates": _schemas,
    "predicate_schemas": _schemas,
    "trace": _trace,
    "traces": _traces,
    "steps": _steps,
    "time_window": _windows,
    "injection": _settings_of_agents,
    "draft": _skill_drafts,
    "wire_format": _wires,
    "weights": _weights,
    "faults": _faults,
    "source_file_path": _paths,
}
