"""`MemoryGraph`: neolata's verbs over a `MemoryMesh`, blocking and thread-safe.

`store(agent)` writes for that agent alone and as that agent; a search without an agent leaves the
agent out of the test and nothing else. A verb that is given an id reaches every agent's and every
session's memories of this project. The async `memory_mesh.compat.neolata.MemoryGraph` is generated
from this file and verbs/; see `tools/generate_async.py`.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from os import PathLike
from types import TracebackType

from memory_mesh import config as configuration
from memory_mesh.compat.neolata.graph_view import GraphMesh
from memory_mesh.compat.neolata.hooks import Handler, Hooks, Writethrough
from memory_mesh.compat.neolata.keeper import Keeper
from memory_mesh.compat.neolata.storage import GraphStorage
from memory_mesh.compat.neolata.translate import compute_trust, estimate_tokens
from memory_mesh.compat.neolata.verbs.episodes import GraphEpisodes
from memory_mesh.compat.neolata.verbs.explaining import GraphExplaining
from memory_mesh.compat.neolata.verbs.hosting import GraphHosting
from memory_mesh.compat.neolata.verbs.packing import GraphPrompting
from memory_mesh.compat.neolata.verbs.reviewing import GraphReviewing
from memory_mesh.compat.neolata.verbs.searching import GraphSearching
from memory_mesh.errors import InvalidInput
from memory_mesh.model import Channel, PredicateSchema
from memory_mesh.policy.arguments import options_given
from memory_mesh.ports import Clock, Embedder, Sink
from memory_mesh.typed import Self

__all__ = ["MemoryGraph", "compute_trust", "create_memory", "estimate_tokens"]

Schemas = Mapping[str, PredicateSchema | Mapping[str, str]]


def create_memory(
    *,
    predicate_schemas: Schemas | None = None,
    storage: GraphStorage | None = None,
    writethrough: Sequence[Writethrough | Handler] = (),
    channel: Channel = Channel.LIBRARY,
    clock: Clock | None = None,
    sinks: Sequence[Sink] = (),
    custom_embedder: Embedder | None = None,
    # begin generated options (settings)
    store: str | PathLike[str] | None = None,
    db_dir: str | PathLike[str] | None = None,
    namespace: str | None = None,
    agent_id: str | None = None,
    project: str | None = None,
    session: str | None = None,
    allow_network_folder: bool | None = None,
    lock_wait_seconds: float | None = None,
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
    privacy_kinds: str | Sequence[str] | None = None,
    phone_country: str | None = None,
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
    span_content: bool | None = None,
    # end generated options
) -> "MemoryGraph":
    """A store with neolata's verbs; nothing is opened before the first use.

    Options:
        predicate_schemas: how predicates behave, by name.
        storage: an object that keeps the memories, instead of a store of our own.
        writethrough: hooks that hear of writes: objects with events, or functions.
        channel: where texts come from; it limits how far they are trusted.
        clock: the clock to use instead of the system's.
        sinks: objects that are handed every write.
        custom_embedder: an embedder object to use instead of a configured one.
        store: the store: a folder, sqlite:///FOLDER or postgresql://USER@HOST/DATABASE.
        db_dir: the folder of the store; by default the data folder of the platform.
        namespace: the part of the store to work in (default 'default').
        agent_id: the agent's name in blocks; alone it separates nothing (default 'YAMO_AGENT').
        project: the project that reads and writes.
        session: the session that reads and writes.
        allow_network_folder: allow a store on a network drive (default False).
        lock_wait_seconds: seconds a write waits for other writers; 0: none (default 10.0).
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
        privacy_kinds: further kinds to replace: street_address, birth_date.
        phone_country: whose national phone numbers to replace; else the locale's (default '').
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
        span_content: put queries and texts into OpenTelemetry spans (default False).
    """
    return MemoryGraph(**locals())


class MemoryGraph(
    GraphExplaining,  # and storing and linking
    GraphSearching,
    GraphPrompting,
    GraphReviewing,
    GraphEpisodes,
    GraphHosting,
):
    """Memories of agents with claims, trust and quarantine, as neolata has them."""

    def __init__(
        self,
        *,
        predicate_schemas: Schemas | None = None,
        storage: GraphStorage | None = None,
        writethrough: Sequence[Writethrough | Handler] = (),
        channel: Channel = Channel.LIBRARY,
        clock: Clock | None = None,
        sinks: Sequence[Sink] = (),
        custom_embedder: Embedder | None = None,
        # begin generated options (settings)
        store: str | PathLike[str] | None = None,
        db_dir: str | PathLike[str] | None = None,
        namespace: str | None = None,
        agent_id: str | None = None,
        project: str | None = None,
        session: str | None = None,
        allow_network_folder: bool | None = None,
        lock_wait_seconds: float | None = None,
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
        privacy_kinds: str | Sequence[str] | None = None,
        phone_country: str | None = None,
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
        span_content: bool | None = None,
        # end generated options
    ) -> None:
        """Take the settings; nothing is opened before the first use.

        Options:
            predicate_schemas: how predicates behave, by name.
            storage: an object that keeps the memories, instead of a store of our own.
            writethrough: hooks that hear of writes: objects with events, or functions.
            channel: where texts come from; it limits how far they are trusted.
            clock: the clock to use instead of the system's.
            sinks: objects that are handed every write.
            custom_embedder: an embedder object to use instead of a configured one.
            store: the store: a folder, sqlite:///FOLDER or postgresql://USER@HOST/DATABASE.
            db_dir: the folder of the store; by default the data folder of the platform.
            namespace: the part of the store to work in (default 'default').
            agent_id: the agent's name in blocks; alone it separates nothing (default 'YAMO_AGENT').
            project: the project that reads and writes.
            session: the session that reads and writes.
            allow_network_folder: allow a store on a network drive (default False).
            lock_wait_seconds: seconds a write waits for other writers; 0: none (default 10.0).
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
            privacy_kinds: further kinds to replace: street_address, birth_date.
            phone_country: whose national phone numbers to replace; else the locale's (default '').
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
            span_content: put queries and texts into OpenTelemetry spans (default False).
        """
        settings = options_given(locals(), configuration.SETTINGS)
        if storage is not None:
            settings |= _in_a_temporary_folder(settings)
        self._mesh = GraphMesh(
            channel=channel,
            clock=clock,
            sinks=sinks,
            custom_embedder=custom_embedder,
            **settings,
        )
        if predicate_schemas:
            self._mesh._add_predicates(predicate_schemas)
        self._hooks = Hooks(writethrough)
        project = self._mesh.config.project
        self._keeper = None if storage is None else Keeper(storage, self._mesh, project)

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
        """Save and write what waits, give the hooks 2 seconds, and release every file."""
        with ExitStack() as closing:
            closing.callback(self._mesh.close)
            if self._keeper is not None:
                closing.callback(self._keeper.close)
            closing.callback(self._hooks.close)


def _in_a_temporary_folder(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings of a graph whose memories a storage keeps."""
    if settings.get("db_dir") is not None or settings.get("enable_memory"):
        raise InvalidInput("memories are kept in a storage or in db_dir: give one of them")
    return {"enable_memory": False}
