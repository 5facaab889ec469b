"""Commands that give an agent this memory, and check it: init and doctor."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from memory_mesh._version import __version__
from memory_mesh.agents.daemon.place import folder_of
from memory_mesh.agents.doctor import Case, CheckResult, CheckStatus, examined
from memory_mesh.agents.doctor.finding import counted
from memory_mesh.agents.hosts import CLAUDE_CODE, HOSTS, Host, backfill, claude_code, places, undo
from memory_mesh.agents.hosts.host_memory import (
    CHOICES,
    HostMemory,
    follow,
    host_memory,
    keep_in_step,
    read_in,
)
from memory_mesh.base.typed import dataclass
from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.command_table import Command, UsageError, argument
from memory_mesh.model import Channel, Json, Outcome, Receipt
from memory_mesh.platform.ids import SystemClock
from memory_mesh.privacy import masked

# init

_GET = "npm install -g @anthropic-ai/claude-code"


_SAMPLES = 3  # of each source that a backfill shows first


@dataclass(frozen=True, slots=True)
class _Answer:
    """What became of one host."""

    plain: dict[str, Json]
    lines: Sequence[str] = ()
    code: int = 0


_REFUSED = _Answer({}, code=1)  # by the user, who knows


def _run_init(options: argparse.Namespace) -> int:
    """Gives agents this memory, or takes it back, or reads a project's past."""
    if options.backfill:
        return _backfill(options)
    if not options.all:
        [host] = [each for each in HOSTS if each.name == options.host]
        given = _one(options, host)
        return given.code if given is _REFUSED else _said(options, given)
    if options.here or options.host_memory or options.host != CLAUDE_CODE:
        raise UsageError("--all goes with --undo, --dry-run and --yes only. Leave the others out")
    asked = [host for host in HOSTS if _is_asked(options, host)]
    if not asked:
        return _said(options, _nothing_set_up() if options.undo else _not_found(options))
    rows: list[Json] = []
    code = 0
    for host in asked:
        try:
            answer = _one(options, host)
        except undo.BrokenFile as error:  # the others need not wait until it is mended
            answer = _Answer({"error": str(error)}, [f"[MemoryMesh] {host.title}: {error}"], 1)
        _say(options, *answer.lines)
        rows.append({"host": host.name, **answer.plain})
        code = max(code, answer.code)
    if options.json:
        output.say_json({"hosts": rows})
    return code


def _backfill(options: argparse.Namespace) -> int:
    """Puts what the past of this folder's project says into review, and asks about it."""
    if options.all or options.undo or options.here or options.host_memory:
        raise UsageError("--backfill goes with --dry-run and --yes only. Leave the others out")
    cli_options.refuse_agent("init --backfill")
    quotes = backfill.past(os.environ, Path.cwd())
    found = backfill.candidates(quotes)
    read = Counter(one.source for one in quotes)
    stated = Counter(one.quote.source for one in found)
    for source, count in read.items():
        _say(options, f"[MemoryMesh] {source}: {count} texts, {stated[source]} candidates.")
        for one in [one for one in found if one.quote.source == source][:_SAMPLES]:
            _say(options, f"    {output.unbroken(masked(one.text))}")
    plain: dict[str, Json] = {"texts": dict(read), "candidates": dict(stated), "stored": 0}
    if not found or options.dry_run:
        said = "" if found else " Nothing was found that could be remembered."
        return _said(options, _Answer(plain, [f"[MemoryMesh] Nothing was written.{said}"]))
    if not (options.yes or _may_review(options)):
        return 1
    with cli_options.mesh_of(options, channel=Channel.FILE) as mesh:
        here = mesh.view(scope=cli_options.reader_of(mesh))
        plain["stored"] = stored = backfill.put_into_review(here, found)
        stack = backfill.waiting(here)
    lines = [f"[MemoryMesh] {stored} new, {len(stack)} wait for review."]
    if stack and _on_terminal(options):
        _say(options, f"[MemoryMesh] {len(stack)} things I think I know about this project:")
        with cli_options.mesh_of(options) as mesh:
            here = mesh.view(scope=cli_options.reader_of(mesh))
            done = backfill.decide(here, stack, input, _say_safely)
        lines = [f"[MemoryMesh] {', '.join(f'{count} {name}' for name, count in done.items())}."]
    lines.append("[MemoryMesh] Run it again for the next ones; to decide later: memory-mesh review")
    return _said(options, _Answer(plain, lines))


