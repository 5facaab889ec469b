"""Hosts of agents: where each has its files, and what `memory-mesh init` puts into them.

::

    Host ── plan(folder, commands) ──▶ FileChange, FileChange … ──▶ shown ──▶ undo.write
              JSON: our members          TOML, Markdown: a piece of text
              a folder of plugins: a file of ours

What each host calls its events, and the shape of what it reads, is in `agents.hook.hosts`. Claude
Code stands in the table to be found and named; its plugin has a module of its own.
"""

import json
import shutil
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from memory_mesh.agents.hook import hosts as said
from memory_mesh.agents.hosts.claude_code import hook_line, server
from memory_mesh.agents.hosts.places import NAME, Commands, followed, home_of
from memory_mesh.agents.hosts.undo import (
    BrokenFile,
    FileChange,
    Member,
    whole,
    with_members,
    with_piece,
    written,
)
from memory_mesh.base.typed import dataclass
from memory_mesh.model import Json

_FILES = Path(__file__).parent / "files"
_SECONDS = 3  # that a host gives a hook; Codex gives the one at the end no more
_SHELL = {"gemini": "run_shell_command", "qwen": "run_shell_command", "copilot": "bash"}

Plan = Callable[["Host", Path, Commands], list[FileChange]]


@dataclass(frozen=True, slots=True)
class Host:
    """A program that runs an agent: how it is found, and what its files are to hold."""

    name: str
    title: str
    binary: str
    folder: str  # of its settings, below the user's home
    plan: Plan
    variable: str = ""  # that names another folder
    below: str = ""  # where in that other folder
    after: str = ""  # what is left to its user once it is set up

    def place(self, environment: Mapping[str, str]) -> Path:
        """Returns the folder of its settings."""
        stated = environment.get(self.variable) if self.variable else None
        return Path(stated) / self.below if stated else home_of(environment) / self.folder

    def own(self, environment: Mapping[str, str]) -> Path:
        """Returns our folder beside its settings: the record of what was changed."""
        return self.place(environment) / NAME

    def found(self, environment: Mapping[str, str]) -> str:
        """Returns its command, or its folder; an empty text where it is not on this machine."""
        folder = self.place(environment)
        on_path = shutil.which(self.binary, path=environment.get("PATH"))
        return on_path or (str(folder) if folder.is_dir() else "")

    def is_set_up(self, environment: Mapping[str, str]) -> bool:
        """True if the installation was not taken back."""
        return bool(written(self.own(environment)))

    def start(self) -> str:
        """Returns its name for the start of a session; an empty text if it has no hooks."""
        events = said.EVENTS.get(self.name, {})
        return next((theirs for theirs, ours in events.items() if ours == said.START), "")

    def planned(self, environment: Mapping[str, str], commands: Commands) -> list[FileChange]:
        """Returns the files to write, and what they are to hold."""
        changes = self.plan(self, self.place(environment), commands)
        return [change for change in changes if change.before != change.after]


def _claude_code(_host: Host, _folder: Path, _commands: Commands) -> list[FileChange]:
    """Plans nothing: its plugin needs more than a folder, see `agents.hosts.claude_code`."""
    return []


def _codex(host: Host, folder: Path, commands: Commands) -> list[FileChange]:
    """One piece of its settings: the server and, in tables that may stand beside others, hooks."""
    lines = [
        f"# {NAME}: memory-mesh init --undo --host {host.name} takes this out",
        f"[mcp_servers.{NAME}]",
        *(f"{name} = {_toml(value)}" for name, value in _server(host, commands).items()),
    ]
    for event in said.EVENTS[host.name]:
        line = _hook(host, commands, event)
        call: dict[str, Json] = {"type": "command", "command": line, "timeout": _SECONDS}
        lines += ["", f"[[hooks.{event}]]", f"hooks = [{_toml(call)}]"]
    change = with_piece(folder / NAME, followed(folder / "config.toml"), "\n".join([*lines, ""]))
    try:
        tomllib.loads((change.after or b"").decode())
    except tomllib.TOMLDecodeError as error:
        raise BrokenFile(change.path, f"with our part, {error}", "TOML") from None
    return [change, with_piece(folder / NAME, followed(folder / "AGENTS.md"), _section())]


