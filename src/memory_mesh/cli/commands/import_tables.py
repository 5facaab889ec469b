"""`memory-mesh import-tables`."""

import argparse
from pathlib import Path

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.progress import Counting
from memory_mesh.model import Json
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.compat.tally import Tally

EXAMPLE = "memory-mesh import-tables ~/.yamo/memory"
_SHOWN = 10  # refused rows that are printed
_COUNTS = ("read", "stored", "merged", "quarantined", "refused", "skipped")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("path", help="a LanceDB directory of @yamo/memory-mesh, schema V1 or V2")
    parser.add_argument(
        "--trusted",
        action="store_true",
        help="it is your own export from another machine: keep trust, votes, pins and status",
    )


def run(options: argparse.Namespace) -> int:
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
                "memories": _plain(done.memories),
                "skills": _plain(done.skills),
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
        for id_, reason in done.refusals[:_SHOWN]:
            output.say(f"[MemoryMesh] Refused {id_}: {reason}.")
        output.say_more(done.memories.refused + done.skills.refused, _SHOWN)
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


def _plain(tally: "Tally") -> dict[str, Json]:
    return {name: getattr(tally, name) for name in _COUNTS}


def _said(tally: "Tally") -> str:
    counts = {name: getattr(tally, name) for name in _COUNTS}
    known = {"merged": "already stored"}
    return ", ".join(
        f"{count} {known.get(name, name)}"
        for name, count in counts.items()
        if count or name in {"read", "stored"}
    )
