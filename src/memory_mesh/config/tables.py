"""The tables of the settings: their variables, kinds, choices and descriptions.

The package reads them, and the constructors take `Settings`.
"""

from collections.abc import Mapping, Sequence
from os import PathLike

from memory_mesh.base.typed import Annotated, TypedDict, described

ENVIRONMENT = {
    "store": "MEMORY_MESH_STORE",
    "db_dir": "MEMORY_MESH_DIR",
    "namespace": "MEMORY_MESH_NAMESPACE",
    "agent_id": "MEMORY_MESH_AGENT",
    "project": "MEMORY_MESH_PROJECT",
    "session": "MEMORY_MESH_SESSION",
    "allow_network_folder": "MEMORY_MESH_ALLOW_NETWORK_FOLDER",
    "lock_wait_seconds": "MEMORY_MESH_LOCK_WAIT_SECONDS",
    "embedder": "MEMORY_MESH_EMBEDDER",
    "embedder_model": "MEMORY_MESH_EMBEDDER_MODEL",
    "embedder_api_key": "MEMORY_MESH_EMBEDDER_API_KEY",
    "embedder_base_url": "MEMORY_MESH_EMBEDDER_BASE_URL",
    "embedder_dimension": "MEMORY_MESH_EMBEDDER_DIMENSION",
    "embedder_threads": "MEMORY_MESH_EMBEDDER_THREADS",
    "model_dir": "MEMORY_MESH_MODEL_DIR",
    "models_dir": "MEMORY_MESH_MODELS_DIR",
    "reranker": "MEMORY_MESH_RERANKER",
    "reranker_model": "MEMORY_MESH_RERANKER_MODEL",
    "reranker_api_key": "MEMORY_MESH_RERANKER_API_KEY",
    "reranker_base_url": "MEMORY_MESH_RERANKER_BASE_URL",
    "reranker_candidates": "MEMORY_MESH_RERANKER_CANDIDATES",
    "reranker_chars": "MEMORY_MESH_RERANKER_CHARS",
    "reranker_timeout": "MEMORY_MESH_RERANKER_TIMEOUT",
    "redact": "MEMORY_MESH_REDACT",
    "keep": "MEMORY_MESH_KEEP",
    "privacy_kinds": "MEMORY_MESH_PRIVACY_KINDS",
    "phone_country": "MEMORY_MESH_PHONE_COUNTRY",
    "own_names": "MEMORY_MESH_OWN_NAMES",
    "raw_input": "MEMORY_MESH_RAW_INPUT",
    "system_memory": "MEMORY_MESH_SYSTEM_MEMORY",
    "mirror_dir": "MEMORY_MESH_MIRROR_DIR",
    "mirror_updates": "MEMORY_MESH_MIRROR_UPDATES",
    "llm_provider": "MEMORY_MESH_LLM_PROVIDER",
    "llm_model": "MEMORY_MESH_LLM_MODEL",
    "llm_api_key": "MEMORY_MESH_LLM_API_KEY",
    "llm_base_url": "MEMORY_MESH_LLM_BASE_URL",
    "llm_max_tokens": "MEMORY_MESH_LLM_MAX_TOKENS",
    "llm_tokens_per_day": "MEMORY_MESH_LLM_TOKENS_PER_DAY",
    "span_content": "MEMORY_MESH_SPAN_CONTENT",
    "daemon": "MEMORY_MESH_DAEMON",
    "daemon_idle_seconds": "MEMORY_MESH_DAEMON_IDLE_SECONDS",
}
PROVIDER_KEYS: dict[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "jina": ("JINA_API_KEY",),
}
FOLDERS = {"db_dir", "mirror_dir", "model_dir", "models_dir"}
COUNTS = {
    "consolidate_traces",
    "consolidate_days",
    "embedder_dimension",
    "embedder_threads",
    "lesson_retention_days",
    "llm_max_tokens",
    "llm_tokens_per_day",
    "max_heritage_depth",
    "session_days",
    "recall_days",
    "retention_hours",
    "retention_consolidate_days",
    "retention_compress_days",
    "reranker_candidates",
    "reranker_chars",
    "injection_max_tokens",
    "points_per_title_word",
    "points_per_tag",
}
CHOICES: dict[str, tuple[str, ...]] = {
    "own_names": ("traces", "all", "off"),
    "raw_input": ("scrub", "summarise", "drop"),
    "system_memory": ("off", "counts", "own"),
    "mirror_updates": ("append", "replace"),
    "llm_provider": ("openai", "anthropic", "ollama", "cohere"),
}
WRITTEN = {  # in the file
    "privacy_rules": "[[privacy.rules]]",
    "privacy_kinds": "[privacy] kinds",
    "predicates": "[predicates.NAME]",
    "expiry": "[expiry]",
    "injection": "[injection.AGENT]",
}


