"""`MemoryGraph`: neolata's verbs over a `MemoryMesh`, blocking and thread-safe.

`store(agent)` writes for that agent alone and as that agent; a search without an agent leaves the
agent out of the test and nothing else. A verb that is given an id reaches every agent's and every
session's memories of this project. The async `memory_mesh.compat.neolata.MemoryGraph` is generated
from this file; see `tools/generate_async.py`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from types import TracebackType

from memory_mesh import config as configuration
from memory_mesh.compat.neolata import translate
from memory_mesh.compat.neolata.model import GraphHits, GraphMemory, GraphMeta
from memory_mesh.compat.neolata.translate import compute_trust
from memory_mesh.errors import InvalidInput, NotFound
from memory_mesh.fastdataclass import replace
from memory_mesh.model import (
    Channel,
    Claim,
    Conflict,
    Draft,
    Hits,
    Lens,
    Memory,
    PredicateSchema,
    Query,
    Receipt,
    Resolution,
    Scope,
    Status,
)
from memory_mesh.policy.arguments import check_limit, check_share, check_text, options_given
from memory_mesh.ports import Clock, Embedder, Sink
from memory_mesh.sync import MemoryMesh
from memory_mesh.typed import Self

__all__ = ["MemoryGraph", "compute_trust", "create_memory"]

Schemas = Mapping[str, PredicateSchema | Mapping[str, str]]
_THREADS = 8  # queries of one call that are answered at the same time
_EVERYBODY = frozenset({"agent", "session"})
_DEEP_LIMIT = 100  # memories read to prefer a session or to count what is left out


def create_memory(
    *,
    predicate_schemas: Schemas | None = None,
    channel: Channel = Channel.LIBRARY,
    clock: Clock | None = None,
    sinks: Sequence[Sink] = (),
    custom_embedder: Embedder | None = None,
    # begin generated options (settings)
    db_dir: str | PathLike[str] | None = None,
    namespace: str | None = None,
    agent_id: str | None = None,
    project: str | None = None,
    session: str | None = None,
    allow_network_folder: bool | None = None,
    enable_yamo: bool | None = None,
    enable_memory: bool | None = None,
    enable_llm: bool | None = None,
    llm_provider: str | None = None,
    llm_model: str | None = None,
    llm_api_key: str | None = None,
    llm_base_url: str | None = None,
    llm_max_tokens: int | None = None,
    skill_directories: str | Sequence[str] | None = None,
    enable_wisdom_distillation: bool | None = None,
    lesson_min_confidence: float | None = None,
    lesson_retention_days: int | None = None,
    enable_heritage_tracking: bool | None = None,
    max_heritage_depth: int | None = None,
    session_days: int | None = None,
    recall_days: int | None = None,
    consolidate_traces: int | None = None,
    consolidate_days: int | None = None,
    retention_hours: int | None = None,
    retention_consolidate_days: int | None = None,
    retention_compress_days: int | None = None,
    embedder: str | None = None,
    embedder_model: str | None = None,
    embedder_api_key: str | None = None,
    embedder_base_url: str | None = None,
    embedder_dimension: int | None = None,
    embedder_threads: int | None = None,
    model_dir: str | PathLike[str] | None = None,
    models_dir: str | PathLike[str] | None = None,
    reranker: str | None = None,
    reranker_model: str | None = None,
    reranker_api_key: str | None = None,
    reranker_base_url: str | None = None,
    reranker_candidates: int | None = None,
    reranker_chars: int | None = None,
    reranker_timeout: float | None = None,
    redact: bool | None = None,
    privacy_rules: Sequence[Mapping[str, object]] | None = None,
    private_names: str | Sequence[str] | None = None,
    own_names: str | None = None,
    raw_input: str | None = None,
    system_memory: bool | None = None,
    read_claims: bool | None = None,
    link_similar: bool | None = None,
    predicates: Mapping[str, Mapping[str, str]] | None = None,
    mirror_dir: str | PathLike[str] | None = None,
    mirror_updates: str | None = None,
    injection: Mapping[str, Mapping[str, object]] | None = None,
    injection_max_tokens: int | None = None,
    injection_min_usefulness: float | None = None,
    trigger_min_similarity: float | None = None,
    points_per_title_word: int | None = None,
    points_per_tag: int | None = None,
    # end generated options
) -> "MemoryGraph":
    """A store with neolata's verbs; nothing is opened before the first use.

    Options:
        predicate_schemas: how predicates behave, by name.
        channel: where texts come from; it limits how far they are trusted.
        clock: the clock to use instead of the system's.
        sinks: objects that are handed every write.
        custom_embedder: an embedder object to use instead of a configured one.
        db_dir: the folder of the store; by default the data folder of the platform.
        namespace: the part of the store to work in (default 'default').
        agent_id: the agent's name in blocks; alone it separates nothing (default 'YAMO_AGENT').
        project: the project that reads and writes.
        session: the session that reads and writes.
        allow_network_folder: allow a store on a network drive (default False).
        enable_yamo: write wire text into audit blocks, and record searches (default True).
        enable_memory: keep the store on disk; else in a temporary folder (default True).
        enable_llm: allow the use of a language model (default True).
        llm_provider: the service of the language model; without one none is used.
        llm_model: the name of the language model.
        llm_api_key: the key of the language model's service.
        llm_base_url: the address of the language model's service.
        llm_max_tokens: the longest answer of the language model, in tokens.
        skill_directories: folders whose skill files `init` and `with` read.
        enable_wisdom_distillation: learn from failures during `upkeep` (default False).
        lesson_min_confidence: leave out lessons less certain than this, 0 to 1 (default 0.7).
        lesson_retention_days: leave out lessons older than this many days (default 365).
        enable_heritage_tracking: record why memories were made (default False).
        max_heritage_depth: intents and rationales kept of each memory (default 5).
        session_days: days after which a session's memories expire; 0 is never (default 30).
        recall_days: days after which records of searches go; 0 is never (default 90).
        consolidate_traces: consolidate so many new traces of a project; 0: never (default 10).
        consolidate_days: consolidate fewer after so many days; 0: never (default 7).
        retention_hours: archive consolidated traces unused so long; 0: never (default 24).
        retention_consolidate_days: merge like learnings of this age; 0: never (default 183).
        retention_compress_days: pack traces of learnings of this age; 0: never (default 365).
        embedder: what makes vectors: local, static, fastembed, openai, ollama, cohere or none.
        embedder_model: the name of the embedding model.
        embedder_api_key: the key of the embedder's service.
        embedder_base_url: the address of the embedder's service.
        embedder_dimension: the length of the vectors.
        embedder_threads: threads of the local model; 0 chooses by the machine (default 0).
        model_dir: the folder of one local embedding model.
        models_dir: the folder where local embedding models are installed.
        reranker: what orders the best hits anew: fastembed, cohere, jina, tei, http or none.
        reranker_model: the reranker's model; for fastembed a name or a folder.
        reranker_api_key: the key of the reranker's service.
        reranker_base_url: the reranker's address, without /rerank.
        reranker_candidates: hits that the reranker reads (default 50).
        reranker_chars: characters of each hit that the reranker reads (default 2000).
        reranker_timeout: seconds after which a search ignores the reranker (default 2.0).
        redact: replace personal data and secrets before storing (default True).
        privacy_rules: rules of your own for what to replace.
        private_names: names to replace by stable ids in every text.
        own_names: where your own names are replaced: traces, all or off (default 'traces').
        raw_input: what traces keep of a goal: scrub, summarise or drop (default 'scrub').
        system_memory: log anonymised figures of executions for all projects (default False).
        read_claims: read simple claims, such as "X is Y", out of texts (default True).
        link_similar: link each new memory to the most similar ones (default True).
        predicates: how predicates of claims behave, by name.
        mirror_dir: a folder of Markdown files that the commands keep up to date.
        mirror_updates: what a change does to a document: append or replace (default 'append').
        injection: memories for the prompt of each agent: max_injected, min_importance, tags.
        injection_max_tokens: the most tokens of memories in an agent's prompt (default 2000).
        injection_min_usefulness: what votes made less useful is not injected (default 0.5).
        trigger_min_similarity: cosine to meet a trigger in words; 0 is off (default 0.0).
        points_per_title_word: points of a task's word in a memory's title (default 5).
        points_per_tag: points of a tag that is of the agent's work (default 5).
    """
    return MemoryGraph(**locals())


class MemoryGraph:
    """Memories of agents with claims, trust and quarantine, as neolata has them."""

    def __init__(
        self,
        *,
        predicate_schemas: Schemas | None = None,
        channel: Channel = Channel.LIBRARY,
        clock: Clock | None = None,
        sinks: Sequence[Sink] = (),
        custom_embedder: Embedder | None = None,
        # begin generated options (settings)
        db_dir: str | PathLike[str] | None = None,
        namespace: str | None = None,
        agent_id: str | None = None,
        project: str | None = None,
        session: str | None = None,
        allow_network_folder: bool | None = None,
        enable_yamo: bool | None = None,
        enable_memory: bool | None = None,
        enable_llm: bool | None = None,
        llm_provider: str | None = None,
        llm_model: str | None = None,
        llm_api_key: str | None = None,
        llm_base_url: str | None = None,
        llm_max_tokens: int | None = None,
        skill_directories: str | Sequence[str] | None = None,
        enable_wisdom_distillation: bool | None = None,
        lesson_min_confidence: float | None = None,
        lesson_retention_days: int | None = None,
        enable_heritage_tracking: bool | None = None,
        max_heritage_depth: int | None = None,
        session_days: int | None = None,
        recall_days: int | None = None,
        consolidate_traces: int | None = None,
        consolidate_days: int | None = None,
        retention_hours: int | None = None,
        retention_consolidate_days: int | None = None,
        retention_compress_days: int | None = None,
        embedder: str | None = None,
        embedder_model: str | None = None,
        embedder_api_key: str | None = None,
        embedder_base_url: str | None = None,
        embedder_dimension: int | None = None,
        embedder_threads: int | None = None,
        model_dir: str | PathLike[str] | None = None,
        models_dir: str | PathLike[str] | None = None,
        reranker: str | None = None,
        reranker_model: str | None = None,
        reranker_api_key: str | None = None,
        reranker_base_url: str | None = None,
        reranker_candidates: int | None = None,
        reranker_chars: int | None = None,
        reranker_timeout: float | None = None,
        redact: bool | None = None,
        privacy_rules: Sequence[Mapping[str, object]] | None = None,
        private_names: str | Sequence[str] | None = None,
        own_names: str | None = None,
        raw_input: str | None = None,
        system_memory: bool | None = None,
        read_claims: bool | None = None,
        link_similar: bool | None = None,
        predicates: Mapping[str, Mapping[str, str]] | None = None,
        mirror_dir: str | PathLike[str] | None = None,
        mirror_updates: str | None = None,
        injection: Mapping[str, Mapping[str, object]] | None = None,
        injection_max_tokens: int | None = None,
        injection_min_usefulness: float | None = None,
        trigger_min_similarity: float | None = None,
        points_per_title_word: int | None = None,
        points_per_tag: int | None = None,
        # end generated options
    ) -> None:
        """Take the settings; nothing is opened before the first use.

        Options:
            predicate_schemas: how predicates behave, by name.
            channel: where texts come from; it limits how far they are trusted.
            clock: the clock to use instead of the system's.
            sinks: objects that are handed every write.
            custom_embedder: an embedder object to use instead of a configured one.
            db_dir: the folder of the store; by default the data folder of the platform.
            namespace: the part of the store to work in (default 'default').
            agent_id: the agent's name in blocks; alone it separates nothing (default 'YAMO_AGENT').
            project: the project that reads and writes.
            session: the session that reads and writes.
            allow_network_folder: allow a store on a network drive (default False).
            enable_yamo: write wire text into audit blocks, and record searches (default True).
            enable_memory: keep the store on disk; else in a temporary folder (default True).
            enable_llm: allow the use of a language model (default True).
            llm_provider: the service of the language model; without one none is used.
            llm_model: the name of the language model.
            llm_api_key: the key of the language model's service.
            llm_base_url: the address of the language model's service.
            llm_max_tokens: the longest answer of the language model, in tokens.
            skill_directories: folders whose skill files `init` and `with` read.
            enable_wisdom_distillation: learn from failures during `upkeep` (default False).
            lesson_min_confidence: leave out lessons less certain than this, 0 to 1 (default 0.7).
            lesson_retention_days: leave out lessons older than this many days (default 365).
            enable_heritage_tracking: record why memories were made (default False).
            max_heritage_depth: intents and rationales kept of each memory (default 5).
            session_days: days after which a session's memories expire; 0 is never (default 30).
            recall_days: days after which records of searches go; 0 is never (default 90).
            consolidate_traces: consolidate so many new traces of a project; 0: never (default 10).
            consolidate_days: consolidate fewer after so many days; 0: never (default 7).
            retention_hours: archive consolidated traces unused so long; 0: never (default 24).
            retention_consolidate_days: merge like learnings of this age; 0: never (default 183).
            retention_compress_days: pack traces of learnings of this age; 0: never (default 365).
            embedder: what makes vectors: local, static, fastembed, openai, ollama, cohere or none.
            embedder_model: the name of the embedding model.
            embedder_api_key: the key of the embedder's service.
            embedder_base_url: the address of the embedder's service.
            embedder_dimension: the length of the vectors.
            embedder_threads: threads of the local model; 0 chooses by the machine (default 0).
            model_dir: the folder of one local embedding model.
            models_dir: the folder where local embedding models are installed.
            reranker: what orders the best hits anew: fastembed, cohere, jina, tei, http or none.
            reranker_model: the reranker's model; for fastembed a name or a folder.
            reranker_api_key: the key of the reranker's service.
            reranker_base_url: the reranker's address, without /rerank.
            reranker_candidates: hits that the reranker reads (default 50).
            reranker_chars: characters of each hit that the reranker reads (default 2000).
            reranker_timeout: seconds after which a search ignores the reranker (default 2.0).
            redact: replace personal data and secrets before storing (default True).
            privacy_rules: rules of your own for what to replace.
            private_names: names to replace by stable ids in every text.
            own_names: where your own names are replaced: traces, all or off (default 'traces').
            raw_input: what traces keep of a goal: scrub, summarise or drop (default 'scrub').
            system_memory: log anonymised figures of executions for all projects (default False).
            read_claims: read simple claims, such as "X is Y", out of texts (default True).
            link_similar: link each new memory to the most similar ones (default True).
            predicates: how predicates of claims behave, by name.
            mirror_dir: a folder of Markdown files that the commands keep up to date.
            mirror_updates: what a change does to a document: append or replace (default 'append').
            injection: memories for the prompt of each agent: max_injected, min_importance, tags.
            injection_max_tokens: the most tokens of memories in an agent's prompt (default 2000).
            injection_min_usefulness: what votes made less useful is not injected (default 0.5).
            trigger_min_similarity: cosine to meet a trigger in words; 0 is off (default 0.0).
            points_per_title_word: points of a task's word in a memory's title (default 5).
            points_per_tag: points of a tag that is of the agent's work (default 5).
        """
        self._mesh = MemoryMesh(
            channel=channel,
            clock=clock,
            sinks=sinks,
            custom_embedder=custom_embedder,
            **options_given(locals(), configuration.SETTINGS),
        )
        if predicate_schemas:
            self._mesh._add_predicates(predicate_schemas)

    def __enter__(self) -> Self:
        """Open the store."""
        self._mesh.init()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the store."""
        self.close()

    def close(self) -> None:
        """Write what waits and release every file."""
        self._mesh.close()

    def store(
        self,
        agent: str,
        text: str,
        *,
        category: str | None = None,
        importance: float | str = translate.IMPORTANCE,
        tags: Iterable[str] = (),
        event_time: datetime | str | None = None,
        claim: Claim | Mapping[str, object] | None = None,
        provenance: Mapping[str, object] | None = None,
        quarantine: bool | str | None = None,
        on_conflict: str = "quarantine",
    ) -> Receipt:
        """Store one memory; the receipt says what became of it and why.

        Without a provenance it counts as an inference. Importance is at most 0.5 from others than
        `user_explicit` and `system`.

        Options:
            category: the sort of memory, such as fact or decision.
            importance: 0 to 1, or low, medium, high or critical.
            tags: words to group it by.
            event_time: when it happened.
            claim: what it states: a mapping with subject, predicate and value.
            provenance: where it comes from: a mapping with source and sourceId.
            quarantine: keep it for review; a text is the reason.
            on_conflict: quarantine it or keep_active, where it contradicts a more trusted memory.
        """
        options = translate.StoreOptions(
            category=category,
            importance=importance,
            tags=tags,
            event_time=event_time,
            claim=claim,
            provenance=provenance,
            quarantine=quarantine,
            on_conflict=on_conflict,
        )
        return self._mesh.add_many([self._stated(translate.agent_name(agent), text, options)])[0]

    def store_many(
        self,
        agent: str,
        items: Iterable[str | Mapping[str, object]],
        *,
        embedding_batch_size: int = translate.BATCH,
    ) -> list[Receipt]:
        """Store up to 1,000, each judged as by `store`; all are checked before any is written.

        An item is a text, or a mapping with `text` and any option of `store`.

        Options:
            embedding_batch_size: the number of texts that are embedded at once.
        """
        name, size = translate.agent_name(agent), check_limit(embedding_batch_size)
        drafts = [
            self._item(name, each)
            for each in translate.bounded("items", items, translate.MAX_ITEMS)
        ]
        return [
            receipt
            for start in range(0, len(drafts), size)
            for receipt in self._mesh.add_many(drafts[start : start + size])
        ]

    def search(
        self,
        agent: str | None,
        query: str,
        *,
        limit: int = 10,
        min_similarity: float = 0.0,
        before: datetime | str | None = None,
        after: datetime | str | None = None,
        rerank: bool | Mapping[str, float] | None = None,
        include_all: bool = False,
        status_filter: Iterable[str] = (Status.ACTIVE,),
        include_superseded: bool = False,
        include_disputed: bool = False,
        include_quarantined: bool = False,
        session_id: str | None = None,
        explain: bool = False,
    ) -> GraphHits:
        """The best memories of an agent for a question, or of all agents where none is named.

        Options:
            limit: the largest number of results, 1 to 1,000.
            min_similarity: leave out memories less similar than this, 0 to 1.
            before: only memories from before this time.
            after: only memories of this time or later.
            rerank: order by trust, recency and importance too; a mapping gives their weights.
            include_all: show memories of every status.
            status_filter: the statuses to show.
            include_superseded: show memories that others took the place of too.
            include_disputed: show disputed memories too.
            include_quarantined: show memories that wait for review too.
            session_id: prefer memories of this session.
            explain: say how each score came about and what was left out.
        """
        more = {
            Status.SUPERSEDED: include_superseded,
            Status.DISPUTED: include_disputed,
            Status.QUARANTINED: include_quarantined,
        }
        lens = self._view(
            agent,
            session_id,
            translate.statuses_of(status_filter, everything=include_all, more=more),
        )
        lens = replace(lens, where=translate.between(after, before))
        asked = Query(
            check_text(query, "query"),
            lens,
            check_limit(limit),
            "composite",
            weights=translate.weights_of(rerank),
            min_similarity=check_share(min_similarity, "min_similarity"),
        )
        return self._answered(asked, explain=explain)

    def search_many(
        self,
        agent: str | None,
        queries: Iterable[str],
        *,
        limit: int = 10,
        min_similarity: float = 0.0,
        before: datetime | str | None = None,
        after: datetime | str | None = None,
        rerank: bool | Mapping[str, float] | None = None,
        include_all: bool = False,
        status_filter: Iterable[str] = (Status.ACTIVE,),
        include_superseded: bool = False,
        include_disputed: bool = False,
        include_quarantined: bool = False,
        session_id: str | None = None,
        explain: bool = False,
    ) -> list[GraphHits]:
        """Up to 100 questions at once, each answered as by `search`, in the order asked.

        Options:
            limit: the largest number of results, 1 to 1,000.
            min_similarity: leave out memories less similar than this, 0 to 1.
            before: only memories from before this time.
            after: only memories of this time or later.
            rerank: order by trust, recency and importance too; a mapping gives their weights.
            include_all: show memories of every status.
            status_filter: the statuses to show.
            include_superseded: show memories that others took the place of too.
            include_disputed: show disputed memories too.
            include_quarantined: show memories that wait for review too.
            session_id: prefer memories of this session.
            explain: say how each score came about and what was left out.
        """
        from concurrent.futures import ThreadPoolExecutor

        asked = translate.bounded("queries", queries, translate.MAX_QUERIES)
        statuses = tuple(status_filter)

        def answer(query: str) -> GraphHits:
            return self.search(
                agent,
                query,
                limit=limit,
                min_similarity=min_similarity,
                before=before,
                after=after,
                rerank=rerank,
                include_all=include_all,
                status_filter=statuses,
                include_superseded=include_superseded,
                include_disputed=include_disputed,
                include_quarantined=include_quarantined,
                session_id=session_id,
                explain=explain,
            )

        with ThreadPoolExecutor(_THREADS, thread_name_prefix="memory-graph") as pool:
            return list(pool.map(answer, asked))

    def reinforce(self, memory_id: str, boost: float = 0.1) -> GraphMemory:
        """Vote for a memory's truth; it gains trust and importance."""
        reader = self._held(memory_id).scope
        return self._one(self._mesh.reinforce(memory_id, boost, scope=reader))

    def dispute(self, memory_id: str, *, reason: str = "disputed by the caller") -> GraphMemory:
        """Vote against a memory's truth; three unsupported votes send it to review.

        Options:
            reason: the reason, stored in the audit block.
        """
        reader = self._held(memory_id).scope
        return self._one(self._mesh.dispute(memory_id, reason=reason, scope=reader))

    def list_quarantined(self, *, agent: str | None = None, limit: int = 50) -> list[GraphMemory]:
        """What waits for review, newest first: of one agent, or of all.

        Options:
            agent: only what this agent stored.
            limit: the largest number of results, 1 to 1,000.
        """
        lens = self._view(agent, None, {Status.QUARANTINED})
        lens = replace(lens, across=lens.across | {"session"}, any_validity=True)
        return self._shown(self._mesh._waiting(lens, limit))

    def review_quarantine(
        self, memory_id: str, *, action: str, reason: str = "reviewed by the caller"
    ) -> GraphMemory:
        """`activate` what waits, in place of what it contradicts, or `reject` it for good.

        Options:
            action: activate or reject.
            reason: the reason, stored in the audit block.
        """
        if action not in translate.ACTIONS:
            raise InvalidInput(f"action must be one of: {', '.join(translate.ACTIONS)}")
        reader = self._held(memory_id).scope
        approve = translate.ACTIONS[action]
        return self._one(self._mesh._decide_on(memory_id, reader, approve=approve, reason=reason))

    def conflicts(self, *, limit: int = 100) -> list[Conflict]:
        """Every contradiction on record, newest first.

        Options:
            limit: the largest number of results, 1 to 1,000.
        """
        return self._mesh._conflicts(self._whole(), limit, pending=False)

    def pending_conflicts(self, *, limit: int = 100) -> list[Conflict]:
        """Contradictions that wait for a decision, newest first.

        Options:
            limit: the largest number of results, 1 to 1,000.
        """
        return self._mesh._conflicts(self._whole(), limit, pending=True)

    def resolve_conflict(
        self,
        conflict_id: str,
        resolution: Resolution | str,
        *,
        reason: str = "resolved by the caller",
    ) -> Conflict:
        """End a conflict: `supersede` (the new one wins), `reject` it, or `keep_both`.

        Options:
            reason: the reason, stored in the audit block.
        """
        now = self._mesh._conflict(conflict_id)
        newcomer = self._held(now.new)
        if not now.pending and not now.by_rule:
            raise InvalidInput(f"{conflict_id} is already resolved: {now.resolution}")
        return self._mesh._resolve(conflict_id, newcomer.scope, resolution, reason)

    def _stated(self, agent: str, text: object, options: Mapping[str, object]) -> Draft:
        """A draft for one agent and by it."""
        content, details = translate.details_of(text, options)
        scope = Scope(self._mesh.config.project, agent, self._mesh.config.session)
        why = details.get("quarantine")
        metadata = None if why is None else {"quarantine": why}
        return self._mesh._draft(
            content, metadata, details | {"scope": scope, "source_agent": agent}
        )

    def _item(self, agent: str, item: object) -> Draft:
        if isinstance(item, str):
            return self._stated(agent, item, {})
        if not isinstance(item, Mapping):
            raise InvalidInput("an item must be a text, or a mapping with text and options")
        return self._stated(
            agent, item.get("text"), {name: item[name] for name in item if name != "text"}
        )

    def _view(self, agent: str | None, session: str | None, statuses: Iterable[Status]) -> Lens:
        """What an agent sees; without one every agent's, still of this project and session."""
        named = None if agent is None else translate.agent_name(agent)
        lens = self._mesh._lens(
            Scope(agent=named, session=session), across=() if named is not None else ("agent",)
        )
        return replace(lens, statuses=frozenset(statuses))

    def _whole(self) -> Lens:
        """Everything of this project, for verbs that are given an id."""
        lens = self._mesh._lens(None, across=_EVERYBODY)
        return replace(lens, statuses=translate.VISIBLE, any_validity=True)

    def _held(self, memory_id: str) -> Memory:
        with self._mesh._read() as snapshot:
            found = snapshot.get([memory_id], self._whole())
        if not found:
            raise NotFound
        return found[0]

    def _one(self, memory: Memory) -> GraphMemory:
        return self._shown([memory])[0]

    def _shown(self, memories: Sequence[Memory]) -> list[GraphMemory]:
        now = self._mesh._now()
        with self._mesh._read() as snapshot:
            return [
                translate.shown(
                    memory,
                    snapshot.conflicts(translate.MAX_CONFLICTS, pending=False, memory=memory.id),
                    now,
                )
                for memory in memories
            ]

    def _answered(self, asked: Query, *, explain: bool) -> GraphHits:
        session = asked.lens.scope.session
        deep = asked if session is None else replace(asked, limit=max(_DEEP_LIMIT, asked.limit))
        found = self._mesh._recall(deep)
        ordered, preferred = translate.session_first(found, session)
        best = ordered[: asked.limit]
        memories = self._shown([hit.memory for hit in best])
        hits = [
            translate.as_hit(
                memory,
                hit,
                translate.explained(hit, preferred=hit.id in preferred) if explain else None,
            )
            for memory, hit in zip(memories, best, strict=True)
        ]
        return GraphHits(hits, self._counted(asked, found, len(hits)) if explain else None)

    def _counted(self, asked: Query, found: Hits, returned: int) -> GraphMeta:
        """The search in numbers; what its statuses leave out is looked for once more."""
        hidden = replace(asked.lens, statuses=translate.VISIBLE - asked.lens.statuses)
        left: Counter[str] = Counter()
        if hidden.statuses:
            unseen = self._mesh._recall(
                replace(asked, lens=hidden, limit=_DEEP_LIMIT), recorded=False
            )
            left.update(hit.memory.status.value for hit in unseen)
        explanation = found.explanation
        return GraphMeta(
            returned=returned,
            found_by_keyword=explanation.found_by_keyword,
            found_by_vector=explanation.found_by_vector,
            awaiting_vectors=explanation.pending,
            weights=asked.weights,
            filtered_by_status=dict(left),
            note=explanation.note,
        )
