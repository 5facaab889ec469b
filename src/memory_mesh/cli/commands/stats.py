"""`memory-mesh stats`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.errors import StoreError
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import Json, Stats
from memory_mesh.policy.privacy import masked
from memory_mesh.policy.users import shown_namespace

EXAMPLE = "memory-mesh stats --verbose"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("--verbose", action="store_true", help="more figures")


def run(options: argparse.Namespace) -> int:
    """Prints RFC-0011 §9.2's four lines; if the store cannot be opened, its path and status."""
    mesh = cli_options.mesh_of(options)
    path = masked(str(mesh.config.db_dir))
    try:
        with mesh:
            stats = mesh.stats()
    except StoreError:
        if not options.json:
            output.say(f"[MemoryMesh] DB Path: {path}\n[MemoryMesh] Status: disconnected")
        raise
    lines = {
        "Total Memories": stats.memories,
        "Total Skills": stats.skills,
        "DB Path": path,
        "Status": "connected",
    }
    if options.verbose:
        lines |= _more(stats)
    return output.answer(
        _plain(stats) | {"db_path": path, "status": "connected"},
        *(f"[MemoryMesh] {name}: {value}" for name, value in lines.items()),
        as_json=options.json,
        remark=output.reindex_hint(stats.to_reindex) if stats.to_reindex else "",
    )


def _plain(stats: Stats) -> dict[str, Json]:
    return {
        "namespace": shown_namespace(stats.namespace),
        "memories": stats.memories,
        "skills": stats.skills,
        "by_status": dict(stats.by_status),
        "blocks": stats.blocks,
        "recalls": stats.recalls,
        "seq": stats.seq,
        "bytes": stats.bytes,
        "to_reindex": stats.to_reindex,
        "expired": stats.expired,
        "spaces": [
            {"name": state.space.name, "vectors": state.vectors, "pending": state.pending}
            for state in stats.spaces
        ],
    }


def _more(stats: Stats) -> dict[str, str | int]:
    return {
        "Namespace": safe_text(shown_namespace(stats.namespace), keep_newlines=False),
        **{f"Memories {status}": count for status, count in stats.by_status.items()},
        "Audit Blocks": stats.blocks,
        "Recall Blocks": stats.recalls,
        "Seq": stats.seq,
        "Bytes": stats.bytes,
        "To Reindex": stats.to_reindex,
        "Expired": stats.expired,
        **{
            f"Vectors {safe_text(state.space.name, keep_newlines=False)}": (
                f"{state.vectors}, missing for {state.pending} texts"
            )
            for state in stats.spaces
        },
    }
