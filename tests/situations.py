"""Ordinary situations of a write, for tools/write_situations.py and its test."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from memory_mesh.model import (
    Channel,
    Draft,
    Embedding,
    Kind,
    Lesson,
    Origin,
    Receipt,
    Scope,
    Severity,
    SkillReceipt,
    Source,
    SourceKind,
)
from memory_mesh.model.errors import EmbeddingError
from memory_mesh.sync import MemoryMesh

TEA = "Tea is in the second drawer"
CARD = "4111 1111 1111 1111"
CLOSES = {"subject": "office", "predicate": "closes at"}
AT_18, AT_19 = CLOSES | {"value": "18:00"}, CLOSES | {"value": "19:00"}
SKILL = "---\nname: deploy\nintent: deploy the API\n---\n1. Run the tests\n2. Push"

Preparation = Callable[[MemoryMesh], str | None]
Write = Callable[[MemoryMesh], Receipt | SkillReceipt]


class FailingEmbedder:
    """An embedder whose model is gone."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """Always fails."""
        raise EmbeddingError("the model file is missing")

    def close(self) -> None:
        """Nothing is open."""


def nothing(_: MemoryMesh) -> None:
    """An empty store."""


def adding(content: str, metadata: Mapping[str, object] | None = None, **options: object) -> Write:
    """One `add` by the channel `by`, the library's where none is given."""
    channel = options.pop("by", None)

    def write(mesh: MemoryMesh) -> Receipt:
        view = mesh if channel is None else mesh.view(channel=Channel(str(channel)))
        item = {"content": content, **options}
        return view.add_many([item if metadata is None else item | {"metadata": metadata}])[0]

    return write


def after(*writes: Write) -> Preparation:
    """A store in which these were written; the id of the last one."""

    def prepare(mesh: MemoryMesh) -> str | None:
        return [write(mesh).id for write in writes][-1]

    return prepare


@dataclass(frozen=True)
class Situation:
    """What is there, and what is written or run then."""

    title: str
    write: Write | None = None
    before: Preparation = nothing
    command: tuple[str, ...] = ()  # {id} is the id of the last memory, {folder} the store's
    files: Mapping[str, str] = field(default_factory=dict)
    redact: bool = True
    embedder: FailingEmbedder | None = None


def lesson(confidence: float, rule: str, kind: SourceKind = SourceKind.USER_EXPLICIT) -> Write:
    """A lesson of one pattern."""
    taught = Lesson(
        id="lesson_1",
        pattern_id="p1",
        error_pattern="deploy without a backup",
        applies_to="deploys",
        severity=Severity.HIGH,
        rule=rule,
        confidence=confidence,
        situation="a deploy on a Friday",
        oversight="nobody looked",
        fix="restored a copy",
    )
    draft = Draft(text=rule, kind=Kind.LESSON, lesson=taught, source=Source(kind))
    return lambda mesh: mesh.add_many([draft])[0]


def imported(text: str, id_: str = "mem_1700000000000_abcdef") -> Write:
    """A memory that brings its id along from another store."""
    origin = Origin(id_, datetime(2024, 1, 1, tzinfo=UTC))
    source = Source(SourceKind.DOCUMENT, Channel.IMPORT)
    return lambda mesh: mesh.add_many([Draft(text=text, origin=origin, source=source)])[0]


def rejected(mesh: MemoryMesh) -> None:
    """A memory that a person rejected."""
    receipt = adding(TEA, quarantine="not sure")(mesh)
    mesh.review(str(receipt.id), approve=False)


def deleted(mesh: MemoryMesh) -> str | None:
    """A memory with a key that was deleted."""
    id_ = adding(TEA, key="tea-1")(mesh).id
    mesh.delete(str(id_))
    return id_


def registered(mesh: MemoryMesh) -> None:
    """A predicate that requires review, and a memory."""
    mesh.review.register_predicates({"closes at": {"conflict_policy": "require_review"}})
    adding("The office closes at 18:00", claim=AT_18)(mesh)


def derived(mesh: MemoryMesh) -> Receipt | SkillReceipt:
    """A memory made from one of a web page."""
    source = str(adding(TEA, by="web")(mesh).id)
    return adding("Tea is liked", derived_from=[source], importance=0.9)(mesh)


def skill(text: str = SKILL, by: str | None = None) -> Write:
    """One skill, handed in by a channel."""
    return lambda mesh: (mesh if by is None else mesh.view(channel=Channel(by))).ingest_skill(text)


