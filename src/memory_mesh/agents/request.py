"""What a front asks and a daemon answers: one JSON object per line, each way.

::

    {"protocol":1,"version":…,"id":…,"do":"hook","host":"claude-code","store":…,"cwd":…,
     "environment":{…},"parents":[…],"input":{…}}
    {"protocol":1,"version":…,"pid":…,"ok":true,"answer":{…}}
    {"protocol":1,"version":…,"pid":…,"ok":false,"error":{"kind":"StoreIsBusy","text":"…"}}

A request carries everything that decides what it means, so that a daemon needs nothing of the
process that started it. This module is light: a hook loads it at every prompt.
"""

import os

from memory_mesh._version import __version__
from memory_mesh.base.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_scan: "Callable[[str, int], tuple[object, int]] | None"
_encode: "Callable[[object, int], tuple[str, ...]] | None"

PROTOCOL = 1
MAX_BYTES = 8_000_000  # of a request or a reply
HOST = "claude-code"
_ANCESTORS = 4
_PREFIXES = ("MEMORY_MESH_", "XDG_", "LC_")
_FILES = ("MEMORY_MESH_CONFIG", "MEMORY_MESH_KEY_FILE")
_FILES_OF_LIBPQ = (
    *("PGPASSFILE", "PGSSLCERT", "PGSSLKEY", "PGSSLROOTCERT", "PGSSLCRL", "PGSSLCRLDIR"),
)
LIBPQ = frozenset(  # the variables that it reads
    (
        *("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD"),
        *("PGSERVICE", "PGSERVICEFILE", "PGSYSCONFDIR", "PGOPTIONS", "PGAPPNAME"),
        *("PGCLIENTENCODING", "PGCONNECT_TIMEOUT", "PGCHANNELBINDING", "PGREQUIREPEER"),
        *("PGREQUIREAUTH", "PGREQUIRESSL", "PGSSLMODE", "PGSSLNEGOTIATION", "PGSSLCOMPRESSION"),
        *("PGSSLCERTMODE", "PGSSLSNI", "PGSSLMINPROTOCOLVERSION", "PGSSLMAXPROTOCOLVERSION"),
        *("PGMINPROTOCOLVERSION", "PGMAXPROTOCOLVERSION", "PGGSSENCMODE", "PGKRBSRVNAME"),
        *("PGGSSLIB", "PGGSSDELEGATION", "PGTARGETSESSIONATTRS", "PGLOADBALANCEHOSTS"),
        *_FILES_OF_LIBPQ,
    )
)
_NAMES = frozenset(
    (
        *("HOME", "USERPROFILE", "LOCALAPPDATA", "APPDATA", "USER", "LOGNAME", "USERNAME"),
        *("SUDO_USER", "GIT_CONFIG_GLOBAL", "GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "LANG"),
        *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "COHERE_API_KEY", "CO_API_KEY", "JINA_API_KEY"),
        *("CLAUDECODE", "CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"),
        *(
            "CODEX_CI",
            "GEMINI_CLI",
            "QWEN_CODE",
            "OPENCODE",
            "CURSOR_AGENT",
            "COPILOT_CLI",
            "GOOSE_TERMINAL",
        ),
        *("AMP_CURRENT_THREAD_ID", "AUGMENT_AGENT", "CLINE_ACTIVE", "PI_CODING_AGENT"),
        *("AI_AGENT", "OR_APP_NAME", "AGENT"),
    )
)


class BadLine(ValueError):
    """The line is no request and no reply."""


def made(
    do: str,
    given: "Mapping[str, object] | None" = None,
    *,
    host: str = HOST,
    environment: "Mapping[str, str] | None" = None,
    cwd: str | None = None,
) -> dict[str, Any]:
    """Returns a new request of this process, with an id of its own."""
    from memory_mesh.agents.daemon import place  # the front answers before it looks for a store

    variables = os.environ if environment is None else environment
    here = _here() if cwd is None else cwd
    return {
        "protocol": PROTOCOL,
        "version": __version__,
        "id": os.urandom(16).hex(),
        "do": do,
        "host": host,
        "store": place.folder_of(variables, here),
        "cwd": here,
        "environment": kept(variables, here),
        "parents": ancestors(),
        "input": dict(given or {}),
    }


