"""`memory-mesh import-lane`."""

import argparse
from pathlib import Path

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.progress import Counting
from memory_mesh.compat.lane.memory_lane import LaneSettings
from memory_mesh.model import Channel, Json

EXAMPLE = "memory-mesh import-lane ~/.opencode/memories.db"
_SHOWN = 10  # refused rows that are printed
_COUNTS = ("read", "stored", "merged", "quarantined", "superseded", "refused")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    default = LaneSettings().db_path
    parser.add_argument(
        "path", nargs="?", default=default, help=f"the file of Memory Lane; default: {default}"
    )


def run(options: argparse.Namespace) -> int:
    """Imports memories with their ids and times; can be interrupted and run again."""
    from memory_mesh.compat.lane.import_ import bring_in_lane

    with cli_options.mesh_of(options, meaning=True, channel=Channel.IMPORT) as mesh:
        done = bring_in_lane(
            mesh,
            Path(options.path).expanduser(),
            progress=Counting("rows"),
        )
    counts: dict[str, Json] = {name: getattr(done, name) for name in _COUNTS}
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
        for id_, reason in done.refusals[:_SHOWN]:
            output.say(f"[MemoryMesh] Refused {id_}: {reason}.")
        output.say_more(done.refused, _SHOWN)
    return 1 if done.refused else 0
