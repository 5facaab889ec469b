"""`memory-mesh reflect`."""

import argparse

from memory_mesh.cli import options as cli_options, output

EXAMPLE = 'memory-mesh reflect --topic "deployments" --lookback 20'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("--topic", metavar="TEXT", help="the topic; default: the newest memories")
    parser.add_argument(
        "--lookback",
        type=int,
        metavar="N",
        help="number of memories to read (default: 50; 10 with a language model)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the reflection without storing it"
    )


def run(options: argparse.Namespace) -> int:
    """Prints what the memories agree on, with their ids."""
    with cli_options.mesh_of(options, meaning=bool(options.topic)) as mesh:
        found = mesh.reflect(
            topic=options.topic,
            lookback=options.lookback,
            store=not options.dry_run,
            scope=cli_options.reader_of(mesh),
        )
    lines = [f"[MemoryMesh] Reflected on {output.counted(found.count, 'memory', 'memories')}."]
    if found.text:
        lines.append(found.text)
    elif found.count:
        lines.append("No two of them say the same, so nothing was stored.")
    if found.id:
        lines.append(f"[MemoryMesh] Reflection {found.id} [CONFIDENCE: {found.confidence:.2f}]")
    return output.answer(
        {
            "id": found.id,
            "topic": found.topic,
            "count": found.count,
            "text": found.text,
            "confidence": found.confidence,
            "sources": list(found.sources),
        },
        *lines,
        as_json=options.json,
    )
