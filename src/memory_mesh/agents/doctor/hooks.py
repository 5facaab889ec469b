"""What the hooks left in the journal: that they ran, in time, and that something was learned."""

import shlex
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from memory_mesh.agents.doctor import daemon
from memory_mesh.agents.doctor.finding import Case, CheckResult, age, counted, failed, ok, warning
from memory_mesh.agents.hook import AWAY, events as hook_events
from memory_mesh.agents.hook.main import BUDGET_MS
from memory_mesh.agents.hosts import HOSTS, claude_code, places
from memory_mesh.agents.hosts.undo import members_of
from memory_mesh.base.typed import Any, dataclass
from memory_mesh.model import Json

HOOKS, SERVERS = Path("plugin/hooks/hooks.json"), Path("plugin/.mcp.json")
MANIFEST = Path("plugin/.claude-plugin/plugin.json")

LAST = 100  # hooks whose budget is looked at
MOST_LATE = 5  # of a hundred
LEAST = 10  # hooks that say something about all
FRESH_SECONDS = 86_400.0  # after an installation nobody need have used it yet
_BEGIN = "start a new session of claude and type a prompt"
_SWITCH = "disableAllHooks"
_LOG = "agents/log.jsonl"


def fired(case: Case) -> Iterator[CheckResult]:
    """Whether hooks may run at all, and when each ran last."""
    installed = [place for place in case.places if claude_code.is_installed(place)]
    if installed and (switch := _switched_off(case)):
        said = f'"{_SWITCH}" is true in {switch}: Claude Code runs no hook, so it has no memory'
        yield failed("hooks", said, f'take "{_SWITCH}" out of {switch}, and {_BEGIN}')
        return
    last: dict[str, str] = {}
    for line in case.journal("hook"):
        last[str(line.get("event") or "unknown")] = str(line.get("at") or "")
    if last:
        newest = sorted(last.items(), key=lambda one: one[1], reverse=True)
        yield ok("hooks", "; ".join(f"{event} {age(at)}" for event, at in newest))
        return
    if not installed:
        others = any(host.is_set_up(case.environment) for host in HOSTS[1:])
        why = "another host is set up" if others else "the plugin is not installed"
        found = ok if others else warning
        yield found("hooks", f"no hook has ever run: {why}", "memory-mesh init")
        return
    since = max((_written(place.own / HOOKS) for place in installed), default=0.0)
    if time.time() - since < FRESH_SECONDS:
        yield ok("hooks", "none has run yet, and the plugin is new", _BEGIN)
    else:
        said = "no hook has ever run in this store, though the plugin is installed"
        yield warning("hooks", said, f"{_BEGIN}; then see /hooks and /plugin in claude")


def budget(case: Case) -> Iterator[CheckResult]:
    """How many of the last hooks kept their budget."""
    runs = case.journal("hook")[-LAST:]
    outcomes = Counter(str(line.get("outcome")) for line in runs)
    late, broken = outcomes["late"], outcomes["failed"]
    said = f"{late} late and {broken} failed of the last {counted(len(runs), 'hook')}"
    if outcomes[AWAY]:
        said += f", and {outcomes[AWAY]} while the service was away"
    if not runs:
        yield ok("budget", f"no hook has run yet; each has {BUDGET_MS} ms")
    elif late + broken <= len(runs) * MOST_LATE / 100:
        yield ok("budget", f"{said}; {_quick(runs)}")
    else:
        many = len(runs) >= LEAST and (late + broken) * 2 > len(runs)
        why = _reasons(line for line in runs if line.get("outcome") in {"late", "failed"})
        found = failed if many else warning
        yield found(
            "budget",
            f"{said} ({why}); nothing was held up, the prompts went on without memory",
            _budget_fix(case, late),
        )


def capture(case: Case) -> Iterator[CheckResult]:
    """Whether something is still learned from prompts."""
    lines = case.lines()
    found = hook_events.missed(lines, time.time())
    if found is not None:
        events, reason = found
        yield failed(
            "capture",
            f"has stopped: nothing was learned from the last {events} events ({reason})",
            _capture_fix(reason),
        )
        return
    captures = [line for line in lines if line.get("what") == "capture"]
    good = [line for line in captures if line.get("outcome") == hook_events.DONE]
    kept = sum(line.get("outcome") == AWAY for line in captures)
    broken = len(captures) - len(good) - kept
    if not captures:
        yield ok("capture", "nothing to learn from yet", _BEGIN)
        return
    stored = sum(int(line.get("stored") or 0) for line in good)
    said = (
        f"{counted(len(good), 'event')} learned from, the last {age(str(captures[-1].get('at')))}; "
        f"{counted(stored, 'memory', 'memories')} stored or confirmed"
    )
    if kept:
        said += f"; {counted(kept, 'event')} kept while the service was away, for when it answers"
    if broken:
        ended = {hook_events.DONE, AWAY}
        reasons = _reasons(line for line in captures if line.get("outcome") not in ended)
        yield warning("capture", f"{said}; {broken} failed ({reasons})", _capture_fix(reasons))
    else:
        yield ok("capture", said)


def _quick(runs: list[dict[str, Any]]) -> str:
    taken = sorted(int(line.get("ms") or 0) for line in runs)
    return f"half of them took at most {taken[len(taken) // 2]} of {BUDGET_MS} ms"


def _reasons(runs: Iterable[Mapping[str, Any]]) -> str:
    counts = Counter(str(line["reason"]) for line in runs if line.get("reason"))
    return ", ".join(reason for reason, _ in counts.most_common(3)) or "no reason is known"


def _budget_fix(case: Case, late: int) -> str:
    if not late:
        return f"see the reasons in the store's {_LOG}, and mend what fails above"
    if daemon.runs(case):
        return f"a daemon runs, so the machine was busy: {daemon.more_time(case)}"
    return (
        "memory-mesh daemon start: hooks are quicker through it, and it stays longer with a higher "
        "MEMORY_MESH_DAEMON_IDLE_SECONDS"
    )


def _capture_fix(reason: str) -> str:
    if "NotAllowed" in reason:
        return "this key may only read, and memories still reach prompts; to learn, ask for another"
    if "Store" in reason or "Disk" in reason:
        return "mend what fails above (store, disk, key); then type a prompt in claude"
    return (
        "memory-mesh daemon stop, memory-mesh init, then type a prompt in a new session of claude"
    )


def _switched_off(case: Case) -> Path | None:
    """The settings that switch every hook off, if the last word on it is that."""
    off = None
    for path in places.settings_here(case.environment, case.here):
        stated = members_of(path).get(_SWITCH)
        if isinstance(stated, bool):
            off = path if stated else None
    return off


def _written(path: Path) -> float:
    try:
        return float(path.stat().st_mtime)
    except OSError:
        return 0.0


# The plugin beside Claude Code's settings: which commands it calls, with which settings.


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


def hooks_of(place: places.SettingsFolder) -> list[Called]:
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


def servers_of(place: places.SettingsFolder) -> list[Called]:
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


def version_of(place: places.SettingsFolder) -> str:
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