class MainSettings(TypedDict, total=False):
    """What the constructors take by name; None is as if it were not given."""

    db_dir: Annotated[
        str | PathLike[str] | None,
        "the folder of the store; by default the data folder of the platform",
    ]
    namespace: Annotated[str | None, "the part of the store to work in"]
    agent_id: Annotated[str | None, "the agent's name in blocks; alone it separates nothing"]
    project: Annotated[str | None, "the project that reads and writes"]
    session: Annotated[str | None, "the session that reads and writes"]
    enable_yamo: Annotated[bool | None, "write wire text into audit blocks, and record searches"]
    enable_memory: Annotated[bool | None, "keep the store on disk; else in a temporary folder"]
    enable_llm: Annotated[bool | None, "allow the use of a language model"]
    llm_provider: Annotated[
        str | None,
        "the service of the language model: openai, anthropic, ollama or cohere; else none is used",
    ]
    llm_model: Annotated[str | None, "the name of the language model"]
    llm_api_key: Annotated[str | None, "the key of the language model's service"]
    llm_base_url: Annotated[str | None, "the address of the language model's service"]
    skill_directories: Annotated[
        str | Sequence[str] | None, "folders whose skill files `init` and `with` read"
    ]
    embedder: Annotated[
        str | None, "what makes vectors: local, static, fastembed, openai, ollama, cohere or none"
    ]
    embedder_model: Annotated[str | None, "the name of the embedding model"]
    model_dir: Annotated[str | PathLike[str] | None, "the folder of one local embedding model"]
    reranker: Annotated[
        str | None, "what orders the best hits anew: fastembed, cohere, jina, tei, http or none"
    ]
    redact: Annotated[bool | None, "replace personal data and secrets before storing"]
    predicates: Annotated[
        Mapping[str, Mapping[str, str]] | None, "how predicates of claims behave, by name"
    ]


