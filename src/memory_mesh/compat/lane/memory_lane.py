"""`MemoryLane`: Memory Lane's store, find and feedback, blocking, over a mesh.

A collection is the mesh's namespace. What is found is used: its count and last access move, and by
them it fades. Who wins over whom is decided by the mesh's rules, never by what a caller says of it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from memory_mesh.base.typed import Any, dataclass, replace
from memory_mesh.compat.lane import translate, translate as words
from memory_mesh.mesh.operation import CamelCaseNames, DocumentOperation, Operations
from memory_mesh.model import Hit, Json, Memory, NotFound, Receipt, Scope, Status
from memory_mesh.rules.arguments import check_text
from memory_mesh.search.ranking import fusion, profiles
from memory_mesh.sync import MemoryMesh

LIMIT = 5
_PAGE = 1_000  # blocks read at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSettings:
    """Memory Lane's settings, by default its own."""

    db_path: str = "~/.opencode/memories.db"
    embedding_model: str = "mixedbread-ai/mxbai-embed-large-v1"
    dimension: int = 1_024
    lm_studio_url: str = "http://127.0.0.1:1234"
    min_score_threshold: float = profiles.LANE_MIN_SIMILARITY
    min_score_of_an_entity: float = profiles.LANE_MIN_ENTITY_SIMILARITY

    def embedder(self) -> dict[str, Any]:
        """Settings of a mesh that asks LM Studio for its vectors: `MemoryMesh(**…)`."""
        return {
            "embedder": "openai",
            "embedder_base_url": f"{self.lm_studio_url.rstrip('/')}/v1",
            "embedder_model": self.embedding_model,
            "embedder_dimension": self.dimension,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneResult:
    """One memory found, with its final score and what time left of it when it was scored."""

    id: str
    content: str
    score: float
    collection: str
    metadata: Mapping[str, Json]
    effective_confidence: int
    decay_factor: float


class MemoryLane(CamelCaseNames, Operations):
    """Memory Lane over a mesh; whoever opened the mesh closes it."""

    _operation = DocumentOperation

    def __init__(self, mesh: MemoryMesh, *, settings: LaneSettings | None = None) -> None:
        self._mesh = mesh
        self.settings: LaneSettings = settings or LaneSettings()

    def store(
        self,
        content: str,
        metadata: Mapping[str, object],
        *,
        scope: Scope | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Keep a memory under its `memory_type`; its entities are found in the text as well.

        What it `supersedes` gives way where this channel could have written it.
        What is stored again with the same `key` is stored once.
        """
        said = self._mesh._redacted(check_text(content, "content"))  # its keywords are stored too
        kept, details = words.details(said, metadata)
        if scope is not None:
            details["scope"] = scope
        if key is not None:
            details["key"] = key
        earlier = metadata.get("supersedes")
        draft = self._mesh._draft(content, kept, details)
        if isinstance(earlier, Sequence):
            draft = replace(draft, supersedes=tuple(map(str, earlier)))
        return self._mesh.add_many([draft])[0]

    def find(
        self,
        query: str,
        limit: int = LIMIT,
        *,
        entities: Sequence[str] = (),
        scope: Scope | None = None,
    ) -> list[LaneResult]:
        """The best memories, those of any of the entities where some are named; finding is use."""
        about = words.checked_entities(entities)
        settings = self.settings
        hits = self._mesh.search(
            query,
            limit=limit,
            filter=_about(about),
            use_cache=False,  # decay moves with the time and with every use
            scope=scope,
            profile="lane",
            rerank=False,  # Memory Lane's own order
            min_similarity=(
                settings.min_score_of_an_entity if about else settings.min_score_threshold
            ),
        )
        if hits:
            self._mesh.get_many([hit.id for hit in hits], scope=scope)
            ledger, namespace = self._mesh._opened().ledger, self._mesh.config.namespace
            ledger.flush(namespace)  # the next search scores by what this one found
        now = self._now()
        return [_result(hit, now) for hit in hits]

    def feedback(self, memory_id: str, *, helpful: bool, scope: Scope | None = None) -> None:
        """Rate a memory: helpful times 1.1, harmful times 0.5, from 0.1 to 2; each time counts."""
        self._known(memory_id, scope)
        self._mesh.rate(memory_id, helpful=helpful, scope=scope)

    def metadata(self, memory_id: str, *, scope: Scope | None = None) -> dict[str, Json]:
        """All that is known of one memory, its observations counted; this is no use of it."""
        versions = self._known(memory_id, scope)
        memory, begun = versions[-1], versions[0].recorded_from
        again = self._observed_again(memory_id, begun)
        seen = words.Sightings(1 + len(again), memory.created, again[-1] if again else begun)
        chain = self._mesh.review.chain(memory_id, scope=scope)
        earlier = [each.id for each in chain if each.successor == memory_id]
        return words.metadata(memory, self._now(), observed=seen, supersedes=earlier)

    def _known(self, memory_id: str, scope: Scope | None) -> list[Memory]:
        versions = self._mesh.history(memory_id, scope=scope)
        if not versions or versions[-1].status is Status.DELETED:
            raise NotFound.of(memory_id)
        return versions

    def _observed_again(self, memory_id: str, since: datetime) -> list[datetime]:
        """When its text came in once more, by the blocks that it left."""
        ledger, namespace = (
            self._mesh._opened().ledger,
            self._mesh.config.namespace,
        )  # a surface of the same house
        found, after = list[datetime](), 0
        while blocks := ledger.blocks(namespace, after, _PAGE, since):
            after = blocks[-1].seq or 0
            found += [
                block.entry.at
                for block in blocks
                if block.entry.metadata.get("type") == "merge" and memory_id in block.entry.memories
            ]
        return found

    def _now(self) -> datetime:
        return self._mesh._now()  # the clock that the mesh scores by


def _about(entities: Sequence[str]) -> str | None:
    """The filter on entities: a slug has no character that a filter could read otherwise."""
    if not entities:
        return None
    quoted = ", ".join(f"'{slug}'" for slug in entities)
    return f"tags IN ({quoted})"


def _result(hit: Hit, now: datetime) -> LaneResult:
    decay = hit.parts.get("decay_factor")
    if decay is None:  # a newer statement that came along unasked has no parts
        decay = fusion.decay(hit.memory, now)
    return LaneResult(
        id=hit.id,
        content=hit.content,
        score=hit.score,
        collection=words.collection(hit.memory),
        metadata=words.metadata(hit.memory, now),
        effective_confidence=translate.effective_confidence(
            words.confidence_score(hit.memory), decay
        ),
        decay_factor=decay,
    )
