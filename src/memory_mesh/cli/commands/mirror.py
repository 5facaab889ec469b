"""`memory-mesh mirror`."""

import argparse
import os
from pathlib import Path

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, UsageError, argument
from memory_mesh.cli.mirroring import folder_of
from memory_mesh.mirror import Author, Mirror, MirrorReport
from memory_mesh.mirror.state import FOLDER, AgentEdits
from memory_mesh.model import Json, NotFound
from memory_mesh.platform.agent_shell import agent_variables
from memory_mesh.privacy import masked

_ACTIONS = ("run", "init", "status", "pull", "push", "resolve", "stale", "mark")
_OF_FILES = ("resolve", "mark")  # their argument is a file
_SAID = {
    "added": "new memory",
    "changed": "next version",
    "proposed": "waits for review",
    "deleted": "deleted",
    "restored": "restored",
    "moved": "moved",
    "written": "written",
    "removed": "removed",
    "agreed": "same on both sides",
    "disagreements": "DISAGREES",
    "refused": "not taken",
    "notes": "note",
}
_ONE = {
    "disagreements": "disagreement",
    "files": "file",
    "memories": "memory",
    "notes": "note",
}
_SHOWN = 20  # lines printed of each kind


def _run_mirror(options: argparse.Namespace) -> int:
    """Runs one action on the mirrored folder."""
    action: str = _action(options)
    if action in _OF_FILES and options.target is None:
        raise UsageError(f"name a file: memory-mesh mirror {action} FILE")
    if action == "resolve" and options.keep is None:
        raise UsageError("say which side to keep: --keep file, or --keep store")
    named = options.dir or (options.target if action not in _OF_FILES else None)
    with cli_options.opened(options) as (mesh, reader):
        mirror = Mirror(mesh.view(scope=reader), folder_of(named, mesh.config))
        if action == "mark":
            _mark(mesh.folder / FOLDER, mirror.path_of(options.target))
            return _report(mirror.pull(), mirror.folder, as_json=options.json)
        if action == "stale":
            return _stale(mirror, as_json=options.json)
        return _report(_done(mirror, options), mirror.folder, as_json=options.json)


def _action(options: argparse.Namespace) -> str:
    """The action; a folder alone is run."""
    word: str = options.action
    if word in _ACTIONS:
        return word
    if options.target is not None or not ("/" in word or os.sep in word or Path(word).is_dir()):
        raise UsageError(
            f"{word!r} is neither an action ({', '.join(_ACTIONS)}) nor a folder that exists. "
            "For a folder: memory-mesh mirror run FOLDER, or --dir FOLDER"
        )
    options.action, options.target = "run", word
    return "run"


def _done(mirror: Mirror, options: argparse.Namespace) -> MirrorReport:
    dry_run, deletes = options.dry_run, options.deletes
    match options.action:
        case "init":
            return mirror.init()
        case "status":
            return mirror.status()
        case "pull":
            return mirror.pull(dry_run=dry_run, deletes=deletes)
        case "push":
            return mirror.push(dry_run=dry_run)
        case "resolve":
            author = Author.AGENT if agent_variables(os.environ) else Author.USER
            return mirror.resolve(options.target, keep=options.keep, author=author)
        case _:
            return mirror.run(dry_run=dry_run, deletes=deletes)


def _mark(folder: Path, path: Path) -> None:
    """Notes that an agent's edit tool wrote a file as it is now."""
    try:
        AgentEdits(folder).mark(path, path.read_bytes())
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}; mark a file after it was written") from None


def _stale(mirror: Mirror, *, as_json: bool) -> int:
    found = mirror.stale()
    plain: list[Json] = [
        {"id": one.memory, "file": masked(one.path), "source": masked(one.source), "why": one.words}
        for one in found
    ]
    return output.answer(
        plain,
        f"[MemoryMesh] {_counted(len(found), 'memories')} may be outdated.",
        *(masked(f"{one.path}: its source {one.source} {one.words}") for one in found),
        as_json=as_json,
    )


def _counted(count: int, name: str) -> str:
    return output.counted(count, _ONE[name]) if name in _ONE else f"{count} {name}"


def _report(report: MirrorReport, folder: Path, *, as_json: bool) -> int:
    """Prints what was done; 1 if something disagrees or was not taken."""
    code = 1 if report.disagreements or report.refused else 0
    if as_json:
        output.say_json(report.plain())
        return code
    counted = ", ".join(_counted(count, name) for name, count in report.counts.items())
    would = "would be " if report.dry and counted else ""
    files = _counted(report.files, "files")
    output.say(f"[MemoryMesh] {output.named(folder)}: {files}; {would}{counted or 'no change'}.")
    for kind, words in _SAID.items():
        lines = getattr(report, kind)
        for line in lines[:_SHOWN]:
            what = f" {line.words}" if line.words else ""
            title = f" ({line.title})" if line.title else ""
            # A name must not look like a line of ours.
            output.say(masked(f"{words}: {line.path}{title}{what}").replace("\n", "\\n"))
        if len(lines) > _SHOWN:
            output.say(f"{words}: {len(lines) - _SHOWN} more")
    if report.disagreements:
        output.hint("To decide: memory-mesh mirror resolve FILE --keep file, or --keep store")
    return code


MIRROR = Command(
    "memory-mesh mirror init .rawko/memories",
    (
        argument(
            "action",
            nargs="?",
            default="run",
            metavar=f"{{{','.join(_ACTIONS)}}}",
            help="run: both directions (default); pull: from the folder; push: to the folder; "
            "init: make the folder; status: say what would happen; resolve: end a disagreement; "
            "stale: list memories whose source changed; mark: note that an agent wrote a file",
        ),
        argument(
            "target", nargs="?", metavar="PATH", help="the folder; for resolve and mark: a file"
        ),
        argument(
            "--dir", metavar="FOLDER", help="the folder (default: mirror_dir, or .rawko/memories)"
        ),
        argument("--keep", choices=("file", "store"), help="for resolve: the side that is kept"),
        argument("--dry-run", action="store_true", help="say what would be done"),
        argument(
            "--deletes", action="store_true", help="delete memories even if most documents are gone"
        ),
    ),
    _run_mirror,
)
