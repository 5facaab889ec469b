"""THE place that redacts, scrubs and embeds: texts made ready for the ledger and for a search.

::

    Draft ── redact ──▶ scrub ──▶ content (stored)    ──▶ hash
                              └─▶ chunks (stripped)   ──▶ terms, vectors with the span of each
    Query ── redact ──▶ embed ──▶ PreparedQuery

Every text that enters is redacted here and nowhere else: drafts, skills, queries, filters, reasons,
topics, scopes and names of predicates. Nothing here touches the store. If the scrubber fails, the
caller gets its error and no raw text is stored. If no embedder answers, the text is stored without
a vector and waits for one (late_vectors.py).
"""

from collections.abc import Mapping, Sequence

from memory_mesh import privacy
from memory_mesh.base.digests import sha256
from memory_mesh.base.typed import TYPE_CHECKING, Any, TypeAlias, TypeVar, dataclass, replace
from memory_mesh.model import (
    Claim,
    Conflict,
    Draft,
    EmbeddingError,
    Heritage,
    Indexed,
    Json,
    Lesson,
    Memory,
    MeshError,
    Query,
    Scope,
    SkillDraft,
    Source,
    Space,
    Span,
    TextRefused,
    Wording,
)
from memory_mesh.model.ports import Embedder, Redactor
from memory_mesh.model.query import (
    Among,
    And,
    Between,
    Compare,
    Field,
    Filter,
    IsNull,
    Like,
    MetadataKey,
    Not,
    Or,
    Value,
)
from memory_mesh.model.trace import LABEL as TRACE
from memory_mesh.platform import telemetry
from memory_mesh.privacy.redactor import RawInput, kept_goal, kept_value
from memory_mesh.rules.arguments import MEMORY_CHARS
from memory_mesh.text import analyzer
from memory_mesh.text.question import Reading
from memory_mesh.write.access import Access

if TYPE_CHECKING:
    from memory_mesh.text.scrub import Chunk

_IDENTITIES = frozenset({"project", "agent_id", "session_id", "source", "source_ref"})

_MARKUP = frozenset("*_`<&[\\~")