def kept(environment: "Mapping[str, str]", cwd: str) -> dict[str, str]:
    """The variables of settings, keys, names, the agent's shell and libpq; no others.

    Paths of files are made absolute: the reader may be in another folder. A command that prints a
    key is looked for where the sender would.
    """
    found = {
        name: environment[name]  # each value of os.environ is decoded when it is asked for
        for name in environment
        if name in _NAMES or name.startswith(_PREFIXES) or name in LIBPQ
    }
    for name in _FILES:
        if found.get(name):
            found[name] = os.path.join(cwd, found[name])  # noqa: PTH118
    for name in _FILES_OF_LIBPQ:  # some may be a word instead, such as `system`
        path = os.path.join(cwd, found.get(name, ""))  # noqa: PTH118
        if name in found and os.path.exists(path):  # noqa: PTH110
            found[name] = path
    if found.get("MEMORY_MESH_KEY_COMMAND") and "PATH" in environment:
        found["PATH"] = environment["PATH"]
    return found


def to_line(message: "Mapping[str, object]") -> bytes:
    """A request or reply as one line."""
    return dumps(message).encode("ascii") + b"\n"


def from_line(line: bytes) -> dict[str, Any]:
    """The request or reply in a line; BadLine if it is none."""
    try:
        found = loads(line.decode())
    except ValueError as error:
        raise BadLine(str(error)) from None
    if not isinstance(found, dict):
        raise BadLine("it is no JSON object")
    return found


def ancestors(pid: int | None = None) -> list[int]:
    """The processes above this one, the nearest first; none where the system does not tell."""
    found: list[int] = []
    above = os.getppid() if pid is None else _parent(pid)
    while above > 1 and len(found) < _ANCESTORS:
        found.append(above)
        above = _parent(above)
    return found


def is_from_shell_tool(
    environment: "Mapping[str, str]", parents: "Sequence[int]", variable: str | None = None
) -> bool:
    """Whether an event comes from the shell that a host gives its model, not from the host.

    Some hosts set a `variable` there alone. For Claude Code's shell AI_AGENT ends with `_agent`,
    for a hook with `_harness`; and that shell begins with a snapshot of the user's. So it is in
    2.1.197 and 2.1.326.
    """
    if variable and environment.get(variable):
        return True
    name, _, kind = environment.get("AI_AGENT", "").rpartition("_")
    is_shells = name.startswith("claude-code") and kind == "agent"
    return is_shells or any(
        b"/shell-snapshots/snapshot-" in _told(pid, "cmdline") for pid in parents
    )


def _parent(pid: int) -> int:
    rest = _told(pid, "stat").rpartition(b")")[2].split()
    return int(rest[1]) if len(rest) > 1 else 0


def _told(pid: int, what: str) -> bytes:
    """The beginning of what the system tells of a process; nothing where it does not."""
    try:
        with open(f"/proc/{pid}/{what}", "rb") as file:  # noqa: PTH123  # pathlib costs 8 ms
            return file.read(4096)
    except OSError:
        return b""


def _here() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:  # the folder was removed
        return ""


# JSON for processes that live for a few milliseconds: the standard library's C parts alone.
#
# The package `json` loads `re`, which costs a third of a bare interpreter's start. Its C module
# needs neither. Where that module is missing or differs, the package does the work.


def dumps(value: object) -> str:
    """The value as ASCII JSON on one line; ValueError or TypeError if it is none."""
    if _encode is not None:
        return "".join(_encode(value, 0))
    import json

    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def loads(text: str) -> object:
    """The value of a JSON text; ValueError if it is none, or nested too deep."""
    if _scan is None:
        import json

        return json.loads(text)
    text = text.strip(" \t\r\n")
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("it holds no JSON value") from None
    except SystemError:  # the C reader finds no class for its error while `json` is not loaded
        raise ValueError("it is no valid JSON") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if end != len(text):
        raise ValueError("it goes on after its JSON value")
    return value


class _Rules:
    """What the C reader asks for: the same as `json.loads` without options."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float
    memo: "dict[str, str]" = {}  # noqa: RUF012  # the reader keeps a memo of its own


def _refused(value: object) -> object:
    raise TypeError(f"a {type(value).__name__} is no JSON value")


try:
    import _json

    _scan = _json.make_scanner(_Rules)  # type: ignore[arg-type]  # any object with these names
    _encode = _json.make_encoder(
        None, _refused, _json.encode_basestring_ascii, None, ":", ",", *(False, False, False)
    )
except (ImportError, AttributeError, TypeError):  # another Python than CPython, or a later one
    _scan = _encode = None
