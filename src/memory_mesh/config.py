"""The settings: one frozen Config, read from arguments, environment and configuration file.

Arguments override the environment, which overrides the file, which overrides the defaults.
`Config.origins` says where each value came from. No other module reads settings.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from memory_mesh.errors import InvalidInput, shown
from memory_mesh.fastdataclass import dataclass, field, fields, replace
from memory_mesh.model import PredicateSchema
from memory_mesh.policy.arguments import check_share
from memory_mesh.policy.locales import check_country, country_of
from memory_mesh.policy.users import check_plain_namespace
from memory_mesh.typed import Any

APP = "memory-mesh"
_ENVIRONMENT = {
    "db_dir": "MEMORY_MESH_DIR",
    "namespace": "MEMORY_MESH_NAMESPACE",
    "agent_id": "MEMORY_MESH_AGENT",
    "project": "MEMORY_MESH_PROJECT",
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
}
_PROVIDER_KEYS = {
    "openai": ("OPENAI_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "jina": ("JINA_API_KEY",),
}
_FOLDERS = {"db_dir", "mirror_dir", "model_dir", "models_dir"}
_COUNTS = {
    "consolidate_traces",
    "consolidate_days",
    "embedder_dimension",
    "embedder_threads",
    "lesson_retention_days",
    "llm_max_tokens",
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
CONFIG_FILE = "MEMORY_MESH_CONFIG"
_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off", ""}
_CHOICES = {
    "own_names": ("traces", "all", "off"),
    "raw_input": ("scrub", "summarise", "drop"),
    "mirror_updates": ("append", "replace"),
}
_WRITTEN = {  # in the file
    "privacy_rules": "[[privacy.rules]]",
    "privacy_kinds": "[privacy] kinds",
    "predicates": "[predicates.NAME]",
    "injection": "[injection.AGENT]",
}
_KINDS = {bool: "true or false", float: "a number", str: "a text"}
NO_AGENT = "YAMO_AGENT"  # the agent of a mesh that was given none


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Every setting, including the options of RFC-0011 §4.2."""

    db_dir: Path = Path()
    namespace: str = "default"
    agent_id: str = NO_AGENT
    project: str | None = None
    session: str | None = None
    allow_network_folder: bool = False
    lock_wait_seconds: float = 10.0
    enable_yamo: bool = True
    enable_memory: bool = True
    enable_llm: bool = True
    llm_provider: str | None = None
    llm_model: str | None = None
    llm_api_key: str | None = field(default=None, repr=False)
    llm_base_url: str | None = None
    llm_max_tokens: int | None = None
    skill_directories: tuple[str, ...] = ()
    enable_wisdom_distillation: bool = False
    lesson_min_confidence: float = 0.7
    lesson_retention_days: int = 365
    enable_heritage_tracking: bool = False
    max_heritage_depth: int = 5
    session_days: int = 30
    recall_days: int = 90
    consolidate_traces: int = 10
    consolidate_days: int = 7
    retention_hours: int = 24
    retention_consolidate_days: int = 183
    retention_compress_days: int = 365
    embedder: str | None = None
    embedder_model: str | None = None
    embedder_api_key: str | None = field(default=None, repr=False)
    embedder_base_url: str | None = None
    embedder_dimension: int | None = None
    embedder_threads: int = 0
    model_dir: Path | None = None
    models_dir: Path = Path()
    reranker: str | None = None
    reranker_model: str | None = None
    reranker_api_key: str | None = field(default=None, repr=False)
    reranker_base_url: str | None = None
    reranker_candidates: int = 50
    reranker_chars: int = 2_000
    reranker_timeout: float = 2.0
    redact: bool = True
    privacy_rules: tuple[Mapping[str, object], ...] = ()
    privacy_kinds: tuple[str, ...] = ()
    phone_country: str = ""
    private_names: tuple[str, ...] = ()
    own_names: str = "traces"
    raw_input: str = "scrub"
    system_memory: bool = False
    read_claims: bool = True
    link_similar: bool = True
    predicates: Mapping[str, PredicateSchema | Mapping[str, str]] = field(default_factory=dict)
    mirror_dir: Path | None = None
    mirror_updates: str = "append"
    injection: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    injection_max_tokens: int = 2_000
    injection_min_usefulness: float = 0.5
    trigger_min_similarity: float = 0.0
    points_per_title_word: int = 5
    points_per_tag: int = 5
    origins: Mapping[str, str] = field(default_factory=dict)