class Settings(MainSettings, total=False):
    """Every setting: what the constructors take as `settings=`."""

    allow_network_folder: Annotated[bool | None, "allow a store on a network drive"]
    lock_wait_seconds: Annotated[float | None, "seconds a write waits for other writers; 0: none"]
    llm_max_tokens: Annotated[int | None, "the longest answer of the language model, in tokens"]
    llm_tokens_per_day: Annotated[
        int | None, "the most tokens of the language model's calls in a day, of one namespace"
    ]
    extract_sessions: Annotated[
        bool | None, "let hooks ask the language model what a session taught"
    ]
    enable_wisdom_distillation: Annotated[bool | None, "learn from failures during `upkeep`"]
    lesson_min_confidence: Annotated[
        float | None, "leave out lessons less certain than this, 0 to 1"
    ]
    lesson_retention_days: Annotated[int | None, "leave out lessons older than this many days"]
    enable_heritage_tracking: Annotated[bool | None, "record why memories were made"]
    max_heritage_depth: Annotated[int | None, "intents and rationales kept of each memory"]
    session_days: Annotated[int | None, "days after which a session's memories expire; 0 is never"]
    expiry: Annotated[
        Mapping[str, int] | None, "days after which what is stored expires, by kind, type or tag"
    ]
    recall_days: Annotated[int | None, "days after which records of searches go; 0 is never"]
    consolidate_traces: Annotated[
        int | None, "consolidate so many new traces of a project; 0: never"
    ]
    consolidate_days: Annotated[int | None, "consolidate fewer after so many days; 0: never"]
    retention_hours: Annotated[int | None, "archive consolidated traces unused so long; 0: never"]
    retention_consolidate_days: Annotated[int | None, "merge like learnings of this age; 0: never"]
    retention_compress_days: Annotated[int | None, "pack traces of learnings of this age; 0: never"]
    embedder_api_key: Annotated[str | None, "the key of the embedder's service"]
    embedder_base_url: Annotated[str | None, "the address of the embedder's service"]
    embedder_dimension: Annotated[int | None, "the length of the vectors"]
    embedder_threads: Annotated[int | None, "threads of the local model; 0 chooses by the machine"]
    models_dir: Annotated[
        str | PathLike[str] | None, "the folder where local embedding models are installed"
    ]
    reranker_model: Annotated[str | None, "the reranker's model; for fastembed a name or a folder"]
    reranker_api_key: Annotated[str | None, "the key of the reranker's service"]
    reranker_base_url: Annotated[str | None, "the reranker's address, without /rerank"]
    reranker_candidates: Annotated[int | None, "hits that the reranker reads"]
    reranker_chars: Annotated[int | None, "characters of each hit that the reranker reads"]
    reranker_timeout: Annotated[float | None, "seconds after which a search ignores the reranker"]
    keep: Annotated[str | Sequence[str] | None, "kinds not to replace: email, ip, phone"]
    privacy_rules: Annotated[
        Sequence[Mapping[str, object]] | None, "rules of your own for what to replace"
    ]
    privacy_kinds: Annotated[
        str | Sequence[str] | None, "further kinds to replace: street_address, birth_date"
    ]
    phone_country: Annotated[
        str | None, "whose national phone numbers to replace; else the locale's"
    ]
    private_names: Annotated[
        str | Sequence[str] | None, "names to replace by stable ids in every text"
    ]
    own_names: Annotated[str | None, "where your own names are replaced: traces, all or off"]
    raw_input: Annotated[str | None, "what traces keep of a goal: scrub, summarise or drop"]
    system_memory: Annotated[
        bool | str | None,
        "log executions: off, counts (anonymised, for all projects and users) or own (each user "
        "their own, in clear); true means counts",
    ]
    read_claims: Annotated[bool | None, 'read simple claims, such as "X is Y", out of texts']
    link_similar: Annotated[bool | None, "link each new memory to the most similar ones"]
    mirror_dir: Annotated[
        str | PathLike[str] | None, "a folder of Markdown files that the commands keep up to date"
    ]
    mirror_updates: Annotated[str | None, "what a change does to a document: append or replace"]
    injection: Annotated[
        Mapping[str, Mapping[str, object]] | None,
        "memories for the prompt of each agent: max_injected, min_importance, tags",
    ]
    injection_max_tokens: Annotated[int | None, "the most tokens of memories in an agent's prompt"]
    injection_min_usefulness: Annotated[float | None, "what votes made less useful is not injected"]
    trigger_min_similarity: Annotated[float | None, "cosine to meet a trigger in words; 0 is off"]
    points_per_title_word: Annotated[int | None, "points of a task's word in a memory's title"]
    points_per_tag: Annotated[int | None, "points of a tag that is of the agent's work"]
    span_content: Annotated[bool | None, "put queries and texts into OpenTelemetry spans"]


SETTINGS = {  # what each setting does
    "store": "the store: a folder, postgresql://USER@HOST/DATABASE or https://HOST of a service",
    **described(Settings),
}
NO_OPTION = {  # settings that the library has no use for: of hooks and MCP
    "daemon": "let hooks and MCP share one background process",
    "daemon_idle_seconds": "seconds without a call after which the background process ends",
}
VARIABLES = {  # read from the environment alone, and what each does
    "MEMORY_MESH_CONFIG": "the configuration file to read",
    "MEMORY_MESH_KEY_DIR": "the folder of the keys, outside of the store",
    "MEMORY_MESH_KEY_FILE": "the key file of a PostgreSQL store",
    "MEMORY_MESH_KEY": "the key of a PostgreSQL store itself",
    "MEMORY_MESH_KEY_COMMAND": "a command that prints the key of a PostgreSQL store",
    "MEMORY_MESH_ACCESS_KEY": "the key of a service, for a store behind a URL",
    "MEMORY_MESH_LOG": "log records on standard error: info or debug",
    "MEMORY_MESH_DEBUG": "1 prints where a command crashed",
    "MEMORY_MESH_HOOK_BUDGET_MS": "milliseconds that a hook may take of a prompt",
}


def about(setting: str) -> str:
    """What a setting does, in one line."""
    return NO_OPTION[setting] if setting in NO_OPTION else SETTINGS[setting]
