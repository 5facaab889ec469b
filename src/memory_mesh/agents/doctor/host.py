"""Claude Code: that it is there, has the plugin, and that the plugin's commands are these here."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from memory_mesh._version import __version__
from memory_mesh.agents.doctor import hooks as doctor_hooks
from memory_mesh.agents.doctor.finding import Case, CheckResult, age, counted, failed, ok, warning
from memory_mesh.agents.hook.hosts import EVENTS
from memory_mesh.agents.hosts import CLAUDE_CODE, HOSTS, claude_code, places
from memory_mesh.agents.hosts.host_memory import host_memory
from memory_mesh.agents.hosts.undo import current, written
from memory_mesh.model.errors import NotFound
from memory_mesh.platform.store_urls import is_server, local_name

_GET = "npm install -g @anthropic-ai/claude-code, then memory-mesh init"
_INIT = "memory-mesh init"
_SECONDS = 20.0
_STORE, _FOLDER = "MEMORY_MESH_STORE", "MEMORY_MESH_DIR"


def claude(case: Case) -> Iterator[CheckResult]:
    """Whether Claude Code is on this machine."""
    found = places.find_claude(case.environment)
    folder = places.user_place(case.environment).folder
    if found is not None:
        yield ok("Claude Code", f"{found}; its settings are in {folder}")
    elif folder.is_dir():
        yield ok("Claude Code", f"found by its folder {folder}; its command is not on PATH")
    elif _has_another(case):
        yield ok("Claude Code", "was not found; another host has this memory", _GET)
    else:
        yield warning("Claude Code", "was not found", _GET)


def others(case: Case) -> Iterator[CheckResult]:
    """Whether the other hosts on this machine have this memory, and when each used it last."""
    last = {str(line.get("host")): str(line.get("at")) for line in case.journal("hook")}
    for each in HOSTS[1:]:
        init, own = f"{_INIT} --host {each.name}", each.own(case.environment)
        files = written(own)
        gone = [path for path in files if b"memory-mesh" not in (current(path) or b"")]
        if gone:
            said = f"{each.title}: {gone[0]} says nothing of memory-mesh any more"
            yield failed("hosts", said, f"{init} --undo, then {init}")
        elif files and each.name in last:
            yield ok(
                "hosts", f"{each.title} has this memory; its last event {age(last[each.name])}"
            )
        elif files:
            begin = each.after or f"start a new session of {each.title}"
            yield ok("hosts", f"{each.title} has this memory; no hook of it has run yet", begin)
        elif each.found(case.environment):
            yield ok("hosts", f"{each.title} is here, without this memory", init)


def plugin(case: Case) -> Iterator[CheckResult]:
    """Whether the plugin is installed and switched on."""
    on = [place for place in case.places if claude_code.is_installed(place)]
    if on:
        where = " and ".join(str(place.settings) for place in on)
        twice = "" if len(on) == 1 else "; the repository's and the user's are the same plugin"
        yield ok("plugin", f"switched on in {where}{twice}")
        return
    off = [place for place in case.places if place.own.is_dir()]
    if off:
        said = (
            f"{claude_code.PLUGIN} is in {off[0].own}, but {off[0].settings} does not switch it on"
        )
        yield failed("plugin", said, _init(off[0]))
    elif _has_another(case):
        yield ok("plugin", "is not installed: Claude Code has no memory here", _INIT)
    else:
        yield warning("plugin", "is not installed: Claude Code has no memory here", _INIT)


def commands(case: Case) -> Iterator[CheckResult]:
    """Whether the commands that the plugin names are there, and use this store."""
    for place in case.places:
        if not claude_code.is_installed(place):
            continue
        hooks, servers = doctor_hooks.hooks_of(place), doctor_hooks.servers_of(place)
        missing = [
            event for event in EVENTS[CLAUDE_CODE] if event not in {call.name for call in hooks}
        ]
        missing += [] if servers else ["MCP"]
        gone = sorted({str(call.path) for call in (*hooks, *servers) if not _is_there(call.path)})
        if missing:
            said = f"{place.own / 'plugin'} says nothing of {', '.join(missing)}"
            yield failed("commands", said, _init(place))
        if gone:
            yield failed("commands", f"{' and '.join(gone)} cannot be run", _init(place))
        if not missing and not gone:
            yield _same_store(case, place, (*hooks, *servers))


def versions(case: Case) -> Iterator[CheckResult]:
    """Whether the package, the plugin and the commands that it names are of one version."""
    for place in case.places:
        if not claude_code.is_installed(place):
            continue
        stated, programs = doctor_hooks.version_of(place), _programs(place)
        others = {path: found for path in programs if (found := _version(path)) != __version__}
        if others:
            path, found = next(iter(others.items()))
            said = f"{path} is of version {found}, this command of {__version__}"
            yield warning("versions", said, f"{_init(place)}, by the newer one of the two")
        elif stated != __version__:
            said = f"the plugin is of version {stated}, this command of {__version__}"
            yield warning("versions", said, _init(place))
        else:
            called = "the plugin and what it calls" if programs else "the plugin"
            yield ok("versions", f"{__version__}: this command, {called}")
    if not any(claude_code.is_installed(place) for place in case.places):
        yield ok("versions", f"{__version__}; there is no plugin to compare it with")


def own_memory(case: Case) -> Iterator[CheckResult]:
    """Whether Claude Code's own memory works beside this one, and who decided so."""
    found = host_memory(case.environment, case.here, only_here=False)
    state = "on" if found.enabled else "off"
    said = f"Claude Code's own memory is {state} (by {found.said_by})"
    if not found.enabled or not found.files:
        fix = "to switch it off: memory-mesh init --host-memory off" if found.enabled else ""
        yield ok("own memory", said, fix)
    elif found.said_by == "its default":
        yield warning(
            "own memory",
            f"{said} and holds {counted(found.files, 'file')}: two memories may contradict",
            "memory-mesh init --host-memory import, or off; to keep both, set autoMemoryEnabled to "
            f"true in {places.user_place(case.environment).settings}",
        )
    else:
        yield ok("own memory", f"{said}, side by side with {counted(found.files, 'file')}")