SETTINGS = {  # type and description of each setting (tools/generate_options.py)
    "db_dir": (
        "str | PathLike[str] | None",
        "the folder of the store; by default the data folder of the platform",
    ),
    "namespace": ("str | None", "the part of the store to work in"),
    "agent_id": ("str | None", "the agent's name in blocks; alone it separates nothing"),
    "project": ("str | None", "the project that reads and writes"),
    "session": ("str | None", "the session that reads and writes"),
    "allow_network_folder": ("bool | None", "allow a store on a network drive"),
    "lock_wait_seconds": ("float | None", "seconds a write waits for other writers; 0: none"),
    "enable_yamo": (
        "bool | None",
        "write wire text into audit blocks, and record searches",
    ),
    "enable_memory": ("bool | None", "keep the store on disk; else in a temporary folder"),
    "enable_llm": ("bool | None", "allow the use of a language model"),
    "llm_provider": ("str | None", "the service of the language model; without one none is used"),
    "llm_model": ("str | None", "the name of the language model"),
    "llm_api_key": ("str | None", "the key of the language model's service"),
    "llm_base_url": ("str | None", "the address of the language model's service"),
    "llm_max_tokens": ("int | None", "the longest answer of the language model, in tokens"),
    "skill_directories": (
        "str | Sequence[str] | None",
        "folders whose skill files `init` and `with` read",
    ),
    "enable_wisdom_distillation": ("bool | None", "learn from failures during `upkeep`"),
    "lesson_min_confidence": ("float | None", "leave out lessons less certain than this, 0 to 1"),
    "lesson_retention_days": ("int | None", "leave out lessons older than this many days"),
    "enable_heritage_tracking": ("bool | None", "record why memories were made"),
    "max_heritage_depth": ("int | None", "intents and rationales kept of each memory"),
    "session_days": ("int | None", "days after which a session's memories expire; 0 is never"),
    "recall_days": ("int | None", "days after which records of searches go; 0 is never"),
    "consolidate_traces": ("int | None", "consolidate so many new traces of a project; 0: never"),
    "consolidate_days": ("int | None", "consolidate fewer after so many days; 0: never"),
    "retention_hours": ("int | None", "archive consolidated traces unused so long; 0: never"),
    "retention_consolidate_days": ("int | None", "merge like learnings of this age; 0: never"),
    "retention_compress_days": ("int | None", "pack traces of learnings of this age; 0: never"),
    "embedder": (
        "str | None",
        "what makes vectors: local, static, fastembed, openai, ollama, cohere or none",
    ),
    "embedder_model": ("str | None", "the name of the embedding model"),
    "embedder_api_key": ("str | None", "the key of the embedder's service"),
    "embedder_base_url": ("str | None", "the address of the embedder's service"),
    "embedder_dimension": ("int | None", "the length of the vectors"),
    "embedder_threads": ("int | None", "threads of the local model; 0 chooses by the machine"),
    "model_dir": ("str | PathLike[str] | None", "the folder of one local embedding model"),
    "models_dir": (
        "str | PathLike[str] | None",
        "the folder where local embedding models are installed",
    ),
    "reranker": (
        "str | None",
        "what orders the best hits anew: fastembed, cohere, jina, tei, http or none",
    ),
    "reranker_model": ("str | None", "the reranker's model; for fastembed a name or a folder"),
    "reranker_api_key": ("str | None", "the key of the reranker's service"),
    "reranker_base_url": ("str | None", "the reranker's address, without /rerank"),
    "reranker_candidates": ("int | None", "hits that the reranker reads"),
    "reranker_chars": ("int | None", "characters of each hit that the reranker reads"),
    "reranker_timeout": ("float | None", "seconds after which a search ignores the reranker"),
    "redact": ("bool | None", "replace personal data and secrets before storing"),
    "privacy_rules": (
        "Sequence[Mapping[str, object]] | None",
        "rules of your own for what to replace",
    ),
    "privacy_kinds": (
        "str | Sequence[str] | None",
        "further kinds to replace: street_address, birth_date",
    ),
    "phone_country": (
        "str | None",
        "whose national phone numbers to replace; else the locale's",
    ),
    "private_names": ("str | Sequence[str] | None", "names to replace by stable ids in every text"),
    "own_names": (
        "str | None",
        "where your own names are replaced: traces, all or off",
    ),
    "raw_input": (
        "str | None",
        "what traces keep of a goal: scrub, summarise or drop",
    ),
    "system_memory": (
        "bool | None",
        "log anonymised figures of executions for all projects",
    ),
    "read_claims": ("bool | None", 'read simple claims, such as "X is Y", out of texts'),
    "link_similar": ("bool | None", "link each new memory to the most similar ones"),
    "predicates": (
        "Mapping[str, Mapping[str, str]] | None",
        "how predicates of claims behave, by name",
    ),
    "mirror_dir": (
        "str | PathLike[str] | None",
        "a folder of Markdown files that the commands keep up to date",
    ),
    "mirror_updates": (
        "str | None",
        "what a change does to a document: append or replace",
    ),
    "injection": (
        "Mapping[str, Mapping[str, object]] | None",
        "memories for the prompt of each agent: max_injected, min_importance, tags",
    ),
    "injection_max_tokens": ("int | None", "the most tokens of memories in an agent's prompt"),
    "injection_min_usefulness": (
        "float | None",
        "what votes made less useful is not injected",
    ),
    "trigger_min_similarity": (
        "float | None",
        "cosine to meet a trigger in words; 0 is off",
    ),
    "points_per_title_word": ("int | None", "points of a task's word in a memory's title"),
    "points_per_tag": ("int | None", "points of a tag that is of the agent's work"),
}


