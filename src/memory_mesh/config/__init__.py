"""The settings: one frozen Config, read from arguments, environment and configuration file.

Arguments override the environment, which overrides the file, which overrides the defaults.
`Config.origins` says where each value came from. No other module reads settings.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from memory_mesh.base.typed import Any, dataclass, field, fields, replace
from memory_mesh.config.tables import (
    CHOICES,
    COUNTS,
    ENVIRONMENT,
    FOLDERS,
    PROVIDER_KEYS,
    SETTINGS,
    WRITTEN,
)
from memory_mesh.model import PredicateSchema
from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.platform import store_urls, system
from memory_mesh.privacy import user_rules
from memory_mesh.rules.arguments import check_plain_namespace, check_share, near

# Those whose phone numbers the package phonenumbers knows, which takes long to import.
_CODES = (
    "AC AD AE AF AG AI AL AM AO AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ "
    "BR BS BT BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO "
    "DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GT GU "
    "GW GY HK HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW "
    "KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT "
    "MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PR PS PT "
    "PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TA "
    "TC TD TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG US UY UZ VA VC VE VG VI VN VU WF WS XK "
    "YE YT ZA ZM ZW"
)
COUNTRIES = frozenset(_CODES.split())

__all__ = ["CONFIG_FILE", "NO_AGENT", "SETTINGS", "Config", "config_path", "data_folder", "load"]

APP = "memory-mesh"
CONFIG_FILE = "MEMORY_MESH_CONFIG"
_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off", ""}
_KINDS = {bool: "true or false", float: "a number", str: "a text"}
NO_AGENT = "YAMO_AGENT"  # the agent of a mesh that was given none


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Every setting, including the options of RFC-0011 4.2."""

    store: str | None = field(
        default=None, repr=False
    )  # only of a database: it may hold a password
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
    llm_tokens_per_day: int = 200_000
    extract_sessions: bool = False
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
    keep: tuple[str, ...] = ()
    privacy_kinds: tuple[str, ...] = ()
    phone_country: str = ""
    private_names: tuple[str, ...] = ()
    own_names: str = "traces"
    raw_input: str = "scrub"
    system_memory: str = "off"
    read_claims: bool = True
    link_similar: bool = True
    expiry: Mapping[str, int] = field(default_factory=dict)
    predicates: Mapping[str, PredicateSchema | Mapping[str, str]] = field(default_factory=dict)
    mirror_dir: Path | None = None
    mirror_updates: str = "append"
    injection: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    injection_max_tokens: int = 2_000
    injection_min_usefulness: float = 0.5
    trigger_min_similarity: float = 0.0
    points_per_title_word: int = 5
    points_per_tag: int = 5
    span_content: bool = False
    daemon: bool = True  # of hooks and MCP: the library has no use for one, and no option
    daemon_idle_seconds: float = 900.0
    origins: Mapping[str, str] = field(default_factory=dict)


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
        (
            "environment",
            (
                {
                    name: environment[variable]
                    for name, variable in ENVIRONMENT.items()
                    if environment.get(variable)
                }
            ),
        ),
        ("option", {key: value for key, value in (stated or {}).items() if value is not None}),
    ]
    config, origins = Config(), {}
    known = {item.name for item in fields(Config)} - {"origins"}
    for origin, values in layers:
        for name, value in values.items():
            if name not in known:
                raise InvalidInput(f"{origin}: unknown setting {name!r}; {_meant(name, known)}")
            origins[name] = (
                f"environment {ENVIRONMENT[name]}" if origin == "environment" else origin
            )
            try:
                fitted: dict[str, Any] = {name: _fitted(name, value, environment)}
            except InvalidInput as error:
                key = WRITTEN.get(name, name) if origin.startswith("file ") else name
                raise InvalidInput(f"{origins[name]}, {key}: {error}") from None
            config = replace(config, **fitted)
    config = _placed(replace(config, origins=origins), layers, environment)
    return _with_provider_key(config, environment)


def _placed(
    config: Config,
    layers: Sequence[tuple[str, Mapping[str, object]]],
    environment: Mapping[str, str],
) -> Config:
    """Decides between a folder and a store that was named otherwise: the nearer layer counts.

    Files of this machine that belong to a database are kept in a folder of their own.
    """
    if config.store is None:
        return config
    named = max(place for place, (_, values) in enumerate(layers) if "store" in values)
    folder = max(place for place, (_, values) in enumerate(layers) if "db_dir" in values)
    origins = dict(config.origins)
    if named < folder:
        del origins["store"]
        return replace(config, store=None, origins=origins)
    if store_urls.is_server(config.store):
        return replace(config, db_dir=config.db_dir / store_urls.own_folder(config.store))
    if named == folder:
        raise InvalidInput("store and db_dir name two folders: give one of them")
    path = store_urls.expanded(store_urls.folder_in(config.store) or "", environment)
    origins["db_dir"] = origins.pop("store")
    return replace(config, store=None, db_dir=path, origins=origins)


def _meant(name: str, known: Collection[str]) -> str:
    """Which setting a misspelt one was meant to be, or where they are listed."""
    meant = near(name, sorted(known))
    return f"{f'did you mean {meant}? ' if meant else ''}memory-mesh config lists all of them"


