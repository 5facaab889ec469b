"""`memory-mesh clusters`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.model import Json
from memory_mesh.model.graph import Cluster

EXAMPLE = "memory-mesh clusters --min-size 3"
_IDS = 3  # ids of a cluster that its line shows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    add = parser.add_argument
    add("--min-size", metavar="N", type=int, default=2, help="the fewest memories; default 2")
    add("--min-similarity", metavar="SHARE", type=float, help="of similar memories; default 0.7")
    add("--limit", metavar="N", type=int, default=20, help="the most clusters; default 20")


def run(options: argparse.Namespace) -> int:
    """Prints groups of memories that links hold together, largest first."""
    given = {} if options.min_similarity is None else {"min_similarity": options.min_similarity}
    with cli_options.opened(options) as (mesh, reader):
        found = mesh.clusters(options.min_size, limit=options.limit, scope=reader, **given)
    none = "[MemoryMesh] no clusters. Links to similar memories are made by: memory-mesh upkeep"
    return output.answer(
        [_plain(cluster) for cluster in found],
        *(map(_line, found) if found else [none]),
        as_json=options.json,
        remark="not all links or clusters were looked at; raise --limit" if found.cut else "",
    )


def _line(cluster: Cluster) -> str:
    more = f" and {cluster.size - _IDS} more" if cluster.size > _IDS else ""
    label = output.one_line(cluster.label, 60)
    return f"{cluster.size:>4}  {label}\n      {', '.join(cluster.ids[:_IDS])}{more}"


def _plain(cluster: Cluster) -> dict[str, Json]:
    return {
        "label": cluster.label,
        "terms": list(cluster.terms),
        "size": cluster.size,
        "links": cluster.links,
        "ids": list(cluster.ids),
    }
