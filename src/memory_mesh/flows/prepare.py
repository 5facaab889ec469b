"""A text made ready for the ledger: redacted, scrubbed, hashed, its terms, a vector per chunk.

::

    Draft ── redact ──▶ scrub ──▶ content (kept)  ──▶ hash
                              └─▶ chunks (stripped) ──▶ terms, vectors with the span each is of

Nothing here touches the store but `embed_waiting`. An error of the scrubber is the caller's: no raw
text goes on. Where no embedder answers, the text is stored all the same and waits for its vector.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, TypeAlias, TypeVar

from memory_mesh.errors import EmbeddingError, TextRefused
from memory_mesh.fastdataclass import dataclass, replace
from memory_mesh.flows.access import Desk, Reader
from memory_mesh.model import (
    Draft,
    Indexed,
    Memory,
    Query,
    Space,
    Span,
    Wording,
)
from memory_mesh.policy import scrub
from memory_mesh.policy.ranking.question import Reading
from memory_mesh.policy.text import analyze
from memory_mesh.policy.writing.limits import MEMORY_CHARS
from memory_mesh.policy.writing.recited import fingerprint
from memory_mesh.ports import Embedder, Redactor


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """The question by meaning: its vector and space, or why there is none."""

    space: Space | None = None
    vector: bytes = b""
    note: str | None = None
    reading: Reading = Reading("", ())


def embed_question(reader: Reader, query: Query, reading: Reading) -> PreparedQuery:
    """The query's vector; without one the words alone are asked, and the answer says why."""
    if reader.embedder is None or query.keyword_only or not query.text.strip():
        return PreparedQuery(reading=reading)
    try:
        embedding = reader.embedder.embed([reading.text], query=True)
    except EmbeddingError as error:
        return PreparedQuery(note=str(error), reading=reading)
    return PreparedQuery(embedding.space, embedding.vectors[0][0], embedding.note, reading)


Said = TypeVar("Said", Draft, Memory)
Worded: TypeAlias = tuple[Draft, Wording]
Clean: TypeAlias = tuple[Draft, Wording, tuple[scrub.Chunk, ...]]
Vectors = tuple[Space, tuple[bytes, ...], tuple[Span | None, ...]]
_MARKED = frozenset("*_`<&[\\~")
_FORMS = ("html", "htm", "md", "markdown", "document")


def embed(desk: Desk, cleaned: Sequence[Clean], *, news: Sequence[bool]) -> list[Worded]:
    """The drafts with their wordings; those that are news with vectors, if an embedder answers."""
    chunked = [chunks if new else () for (_, _, chunks), new in zip(cleaned, news, strict=True)]
    embedded = _embedded(desk.embedder, chunked)
    return [
        (draft, _with_vectors(wording, vectors))
        for (draft, wording, _), vectors in zip(cleaned, embedded, strict=True)
    ]


def clean(desk: Desk, draft: Draft) -> Clean:
    """The draft without personal data and noise, its wording and its chunks."""
    draft = redacted(desk.redactor, draft)
    if len(draft.text) > MEMORY_CHARS:  # it will be refused, whatever is in it
        return draft, Wording(draft.text, b"", ""), ()
    declared = _declared(draft)
    scrubbed = scrub.scrub(
        draft.text,
        scrub.IN_MESH,
        form=None if declared is None else scrub.form_of(draft.text, declared),
        redact=None if desk.redactor is None else desk.redactor.text,
        source=draft.source.ref,
    )
    draft = replace(draft, text=scrubbed.content)
    if draft.claim is None and desk.read_claims and draft.lesson is None and draft.topic is None:
        from memory_mesh.policy import claims  # a search has no use for it

        draft = replace(draft, claim=claims.read(draft.text, speaker=draft.speaker))
    wording = tagged(word(draft.text, scrubbed.plain), draft.tags)
    return draft, wording, scrubbed.chunks


def word(text: str, plain: str) -> Wording:
    """What identifies a text and what finds it: the terms of its stripped form."""
    terms = " ".join(analyze.terms(plain or text))
    return Wording(text, sha256(text.encode()).digest(), terms, fingerprint(text))


def tagged(wording: Wording, tags: Sequence[str]) -> Wording:
    """A wording that its tags find as well: they are its own words, told apart by nobody."""
    if not tags:
        return wording
    held = frozenset(wording.terms.split())
    added = dict.fromkeys(term for tag in tags for term in analyze.terms(tag))
    more = [term for term in added if term not in held]
    return replace(wording, terms=" ".join((wording.terms, *more)).strip()) if more else wording


def retagged(memory: Memory, tags: Sequence[str]) -> Wording | None:
    """The wording of a memory whose tags change, or None where the same words go on finding it."""
    own = _own(memory.text)
    new = tagged(own, tags)
    return None if new == tagged(own, memory.tags) else new


def terms_of(entry: Indexed) -> tuple[str, ...]:
    """The terms that a stored text, or the fields of a skill, would be written with today."""
    if len(entry.said) > 1:
        return tuple(" ".join(analyze.terms(said)) for said in entry.said)
    (text,) = entry.said
    return (tagged(_own(text), entry.tags).terms,)


