"""`memory-mesh export`."""

import argparse
from pathlib import Path

from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.parsing import UsageError
from memory_mesh.cli.progress import Counting
from memory_mesh.model.safekeeping import Exported
from memory_mesh.policy.users import shown_namespace

EXAMPLE = "memory-mesh export memories.tar.gz"

_NO_VECTORS = (
    "the namespace has no vectors yet, so the archive carries none. With a model, memory-mesh "
    "upkeep makes them; then export again"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_place(parser, "--to", "FILE", "to", "the new file")
    parser.add_argument(
        "--with-vectors",
        action="store_true",
        help="carry the vectors, too; without them they are made anew where it is imported",
    )


def run(options: argparse.Namespace) -> int:
    """Writes every row of the namespace and its audit chain to one file."""
    if options.to == "-":
        raise UsageError(
            "an archive is a file of its own, and is not written to standard output: give --to FILE"
        )
    done = _exported(options)
    name = shown_namespace(done.namespace)
    if options.with_vectors and not done.vectors:
        output.tell([_NO_VECTORS])
    return output.answer(
        {
            "file": output.named(done.file),
            "namespace": name,
            "memories": done.memories,
            "position": done.position,
            "rows": done.rows,
            "bytes": done.bytes,
            "sha256": done.sha256,
            "with_vectors": done.with_vectors,
            "vectors": done.vectors,
        },
        f"[MemoryMesh] Exported {output.counted(done.memories, 'memory', 'memories')} of {name}, "
        f"{output.counted(done.position, 'block')}, {_vectors(done)}to {output.named(done.file)} "
        f"({done.bytes} bytes).",
        as_json=options.json,
        remark="It holds every text of the namespace: keep it as private as the store.",
    )


def _vectors(done: Exported) -> str:
    return f"{output.counted(done.vectors, 'vector')}, " if done.with_vectors else ""


def _exported(options: argparse.Namespace) -> Exported:
    config, to = store_folder.config_of(options), Path(options.to).expanduser()
    counting = Counting("rows")
    if config.store is not None:
        from memory_mesh.safekeeping.server import export_from_server

        done = export_from_server(config, to, with_vectors=options.with_vectors, progress=counting)
    else:
        from memory_mesh.safekeeping.archive import export_archive

        done = export_archive(
            config.db_dir,
            config.namespace,
            to,
            with_vectors=options.with_vectors,
            progress=counting,
        )
    counting.end()
    return done