def load(
    stated: Mapping[str, object] | None = None, environment: Mapping[str, str] | None = None
) -> Config:
    """Returns the effective configuration; a stated value of None means not given."""
    environment = os.environ if environment is None else environment
    path, folder = config_path(environment), data_folder(environment)
    if environment.get(CONFIG_FILE) and not path.is_file():
        raise InvalidInput(f"{CONFIG_FILE} names {path}, and there is no such file")
    layers: list[tuple[str, Mapping[str, object]]] = [
        ("default", {"db_dir": folder, "models_dir": folder / "models"}),
        ("default", {"phone_country": country_of(environment)}),
        (f"file {path}", _from_file(path)),
        ("environment", _from_environment(environment)),
        ("option", {key: value for key, value in (stated or {}).items() if value is not None}),
    ]
    config, origins = Config(), {}
    known = {item.name for item in fields(Config)} - {"origins"}
    for origin, values in layers:
        for name, value in values.items():
            if name not in known:
                names = ", ".join(sorted(known))
                raise InvalidInput(f"{origin}: unknown setting {name!r}; the settings are: {names}")
            origins[name] = (
                f"environment {_ENVIRONMENT[name]}" if origin == "environment" else origin
            )
            try:
                fitted: dict[str, Any] = {name: _fitted(name, value)}
            except InvalidInput as error:
                key = _WRITTEN.get(name, name) if origin.startswith("file ") else name
                raise InvalidInput(f"{origins[name]}, {key}: {error}") from None
            config = replace(config, **fitted)
    return _with_provider_key(replace(config, origins=origins), environment)


def data_folder(environment: Mapping[str, str]) -> Path:
    """Returns the default folder of the store on this platform."""
    home = Path(environment.get("HOME") or Path.home())
    if sys.platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / APP
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / APP
    return Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share") / APP


def config_path(environment: Mapping[str, str]) -> Path:
    """Returns the path of the configuration file."""
    if environment.get(CONFIG_FILE):
        return Path(environment[CONFIG_FILE])
    home = Path(environment.get("HOME") or Path.home())
    if sys.platform in {"win32", "darwin"}:
        return data_folder(environment) / "config.toml"
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / APP / "config.toml"


def _from_file(path: Path) -> dict[str, object]:
    if not path.is_file():
        return {}
    import tomllib

    try:
        with path.open("rb") as file:
            return _flat(path, tomllib.load(file))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"the configuration file {path} is not valid TOML: {error}") from None


def _flat(path: Path, values: dict[str, object]) -> dict[str, object]:
    """Returns the file's values by setting name: `privacy.rules` becomes `privacy_rules`."""
    privacy = values.pop("privacy", {})
    if not isinstance(privacy, dict):
        raise InvalidInput(
            f"file {path}, privacy: must be a table: kinds, and rules under [[privacy.rules]]"
        )
    if strange := sorted(set(privacy) - {"rules", "kinds"}):
        raise InvalidInput(
            f"file {path}, privacy: unknown key {strange[0]!r}; the keys are kinds and rules"
        )
    for key in privacy:
        if (name := f"privacy_{key}") in values:
            raise InvalidInput(f"file {path}: set either {_WRITTEN[name]} or {name}, not both")
    return values | {f"privacy_{key}": value for key, value in privacy.items()}