def _say_safely(line: str) -> None:
    """Prints what a transcript or a file says: on one line, and without a secret."""
    output.say(output.unbroken(masked(line)))


def _may_review(options: argparse.Namespace) -> bool:
    if not _on_terminal(options):
        raise UsageError(
            "nothing was written, because nobody can be asked here. Add --yes to put candidates "
            "into review, or --dry-run to only look at them"
        )
    asked = f"Put the first {backfill.MOST} that are new into review? [y/N] "
    return input(asked).strip().lower() in {"y", "yes"}


def _one(options: argparse.Namespace, host: Host) -> _Answer:
    return _claude_code(options) if host.name == CLAUDE_CODE else _other(options, host)


def _is_asked(options: argparse.Namespace, host: Host) -> bool:
    return host.is_set_up(os.environ) if options.undo else bool(host.found(os.environ))


def _said(options: argparse.Namespace, answer: _Answer) -> int:
    output.answer(answer.plain, *answer.lines, as_json=options.json)
    return answer.code


def _claude_code(options: argparse.Namespace) -> _Answer:
    """Installs the plugin into Claude Code, or takes it back."""
    here = Path.cwd()
    place = _place_here(here) if options.here else places.user_place(os.environ)
    if options.undo:
        if options.host_memory is not None:
            raise UsageError(
                "--undo and --host-memory do not go together: an undo gives Claude Code's own "
                "memory its former setting back. Leave one of the two out"
            )
        return _undo(options, place.folder, place.own)
    binary = places.find_claude(os.environ)
    if binary is None and not places.user_place(os.environ).folder.is_dir():
        return _not_found(options)
    return _install(options, place, binary, here)


def _other(options: argparse.Namespace, host: Host) -> _Answer:
    """Gives another host this memory, or takes it back."""
    if options.here or options.host_memory not in {None, "keep", "follow"}:
        raise UsageError(
            f"--here and --host-memory off or import are for Claude Code, not for {host.title}"
        )
    folder, own = host.place(os.environ), host.own(os.environ)
    if options.undo:
        return _undo(options, folder, own)
    found = host.found(os.environ)
    if not found:
        said = f"[MemoryMesh] {host.title} was not found: no {host.binary} on PATH, no {folder}."
        return _Answer({"found": None, "changed": [], "written": False}, [said], 1)
    commands = places.find_commands(_handed_on(options))
    _say(options, f"[MemoryMesh] Found {host.title} at {found}.", *_passing_lines(commands))
    planned = host.planned(os.environ, commands)
    if planned and not _agreed(options, planned):
        return _REFUSED
    if planned and not options.dry_run:
        undo.write(own, planned)
    if options.host_memory:
        _follow(options, Path.cwd(), wanted=options.host_memory == "follow")
    plain: dict[str, Json] = {
        "found": found,
        "changed": [str(change.path) for change in planned],
        "written": bool(planned) and not options.dry_run,
    }
    back = f"memory-mesh init --undo --host {host.name}"
    lines = _done_lines(options, host.title, own, planned, back)
    if host.after and planned:
        lines.append(f"[MemoryMesh] {host.after}.")
    return _Answer(plain, lines)


def _place_here(here: Path) -> places.SettingsFolder:
    """Returns the place of this repository; the user's own is refused, as an undo takes all."""
    place = places.repository_place(here)
    if places.is_users_own(place.folder, os.environ):
        raise UsageError(
            f"--here is for one repository, but {place.folder} is your own folder, which holds for "
            "all. Leave --here out, or go into the repository first: cd REPOSITORY"
        )
    return place


def _install(
    options: argparse.Namespace, place: places.SettingsFolder, binary: Path | None, here: Path
) -> _Answer:
    commands = places.find_commands(_handed_on(options))
    own_memory = host_memory(os.environ, here, only_here=options.here)
    _say(options, *_found_lines(place, binary, commands), *_memory_lines(own_memory))
    choice = options.host_memory or _chosen(options, own_memory)
    planned = claude_code.planned(place, commands, now=SystemClock().now(), host_memory=choice)
    if planned and not _agreed(options, planned):
        return _REFUSED
    if planned and not options.dry_run:
        undo.write(place.own, planned)
    receipts = _read_in(options, own_memory) if choice == "import" else []
    if choice in {"keep", "follow"}:
        _follow(options, here, wanted=choice == "follow")
    plain: dict[str, Json] = {
        "claude": None if binary is None else str(binary),
        "folder": str(place.folder),
        "changed": [str(change.path) for change in planned],
        "written": bool(planned) and not options.dry_run,
        "host_memory": {"enabled": own_memory.enabled, "files": own_memory.files},
        "read_in": len(receipts),
    }
    back = "memory-mesh init --undo" + (" --here" if options.here else "")
    lines = _done_lines(options, "Claude Code", place.own, planned, back)
    if planned and not options.dry_run and place.repository is not None:
        lines.append(
            "[MemoryMesh] Claude Code loads it once you have said that you trust this folder. The "
            "files name paths of this machine: do not commit them."
        )
    return _Answer(plain, lines)


