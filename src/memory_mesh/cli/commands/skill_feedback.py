"""`memory-mesh skill-feedback`."""

import argparse

from memory_mesh.cli import options as cli_options, output

EXAMPLE = "memory-mesh skill-feedback --id skill_1767225600000_0a1b2c --success true"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("--id", metavar="ID", required=True, help="the skill's id")
    parser.add_argument(
        "--success", choices=("true", "false"), required=True, help="whether it worked"
    )


def run(options: argparse.Namespace) -> int:
    """Records one use of the skill and prints its new reliability."""
    with cli_options.opened(options) as (mesh, reader):
        now = mesh.update_skill_reliability(options.id, options.success == "true", scope=reader)
    return output.answer(
        {"id": now.id, "reliability": now.reliability, "use_count": now.uses},
        f"[MemoryMesh] Skill {now.id} reliability {now.before:.2f} -> {now.reliability:.2f} "
        f"after {now.uses} uses",
        as_json=options.json,
    )