def redacted(redactor: Redactor | None, said: Said) -> Said:
    """Everything around the text that a writer may have put personal data in."""
    if redactor is None:
        return said
    source, lesson, heritage = said.source, said.lesson, said.heritage
    changed: dict[str, Any] = {
        name: redactor.text(value)
        for name in ("label", "speaker", "role", "skill")
        if (value := getattr(said, name)) is not None
    }
    if source.agent is not None or source.ref is not None:
        changed["source"] = replace(
            source, agent=_maybe(redactor, source.agent), ref=_maybe(redactor, source.ref)
        )
    if said.tags:
        changed["tags"] = tuple(redactor.text(tag) for tag in said.tags)
    if said.extra:
        changed["extra"] = redactor.json(dict(said.extra))
    if said.claim is not None:
        value = redactor.text(said.claim.value)
        subject = redactor.text(said.claim.subject)
        changed["claim"] = replace(said.claim, subject=subject, value=value)
    if lesson is not None:
        names = ("error_pattern", "applies_to", "rule", "situation", "oversight", "fix", "inverse")
        taught: dict[str, Any] = {name: _plainly(redactor, getattr(lesson, name)) for name in names}
        changed["lesson"] = replace(lesson, **taught)
    if heritage is not None:
        links: dict[str, Any] = {
            name: tuple(redactor.text(link) for link in getattr(heritage, name))
            for name in ("intents", "hypotheses", "rationales")
        }
        changed["heritage"] = replace(heritage, **links)
    return replace(said, **changed) if changed else said


def embed_one(embedder: Embedder | None, text: str) -> tuple[Space, bytes] | None:
    """One vector for one short text, or None where none can be had."""
    if embedder is None or not text.strip():
        return None
    try:
        embedding = embedder.embed([text])
    except EmbeddingError:
        return None
    return embedding.space, embedding.vectors[0][0]


def _own(text: str) -> Wording:
    """The wording of a stored text without its tags."""
    return word(text, "\n".join(chunk.text for chunk in scrub.chunks_of(text)))


def _with_vectors(wording: Wording, vectors: Vectors | None) -> Wording:
    if vectors is None:
        return wording
    space, data, spans = vectors
    return replace(wording, space=space, vectors=data, spans=spans)


def _embedded(
    embedder: Embedder | None, chunked: Sequence[Sequence[scrub.Chunk]]
) -> Sequence[Vectors | None]:
    """Vectors of each text's chunks; None for those that must wait."""
    if embedder is None or not any(chunked):
        return [None] * len(chunked)
    try:
        return _embed_all(embedder, chunked)
    except EmbeddingError:
        return [None] * len(chunked)


def _embed_all(
    embedder: Embedder, chunked: Sequence[Sequence[scrub.Chunk]]
) -> list[Vectors | None]:
    """All chunks in one call; a long chunk has several windows, and all of them its span."""
    flat = [chunk for chunks in chunked for chunk in chunks]
    embedded = iter(_embed_each(embedder, [chunk.text for chunk in flat]))
    found: list[Vectors | None] = []
    for chunks in chunked:
        answers = [(chunk, next(embedded)) for chunk in chunks]
        parts = [
            (answer[0], vector, (chunk.start, chunk.stop) if len(chunks) > 1 else None)
            for chunk, answer in answers
            if answer is not None
            for vector in answer[1]
        ]
        if not parts:
            found.append(None)
            continue
        vectors, spans = tuple(part[1] for part in parts), tuple(part[2] for part in parts)
        found.append((parts[0][0], vectors, spans))
    return found


def _embed_each(
    embedder: Embedder, texts: Sequence[str]
) -> list[tuple[Space, tuple[bytes, ...]] | None]:
    """Space and vectors of each text; None for one that the embedder does not take."""
    if not texts:
        return []
    try:
        embedding = embedder.embed(texts)
    except TextRefused:
        if len(texts) == 1:
            return [None]
        half = len(texts) // 2
        return _embed_each(embedder, texts[:half]) + _embed_each(embedder, texts[half:])
    return [(embedding.space, vectors) for vectors in embedding.vectors]


def _declared(draft: Draft) -> str | None:
    """The form a writer named: the memory's type, or the ending of the file it came from."""
    if draft.label is not None:
        return draft.label
    ending = (draft.source.ref or "").rpartition(".")[2].lower()
    return ending if ending in _FORMS else None


def plainly(redactor: Redactor, value: str) -> str:
    """A text as it was, but for personal data, also where markup hides it."""
    kept = redactor.text(value)
    if not _MARKED.intersection(kept):
        return kept
    shown = (chunk.text for chunk in scrub.chunks_of(kept))
    if all(redactor.text(text) == text for text in shown):
        return kept
    return scrub.scrub(kept, scrub.IN_MESH, redact=redactor.text).content


def _plainly(redactor: Redactor, value: str | None) -> str | None:
    return None if value is None else plainly(redactor, value)


def _maybe(redactor: Redactor, value: str | None) -> str | None:
    return None if value is None else redactor.text(value)