def _from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    return {
        name: environment[variable]
        for name, variable in _ENVIRONMENT.items()
        if environment.get(variable)
    }


def _with_provider_key(config: Config, environment: Mapping[str, str]) -> Config:
    """Reads a provider's own variable, such as OPENAI_API_KEY, only if it is the chosen one."""
    providers = {
        "embedder": config.embedder,
        "llm": config.llm_provider,
        "reranker": config.reranker,
    }
    for name, provider in providers.items():
        setting = f"{name}_api_key"
        if getattr(config, setting) is not None:
            continue
        for variable in _PROVIDER_KEYS.get(provider or "", ()):
            if environment.get(variable):
                origins = {**config.origins, setting: f"environment {variable}"}
                found: dict[str, Any] = {setting: environment[variable], "origins": origins}
                config = replace(config, **found)
                break
    return config


def _fitted(name: str, value: object) -> object:
    """Returns the value in the setting's type, or raises an error that says what is allowed."""
    if name in _FOLDERS:
        return Path(str(value)).expanduser()
    if name in _COUNTS:
        return _count(value)
    if name in _CHOICES:
        if value in _CHOICES[name]:
            return value
        mark = ", " if _CHOICES[name][2:] else " or "
        raise InvalidInput(f"must be one of {mark.join(_CHOICES[name])}, not {value!r}")
    readers: dict[str, Callable[[object], object]] = {
        "skill_directories": _paths,
        "privacy_rules": _rules,
        "privacy_kinds": _kinds,
        "phone_country": check_country,
        "predicates": _named_tables,
        "private_names": _names,
        "injection": _injection,
        "trigger_min_similarity": lambda share: check_share(share, name),
        "reranker_timeout": _seconds,
        "lock_wait_seconds": _wait_seconds,
    }
    if name in readers:
        return readers[name](value)
    expected = type(getattr(Config(), name))
    if expected is bool and isinstance(value, str) and value.lower() in _TRUE | _FALSE:
        return value.lower() in _TRUE
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if expected is not type(None) and not isinstance(value, expected):
        raise InvalidInput(f"must be {_KINDS[expected]}, not {shown(value)}")
    return check_plain_namespace(value) if name == "namespace" else value


def _paths(value: object) -> tuple[str, ...]:
    paths = [value] if isinstance(value, str | Path) else value
    if isinstance(paths, Sequence) and all(isinstance(path, str | Path) for path in paths):
        return tuple(str(path) for path in paths)
    raise InvalidInput(f"must be a path or a list of paths, not {shown(value)}")


def _rules(value: object) -> tuple[Mapping[str, object], ...]:
    """Checks the rules at load time, so that a bad rule is not first found by `add`."""
    if not isinstance(value, Sequence) or not all(isinstance(table, Mapping) for table in value):
        raise InvalidInput(f"must be a list of tables, one per rule, not {shown(value)}")
    from memory_mesh.policy.privacy import user_rules

    user_rules(value)
    return tuple(value)


def _kinds(value: object) -> tuple[str, ...]:
    from memory_mesh.policy.privacy.optional import read

    return read(value)


def _names(value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"must be a name or a list of names, not {shown(value)}")
    from memory_mesh.policy.privacy.private_names import listed

    listed(names)
    return tuple(names)


def _named_tables(value: object) -> Mapping[str, Mapping[str, str]]:
    if isinstance(value, Mapping) and all(isinstance(table, Mapping) for table in value.values()):
        return value
    raise InvalidInput(f"must be one table per predicate, not {shown(value)}")


def _injection(value: object) -> Mapping[str, Mapping[str, object]]:
    from memory_mesh.policy.triggers import rules

    return rules.check(value)


def _count(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise InvalidInput(f"must be a whole number, 0 or more, not {shown(value)}")


def _seconds(value: object) -> float:
    if seconds := _wait_seconds(value, "above 0"):
        return seconds
    raise InvalidInput(f"must be a number of seconds, above 0, not {shown(value)}")


def _wait_seconds(value: object, bound: str = "0 or more") -> float:
    try:
        seconds = float(value) if isinstance(value, str | float | int) else -1.0
    except (ValueError, OverflowError):
        seconds = -1.0
    if isinstance(value, bool) or not 0 <= seconds < float("inf"):
        raise InvalidInput(f"must be a number of seconds, {bound}, not {shown(value)}")
    return seconds
