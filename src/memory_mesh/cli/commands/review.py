"""`memory-mesh review`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.parsing import UsageError
from memory_mesh.errors import NotFound
from memory_mesh.model import Json, Memory, Scope, Skill
from memory_mesh.sync import MemoryMesh

EXAMPLE = 'memory-mesh review --id mem_1767225600000_0a1b2c --approve --reason "checked"'
_MAX_RESULTS = 1_000  # that one call may return


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--id", metavar="ID", help="the memory or skill, shown if no verdict is given; else all"
    )
    verdict = parser.add_mutually_exclusive_group()
    verdict.add_argument("--approve", action="store_true", help="let it in")
    verdict.add_argument("--reject", action="store_true", help="archive it, and keep it out")
    verdict.add_argument("--undo", action="store_true", help="take the last verdict back")
    parser.add_argument("--source", metavar="NAME", help="all that waits from this source")
    parser.add_argument("--reason", metavar="TEXT", help="why, for the audit block")
    parser.add_argument("--limit", type=int, default=100, metavar="N", help="list at most")


def run(options: argparse.Namespace) -> int:
    """List what waits, show all of one, or decide on it."""
    decided = options.approve or options.reject
    if bool(options.id) == bool(options.source) and (decided or options.undo or options.source):
        raise UsageError("say which: --id ID or --source NAME. See: memory-mesh review --help")
    if options.source and not decided:
        raise UsageError("say --approve or --reject. See: memory-mesh review --help")
    with cli_options.opened(options) as (mesh, reader):
        if options.source:
            return _decide_all(mesh, reader, options)
        if options.undo:
            return _undo(mesh, reader, options)
        if options.id and not decided:
            return _show(mesh, reader, options)
        if options.id:
            return _decide(mesh, reader, options)
        waiting = mesh.awaiting_review(limit=options.limit, scope=reader)
    return output.answer(
        [_plain(item) for item in waiting],
        f"[MemoryMesh] {len(waiting)} wait for review.",
        *map(_line, waiting),
        as_json=options.json,
    )


def _decide_all(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    """One verdict on everything that waits from one source."""
    reason = options.reason or "reviewed by the caller"
    done = mesh.review_source(options.source, approve=options.approve, reason=reason, scope=reader)
    return output.answer(
        [_state(memory) for memory in done],
        f"[MemoryMesh] {_verdict(options)} {len(done)} from {options.source}.",
        as_json=options.json,
    )


def _undo(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    memory = mesh.undo_review(options.id, scope=reader)
    done = f"[MemoryMesh] {memory.id} waits again, as {memory.status.value}"
    return output.answer(_state(memory), done, as_json=options.json)


def _show(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    """The whole of one: nobody should approve what a listing cut off."""
    waiting = mesh.awaiting_review(limit=_MAX_RESULTS, scope=reader)
    item = next((item for item in waiting if item.id == options.id), None)
    if item is None:
        raise NotFound(f"{options.id} does not wait for review")
    return output.answer(
        _plain(item),
        item.text,
        as_json=options.json,
        remark=f"memory-mesh review --id {item.id} --approve, or --reject",
    )


def _decide(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    reason = options.reason or "reviewed by the caller"
    after = mesh.review(options.id, approve=options.approve, reason=reason, scope=reader)
    done = f"[MemoryMesh] {_verdict(options)} {after.id}, now {after.status.value}"
    return output.answer(_state(after), done, as_json=options.json)


def _verdict(options: argparse.Namespace) -> str:
    return "Approved" if options.approve else "Rejected"


def _line(item: Memory | Skill) -> str:
    text = item.text if isinstance(item, Memory) else f"{item.name}: {item.intent}"
    return f"{item.id}  {output.one_line(text, 80)}"


def _state(item: Memory | Skill) -> dict[str, Json]:
    return {"id": item.id, "status": item.status.value}


def _plain(item: Memory | Skill) -> dict[str, Json]:
    if isinstance(item, Skill):
        return output.described_skill(item)
    return output.described(item)
