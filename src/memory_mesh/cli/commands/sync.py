"""The command sync: one person's machines in step, through a folder that they share."""

import argparse
from pathlib import Path

from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.command_table import Command, UsageError, about, argument
from memory_mesh.machines import exchange
from memory_mesh.model import Json
from memory_mesh.model.care import SyncReport, SyncStatus
from memory_mesh.sync import MemoryMesh

_WHAT = {"init": "FOLDER", "join": "FOLDER", "revoke": "NAME"}
_MOST_KEY = 4_096  # bytes of a file with a key


def _run(options: argparse.Namespace) -> int:
    """Sets up, pairs, shows, syncs or revokes."""
    store_folder.refuse_one(options, "sync takes every namespace")
    needed = _WHAT.get(options.action)
    if (options.what is None) != (needed is None):
        raise UsageError(
            f"sync {options.action} needs {needed}"
            if needed
            else f"sync {options.action} takes no more"
        )
    if options.action == "join" and not options.key:
        raise UsageError("sync join needs --key with the whole key of a machine, or a file of it")
    if needed is not None:
        cli_options.refuse_agent(f"sync {options.action}", "it decides whose word counts here")
    with cli_options.mesh_of(options, meaning=True) as mesh:
        return _done(mesh, options)


def _done(mesh: MemoryMesh, options: argparse.Namespace) -> int:
    site = mesh.care._sync_site()  # noqa: SLF001  # no method of its own: people sync, programs do not
    lines = list[str]()
    if options.action == "status":
        return _status(exchange.status(site), options)
    if options.action == "revoke":
        before = exchange.own_key(site)
        report = exchange.revoke(site, options.what)
        lines.append(f"Revoked {options.what}: what it writes from now on is refused.")
        if (after := exchange.own_key(site)) != before:
            lines = ["This machine has a new key, for machines that you pair from now on:", after]
    else:
        if options.action in {"init", "join"}:
            keys = [_key(text) for text in options.key or ()]
            machine = exchange.pair(site, Path(options.what), options.name, keys)
            lines += [
                f"This machine is {machine.name}; its key, for the other machines:",
                machine.text,
            ]
        report = exchange.run(site)
    plain: dict[str, Json] = _plain(report)
    if len(lines) > 1:
        plain["key"] = lines[-1]
    output.answer(plain, *_marked(lines), *_told(report), as_json=options.json)
    return int(report.altered > 0)


def _marked(lines: list[str]) -> list[str]:
    return [line if line.startswith("mm1-") else f"[MemoryMesh] {line}" for line in lines]


def _key(text: str) -> str:
    """A key as it was given, or from the file that was named."""
    path = Path(text)
    if text.startswith("mm1-") or not path.is_file():
        return text
    return path.read_text(encoding="utf-8", errors="replace")[:_MOST_KEY]


def _plain(report: SyncReport) -> dict[str, Json]:
    return {
        "sent": report.sent,
        "received": report.received,
        "erased": report.erased,
        "refused": report.refused,
        "findings": list(report.findings),
    }


def _told(report: SyncReport) -> list[str]:
    """What a sync did, in a line, and a line for each file that was not taken in."""
    said = f"Sent {output.counted(report.sent, 'change')}, received {report.received:,}"
    said += f", erased {report.erased:,}" if report.erased else ""
    said += f", kept out {report.refused:,}" if report.refused else ""
    return [f"[MemoryMesh] {said}.", *_findings(report.findings)]


def _findings(findings: tuple[str, ...]) -> list[str]:
    return [f"[MemoryMesh] {finding}" for finding in findings]


def _status(known: SyncStatus, options: argparse.Namespace) -> int:
    plain: dict[str, Json] = {
        "name": known.name,
        "key": known.key,
        "folder": known.folder,
        "memories": known.memories,
        "machines": [output.plain(each, "name key records own revoked") for each in known.machines],
        "findings": list(known.findings),
    }
    lines = [
        f"[MemoryMesh] {known.name} shares {output.named(known.folder)}; its key:",
        known.key,
    ]
    for each in known.machines:
        said = "revoked" if each.revoked else "this machine" if each.own else "paired"
        lines.append(f"{each.name}: {said}, {output.counted(each.records, 'record')}")
    output.answer(plain, *lines, *_findings(known.findings), as_json=options.json)
    return int(known.altered > 0)


SYNC = Command(
    "memory-mesh sync init ~/Dropbox/memory",
    (
        about(
            "Keeps the stores of your machines in step through a folder that they share, such as\n"
            "Dropbox, Syncthing or a USB stick. Whoever else reads the folder reads nothing."
        ),
        argument(
            "action",
            choices=("init", "join", "status", "now", "revoke"),
            help="begin, pair with the machine of a key, show, sync now, or end a machine's key",
        ),
        argument("what", nargs="?", metavar="FOLDER", help="the shared folder; for revoke a name"),
        argument(
            "--key",
            metavar="KEY",
            action="append",
            help="the whole key that another machine printed, or a file of it; may be repeated",
        ),
        argument("--name", metavar="NAME", help="of this machine; default: its host name"),
    ),
    _run,
)
