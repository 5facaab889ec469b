"""`memory-mesh conflicts`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.parsing import UsageError
from memory_mesh.model import DECISIONS, Conflict, Json, Scope
from memory_mesh.sync import MemoryMesh

EXAMPLE = "memory-mesh conflicts --id conflict_1767225600000_0a1b2c --resolve keep_both"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--pending", action="store_true", help="list only those that wait for a decision"
    )
    which.add_argument("--all", action="store_true", help="also list those that a person decided")
    parser.add_argument(
        "--limit", type=int, default=50, metavar="N", help="maximum number listed (default: 50)"
    )
    cli_options.add_as_owner(parser)
    parser.add_argument("--id", metavar="ID", help="the conflict to resolve")
    parser.add_argument(
        "--resolve",
        choices=[each.value for each in DECISIONS],
        help="supersede: the new memory replaces the old; reject: archive the new one; keep_both",
    )
    parser.add_argument("--reason", metavar="TEXT", help="the reason, stored in the audit block")


def run(options: argparse.Namespace) -> int:
    """Lists conflicts, or resolves one."""
    if bool(options.id) != bool(options.resolve):
        raise UsageError("give --id and --resolve together. See: memory-mesh conflicts --help")
    with cli_options.opened(options) as (mesh, reader):
        if options.id:
            return _resolve(mesh, reader, options)
        found = mesh.conflicts(
            pending=options.pending,
            decided=options.all,
            limit=options.limit,
            scope=reader,
            as_owner=options.as_owner,
        )
    return output.answer(
        [_plain(conflict) for conflict in found],
        f"[MemoryMesh] {output.counted(len(found), 'conflict')}.",
        *map(_lines, found),
        as_json=options.json,
    )


def _resolve(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    reason = options.reason or "resolved by the caller"
    done = mesh.resolve_conflict(options.id, options.resolve, reason=reason, scope=reader)
    resolved = f"[MemoryMesh] Resolved {done.id}: {done.resolution}"
    return output.answer(_plain(done), resolved, as_json=options.json)


def _lines(conflict: Conflict) -> str:
    state = conflict.resolution or "pending"
    return (
        f"{conflict.id}  {state}  {output.one_line(conflict.reason, 90)}\n"
        f"  new {conflict.new} ({conflict.new_trust:.2f}), "
        f"known {conflict.existing} ({conflict.existing_trust:.2f})"
    )


def _plain(conflict: Conflict) -> dict[str, Json]:
    return {
        "id": conflict.id,
        "new": conflict.new,
        "existing": conflict.existing,
        "new_trust": conflict.new_trust,
        "existing_trust": conflict.existing_trust,
        "reason": conflict.reason,
        "created_at": conflict.created_at,
        "resolution": conflict.resolution,
        "why": conflict.why,
    }
