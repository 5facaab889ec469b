"""How `prepare` redacts the parts of a statement: source, claim, lesson, heritage, markup."""

from collections.abc import Mapping

from memory_mesh.fastdataclass import replace
from memory_mesh.model import Claim, Heritage, Json, Lesson, Source
from memory_mesh.ports import Redactor
from memory_mesh.typed import Any

_MARKUP = frozenset("*_`<&[\\~")


def redact_markup(redactor: Redactor, value: str) -> str:
    """A text as it was but for personal data, also where markup hides it."""
    from memory_mesh.policy import scrub

    kept = redactor.text(value)
    if not _MARKUP.intersection(kept):
        return kept
    shown = (chunk.text for chunk in scrub.chunks_of(kept))
    if all(redactor.text(text) == text for text in shown):
        return kept
    return scrub.scrub(kept, scrub.IN_MESH, redact=redactor.text).content


def redact_origin(redactor: Redactor, source: Source) -> Source:
    """A source without personal data and secrets in its names."""
    agent = None if source.agent is None else redactor.identity(source.agent)
    ref = None if source.ref is None else redactor.identity(source.ref)
    same = (agent, ref) == (source.agent, source.ref)
    return source if same else replace(source, agent=agent, ref=ref)


def redact_claim(redactor: Redactor, claim: Claim) -> Claim:
    """A claim in its words; its subject and predicate say what a value is.

    It is folded later: "password: X" is a secret, and the key "password x" is none.
    """
    changed: dict[str, Any] = {
        name: redactor.text(getattr(claim, name)) for name in ("subject", "predicate")
    }
    for name in ("value", "replaces"):
        changed[name] = redact_value(redactor, getattr(claim, name), claim.subject, claim.predicate)
    return replace(claim, **changed)


def redact_value(redactor: Redactor, value: Json, *about: Json) -> Json:
    """A value of a claim; X is a password where the claim is about one."""
    for name in about:
        if isinstance(value, str) and isinstance(name, str):
            found = redactor.json({name: value})
            value = next(iter(found.values())) if isinstance(found, Mapping) else None
    return value


def redact_lesson(redactor: Redactor, lesson: Lesson) -> Lesson:
    """A lesson without personal data and secrets in any of its sentences."""
    changed: dict[str, Any] = {
        name: None if (value := getattr(lesson, name)) is None else redact_markup(redactor, value)
        for name in (
            "error_pattern",
            "applies_to",
            "rule",
            "situation",
            "oversight",
            "fix",
            "inverse",
        )
    }
    return replace(lesson, **changed)


def redact_heritage(redactor: Redactor, heritage: Heritage) -> Heritage:
    """A heritage without personal data and secrets in any of its links."""
    changed: dict[str, Any] = {
        name: tuple(redactor.text(link) for link in getattr(heritage, name))
        for name in ("intents", "hypotheses", "rationales")
    }
    return replace(heritage, **changed)
