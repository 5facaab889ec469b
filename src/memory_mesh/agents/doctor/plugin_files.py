"""The plugin beside Claude Code's settings: which commands it calls, with which settings."""

import shlex
from pathlib import Path

from memory_mesh.agents.claude_code.changes import members_of
from memory_mesh.agents.claude_code.places import Place
from memory_mesh.fastdataclass import dataclass
from memory_mesh.model import Json

HOOKS, SERVERS = Path("plugin/hooks/hooks.json"), Path("plugin/.mcp.json")
MANIFEST = Path("plugin/.claude-plugin/plugin.json")
EVENTS = (
    "SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd", "PostToolUseFailure",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Called:
    """A command that the plugin has Claude Code run."""

    name: str  # an event, or MCP
    command: tuple[str, ...]  # without the settings before it
    settings: dict[str, str]

    @property
    def path(self) -> Path:
        """The program."""
        return Path(self.command[0])


def hooks_of(place: Place) -> list[Called]:
    """The commands of the plugin's hooks; none where the file is gone."""
    found: list[Called] = []
    events = members_of(place.own / HOOKS).get("hooks")
    for event, groups in (events if isinstance(events, dict) else {}).items():
        for group in groups if isinstance(groups, list) else []:
            calls = group.get("hooks") if isinstance(group, dict) else None
            stated = calls if isinstance(calls, list) else []
            read = [_called(event, call) for call in stated if isinstance(call, dict)]
            found += [called for called in read if called is not None]
    return found


def servers_of(place: Place) -> list[Called]:
    """The commands of the plugin's MCP servers."""
    stated = members_of(place.own / SERVERS).get("mcpServers")
    found = []
    for server in (stated if isinstance(stated, dict) else {}).values():
        if isinstance(server, dict) and isinstance(server.get("command"), str):
            words = server.get("args")
            arguments = [str(word) for word in words] if isinstance(words, list) else []
            variables = server.get("env")
            settings = variables if isinstance(variables, dict) else {}
            found.append(
                Called(
                    "MCP",
                    (str(server["command"]), *arguments),
                    {name: str(value) for name, value in settings.items()},
                )
            )
    return found


def version_of(place: Place) -> str:
    """The version that the plugin says it is of."""
    return str(members_of(place.own / MANIFEST).get("version") or "unknown")


def _called(event: str, call: dict[str, Json]) -> Called | None:
    """A line of a shell as settings and a command; None if it is no such line."""
    try:
        words = shlex.split(str(call.get("command") or ""))
    except ValueError:
        return None
    settings: dict[str, str] = {}
    while words and "=" in words[0] and words[0].partition("=")[0].isidentifier():
        name, _, value = words.pop(0).partition("=")
        settings[name] = value
    return Called(event, tuple(words), settings) if words else None
