"""`memory-mesh skill-feedback`."""

import argparse

from memory_mesh.cli import options as cli_options
from memory_mesh.cli import output

EXAMPLE = "memory-mesh skill-feedback --id skill_1767225600000_0a1b2c --success true"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("--id", metavar="ID", required=True, help="the skill's id")
    parser.add_argument(
        "--success", choices=("true", "false"), required=True, help="whether it worked"
    )


def run(options: argparse.Namespace) -> int:
    """Records one use of the skill and prints its new reliability."""
    with cli_options.mesh_of(options) as mesh:
        reader = cli_options.reader_of(mesh.config)
        now = mesh.update_skill_reliability(options.id, options.success == "true", scope=reader)
    if options.json:
        output.say_json({"id": now.id, "reliability": now.reliability, "use_count": now.uses})
        return 0
    output.say(
        f"[MemoryMesh] Skill {now.id} reliability {now.before:.2f} -> {now.reliability:.2f} "
        f"after {now.uses} uses"
    )
    return 0