def _undo(options: argparse.Namespace, folder: Path, own: Path) -> _Answer:
    planned = undo.undoing(own)
    if planned is None:
        said = f"[MemoryMesh] Nothing to undo: memory-mesh is not installed in {folder}."
        if options.host == CLAUDE_CODE and not options.here:
            said += " For the project of this folder: add --here."
        return _nothing_set_up(said)
    if not _agreed(options, planned.changes):
        return _REFUSED
    if not options.dry_run:
        undo.undo(own, planned)
    plain: dict[str, Json] = {
        "changed": [str(change.path) for change in planned.changes],
        "partly": [str(path) for path in planned.partly],
        "notes": list(planned.notes),
    }
    done = "Would be as before" if options.dry_run else "As before"
    whole, partly = len(planned.changes) - len(planned.partly), len(planned.partly)
    rest = f" Without the part of memory-mesh: {_files(partly)}." if partly else ""
    lines = [f"[MemoryMesh] {note}." for note in planned.notes]
    lines.append(f"[MemoryMesh] {done}: {_files(whole)}.{rest} Memories are kept.")
    return _Answer(plain, lines)


def _nothing_set_up(said: str = "[MemoryMesh] Nothing to undo: no host is set up.") -> _Answer:
    return _Answer({"changed": [], "partly": [], "notes": []}, [said])


def _handed_on(options: argparse.Namespace) -> dict[str, str]:
    """Returns the settings of this call that the plugin's commands need as well."""
    store_folder.refuse_user(options)
    stated = store_folder.for_agents(options)
    if options.namespace is not None:
        stated["MEMORY_MESH_NAMESPACE"] = options.namespace
    return stated


def _found_lines(
    place: places.SettingsFolder, binary: Path | None, commands: places.Commands
) -> list[str]:
    found = f"at {binary}" if binary else "by its folder; its command is not on PATH"
    lines = [f"[MemoryMesh] Found Claude Code {found}. Its settings: {place.settings}."]
    return [*lines, *_passing_lines(commands)]


def _passing_lines(commands: places.Commands) -> list[str]:
    said = f"[MemoryMesh] Careful: {commands.hook.parent} is a cache that may be cleared at any "
    said += "time. For good: uv tool install memory-mesh, and then memory-mesh init."
    return [said] if commands.passing else []


def _others_here() -> list[str]:
    """Names the hosts on this machine that have no memory yet, and the command that gives it."""
    found = [
        host.title
        for host in HOSTS
        if host.name != CLAUDE_CODE and host.found(os.environ) and not host.is_set_up(os.environ)
    ]
    if not found:
        return []
    return [f"[MemoryMesh] Also here: {', '.join(found)}. To set up all: memory-mesh init --all"]


def _memory_lines(found: HostMemory) -> list[str]:
    """Says how Claude Code's own memory is set, and what can be done about it."""
    state = "on" if found.enabled else "off"
    held = f", with {_files(found.files)} here" if found.files else ""
    lines = [f"[MemoryMesh] Claude Code's own memory is {state} (by {found.said_by}){held}."]
    if found.enabled:
        lines.append(
            "[MemoryMesh] Both can be used side by side. To switch it off: --host-memory off; "
            "to read its files in: --host-memory import."
        )
    if found.strangers:
        lines.append(
            f"[MemoryMesh] {found.strangers} more folders of its memory are of repositories that "
            "are not known here: run memory-mesh init --host-memory import in each."
        )
    return lines


def _chosen(options: argparse.Namespace, found: HostMemory) -> str | None:
    """Asks what becomes of Claude Code's own memory; None leaves it as it is."""
    if not found.enabled or options.yes or options.dry_run or not _on_terminal(options):
        return None
    answer = input("Claude Code's own memory: keep, off, import or follow? [keep] ").strip().lower()
    if answer in {"", "keep"}:
        return None
    if answer not in CHOICES:
        raise UsageError(f"answer {', '.join(CHOICES)}, not {answer!r}; nothing was written")
    return answer


