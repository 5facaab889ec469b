"""Commands for stores of others: tables of @yamo/memory-mesh, and Memory Lane."""

import argparse
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, argument, one_of
from memory_mesh.cli.progress import Counting
from memory_mesh.compat.lane.memory_lane import LaneSettings
from memory_mesh.model import Channel, Json, Status, times
from memory_mesh.platform.ids import SystemClock

if TYPE_CHECKING:
    from memory_mesh.compat.tally import Tally

# import-tables

_SHOWN_IMPORT_TABLES = 10  # refused rows that are printed

_COUNTS_IMPORT_TABLES = ("read", "stored", "merged", "quarantined", "refused", "skipped")


def _run_import_tables(options: argparse.Namespace) -> int:
    """Imports memories and skills with their ids and times; can be interrupted and rerun."""
    from memory_mesh.compat.rfc11.import_ import bring_in

    with cli_options.mesh_of(options, meaning=True) as mesh:
        done = bring_in(
            mesh,
            Path(options.path).expanduser(),
            trusted=options.trusted,
            progress=Counting("rows"),
        )
    if options.json:
        refusals: list[Json] = [list(refusal) for refusal in done.refusals]
        output.say_json(
            {
                "schema": done.schema,
                "memories": output.plain(done.memories, " ".join(_COUNTS_IMPORT_TABLES)),
                "skills": output.plain(done.skills, " ".join(_COUNTS_IMPORT_TABLES)),
                "blocks": done.blocks,
                "own": done.own,
                "strange": done.strange,
                "refusals": refusals,
                "receipts": {} if done.more is None else done.more.plain(),
            }
        )
    else:
        output.progress("")
        output.say(f"[MemoryMesh] Memories: {_said(done.memories)}.")
        output.say(f"[MemoryMesh] Skills: {_said(done.skills)}.")
        output.say(f"[MemoryMesh] Blocks of the other store, not chained here: {done.blocks}.")
        output.tell([] if done.more is None else done.more.sentences())
        for line in _whose(done.own, done.strange):
            output.say(line)
        for id_, reason in done.refusals[:_SHOWN_IMPORT_TABLES]:
            output.say(f"[MemoryMesh] Refused {id_}: {reason}.")
        output.say_more(done.memories.refused + done.skills.refused, _SHOWN_IMPORT_TABLES)
        if done.memories.quarantined or done.skills.quarantined:
            output.hint("Some lessons or skills wait for review: memory-mesh review")
    return 1 if done.memories.refused or done.skills.refused else 0


def _whose(own: int, strange: int) -> list[str]:
    """Says which rows were taken for the user's own export, and which were not."""
    lines = []
    if own:
        lines += [f"[MemoryMesh] From your own export, with trust, votes, pins and status: {own}."]
    if strange:
        lines += [
            f"[MemoryMesh] Exported with a key that is not known here, now documents: {strange}.",
            "[MemoryMesh] If that export is your own, use --trusted with an empty namespace.",
        ]
    return lines


def _said(tally: "Tally") -> str:
    counts = {name: getattr(tally, name) for name in _COUNTS_IMPORT_TABLES}
    known = {"merged": "already stored"}
    return ", ".join(
        f"{count} {known.get(name, name)}"
        for name, count in counts.items()
        if count or name in {"read", "stored"}
    )


IMPORT_TABLES = Command(
    "memory-mesh import tables ~/.yamo/memory",
    (
        argument("path", help="a LanceDB directory of @yamo/memory-mesh, schema V1 or V2"),
        argument(
            "--trusted",
            action="store_true",
            help="it is your own export from another machine: keep trust, votes, pins and status",
        ),
    ),
    _run_import_tables,
)


# export-tables