def _opencode(_host: Host, folder: Path, commands: Commands) -> list[FileChange]:
    """One plugin: it calls the hook, and names the server in the settings as they are read."""
    text = (_FILES / "opencode.js").read_text(encoding="utf-8")
    stated = (("HOOK", str(commands.hook)), ("SERVER", str(commands.mcp)))
    for name, value in (*stated, ("SETTINGS", dict(commands.settings))):
        begin = text.index(f"const {name} = ")
        line = f"const {name} = {json.dumps(value)}"
        text = text[:begin] + line + text[text.index("\n", begin) :]
    return [whole(folder / f"plugins/{NAME}.js", text.encode())]


def _gemini(host: Host, folder: Path, commands: Commands) -> list[FileChange]:
    members = [Member(("mcpServers", NAME), _server(host, commands))]
    for event, ours in said.EVENTS[host.name].items():
        call: dict[str, Json] = {
            "name": NAME,
            "type": "command",
            "command": _hook(host, commands, event),
            "timeout": _SECONDS * 1000,
        }
        entry: dict[str, Json] = {"hooks": [call]}
        if ours == said.RAN:
            entry["matcher"] = _SHELL[host.name]
        members.append(Member(("hooks", event), entry, in_list=True))
    return [with_members(followed(folder / "settings.json"), members)]


def _copilot(host: Host, folder: Path, commands: Commands) -> list[FileChange]:
    entry: dict[str, Json] = {"type": "local", **_server(host, commands), "tools": ["*"]}
    hooks: dict[str, Json] = {}
    for event, ours in said.EVENTS[host.name].items():
        call: dict[str, Json] = {
            "type": "command",
            "bash": _hook(host, commands, event),
            "timeoutSec": _SECONDS,
        }
        hooks[event] = [{**call, "matcher": _SHELL[host.name]} if ours == said.RAN else call]
    text = json.dumps({"version": 1, "hooks": hooks}, indent=2, ensure_ascii=False) + "\n"
    return [
        with_members(followed(folder / "mcp-config.json"), [Member(("mcpServers", NAME), entry)]),
        whole(folder / f"hooks/{NAME}.json", text.encode()),
    ]


def _cursor(host: Host, folder: Path, commands: Commands) -> list[FileChange]:
    members = [Member(("version",), 1, scaffold=True)]
    for event in said.EVENTS[host.name]:
        call: dict[str, Json] = {"command": _hook(host, commands, event), "timeout": _SECONDS}
        members.append(Member(("hooks", event), call, in_list=True))
    servers = [Member(("mcpServers", NAME), _server(host, commands))]
    return [
        with_members(followed(folder / "mcp.json"), servers),
        with_members(followed(folder / "hooks.json"), members),
    ]


def _cline(host: Host, folder: Path, commands: Commands) -> list[FileChange]:
    settings = followed(folder / "data/settings/cline_mcp_settings.json")
    return [
        with_members(settings, [Member(("mcpServers", NAME), _server(host, commands))]),
        whole(folder / f"rules/{NAME}.md", _section().encode()),
    ]


def _server(host: Host, commands: Commands) -> dict[str, Json]:
    return server(commands, "--host", host.name)


def _hook(host: Host, commands: Commands, event: str) -> str:
    return hook_line(commands, "--host", host.name, event)


def _section() -> str:
    return (_FILES / "memory.md").read_text(encoding="utf-8")


def _toml(value: Json) -> str:
    """Returns a value as TOML on one line; its strings are written as those of JSON."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(each)}" for name, each in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


CLAUDE_CODE = "claude-code"
HOSTS: Sequence[Host] = (
    Host(CLAUDE_CODE, "Claude Code", "claude", ".claude", _claude_code, "CLAUDE_CONFIG_DIR"),
    Host(
        "codex",
        "Codex",
        "codex",
        ".codex",
        _codex,
        "CODEX_HOME",
        after="Codex runs new hooks once you have trusted them: type /hooks in its next session",
    ),
    Host(
        *("opencode", "OpenCode", "opencode", ".config/opencode", _opencode),
        variable="XDG_CONFIG_HOME",
        below="opencode",
    ),
    Host(
        *("gemini", "Gemini CLI", "gemini", ".gemini", _gemini),
        variable="GEMINI_CLI_HOME",
        below=".gemini",
    ),
    Host("qwen", "Qwen Code", "qwen", ".qwen", _gemini),
    Host("copilot", "Copilot CLI", "copilot", ".copilot", _copilot, "COPILOT_HOME"),
    Host("cursor", "Cursor", "cursor", ".cursor", _cursor),
    Host("cline", "Cline", "cline", ".cline", _cline),
)
