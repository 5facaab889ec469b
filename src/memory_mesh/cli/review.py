"""`memory-mesh review`."""

import argparse

from memory_mesh.cli import opening, printing
from memory_mesh.cli.parsing import UsageError
from memory_mesh.errors import NotFound
from memory_mesh.model import Json, Memory, Scope, Skill
from memory_mesh.sync import MemoryMesh

EXAMPLE = 'memory-mesh review --id mem_1767225600000_0a1b2c --approve --reason "checked"'
_MOST = 1_000  # that one call may return


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--id", metavar="ID", help="the memory or skill, shown if no verdict is given; else all"
    )
    verdict = parser.add_mutually_exclusive_group()
    verdict.add_argument("--approve", action="store_true", help="let it in")
    verdict.add_argument("--reject", action="store_true", help="archive it")
    parser.add_argument("--reason", metavar="TEXT", help="why, for the audit block")
    parser.add_argument("--limit", type=int, default=100, metavar="N", help="list at most")


def run(options: argparse.Namespace) -> int:
    """List what waits, show all of one, or decide on it."""
    if not options.id and (options.approve or options.reject):
        raise UsageError("say which one: --id ID. See: memory-mesh review --help")
    with opening.mesh_of(options) as mesh:
        reader = opening.reader_of(mesh.config)
        if options.id and not (options.approve or options.reject):
            return _show(mesh, reader, options)
        if options.id:
            return _decide(mesh, reader, options)
        waiting = mesh.awaiting_review(limit=options.limit, scope=reader)
    if options.json:
        printing.say_json([_plain(item) for item in waiting])
        return 0
    printing.say(f"[MemoryMesh] {len(waiting)} wait for review.")
    for item in waiting:
        text = item.text if isinstance(item, Memory) else f"{item.name}: {item.intent}"
        printing.say(f"{item.id}  {printing.one_line(text, 80)}")
    return 0


def _show(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    """The whole of one: nobody should approve what a listing cut off."""
    waiting = mesh.awaiting_review(limit=_MOST, scope=reader)
    item = next((item for item in waiting if item.id == options.id), None)
    if item is None:
        raise NotFound(f"{options.id} does not wait for review")
    if options.json:
        printing.say_json(_plain(item))
        return 0
    printing.say(item.text)
    printing.hint(f"memory-mesh review --id {item.id} --approve, or --reject")
    return 0


def _decide(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    reason = options.reason or "reviewed by the caller"
    after = mesh.review(options.id, approve=options.approve, reason=reason, scope=reader)
    if options.json:
        printing.say_json({"id": after.id, "status": after.status.value})
        return 0
    verdict = "Approved" if options.approve else "Rejected"
    printing.say(f"[MemoryMesh] {verdict} {after.id}, now {after.status.value}")
    return 0


def _plain(item: Memory | Skill) -> dict[str, Json]:
    if isinstance(item, Skill):
        return printing.described_skill(item)
    return printing.described(item)