def _run_export_tables(options: argparse.Namespace) -> int:
    """Writes the namespace as a LanceDB directory with the tables of RFC-0011, schema V2."""
    from memory_mesh.compat.rfc11.migrate import hand_out
    from memory_mesh.compat.rfc11.reader import MeshHoldings

    include = [Status(word) for word in options.include or ()]
    with cli_options.mesh_of(options) as mesh:
        done = hand_out(MeshHoldings(mesh, include=include), Path(options.path).expanduser())
    return output.answer(
        {"memories": done.memories, "skills": done.skills, "blocks": done.blocks},
        f"[MemoryMesh] Exported {output.counted(done.memories, 'memory')}, "
        f"{output.counted(done.skills, 'skill')} and "
        f"{output.counted(done.blocks, 'block')} to {output.named(options.path)}.",
        as_json=options.json,
    )


EXPORT_TABLES = Command(
    "memory-mesh export tables ./for-yamo",
    (
        argument("path", help="a new or empty folder; it gets what is for anybody"),
        argument(
            "--include",
            metavar="STATUS",
            action="append",
            choices=[status.value for status in Status],
            help="also export memories with this status; may be repeated",
        ),
    ),
    _run_export_tables,
)


# migrate-tables


def _run_migrate_tables(options: argparse.Namespace) -> int:
    """Migrates a V1 table to V2 and keeps a backup; can be interrupted and run again."""
    from memory_mesh.compat.rfc11 import migrate

    verb = migrate.migrate
    if options.rollback or options.purge:
        verb = migrate.rollback if options.rollback else migrate.purge
    done = verb(Path(options.path).expanduser(), now=SystemClock().now())
    until = None if done.backup_until is None else times.iso(done.backup_until)
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


MIGRATE_TABLES = Command(
    "memory-mesh import migrate ~/.yamo/memory",
    (
        argument("path", help="a LanceDB directory of @yamo/memory-mesh"),
        one_of(
            argument("--rollback", action="store_true", help="go back to the V1 table"),
            argument(
                "--purge",
                action="store_true",
                help="remove the backup, after 30 days at the earliest",
            ),
        ),
    ),
    _run_migrate_tables,
)


# import-lane

_SHOWN_IMPORT_LANE = 10  # refused rows that are printed

_COUNTS_IMPORT_LANE = ("read", "stored", "merged", "quarantined", "superseded", "refused")


def _add_import_lane_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    default = LaneSettings().db_path
    parser.add_argument(
        "path", nargs="?", default=default, help=f"the file of Memory Lane; default: {default}"
    )


def _run_import_lane(options: argparse.Namespace) -> int:
    """Imports memories with their ids and times; can be interrupted and run again."""
    from memory_mesh.compat.lane.import_ import bring_in_lane

    with cli_options.mesh_of(options, meaning=True, channel=Channel.IMPORT) as mesh:
        done = bring_in_lane(
            mesh,
            Path(options.path).expanduser(),
            progress=Counting("rows"),
        )
    counts: dict[str, Json] = {name: getattr(done, name) for name in _COUNTS_IMPORT_LANE}
    if options.json:
        refusals: list[Json] = [list(refusal) for refusal in done.refusals]
        more = {} if done.more is None else done.more.plain()
        output.say_json(more | counts | {"refusals": refusals})
    else:
        output.progress("")
        known = {"merged": "already stored", "quarantined": "waiting for review"}
        said = ", ".join(
            f"{count} {known.get(name, name)}"
            for name, count in counts.items()
            if count or name in {"read", "stored"}
        )
        output.say(f"[MemoryMesh] Memories: {said}.")
        output.tell([] if done.more is None else done.more.sentences())
        for id_, reason in done.refusals[:_SHOWN_IMPORT_LANE]:
            output.say(f"[MemoryMesh] Refused {id_}: {reason}.")
        output.say_more(done.refused, _SHOWN_IMPORT_LANE)
    return 1 if done.refused else 0


IMPORT_LANE = Command(
    "memory-mesh import lane ~/.opencode/memories.db", (_add_import_lane_options,), _run_import_lane
)