Said = TypeVar("Said", Draft, Memory)
Named = TypeVar("Named", str, str | None)
Worded: TypeAlias = tuple[Draft, Wording]
Clean: TypeAlias = "tuple[Draft, Wording, tuple[Chunk, ...]]"
Vectors = tuple[Space, tuple[bytes, ...], tuple[Span | None, ...]]
_FORMS = ("html", "htm", "md", "markdown", "document")
_NAMES_IN_IT = ("label", "speaker", "role", "skill", "topic", "quarantine")
_LISTS_IN_IT = ("tags", "triggers", "notes")
_REASON_CHARS = 300  # of an embedder's error that a warning shows
_REFUSED_TEXT = "the embedder does not take this text; keywords find it"


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A question taken apart, with its vector and space, or with the reason why it has none."""

    space: Space | None = None
    vector: bytes = b""
    note: str | None = None
    reading: Reading = Reading("", ())


def clean(access: Access, draft: Draft) -> Clean:
    """The draft without personal data and noise, its wording and its chunks."""
    from memory_mesh.text import scrub  # a search does not need it

    given, draft = draft, redact_statement(access, _without_raw_input(access, draft))
    redactor = _redactor_for(access, draft)
    if draft.key is not None:
        from memory_mesh.write.rules.drafts import owned_key

        draft = replace(draft, key=owned_key(draft, access.agent))
    if len(draft.text) > MEMORY_CHARS:  # it will be refused, whatever is in it
        return draft, Wording(draft.text, b"", ""), ()
    declared = _declared(draft)
    scrubbed = scrub.scrub(
        draft.text,
        scrub.IN_MESH,
        form=None if declared is None else scrub.form_of(draft.text, declared),
        redact=None if redactor is None else redactor.text,
        source=draft.source.ref,
    )
    if scrubbed.content != draft.text:
        draft = replace(draft, text=scrubbed.content)
    replaced = redacted_values(access, given, draft)
    if draft.claim is not None or (
        access.read_claims and draft.lesson is None and draft.topic is None
    ):
        claim = _claim(draft)
        draft = draft if claim is draft.claim else replace(draft, claim=claim)
    wording = tagged(word(draft.text, scrubbed.plain), draft.tags)
    left_out = scrubbed.removed
    if "<" in given.text and given.text.count("<") > draft.text.count("<"):
        left_out = (*left_out, "HTML markup")
    if replaced or left_out:
        wording = replace(wording, redacted=replaced, left_out=left_out)
    return draft, wording, scrubbed.chunks


def _claim(draft: Draft) -> Claim | None:
    """The claim that a draft states, under its keys, or the one that its text makes."""
    from memory_mesh.write import claims
    from memory_mesh.write.rules.speakers import first_person

    if draft.claim is not None:
        return claims.keyed(draft.claim)
    speaker, we = first_person(draft)
    return claims.read(draft.text, speaker=speaker, we=we)


def redacted_values(
    access: Access, given: Draft | SkillDraft, draft: Draft | SkillDraft
) -> Mapping[str, int]:
    """Counts the different values that were replaced anywhere in a draft, by kind.

    The first time in a process, Python is told so and how to keep what may be kept.
    """
    if access.redactor is None or draft is given or draft == given:
        return {}
    counts = privacy.redacted(repr(given), repr(draft))
    if counts and access.warns:
        listed = ", ".join(f'"{kind}"' for kind in privacy.KEEPABLE if kind in counts) or '"email"'
        telemetry.warn_once(
            "redacted",
            f"replaced before storing: {', '.join(counts)}. To keep {', '.join(privacy.KEEPABLE)}: "
            f'MemoryMesh(settings={{"keep": [{listed}]}}), or keep = [{listed}] in the '
            "configuration file",
        )
    return counts


def embed(access: Access, cleaned: Sequence[Clean], *, news: Sequence[bool]) -> list[Worded]:
    """The drafts with their wordings; those that are news with vectors, if an embedder answers."""
    chunked = [chunks if new else () for (_, _, chunks), new in zip(cleaned, news, strict=True)]
    embedded, failure = _embedded(access.embedder, chunked)
    return [
        (draft, _with_vectors(wording, vectors, failure if chunks else None))
        for (draft, wording, _), vectors, chunks in zip(cleaned, embedded, chunked, strict=True)
    ]


def embed_question(access: Access, query: Query, reading: Reading) -> PreparedQuery:
    """Embeds the query; on failure returns the reason and no vector."""
    if access.embedder is None or query.keyword_only or not query.text.strip():
        return PreparedQuery(reading=reading)
    try:
        embedding = access.embedder.embed([reading.text], query=True)
    except EmbeddingError as error:
        embedder_failed(error)
        return PreparedQuery(note=str(error), reading=reading)
    return PreparedQuery(embedding.space, embedding.vectors[0][0], embedding.note, reading)


def redact(access: Access, text: Named) -> Named:
    """One text without personal data and secrets."""
    return redact_with(access.redactor, text)


def redact_in_trace(access: Access, text: str) -> str:
    """One text of a trace without personal data, secrets and names of the user."""
    return redact_with(access.trace_redactor or access.redactor, text)


def redact_with(redactor: Redactor | None, text: Named) -> Named:
    """One text without personal data and secrets, before there is an Access."""
    return text if redactor is None or text is None else redactor.text(text)


def redact_filter(redactor: Redactor | None, node: "Filter") -> "Filter":
    """A filter that finds what is stored: redacted as the values it is compared with."""
    return node if redactor is None else redacted(redactor, node)


def redact_details(access: Access, given: Mapping[str, Json]) -> dict[str, Json]:
    """Details of a memory as JSON, without personal data and secrets in any of their texts.

    Numbers of their own stay, as in a memory: a position or a weight is no card number.
    """
    if access.redactor is None:
        return dict(given)
    texts = {name: value for name, value in given.items() if not isinstance(value, int | float)}
    if isinstance(claim := texts.get("claim"), Mapping):
        about = (claim.get("subject"), claim.get("predicate"))
        values = {
            name: redact_value(access.redactor, claim[name], *about)
            for name in ("value", "replaces")
            if name in claim
        }
        texts["claim"] = {**claim, **values}
    found = access.redactor.json(texts)
    return dict(given) | dict(found) if isinstance(found, Mapping) else {}


def redact_source(access: Access, source: Source) -> Source:
    """A source without personal data and secrets in its names."""
    return source if access.redactor is None else redact_origin(access.redactor, source)


def redact_conflict(access: Access, conflict: Conflict) -> Conflict:
    """A conflict of another store without personal data and secrets in its reasons."""
    reason, why = redact(access, conflict.reason), redact(access, conflict.why)
    return replace(conflict, reason=reason, why=why)


def goal_as_kept(access: Access, goal: str) -> str:
    """A goal as a trace would keep it, to compare it with the goals of traces."""
    return redact_with(access.trace_redactor or access.redactor, _kept_goal(access, goal))


def redact_identity(redactor: Redactor | None, text: Named) -> Named:
    """What identifies a project, an agent or a file, with the names of people in it."""
    return text if redactor is None or text is None else redactor.identity(text)


def redact_scope(redactor: Redactor | None, scope: Scope) -> Scope:
    """A scope as the ledger holds it; equal names get equal placeholders, so it still matches."""
    if redactor is None:
        return scope
    parts = tuple(redact_identity(redactor, part) for part in scope.parts)
    return scope if parts == scope.parts and not scope.names else Scope(*parts)


def redact_statement(access: Access, said: Said) -> Said:
    """Everything around a text that may hold personal data; `clean` redacts the text itself."""
    if (redactor := _redactor_for(access, said)) is None:
        return _keyed(said)
    changed: dict[str, Any] = {
        name: redactor.text(text)
        for name in _NAMES_IN_IT
        if (text := getattr(said, name, None)) is not None
    }
    for name in _LISTS_IN_IT:
        if texts := getattr(said, name, ()):
            changed[name] = tuple(redactor.text(text) for text in texts)
    changed["scope"] = redact_scope(redactor, said.scope)
    changed["source"] = redact_origin(redactor, said.source)
    if said.extra:
        changed["extra"] = redactor.json(dict(said.extra))
    if said.claim is not None:
        changed["claim"] = redact_claim(redactor, said.claim)
    if said.lesson is not None:
        changed["lesson"] = redact_lesson(redactor, said.lesson)
    if said.heritage is not None:
        changed["heritage"] = redact_heritage(redactor, said.heritage)
    if isinstance(said, Draft):
        changed |= _redacted_ids(redactor, said)
    changed = {name: value for name, value in changed.items() if value is not getattr(said, name)}
    return _keyed(replace(said, **changed) if changed else said)


def _redacted_ids(redactor: Redactor, draft: Draft) -> dict[str, Any]:
    """The keys and ids of a draft; those of another store are words of others."""
    changed: dict[str, Any] = {}
    if draft.key is not None:
        changed["key"] = redactor.identity(draft.key)
    if draft.derived_from:
        changed["derived_from"] = tuple(map(redactor.identity, draft.derived_from))
    if draft.origin is not None:
        changed["origin"] = replace(draft.origin, id=redactor.identity(draft.origin.id))
    return changed


def _redactor_for(access: Access, said: Draft | Memory) -> Redactor | None:
    """The redactor of a statement; that of a trace knows the user's own names as well."""
    if said.label == TRACE and access.trace_redactor is not None:
        return access.trace_redactor
    return access.redactor