def _has_another(case: Case) -> bool:
    """Whether a host other than Claude Code has this memory."""
    return any(each.is_set_up(case.environment) for each in HOSTS[1:])


def _same_store(
    case: Case, place: places.SettingsFolder, calls: tuple[doctor_hooks.Called, ...]
) -> CheckResult:
    """Hooks and MCP that write to another store than the one that is looked at are no use here."""
    stated = {
        found
        for call in calls
        if (found := call.settings.get(_STORE) or call.settings.get(_FOLDER)) is not None
    }
    others = sorted(each for each in stated if not _is_this(case, each))
    if others:
        named = "store" if is_server(others[0]) else "db-dir"
        return warning(
            "commands",
            f"the plugin uses the store {others[0]}, not {case.where}",
            f"memory-mesh doctor --{named} {others[0]}; or, for this store: {_init(place)}",
        )
    program = calls[0].path.parent
    return ok("commands", f"{len(calls)} calls of the plugin lead to {program}")


def _is_this(case: Case, stated: str) -> bool:
    """Whether a folder, or the address of a database, is that of the store that is looked at."""
    if is_server(stated):
        return case.is_server and local_name(stated) == case.store.name
    return not case.is_server and Path(stated).resolve() == case.store


def _programs(place: places.SettingsFolder) -> list[Path]:
    """The folders' own `memory-mesh`, beside the hook and the server that the plugin names."""
    calls = (*doctor_hooks.hooks_of(place), *doctor_hooks.servers_of(place))
    beside = dict.fromkeys(call.path.with_name(f"memory-mesh{call.path.suffix}") for call in calls)
    return [path for path in beside if _is_there(path)]


def _version(program: Path) -> str:
    """The version that a command says it is of; our own is not asked."""
    try:
        ours = places.find_commands({}).hook.with_name(program.name)
    except NotFound:
        ours = None
    if ours is not None and ours.exists() and program.resolve() == ours.resolve():
        return __version__
    try:
        done = subprocess.run(  # noqa: S603  # the command that the plugin runs anyway
            [program, "--version"], capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.decode(errors="replace").strip().rpartition(" ")[2] or "unknown"


def _is_there(path: Path) -> bool:
    if not path.is_absolute():
        return shutil.which(str(path)) is not None
    return path.is_file() and os.access(path, os.X_OK)


def _init(place: places.SettingsFolder) -> str:
    return _INIT if place.repository is None else f"{_INIT} --here"