SITUATIONS = (
    Situation("a new text", adding(TEA)),
    Situation("the same text again", adding(TEA), after(adding(TEA))),
    Situation(
        "the same text with new tags and new metadata",
        adding(TEA, {"shelf": 2}, tags=["kitchen"]),
        after(adding(TEA, {"color": "red"})),
    ),
    Situation(
        "the same text with another value of a metadata key",
        adding(TEA, {"color": "blue"}),
        after(adding(TEA, {"color": "red"})),
    ),
    Situation(
        "the same text, with tags, from a less trusted source",
        adding(TEA, {"shelf": 2}, tags=["spam"], by="web"),
        after(adding(TEA)),
    ),
    Situation(
        "the same text with another speaker and importance",
        adding(TEA, speaker="Ann", importance=0.9),
        after(adding(TEA)),
    ),
    Situation("the same text for another project", adding(TEA, scope=Scope(project="p")),
              after(adding(TEA))),
    Situation("the same text, a duplicate allowed", adding(TEA, allow_duplicate=True),
              after(adding(TEA))),
    Situation("the same text with another user in its metadata", adding(TEA, {"user_id": "bob"}),
              after(adding(TEA, {"user_id": "ann"}))),
    Situation("the same text for another valid time", adding(TEA, valid_from="2025-01-01"),
              after(adding(TEA))),
    Situation("a card number", adding(f"Pay with {CARD}")),
    Situation("an e-mail address", adding("Ask bob@example.com or ann@example.com")),
    Situation("a password", adding("The password = 'swordfish99'")),
    Situation("an e-mail address in a tag and in metadata",
              adding(TEA, {"owner": "bob@example.com"}, tags=["ann@example.com"])),
    Situation("an order number that looks like a card", adding(f"order number {CARD} has arrived")),
    Situation("a parcel number that looks like a card", adding(f"The parcel {CARD} has arrived")),
    Situation("a card number, redaction switched off", adding(f"Pay with {CARD}"), redact=False),
    Situation("a contradiction, stated as a claim",
              adding("The office closes at 19:00", claim=AT_19),
              after(adding("The office closes at 18:00", claim=AT_18))),
    Situation("a contradiction, read from plain text", adding("The API listens on port 8081"),
              after(adding("The API listens on port 8080"))),
    Situation("a change, read from plain text",
              adding("The API timeout was raised to 60 seconds"),
              after(adding("The API timeout is 30 seconds"))),
    Situation("a contradiction, read from a less trusted source",
              adding("The API listens on port 8081", by="web"),
              after(adding("The API listens on port 8080"))),
    Situation("a contradiction of which no rule is sure", adding("We store sessions in Postgres"),
              after(adding("We store sessions in Redis"))),
    Situation("an older value that is said again", adding("The API listens on port 8080"),
              after(adding("The API listens on port 8080"),
                    adding("The API listens on port 8081"))),
    Situation("a contradiction from a less trusted source",
              adding("The office closes at 19:00", claim=AT_19, by="web"),
              after(adding("The office closes at 18:00", claim=AT_18))),
    Situation("a contradiction from a less trusted source, to be kept active",
              adding("The office closes at 19:00", claim=AT_19, by="web", keep_active=True),
              after(adding("The office closes at 18:00", claim=AT_18))),
    Situation("a contradiction where the predicate requires review",
              adding("The office closes at 19:00", claim=AT_19), registered),
    Situation("the same claim in other words",
              adding("At 18:00 the office shuts", claim=AT_18),
              after(adding("The office closes at 18:00", claim=AT_18))),
    Situation("a lesson from an agent", lesson(0.9, "Check the backup", SourceKind.INFERENCE)),
    Situation("a lesson that is more certain", lesson(0.9, "Check the backup first"),
              after(lesson(0.7, "Look at the backup"))),
    Situation("a lesson that is less certain", lesson(0.5, "Look at the backup"),
              after(lesson(0.9, "Check the backup first"))),
    Situation("a repeated idempotency key", adding(TEA, key="tea-1"),
              after(adding(TEA, key="tea-1"))),
    Situation("a repeated idempotency key with other tags", adding(TEA, key="tea-1", tags=["b"]),
              after(adding(TEA, key="tea-1"))),
    Situation("a repeated idempotency key, the memory deleted", adding(TEA, key="tea-1"), deleted),
    Situation("a deleted text again", adding(TEA), deleted),
    Situation("an empty text", adding("  ")),
    Situation("a text that is too long", adding("x" * 100_001)),
    Situation("an agent repeats what it recalled", adding(TEA, by="mcp"), after(adding(TEA))),
    Situation("an import, run twice", imported(TEA), after(imported(TEA))),
    Situation("an import whose id is taken", imported("Coffee is cold"), after(imported(TEA))),
    Situation("an agent pins a memory", adding(TEA, pinned=True, by="mcp")),
    Situation("an agent gives a high importance", adding(TEA, importance=0.9, by="mcp")),
    Situation("an agent states that the user said it",
              adding(TEA, source_kind="user_explicit", by="mcp")),
    Situation("an importance that metadata overrules",
              adding(TEA, {"importance_score": 0.2}, importance=0.9)),
    Situation("an embedder that fails", adding(TEA), embedder=FailingEmbedder()),
    Situation("a rejected text comes back", adding(TEA), rejected),
    Situation("HTML", adding("<html><body><nav>Home</nav><h1>Tea</h1><p>Two <b>cups</b> a day</p>"
                             "<script>track()</script></body></html>")),
    Situation("a text that was true in the past", adding(TEA, valid_until="2020-01-01")),
    Situation("a text that becomes true later", adding(TEA, valid_from="2999-01-01")),
    Situation("made from a memory that is not there", adding(TEA, derived_from=["mem_1_000000"])),
    Situation("made from a less trusted memory", derived),
    Situation("a text that asks for review", adding(TEA, quarantine="not sure")),
    Situation("a text that waits for review, again",
              adding(TEA, quarantine="not sure", tags=["kitchen"]),
              after(adding(TEA, quarantine="not sure"))),
    Situation("a skill", skill()),
    Situation("a skill with an e-mail address", skill(f"{SKILL}\n3. Tell bob@example.com")),
    Situation("another text of a skill", skill(f"{SKILL}\n3. Rest"), after(skill())),
    Situation("the same skill again", skill(), after(skill())),
    Situation("a skill from an agent", skill(by="mcp")),
    Situation("`update`", before=after(adding(TEA)),
              command=("update", "--id", "{id}", "--content", "Ask bob@example.com for tea")),
    Situation("`delete`", before=after(adding(TEA)), command=("delete", "--id", "{id}")),
    Situation("`restore`", before=deleted, command=("restore", "--id", "{id}")),
    Situation("`ingest-dir`", before=after(adding("One page about tea")),
              files={"a.txt": "One page about tea", "b.txt": "By bob@example.com"},
              command=("ingest-dir", "{folder}", "--extension", "txt")),
)  # fmt: skip