def _agreed(options: argparse.Namespace, planned: Sequence[undo.FileChange]) -> bool:
    """Shows what will be written, and asks whether it may be."""
    if not options.json:
        for change in planned:
            for line in change.lines():
                output.say(masked(line))
    if options.dry_run or options.yes or not planned:
        return True
    if not _on_terminal(options):
        raise UsageError(
            "nothing was written, because nobody can be asked here. Add --yes to write these "
            "files, or --dry-run to only look at them"
        )
    if input(f"Write {_files(len(planned))}? [y/N] ").strip().lower() in {"y", "yes"}:
        return True
    output.say("[MemoryMesh] Nothing was written.")
    return False


def _read_in(options: argparse.Namespace, found: HostMemory) -> list[Receipt]:
    """Stores the files of Claude Code's own memory as documents."""
    if options.dry_run:
        _say(options, f"[MemoryMesh] Would read in {_files(found.files)} of Claude Code's memory.")
        return []
    with cli_options.mesh_of(options, channel=Channel.FILE) as mesh:
        receipts = read_in(mesh, found)
    refused = [each for each in receipts if each.outcome is Outcome.REFUSED]
    known = [each for each in receipts if each.again or each.outcome is Outcome.MERGED]
    stored = [each for each in receipts if each not in refused and each not in known]
    _say(
        options,
        f"[MemoryMesh] Read in {_files(len(stored))} of Claude Code's memory, "
        f"{len(known)} already known, {len(refused)} refused.",
        *(f"[MemoryMesh] Refused: {masked('; '.join(each.reasons))}." for each in refused),
    )
    return stored


def _follow(options: argparse.Namespace, here: Path, *, wanted: bool) -> None:
    """Keeps memories in step with what hosts keep in a repository, or does so no more."""
    if options.dry_run:
        _say(options, *(["[MemoryMesh] Would follow this repository's files."] if wanted else []))
        return
    store = Path(folder_of({**os.environ, **_handed_on(options)}, str(here)))
    own = host_memory(os.environ, here, only_here=True)
    ended = follow(store, here, [*own.folders] if wanted else None) and not wanted
    if ended:
        said = "This repository's files are followed no more; what was read of them stays."
        _say(options, f"[MemoryMesh] {said}")
    if not wanted:
        return
    with cli_options.mesh_of(options, channel=Channel.FILE) as mesh:
        stored, _ = keep_in_step(mesh.view(scope=cli_options.reader_of(mesh)), store, here)
    _say(
        options,
        f"[MemoryMesh] Read {output.counted(stored, 'line')} of this repository's files for agents."
        " What changes in them is read when a session starts; nothing is written into them.",
    )


def _done_lines(
    options: argparse.Namespace,
    title: str,
    own: Path,
    planned: Sequence[undo.FileChange],
    back: str,
) -> list[str]:
    others = [] if options.all or options.host != CLAUDE_CODE else _others_here()
    if not planned:
        return [f"[MemoryMesh] Nothing to change: {title} has this memory already.", *others]
    if options.dry_run:
        return [f"[MemoryMesh] Would write {_files(len(planned))}. Nothing was written.", *others]
    backups = (
        f"; backups are in {own / undo.BACKUPS}"
        if any(change.before is not None for change in planned)
        else ""
    )
    agent = "claude" if title == "Claude Code" else title
    lines = [
        f"[MemoryMesh] Wrote {_files(len(planned))}{backups}.",
        f"[MemoryMesh] Start a new session of {agent} to use it. To take it back: {back}",
    ]
    if said := store_folder.key_line(_handed_on(options)):
        lines.append(f"[MemoryMesh] {said}.")
    return [*lines, *others]


def _not_found(options: argparse.Namespace) -> _Answer:
    line = claude_code.server_line(places.find_commands(_handed_on(options)))
    plain: dict[str, Json] = {"claude": None, "changed": [], "mcp": line}
    lines = (
        f"[MemoryMesh] Claude Code was not found. To get it: {_GET}",
        *_others_here(),
        "[MemoryMesh] Any host of MCP servers can use this memory by this entry:",
        line,
        "[MemoryMesh] memory-mesh store, search and context work without any host.",
    )
    return _Answer(plain, lines, 1)


