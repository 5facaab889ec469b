"""`memory-mesh migrate-tables`."""

import argparse
from pathlib import Path

from memory_mesh.cli import output
from memory_mesh.model import record
from memory_mesh.process.clock import SystemClock

EXAMPLE = "memory-mesh migrate-tables ~/.yamo/memory"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("path", help="a LanceDB directory of @yamo/memory-mesh")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--rollback", action="store_true", help="bring the V1 table back instead")
    instead.add_argument(
        "--purge", action="store_true", help="remove the backup; not in its first 30 days"
    )


def run(options: argparse.Namespace) -> int:
    """Make a V1 table V2, with a backup to go back to; may be interrupted and run again."""
    from memory_mesh.compat.rfc11 import migrate

    verb = migrate.migrate
    if options.rollback or options.purge:
        verb = migrate.rollback if options.rollback else migrate.purge
    done = verb(Path(options.path).expanduser(), now=SystemClock().now())
    until = None if done.backup_until is None else record.iso(done.backup_until)
    did = "is now" if done.changed else "was already"
    lines = [f"[MemoryMesh] The table {did} schema {done.schema}, {done.rows} rows."]
    if until is not None:
        lines.append(f"[MemoryMesh] Its V1 backup is kept, at least until {until}.")
    if done.aside is not None:
        lines.append(f"[MemoryMesh] What was written to the V2 table is in {done.aside}.")
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
