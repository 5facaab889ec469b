"""`memory-mesh migrate-tables`."""

import argparse
from pathlib import Path

from memory_mesh.cli import output
from memory_mesh.model import record
from memory_mesh.process.clock import SystemClock

EXAMPLE = "memory-mesh migrate-tables ~/.yamo/memory"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("path", help="a LanceDB directory of @yamo/memory-mesh")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--rollback", action="store_true", help="go back to the V1 table")
    instead.add_argument(
        "--purge", action="store_true", help="remove the backup, after 30 days at the earliest"
    )


def run(options: argparse.Namespace) -> int:
    """Migrates a V1 table to V2 and keeps a backup; can be interrupted and run again."""
    from memory_mesh.compat.rfc11 import migrate

    verb = migrate.migrate
    if options.rollback or options.purge:
        verb = migrate.rollback if options.rollback else migrate.purge
    done = verb(Path(options.path).expanduser(), now=SystemClock().now())
    until = None if done.backup_until is None else record.iso(done.backup_until)
    did = "is now" if done.changed else "was already"
    lines = [
        f"[MemoryMesh] The table {did} schema {done.schema}, {output.counted(done.rows, 'row')}."
    ]
    if until is not None:
        lines.append(f"[MemoryMesh] The V1 backup is kept until {until} at least.")
    if done.aside is not None:
        lines.append(f"[MemoryMesh] Rows written to the V2 table were moved to {done.aside}.")
    return output.answer(
        {
            "schema": done.schema,
            "changed": done.changed,
            "rows": done.rows,
            "backup_until": until,
            "aside": done.aside,
        },
        *lines,
        as_json=options.json,
    )