def _on_terminal(options: argparse.Namespace) -> bool:
    return not options.json and sys.stdin is not None and sys.stdin.isatty()


def _say(options: argparse.Namespace, *lines: str) -> None:
    if not options.json:
        for line in lines:
            output.say(line)


def _files(count: int) -> str:
    return f"{count} file" + ("" if count == 1 else "s")


INIT = Command(
    "memory-mesh init --dry-run",
    (
        argument(
            "--host",
            choices=tuple(host.name for host in HOSTS),
            default=CLAUDE_CODE,
            help="the agent that gets this memory (default: claude-code)",
        ),
        argument("--all", action="store_true", help="every agent that is found on this machine"),
        argument("--undo", action="store_true", help="take the installation back"),
        argument(
            "--backfill",
            action="store_true",
            help="read this project's past (transcripts, rule files, commits) and put what it says "
            "into review",
        ),
        argument(
            "--dry-run", action="store_true", help="show what would be written, and write nothing"
        ),
        argument("--yes", action="store_true", help="write without asking"),
        argument(
            "--here",
            action="store_true",
            help="only for the repository of this folder, not for all",
        ),
        argument(
            "--host-memory",
            choices=CHOICES,
            help="what becomes of Claude Code's own memory: keep it, switch it off, read its "
            "files in and keep it, or follow it and the repository's CLAUDE.md, AGENTS.md and so "
            "on: what changes there changes here (default: asks on a terminal, else keeps it)",
        ),
    ),
    _run_init,
)


# doctor

_WIDTH = 13  # of the checks' names

_SIGNS = {
    CheckStatus.OK: ("✓", "green"),
    CheckStatus.WARNING: ("!", "yellow"),
    CheckStatus.FAILED: ("✗", "red"),
}


def _run_doctor(options: argparse.Namespace) -> int:
    """Checks every link from the store to the agent; the exit code is 1 if one is broken."""
    found: list[CheckResult] = []
    with ExitStack() as open_ones:
        mesh, meaning = (cli_options.mesh_of(options, meaning=each) for each in (False, True))
        open_ones.callback(mesh.close)
        open_ones.callback(meaning.close)
        case = Case(
            mesh,
            {**os.environ, **store_folder.variables(options, to_write=False)},
            Path(cli_options.here() or "/"),
            meaning=meaning,
            whole_chain=options.whole_chain,
        )
        store = case.where
        for finding in examined(case, trials=not options.quick):
            found.append(finding)
            if not options.json:
                _show(finding)
    counts = Counter(finding.mark for finding in found)
    if options.json:
        output.say_json(
            {
                "ok": all(finding.mark is not CheckStatus.FAILED for finding in found),
                "version": __version__,
                "store": store,
                "checks": [
                    {
                        "check": finding.check,
                        "mark": finding.mark.value,
                        "said": finding.said,
                        "fix": finding.fix or None,
                    }
                    for finding in found
                ],
            }
        )
    else:
        warnings = counted(counts[CheckStatus.WARNING], "warning")
        said = f"{counts[CheckStatus.OK]} ok, {warnings}, {counts[CheckStatus.FAILED]} failed"
        output.say(f"[MemoryMesh] {said}. Version {__version__}, store {output.named(store)}.")
    return 1 if counts[CheckStatus.FAILED] else 0


def _show(finding: CheckResult) -> None:
    """One line in a pipe; on a terminal a sign, and what to do in a line of its own."""
    said, fix = output.named(finding.said), output.named(finding.fix)
    if not output.on_terminal():
        end = f" | {'next' if finding.mark is CheckStatus.OK else 'fix'}: {fix}" if fix else ""
        print(f"{finding.mark:<8} {finding.check}: {said}{end}")
        return
    sign, colour = _SIGNS[finding.mark]
    name = output.bold(f"{finding.check:<{_WIDTH}}")
    print(f"{output.in_colour(colour, sign)} {name} {said}")
    if fix:
        arrow = f"{'':{_WIDTH + 3}}→ {fix}"
        print(
            output.dim(arrow) if finding.mark is CheckStatus.OK else output.in_colour(colour, arrow)
        )


DOCTOR = Command(
    "memory-mesh doctor",
    (
        argument("--quick", action="store_true", help="without the trials of hook, MCP and daemon"),
        argument(
            "--whole-chain", action="store_true", help="check every block, also of a long chain"
        ),
    ),
    _run_doctor,
)
