"""Plans the installation of the plugin into Claude Code: which files will hold what.

Claude Code installs a plugin that its settings name, but some versions do so beside the first
session, which then has no memory. So the two lists of installed plugins are written as well, as its
own `plugin install` would write them; the plugin runs from our folder, no copy is made.
"""

import json
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh._version import __version__
from memory_mesh.agents.hosts.places import NAME, Commands, SettingsFolder, followed
from memory_mesh.agents.hosts.undo import (
    FileChange,
    Member,
    members_of,
    whole,
    with_members,
    without_member,
)
from memory_mesh.formats import json_text
from memory_mesh.model import Json

SHIPPED = Path(__file__).parent / "files/claude_code"
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

PLUGIN = f"{NAME}@{NAME}"  # plugin and marketplace
_LISTS_VERSION = 2  # of installed_plugins.json, as Claude Code 2.1 writes it
_HOST_MEMORY = ("autoMemoryEnabled",)


def planned(
    place: SettingsFolder, commands: Commands, *, now: datetime, host_memory: str | None = None
) -> list[FileChange]:
    """Returns the files to write: the plugin first, and last the settings that switch it on."""
    changes = [whole(place.own / name, data) for name, data in plugin_files(commands).items()]
    if place.repository is not None:
        changes.append(whole(place.own / ".gitignore", b"*\n"))
    else:
        changes += _lists(place, now)
    changes.append(_settings(place, host_memory))
    return [change for change in changes if change.before != change.after]


def is_installed(place: SettingsFolder) -> bool:
    """True if the settings of this place switch the plugin on."""
    enabled = members_of(place.settings).get("enabledPlugins")
    return isinstance(enabled, dict) and enabled.get(PLUGIN) is True


def _settings(place: SettingsFolder, host_memory: str | None) -> FileChange:
    members = [
        Member(("extraKnownMarketplaces", NAME), {"source": _source(place)}),
        Member(("enabledPlugins", PLUGIN), value=True),
    ]
    if host_memory == "off":
        members.append(Member(_HOST_MEMORY, value=False))
    change = with_members(place.settings, members)
    return without_member(place.own, change, _HOST_MEMORY) if host_memory == "keep" else change


def _source(place: SettingsFolder) -> dict[str, Json]:
    return {"source": "directory", "path": str(place.own)}


def _lists(place: SettingsFolder, now: datetime) -> list[FileChange]:
    """Plans the entries in Claude Code's lists of marketplaces and of installed plugins."""
    folder, time = (
        place.folder / "plugins",
        now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    )
    marketplaces = followed(folder / "known_marketplaces.json")
    listed: dict[str, Json] = {"source": _source(place), "installLocation": str(place.own)}
    installed = followed(folder / "installed_plugins.json")
    entry: dict[str, Json] = {
        "scope": "user",
        "installPath": str(place.own / "plugin"),
        "version": __version__,
    }
    known = members_of(marketplaces).get(NAME)
    changes = [
        with_members(
            marketplaces,
            [Member((NAME,), _kept(known, listed) or {**listed, "lastUpdated": time})],
        )
    ]
    if members_of(installed).get("version", _LISTS_VERSION) == _LISTS_VERSION:
        times: dict[str, Json] = {"installedAt": time, "lastUpdated": time}
        entries = _entries(installed, entry, times)
        changes.append(
            with_members(
                installed,
                [
                    Member(("version",), _LISTS_VERSION, scaffold=True),
                    Member(("plugins", PLUGIN), entries),
                ],
            )
        )
    return changes


def _entries(installed: Path, entry: dict[str, Json], times: dict[str, Json]) -> Sequence[Json]:
    """Returns what the list says of our plugin: our entry, and those of single repositories."""
    plugins = members_of(installed).get("plugins")
    known = plugins.get(PLUGIN) if isinstance(plugins, dict) else None
    known = known if isinstance(known, list) else []
    users = [each for each in known if isinstance(each, dict) and each.get("scope") == "user"]
    others = [each for each in known if each not in users]
    kept = next((found for each in users if (found := _kept(each, entry))), None)
    return known if kept and len(users) == 1 else [*others, kept or {**entry, **times}]


def _kept(known: Json, wanted: dict[str, Json]) -> dict[str, Json] | None:
    """Returns what is there if it says what is wanted; times and further facts may differ."""
    if isinstance(known, dict) and all(known.get(name) == wanted[name] for name in wanted):
        return known
    return None


def server_line(commands: Commands) -> str:
    """Returns the entry that any other host of MCP servers takes."""
    return json.dumps({"mcpServers": {NAME: server(commands)}}, ensure_ascii=False)


def server(commands: Commands, *words: str) -> dict[str, Json]:
    """Returns the entry of our server, as most hosts take it."""
    entry: dict[str, Json] = {"command": str(commands.mcp), "args": list(words)}
    if commands.settings:
        entry["env"] = dict(commands.settings)
    return entry


def hook_line(commands: Commands, *words: str) -> str:
    """Returns the hook's path with its settings, quoted for a shell, and the words behind it."""
    stated = [f"{name}={shlex.quote(value)}" for name, value in commands.settings.items()]
    return " ".join([*stated, shlex.quote(str(commands.hook)), *words])


# The files of the plugin, with the absolute paths of the commands that they call.
#
# A host may start without the user's PATH, so a bare name would not be found.


def plugin_files(commands: Commands) -> dict[str, bytes]:
    """Returns each file of the marketplace and its plugin, by its path in our folder."""
    texts = {name: (SHIPPED / name).read_text(encoding="utf-8") for name in _FILES}
    texts[_MANIFEST] = json_text.with_member(texts[_MANIFEST], ["version"], value=__version__)
    texts[_HOOKS] = _with_hook(texts[_HOOKS], commands)
    texts[_SERVERS] = _with_server(texts[_SERVERS], commands)
    return {name: text.encode() for name, text in texts.items()}


def _with_hook(text: str, commands: Commands) -> str:
    """Replaces the bare name of the hook by its path, quoted for a shell."""
    path = hook_line(commands)
    for event, groups in _members(text, "hooks").items():
        calls = groups if isinstance(groups, list) else []
        changed: list[Json] = [
            {**group, "hooks": [_called(call, path) for call in group["hooks"]]} for group in calls
        ]
        text = json_text.with_member(text, ["hooks", event], value=changed)
    return text


def _called(call: dict[str, Json], path: str) -> dict[str, Json]:
    _, _, words = str(call["command"]).partition(" ")
    return {**call, "command": f"{path} {words}"}


def _with_server(text: str, commands: Commands) -> str:
    for name, shipped in _members(text, "mcpServers").items():
        words = shipped["args"] if isinstance(shipped, dict) else []
        entry = server(commands, *(words if isinstance(words, list) else []))
        text = json_text.with_member(text, ["mcpServers", name], value=entry)
    return text


def _members(text: str, name: str) -> dict[str, Json]:
    found = json_text.read_object(text)[name]
    return found if isinstance(found, dict) else {}
