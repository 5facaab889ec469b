"""memory-mesh import-lane: bring in a SQLite file of Memory Lane."""

import argparse
from pathlib import Path

from memory_mesh.cli import options as cli_options, output
from memory_mesh.compat.lane.memory_lane import LaneSettings
from memory_mesh.model import Channel, Json

EXAMPLE = "memory-mesh import-lane ~/.opencode/memories.db"
_SHOWN = 10  # refusals in words
_COUNTS = ("read", "stored", "merged", "quarantined", "superseded", "refused")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    default = LaneSettings().db_path
    parser.add_argument(
        "path", nargs="?", default=default, help=f"the file of Memory Lane; default: {default}"
    )


def run(options: argparse.Namespace) -> int:
    """Bring memories in with their ids and times; may be interrupted and run again."""
    from memory_mesh.compat.lane.import_ import bring_in_lane

    with cli_options.mesh_of(options, meaning=True, channel=Channel.IMPORT) as mesh:
        done = bring_in_lane(
            mesh,
            Path(options.path).expanduser(),
            progress=lambda count: output.progress(f"{count} rows …"),
        )
    counts: dict[str, Json] = {name: getattr(done, name) for name in _COUNTS}
    if options.json:
        refusals: list[Json] = [list(refusal) for refusal in done.refusals]
        output.say_json(counts | {"refusals": refusals})
    else:
        output.progress("")
        known = {"merged": "already here", "quarantined": "waiting for review"}
        said = ", ".join(
            f"{count} {known.get(name, name)}"
            for name, count in counts.items()
            if count or name in {"read", "stored"}
        )
        output.say(f"[MemoryMesh] Memories: {said}.")
        for id_, reason in done.refusals[:_SHOWN]:
            output.say(f"[MemoryMesh] Refused {id_}: {reason}.")
    return 1 if done.refused else 0
