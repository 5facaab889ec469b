"""`memory-mesh salvage`."""

import argparse

from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.advice import completed, option
from memory_mesh.errors import MeshError
from memory_mesh.model import Json
from memory_mesh.model.safekeeping import Salvaged, SalvagedNamespace, Unread
from memory_mesh.policy.users import shown_namespace
from memory_mesh.safekeeping.salvaging import salvage

EXAMPLE = "memory-mesh salvage --to rescued"
_SHOWN = output.NAMED  # entries of each list; --json has all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("--to", metavar="FOLDER", required=True, help="the folder of the new store")


def run(options: argparse.Namespace) -> int:
    """Copies all namespaces and prints what was and was not read; exit code 1 if not all was."""
    store_folder.refuse_one(options, "leave it out; all that can be read is copied")
    with cli_options.mesh_of(options) as mesh:
        folder = mesh.config.db_dir
    done = salvage(folder, options.to)
    lines = [completed(line, options) for line in _lines(done)]
    output.answer(_plain(done), *lines, as_json=options.json)
    if done.complete:
        if not options.json:
            output.tell([f"all of it could be read; {_next(done)}"])
        return 0
    raise MeshError(f"not everything could be read; {_next(done)}")


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
        lines += _about(each)
    for name, why in done.failed.items():
        lines.append(f"[MemoryMesh] {shown_namespace(name)}: nothing could be read: {why}")
    return lines


def _about(each: SalvagedNamespace) -> list[str]:
    name, chain = shown_namespace(each.namespace), each.chain
    counts = (
        f"{output.counted(each.memories, 'memory', 'memories')}, {len(each.lost)} lost, "
        f"{output.counted(chain.kept + chain.sealed_anew, 'block')}, {chain.lost} lost, "
        f"{output.counted(len(each.verification.findings), 'finding')} in the new file"
    )
    lines = [f"[MemoryMesh] {name}: {counts}"]
    if chain.breaks_at is not None:
        lines.append(f"  the chain breaks at block {chain.breaks_at}; it is sealed anew from there")
    lines += _some("lost", list(each.lost))
    lines += _some("not read", [_said(unread) for unread in each.unread])
    lines += _some("rebuilt", list(each.rebuilt))
    lines += _some("wrong", [f"{one.check}: {one.detail}" for one in each.verification.findings])
    if each.leftovers is not None:
        lines.append(f"  rows that were read and not taken over: namespaces/{each.leftovers}")
    return lines


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
                "memories": each.memories,
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
