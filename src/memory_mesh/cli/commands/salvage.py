"""`memory-mesh salvage`."""

import argparse
import shlex
from collections.abc import Mapping

from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.advice import completed, option
from memory_mesh.errors import MeshError
from memory_mesh.model import Json, Status
from memory_mesh.model.safekeeping import HELD_BACK, HeldBack, Salvaged, SalvagedNamespace, Unread
from memory_mesh.policy.users import shown_namespace, user_of
from memory_mesh.safekeeping.salvaging import salvage

EXAMPLE = "memory-mesh salvage --to rescued"
_SHOWN = output.NAMED  # entries of each list; --json has all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("--to", metavar="FOLDER", required=True, help="the folder of the new store")


def run(options: argparse.Namespace) -> int:
    """Copies all namespaces and prints what is as it was and what is not; then exit code 1."""
    store_folder.refuse_one(options, "leave it out; all that can be read is copied")
    with cli_options.mesh_of(options) as mesh:
        folder = store_folder.need_folder(mesh.config, "restore a backup that pg_dump made")
    done = salvage(folder, options.to)
    lines = [completed(line, options) for line in _lines(done)]
    output.answer(_plain(done), *lines, as_json=options.json)
    if done.complete:
        if not options.json:
            output.tell([f"all of it could be read; {_next(done)}"])
        return 0
    held = sum(len(each.held_back) for each in done.namespaces)
    waits = f" {output.counted(held, 'memory', 'memories')} held back for you to decide on;"
    waits = waits if held else ""
    raise MeshError(f"not everything could be read;{waits} {_next(done)}")


def _next(done: Salvaged) -> str:
    folder = output.named(done.folder)
    own = option("db-dir", folder)
    return (
        f"the new store is in {folder}. Look at it: memory-mesh list{own}; then move "
        "the damaged folder away and this one to its place, or use it with --db-dir"
    )


def _lines(done: Salvaged) -> list[str]:
    lines = []
    for each in done.namespaces:
        lines += _about(each, done.folder)
    for name, why in done.failed.items():
        lines.append(f"[MemoryMesh] {shown_namespace(name)}: nothing could be read: {why}")
    return lines


def _about(each: SalvagedNamespace, folder: str) -> list[str]:
    name, chain = shown_namespace(each.namespace), each.chain
    counts = (
        f"{output.counted(each.known, 'memory', 'memories')}: {each.memories} as they were, "
        f"{len(each.held_back)} held back, {len(each.lost)} lost; "
        f"{output.counted(chain.kept + chain.sealed_anew, 'block')}, {chain.lost} lost, "
        f"{output.counted(len(each.verification.findings), 'finding')} in the new file"
    )
    lines = [f"[MemoryMesh] {name}: {counts}"]
    if chain.breaks_at is not None:
        lines.append(f"  the chain breaks at block {chain.breaks_at}; it is sealed anew from there")
    lines += _held_back(each, folder)
    lines += _some("lost", list(each.lost))
    lines += _some("not read", [_said(unread) for unread in each.unread])
    lines += _some("rebuilt", list(each.rebuilt))
    lines += _some("wrong", [f"{one.check}: {one.detail}" for one in each.verification.findings])
    if each.leftovers is not None:
        lines.append(f"  rows that were read and not taken over: namespaces/{each.leftovers}")
    return lines


def _held_back(each: SalvagedNamespace, folder: str) -> list[str]:
    """What waits for a person, and the commands to look at it and to accept it."""
    if not each.held_back:
        return []
    lines = [f"  held back: {len(each.held_back)}; no search, list, context or agent shows these"]
    for held in each.held_back[:_SHOWN]:
        look, accept = _commands(each, held, folder)
        lines += [
            f"    {held.id}: {output.unbroken(held.why)}",
            f"      its rows say: {output.unbroken(held.said)}",
            f"      look: {look}",
            f"      accept: {accept}",
        ]
    if len(each.held_back) > _SHOWN:
        lines.append(f"    … and {len(each.held_back) - _SHOWN} more; --json names them")
    return lines


def _commands(each: SalvagedNamespace, held: HeldBack, folder: str) -> tuple[str, str]:
    """The commands that show a memory that is held back, and that accept it."""
    user = user_of(each.namespace)
    given = {
        "project": held.project or "",
        "agent": held.agent,
        "session": held.session,
    }
    place = {
        "namespace": each.namespace if user is None else None,
        "user": user,
        "db-dir": folder,
    }
    audience, where = _options(given), _options(place)
    to = " --give-to PROJECT" if held.project == HELD_BACK else ""
    accept = f"memory-mesh review --id {held.id} --approve{to}{audience}{where}"
    if held.status is not Status.DELETED:
        return f"memory-mesh review --as-owner --id {held.id}{where}", accept
    if not to:
        accept = f"memory-mesh restore --id {held.id}{audience}{where}"
    return f"memory-mesh history --id {held.id}{audience}{where}", accept


def _options(given: Mapping[str, str | None]) -> str:
    """Options as a shell takes them, each after a space."""
    return "".join(
        f" --{name} {shlex.quote(output.named(value))}"
        for name, value in given.items()
        if value is not None
    )


def _some(what: str, entries: list[str]) -> list[str]:
    lines = [f"  {what} {output.unbroken(entry)}" for entry in entries[:_SHOWN]]
    if len(entries) > _SHOWN:
        lines.append(f"  {what} … and {len(entries) - _SHOWN} more; --json names them")
    return lines


def _said(unread: Unread) -> str:
    numbers = "" if unread.first is None else f" row {unread.first}"
    if unread.first is not None and unread.last != unread.first:
        numbers = f" rows {unread.first} to {unread.last or 'the end'}"
    of = f" (of {output.some(unread.memories)})" if unread.memories else ""
    return f"{unread.table}{numbers}: {unread.why}{of}"


def _plain(done: Salvaged) -> Json:
    return {
        "folder": done.folder,
        "complete": done.complete,
        "failed": dict(done.failed),
        "namespaces": [
            {
                "namespace": shown_namespace(each.namespace),
                "known": each.known,
                "memories": each.memories,
                "held_back": [_held(each, held, done.folder) for held in each.held_back],
                "lost": list(each.lost),
                "rebuilt": list(each.rebuilt),
                "rows": dict(each.rows),
                "unread": [
                    {
                        "table": one.table,
                        "first": one.first,
                        "last": one.last,
                        "why": one.why,
                        "memories": list(one.memories),
                    }
                    for one in each.unread
                ],
                "chain": {
                    "kept": each.chain.kept,
                    "sealed_anew": each.chain.sealed_anew,
                    "lost": each.chain.lost,
                    "breaks_at": each.chain.breaks_at,
                },
                "leftovers": each.leftovers,
                "findings": [
                    {"check": one.check, "detail": one.detail} for one in each.verification.findings
                ],
            }
            for each in done.namespaces
        ],
    }


def _held(each: SalvagedNamespace, held: HeldBack, folder: str) -> dict[str, Json]:
    look, accept = _commands(each, held, folder)
    return {
        "id": held.id,
        "why": held.why,
        "said": held.said,
        "status": held.status.value,
        "project": held.project,
        "agent": held.agent,
        "session": held.session,
        "look": look,
        "accept": accept,
    }
