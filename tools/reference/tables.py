"""The pages of settings and errors, made from their tables and classes."""

import inspect
import re
from collections.abc import Iterator

from memory_mesh.cli import main
from memory_mesh.config import Config, tables
from memory_mesh.model import errors
from memory_mesh.platform.agent_shell import _VALUES, _VARIABLES
from tools.reference import notes

GROUPS = {  # heading, and how the names of its settings start
    "The store, and who reads and writes": (
        "store", "db_dir", "namespace", "agent_id", "project", "session", "allow_network_folder",
        "lock_wait_seconds", "enable_memory", "daemon",
    ),
    "Search by meaning": ("embedder", "model_dir", "models_dir"),
    "Reranker": ("reranker",),
    "Privacy": (
        "redact", "keep", "privacy", "phone_country", "private_names", "own_names", "raw_input",
        "system_memory", "span_content",
    ),
    "What is read from texts": ("read_claims", "link_similar", "predicates"),
    "Learning": (
        "skill_directories", "enable_wisdom", "lesson", "enable_heritage", "max_heritage",
        "consolidate",
    ),
    "How long things are kept": ("session_days", "expiry", "recall_days", "retention"),
    "Prompts and triggers": ("injection", "trigger", "points"),
    "Memory files": ("mirror",),
    "Language model": ("enable_llm", "llm", "extract_sessions"),
    "Audit": ("enable_yamo",),
}  # fmt: skip
_CODES = (
    (0, "the command did what was asked"),
    (main.FAILED, "it could not: the message says why and what to do next"),
    (main.MISUSED, "the command line is not valid: an unknown command or option, a missing value"),
    (main.CRASHED, "a bug in memory-mesh; please report it"),
    (main.INTERRUPTED, "interrupted by Ctrl-C"),
    (main.PIPE_CLOSED, "whoever read the output closed it, such as `head`"),
)


def settings_page() -> str:
    """Every setting with its variable, its place in the file, its default and what it does."""
    parts = [
        "# Settings",
        (
            "A setting is an argument of `MemoryMesh`, an environment variable or a key of the "
            "configuration file. An argument overrides the variable, which overrides the file. "
            "`memory-mesh config` prints every value and where it comes from."
        ),
        (
            "The file is `~/.config/memory-mesh/config.toml` on Linux, `config.toml` in the "
            "store's default folder on macOS and Windows, or what `MEMORY_MESH_CONFIG` names. "
            "Its keys are the names below:"
        ),
        (
            '```toml\nnamespace = "work"\nembedder = "none"\nlock_wait_seconds = 2.5\n\n'
            '[privacy]\nkinds = ["street_address"]\n```'
        ),
    ]
    for heading, names in grouped().items():
        rows = "\n".join(_setting(name) for name in names)
        head = "| setting | variable | default | what it does |\n|---|---|---|---|\n"
        parts.append(f"## {heading}\n\n{head}{rows}")
    parts.append("## Variables that are no settings\n\n" + _variables())
    parts.append(
        "## Variables of others\n\n| variables | what they decide |\n|---|---|\n"
        + "\n".join(f"| {_listed(names)} | {about} |" for names, about in _foreign())
    )
    return "\n\n".join(parts) + "\n"


def grouped() -> dict[str, list[str]]:
    """The settings under their headings; each has one."""
    left = [*tables.SETTINGS, *tables.NO_OPTION]
    found: dict[str, list[str]] = {}
    for heading, starts in GROUPS.items():
        found[heading] = [name for name in left if name.startswith(starts)]
        left = [name for name in left if name not in found[heading]]
    if left:
        raise SystemExit(f"tools/reference/tables.py: no heading in GROUPS for {left}")
    return found


def errors_page() -> str:
    """The tree of the errors, when each comes, and the exit codes."""
    tree = textwrap_tree(inspect.getdoc(errors) or "")
    parts = [
        "# Errors",
        (
            "Everything that memory-mesh raises on purpose is a `MeshError`; its message says what "
            "happened and what to do next, and holds no secret. Import the classes from "
            "`memory_mesh`. The command line prints the message and ends with 1; [messages]"
            "(messages.md) lists those that an operator meets."
        ),
        f"```text\n{tree}\n```",
        "## Exit codes\n\n| code | when |\n|---|---|\n"
        + "\n".join(f"| {code} | {when} |" for code, when in _CODES),
    ]
    parts += [_error(error) for error in error_classes()]
    return "\n\n".join(parts) + "\n"


def error_classes() -> list[type[errors.MeshError]]:
    """The error classes in the order of their source."""
    return [
        value
        for value in vars(errors).values()
        if inspect.isclass(value) and issubclass(value, errors.MeshError)
    ]


def textwrap_tree(docstring: str) -> str:
    """The drawing in the docstring of the errors."""
    lines = docstring.partition("::\n\n")[2].rstrip().splitlines()
    return "\n".join(line.removeprefix("    ") for line in lines)


def _error(error: type[errors.MeshError]) -> str:
    if error.__name__ not in notes.ERRORS:
        raise SystemExit(f"tools/reference/notes.py: say in ERRORS when {error.__name__} comes")
    when, do = notes.ERRORS[error.__name__]
    base = error.__base__
    lines = [f"## {error.__name__}", f"{when[0].upper()}{when[1:]}."]
    lines.append(f"What to do: {do}.")
    if base is not None and issubclass(base, errors.MeshError):
        lines.append(
            f"A [`{base.__name__}`](#{base.__name__.lower()}). Exit code {main.FAILED}. "
            f"Default message: {_quoted(error.__doc__ or '')}"
        )
    return "\n\n".join(lines)


def _quoted(text: str) -> str:
    return '"' + " ".join(text.split()) + '"'


def _setting(name: str) -> str:
    variable = tables.ENVIRONMENT.get(name)
    key = f"<br>in the file `{tables.WRITTEN[name]}`" if name in tables.WRITTEN else ""
    only = "<br>not an argument" if name in tables.NO_OPTION else ""
    shown = f"`{variable}`" if variable else ""
    return f"| `{name}`{key}{only} | {shown} | {_default(name)} | {tables.about(name)} |"


def _default(name: str) -> str:
    if name in {"db_dir", "models_dir"}:
        return "the platform's data folder" + ("" if name == "db_dir" else ", `models`")
    value = getattr(Config(), name)
    if value is None or value in ("", (), {}):
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text}`"


def _variables() -> str:
    rows = [f"| `{name}` | {about} |" for name, about in tables.VARIABLES.items()]
    return "| variable | what it does |\n|---|---|\n" + "\n".join(rows)


def _foreign() -> Iterator[tuple[str, str]]:
    yield from notes.FOREIGN.items()
    yield (
        ", ".join([*_VARIABLES, *_VALUES]),
        (
            "a shell in which one of them is set was started by an agent; the command line then "
            "writes as that agent ([trust](../trust.md))"
        ),
    )


def _listed(names: str) -> str:
    return re.sub(r"[A-Z][A-Z_]+", lambda found: f"`{found[0]}`", names)