def _without_raw_input(access: Access, draft: Draft) -> Draft:
    """A trace with as much of the user's words as the settings allow; any other draft as it is."""
    if draft.label != TRACE or access.raw_input == "scrub":
        return draft
    kept = _kept_goal(access, draft.text)
    extra = {name: kept_value(value, draft.text, kept) for name, value in draft.extra.items()}
    return replace(draft, text=kept, extra=extra)


def _kept_goal(access: Access, goal: str) -> str:
    return goal if access.raw_input == "scrub" else kept_goal(goal, RawInput(access.raw_input))


def redact_skill(access: Access, draft: SkillDraft) -> SkillDraft:
    """Redacts a skill; the rest of its text is unchanged."""
    if (redactor := access.redactor) is None:
        return draft
    metadata = redactor.json(dict(draft.metadata))
    return replace(
        draft,
        text=redact_markup(redactor, draft.text),
        metadata=metadata if isinstance(metadata, Mapping) else {},
        scope=redact_scope(redactor, draft.scope),
        source=redact_origin(redactor, draft.source),
        origin=None
        if draft.origin is None
        else replace(draft.origin, id=redactor.identity(draft.origin.id)),
    )


def _keyed(said: Said) -> Said:
    """A changed memory with its claim under its keys; `clean` looks up those of a draft."""
    if said.claim is None or isinstance(said, Draft):
        return said
    from memory_mesh.write.claims import keyed  # few texts are claims

    return replace(said, claim=keyed(said.claim))


def word(text: str, plain: str) -> Wording:
    """What identifies a text and what finds it: its hash and the terms of its stripped form."""
    from memory_mesh.text.recited import fingerprint

    terms = analyzer.joined_terms(plain or text)
    return Wording(text, sha256(text.encode()).digest(), terms, fingerprint(text))


def tagged(wording: Wording, tags: Sequence[str]) -> Wording:
    """The wording with the terms of its tags added, so that they find it as well."""
    if not tags:
        return wording
    held = frozenset(wording.terms.split())
    added = dict.fromkeys(term for tag in tags for term in analyzer.terms(tag))
    more = [term for term in added if term not in held]
    return replace(wording, terms=" ".join((wording.terms, *more)).strip()) if more else wording


