"""`memory-mesh stats`."""

import argparse
from collections.abc import Mapping

from memory_mesh._version import __version__
from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.parsing import UsageError
from memory_mesh.errors import StoreError
from memory_mesh.formats import prometheus
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import Json, Stats
from memory_mesh.model.stats import OUTGROWN, SpaceState
from memory_mesh.policy.privacy import masked
from memory_mesh.policy.users import shown_namespace
from memory_mesh.process.sizes import folder_bytes

EXAMPLE = "memory-mesh stats --verbose"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--verbose", action="store_true", help="more figures, and sizes on disk; not of a database"
    )
    parser.add_argument(
        "--format",
        choices=("text", "prometheus"),
        default="text",
        help="text, or the figures as Prometheus reads them",
    )


def run(options: argparse.Namespace) -> int:
    """Prints RFC-0011 §9.2's four lines; if the store cannot be opened, its path and status."""
    if options.json and options.format != "text":
        raise UsageError(f"give --json or --format {options.format}, not both")
    mesh = cli_options.mesh_of(options)
    path = masked(store_folder.shown(mesh.config))
    try:
        with mesh:
            stats = mesh.stats()
            whole = folder_bytes(mesh.folder) if mesh.config.store is None else None
            there = bool(stats.sizes.database or mesh.namespaces(limit=1))
    except StoreError:
        _say_down(options, path)
        raise
    if not there:
        output.tell([f"there is no store yet in {path}"])
    if options.format == "prometheus" and not there:
        _say_down(options, path)
        return 1
    if options.format == "prometheus":
        print(prometheus.text(_gauges(stats, whole)), end="")
        return 0
    lines = {
        "Total Memories": stats.memories,
        "Total Skills": stats.skills,
        "DB Path": path,
        "Status": "connected",
    }
    if any(state.outgrown for state in stats.spaces):
        output.tell([OUTGROWN])
    if options.verbose:
        lines |= _more(stats, whole)
    return output.answer(
        _plain(stats, whole) | {"db_path": path, "status": "connected"},
        *(f"[MemoryMesh] {name}: {value}" for name, value in lines.items()),
        as_json=options.json,
        remark=output.reindex_hint(stats.to_reindex) if stats.to_reindex else "",
    )


def _say_down(options: argparse.Namespace, path: str) -> None:
    """Says that the store cannot be opened; the error itself follows on standard error."""
    if options.format == "prometheus":
        print(prometheus.text([_up(0)]), end="")
    elif not options.json:
        output.say(f"[MemoryMesh] DB Path: {path}\n[MemoryMesh] Status: disconnected")


def _up(state: int) -> prometheus.Gauge:
    return prometheus.Gauge(
        "up", "1 if the store is there and could be opened and read.", [({}, state)]
    )


def _gauges(stats: Stats, whole: int | None) -> list[prometheus.Gauge]:
    """The figures of one namespace, each sample labelled with its name.

    `whole` is None for a store in a database. What the rows of one namespace take up there is known
    only to who reads them all, and the size of its tables is that of others, too: no size is shown.
    """
    own = {"namespace": masked(shown_namespace(stats.namespace))}

    def gauge(name: str, about: str, number: int) -> prometheus.Gauge:
        return prometheus.Gauge(name, about, [(own, number)])

    def by(name: str, about: str, label: str, numbers: Mapping[str, int]) -> prometheus.Gauge:
        samples = [({**own, label: key}, number) for key, number in numbers.items()]
        return prometheus.Gauge(name, about, samples)

    spaces = {state.space.name: state for state in stats.spaces}
    vectors = {name: state.vectors for name, state in spaces.items()}
    indexed = {name: state.indexed for name, state in spaces.items()}
    waiting = {name: state.pending for name, state in spaces.items()}
    on_disk = [] if whole is None else [
        prometheus.Gauge(
            "store_bytes", "Bytes of everything in the store's folder.", [({}, whole)]
        ),
        by("bytes", "Bytes on disk by what they hold.", "part", _sizes(stats)),
    ]  # fmt: skip
    return [
        prometheus.Gauge("info", "The running version.", [({"version": __version__}, 1)]),
        _up(1),
        *on_disk,
        by("memories", "Memories by status.", "status", {"active": 0, **stats.by_status}),
        gauge("skills", "Active skills.", stats.skills),
        gauge("blocks", "Blocks of the audit chain.", stats.blocks),
        gauge("recalls", "Records of searches.", stats.recalls),
        gauge("seq", "The number of the last write.", stats.seq),
        gauge(
            "texts_to_reindex", "Texts with keyword terms of an earlier version.", stats.to_reindex
        ),
        by("vectors", "Vectors by space.", "space", vectors),
        by("vectors_indexed", "Vectors in the index, by space.", "space", indexed),
        by("texts_without_vector", "Texts that wait for a vector, by space.", "space", waiting),
    ]


def _sizes(stats: Stats) -> dict[str, int]:
    sizes = stats.sizes
    return {
        "database": sizes.database,
        "wal": sizes.wal,
        "spool": sizes.spool,
        "copies": sizes.copies,
        "index": sizes.index,
        "vectors": sizes.vectors,
    }


def _plain(stats: Stats, whole: int | None) -> dict[str, Json]:
    return {
        "namespace": shown_namespace(stats.namespace),
        "memories": stats.memories,
        "skills": stats.skills,
        "by_status": dict(stats.by_status),
        "blocks": stats.blocks,
        "recalls": stats.recalls,
        "seq": stats.seq,
        "bytes": None if whole is None else stats.bytes,
        "sizes": None if whole is None else {**_sizes(stats), "store": whole},
        "to_link": stats.to_link,
        "to_reindex": stats.to_reindex,
        "expired": stats.expired,
        "spaces": [
            {
                "name": state.space.name,
                "vectors": state.vectors,
                "indexed": state.indexed,
                "pending": state.pending,
                "outgrown": state.outgrown,
            }
            for state in stats.spaces
        ],
    }


def _more(stats: Stats, whole: int | None) -> dict[str, str | int]:
    on_disk = {} if whole is None else {
        "Bytes": stats.bytes,
        **{f"Bytes {part}": number for part, number in _sizes(stats).items()},
        "Bytes store": whole,
    }  # fmt: skip
    return {
        "Namespace": safe_text(shown_namespace(stats.namespace), keep_newlines=False),
        **{f"Memories {status}": count for status, count in stats.by_status.items()},
        "Audit Blocks": stats.blocks,
        "Recall Blocks": stats.recalls,
        "Seq": stats.seq,
        **on_disk,
        "To Link": stats.to_link,
        "To Reindex": stats.to_reindex,
        "Expired": stats.expired,
        **{
            f"Vectors {safe_text(state.space.name, keep_newlines=False)}": (
                f"{state.vectors}{_indexed(state)}, missing for "
                f"{output.counted(state.pending, 'text')}"
            )
            for state in stats.spaces
        },
    }


def _indexed(state: SpaceState) -> str:
    return f", {state.indexed} of them in the index" if state.body is not None else ""
