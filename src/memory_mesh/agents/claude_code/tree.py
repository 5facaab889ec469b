"""The files of the plugin, with the absolute paths of the commands that they call.

A host may start without the user's PATH, so a bare name would not be found.
"""

import shlex
from pathlib import Path

from memory_mesh._version import __version__
from memory_mesh.agents.claude_code.places import Commands
from memory_mesh.formats import json_edit
from memory_mesh.model import Json

SHIPPED = Path(__file__).parent
_HOOKS, _SERVERS = "plugin/hooks/hooks.json", "plugin/.mcp.json"
_MANIFEST = "plugin/.claude-plugin/plugin.json"
_FILES = (
    ".claude-plugin/marketplace.json",
    _MANIFEST,
    _HOOKS,
    _SERVERS,
    "plugin/README.md",
    "plugin/skills/memory/SKILL.md",
)


def plugin_files(commands: Commands) -> dict[str, bytes]:
    """Returns each file of the marketplace and its plugin, by its path in our folder."""
    texts = {name: (SHIPPED / name).read_text(encoding="utf-8") for name in _FILES}
    texts[_MANIFEST] = json_edit.with_member(texts[_MANIFEST], ["version"], value=__version__)
    texts[_HOOKS] = _with_hook(texts[_HOOKS], commands)
    texts[_SERVERS] = _with_server(texts[_SERVERS], commands)
    return {name: text.encode() for name, text in texts.items()}


def _with_hook(text: str, commands: Commands) -> str:
    """Replaces the bare name of the hook by its path, quoted for a shell."""
    stated = [f"{name}={shlex.quote(value)}" for name, value in commands.settings.items()]
    path = " ".join([*stated, shlex.quote(str(commands.hook))])
    for event, groups in _members(text, "hooks").items():
        calls = groups if isinstance(groups, list) else []
        changed: list[Json] = [
            {**group, "hooks": [_called(call, path) for call in group["hooks"]]} for group in calls
        ]
        text = json_edit.with_member(text, ["hooks", event], value=changed)
    return text


def _called(call: dict[str, Json], path: str) -> dict[str, Json]:
    _, _, words = str(call["command"]).partition(" ")
    return {**call, "command": f"{path} {words}"}


def _with_server(text: str, commands: Commands) -> str:
    for name, shipped in _members(text, "mcpServers").items():
        words = shipped["args"] if isinstance(shipped, dict) else []
        server: dict[str, Json] = {"command": str(commands.mcp), "args": words}
        if commands.settings:
            server["env"] = dict(commands.settings)
        text = json_edit.with_member(text, ["mcpServers", name], value=server)
    return text


def _members(text: str, name: str) -> dict[str, Json]:
    found = json_edit.read(text)[name]
    return found if isinstance(found, dict) else {}