def data_folder(environment: Mapping[str, str]) -> Path:
    """Returns the default folder of the store on this platform."""
    return Path(system.data_folder(environment))


def config_path(environment: Mapping[str, str]) -> Path:
    """Returns the path of the configuration file."""
    if environment.get(CONFIG_FILE):
        return Path(environment[CONFIG_FILE])
    return Path(system.config_folder(environment)) / "config.toml"


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
            raise InvalidInput(f"file {path}: set either {WRITTEN[name]} or {name}, not both")
    return values | {f"privacy_{key}": value for key, value in privacy.items()}


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
        for variable in PROVIDER_KEYS.get(provider or "", ()):
            if environment.get(variable):
                origins = {**config.origins, setting: f"environment {variable}"}
                found: dict[str, Any] = {setting: environment[variable], "origins": origins}
                config = replace(config, **found)
                break
    return config


def _fitted(name: str, value: object, environment: Mapping[str, str]) -> object:
    """Returns the value in the setting's type, or raises an error that says what is allowed."""
    if name in FOLDERS:
        if "://" in str(value):
            raise InvalidInput(f"must be a folder of this machine, not the address {shown(value)}")
        return store_urls.expanded(str(value), environment)
    if name in COUNTS:
        return _count(value)
    if name in CHOICES:
        return _chosen(name, value)
    readers: dict[str, Callable[[object], object]] = {
        "store": _store,
        "skill_directories": _paths,
        "privacy_rules": _rules,
        "keep": lambda kinds: _kinds(kinds, kept=True),
        "privacy_kinds": _kinds,
        "phone_country": check_country,
        "predicates": _named_tables,
        "expiry": _days,
        "private_names": _names,
        "injection": _injection,
        "trigger_min_similarity": lambda share: check_share(share, name),
        "reranker_timeout": _seconds,
        "lock_wait_seconds": _wait_seconds,
        "daemon_idle_seconds": _seconds,
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


def _chosen(name: str, value: object) -> object:
    if name == "system_memory" and str(value).lower() in _TRUE | _FALSE:  # as it once was
        return "counts" if str(value).lower() in _TRUE else "off"
    if value in CHOICES[name]:
        return value
    mark = ", " if CHOICES[name][2:] else " or "
    raise InvalidInput(f"must be one of {mark.join(CHOICES[name])}, not {value!r}")


def _store(value: object) -> str:
    text = str(value)
    if not isinstance(value, str | Path) or not text:
        raise InvalidInput(f"must be a folder or an address, not {shown(value)}")
    if store_urls.is_server(text):
        store_urls.local_name(text)
    else:
        store_urls.folder_in(text)
    return text


def _paths(value: object) -> tuple[str, ...]:
    paths = [value] if isinstance(value, str | Path) else value
    if isinstance(paths, Sequence) and all(isinstance(path, str | Path) for path in paths):
        return tuple(str(path) for path in paths)
    raise InvalidInput(f"must be a path or a list of paths, not {shown(value)}")


def _rules(value: object) -> tuple[Mapping[str, object], ...]:
    """Checks the rules at load time, so that a bad rule is not first found by `add`."""
    if not isinstance(value, Sequence) or not all(isinstance(table, Mapping) for table in value):
        raise InvalidInput(f"must be a list of tables, one per rule, not {shown(value)}")
    user_rules(value)
    return tuple(value)


def _kinds(value: object, *, kept: bool = False) -> tuple[str, ...]:
    from memory_mesh.privacy.optional import read

    return read(value, kept=kept)


def _names(value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"must be a name or a list of names, not {shown(value)}")
    from memory_mesh.privacy.private_names import listed

    listed(names)
    return tuple(names)


def _named_tables(value: object) -> Mapping[str, Mapping[str, str]]:
    if isinstance(value, Mapping) and all(isinstance(table, Mapping) for table in value.values()):
        return value
    raise InvalidInput(f"must be one table per predicate, not {shown(value)}")


def _days(value: object) -> Mapping[str, int]:
    if isinstance(value, Mapping) and all(map(_count, value.values())):
        return {str(name): _count(days) for name, days in value.items()}
    raise InvalidInput(f"must be a number of days for each kind or tag, not {shown(value)}")


def _injection(value: object) -> Mapping[str, Mapping[str, object]]:
    from memory_mesh.search.triggers import selection

    return selection.check(value)


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


# The country of a locale, and whether a text is the code of one.


def country_of(environment: Mapping[str, str]) -> str:
    """Returns the country that the locale names, such as DE of de_DE.UTF-8; else nothing."""
    names = ("LC_ALL", "LC_TELEPHONE", "LANG")
    stated = next((environment[name] for name in names if environment.get(name)), "")
    country = stated.partition(".")[0].partition("@")[0].rpartition("_")[2]
    return country if "_" in stated and _is_country(country) else ""


def check_country(value: object) -> str:
    """Returns the code of a country in capitals, or nothing; InvalidInput for another value."""
    if isinstance(value, str) and (not value or _is_country(value)):
        return value.upper()
    raise InvalidInput(
        f"must be the two letters of a country (ISO 3166), such as DE or GB, or '' for none, "
        f"not {shown(value)}"
    )


def _is_country(value: str) -> bool:
    return value.isascii() and value.upper() in COUNTRIES