def retagged(memory: Memory, tags: Sequence[str]) -> Wording | None:
    """The wording of a memory whose tags change, or None where the same terms find it."""
    own = _stored_wording(memory.text)
    new = tagged(own, tags)
    return None if new == tagged(own, memory.tags) else new


def terms_of(entry: Indexed) -> tuple[str, ...]:
    """The terms that a stored text, or the fields of a skill, would be written with today."""
    if len(entry.said) > 1:
        return tuple(" ".join(analyzer.terms(said)) for said in entry.said)
    (text,) = entry.said
    return (tagged(_stored_wording(text), entry.tags).terms,)


def _stored_wording(text: str) -> Wording:
    """The wording of a stored text without its tags."""
    from memory_mesh.text import scrub

    return word(text, "\n".join(chunk.text for chunk in scrub.chunks_of(text)))


def embed_one(embedder: Embedder | None, text: str) -> tuple[Space, bytes] | None:
    """One vector for one short text, or None where none can be had."""
    if embedder is None or not text.strip():
        return None
    try:
        embedding = embedder.embed([text])
    except EmbeddingError as error:
        embedder_failed(error)
        return None
    return embedding.space, embedding.vectors[0][0]


def embedder_failed(error: EmbeddingError) -> None:
    """Warns once per process that there are no vectors; a refused text is no failure."""
    if isinstance(error, TextRefused):
        return
    telemetry.warn_once(
        "embedder",
        f"the embedder fails: {cut_reason(error)}. Texts are stored and found by keyword; their "
        "vectors are made once it works again",
    )


def cut_reason(error: MeshError) -> str:
    """The reason of a failure for a message: without secrets, cut after a word."""
    reason = privacy.masked(str(error)).rstrip(".")
    if len(reason) <= _REASON_CHARS:
        return reason
    return f"{reason[:_REASON_CHARS].rpartition(' ')[0]} …"


def _with_vectors(wording: Wording, vectors: Vectors | None, failure: str | None) -> Wording:
    """The wording with its vectors, or with the reason why it has none."""
    if vectors is None:
        return wording if failure is None else replace(wording, pending=failure)
    space, data, spans = vectors
    return replace(wording, space=space, vectors=data, spans=spans)


def _embedded(
    embedder: Embedder | None, chunked: "Sequence[Sequence[Chunk]]"
) -> tuple[Sequence[Vectors | None], str | None]:
    """Vectors of each text's chunks, None for those that must wait, and why they must."""
    if embedder is None or not any(chunked):
        return [None] * len(chunked), None
    try:
        return embed_chunks(embedder, chunked), _REFUSED_TEXT
    except EmbeddingError as error:
        embedder_failed(error)
        return [None] * len(chunked), str(error)


def embed_chunks(embedder: Embedder, chunked: "Sequence[Sequence[Chunk]]") -> list[Vectors | None]:
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


# How `prepare` redacts the parts of a statement: source, claim, lesson, heritage, markup.


def redact_markup(redactor: Redactor, value: str) -> str:
    """A text as it was but for personal data, also where markup hides it."""
    from memory_mesh.text import scrub

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


def redacted(redactor: Redactor, node: Filter) -> Filter:
    """The filter without personal data and secrets in its literals and metadata keys."""
    match node:
        case And(parts):
            return And(tuple(redacted(redactor, part) for part in parts))
        case Or(parts):
            return Or(tuple(redacted(redactor, part) for part in parts))
        case Not(part):
            return Not(redacted(redactor, part))
        case Compare(field, sign, value):
            return Compare(_field(redactor, field), sign, _value(redactor, field, value))
        case Among(field, values):
            found = tuple(_value(redactor, field, value) for value in values)
            return Among(_field(redactor, field), found)
        case Like(field, pattern):
            return Like(_field(redactor, field), str(_value(redactor, field, pattern)))
        case Between(field, low, high):
            ends = (_value(redactor, field, end) for end in (low, high))
            return Between(_field(redactor, field), *ends)
        case IsNull(field):
            return IsNull(_field(redactor, field))


def _field(redactor: Redactor, field: Field) -> Field:
    return MetadataKey(redactor.text(field.name)) if isinstance(field, MetadataKey) else field


def _value(redactor: Redactor, field: Field, value: Value) -> Value:
    """A literal; of a metadata key it is context, as X is a password under that name."""
    if isinstance(field, MetadataKey):
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            return value
        found: Json = redactor.json({field.name: value})
        kept = next(iter(found.values())) if isinstance(found, Mapping) else value
        return kept if isinstance(kept, str | int | float) else value
    if not isinstance(value, str):
        return value
    return redactor.identity(value) if field in _IDENTITIES else redactor.text(value)
