"""`memory-mesh graph`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.parsing import UsageError
from memory_mesh.errors import NotFound
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Json, Link, Memory, Scope, Status, record
from memory_mesh.model.graph import Neighbourhood
from memory_mesh.sync import MemoryMesh

EXAMPLE = "memory-mesh graph mem_1767225600000_0a1b2c --output around.svg"
_FORMATS = ("mermaid", "svg")
_MOST = 200  # memories in one picture; more of them nobody can read
_HIDDEN = (Status.SUPERSEDED, Status.ARCHIVED, Status.QUARANTINED, Status.DISPUTED)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_any_id(parser)
    add = parser.add_argument
    add(
        "--format",
        choices=_FORMATS,
        help="mermaid: text that GitHub and editors draw (default); svg: a picture for browsers, "
        "the default for an --output that ends in .svg",
    )
    add("--hops", type=int, metavar="N", help="how many links away, 1 to 10 (default: 2)")
    add("--limit", type=int, metavar="N", help="maximum number of memories (default: 60)")
    add("--chain", action="store_true",
        help="draw what it superseded and what superseded it, instead of its links")  # fmt: skip
    add("--include", metavar="STATUS", action="append", choices=[each.value for each in _HIDDEN],
        help=f"also draw memories that are {', '.join(_HIDDEN)}; may be repeated")  # fmt: skip
    add("--output", metavar="FILE", help="write the picture to this file")


def run(options: argparse.Namespace) -> int:
    """Prints the picture, or writes it to a file."""
    _check(options)
    with cli_options.opened(options) as (mesh, reader):
        around = _read(mesh, reader, options)
    if options.json and not options.output:
        return output.answer(_plain(around), as_json=True)
    drawn = _drawn(around, _format(options), chain=options.chain)
    if not options.output:
        return output.answer(None, drawn.removesuffix("\n"), as_json=False)
    return _write(around, drawn, options)


def _check(options: argparse.Namespace) -> None:
    """Refuses options that contradict each other, before anything is read."""
    if options.chain and (options.hops, options.limit, options.include) != (None, None, None):
        raise UsageError("--chain draws all that superseded each other; it takes no --hops, "
                         "--limit or --include")  # fmt: skip
    if options.limit is not None and not 1 <= options.limit <= _MOST:
        raise UsageError(f"--limit takes 1 to {_MOST}: a picture with more cannot be read")


def _read(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> Neighbourhood:
    """Returns what is drawn."""
    id_ = cli_options.any_id(options, "graph")
    with cli_options.looked_up(id_, reader, mesh):
        if options.chain:
            return _shortened(mesh.supersessions(id_, scope=reader))
        hops = 2 if options.hops is None else options.hops
        limit = 60 if options.limit is None else options.limit
        include = options.include or ()
        try:
            return mesh.neighbourhood(id_, hops=hops, limit=limit, include=include, scope=reader)
        except NotFound:
            _explain_status(id_, mesh.history(id_, scope=reader))
            raise


def _shortened(chain: Neighbourhood) -> Neighbourhood:
    """Returns the part of a chain around the asked memory that can be read."""
    ids = [memory.id for memory in chain.memories]
    first = max(0, min(ids.index(chain.center) - _MOST // 2, len(ids) - _MOST))
    kept = chain.memories[first : first + _MOST]
    return replace(chain, memories=kept, more=chain.more + len(ids) - len(kept))


def _explain_status(id_: str, versions: Sequence[Memory]) -> None:
    """Raises the error for a memory that only its status hides."""
    if versions and (status := versions[-1].status) in _HIDDEN:
        raise UsageError(
            f"{id_} is {status} and is drawn only if you ask for it: memory-mesh graph {id_} "
            f"--include {status}. To see what superseded what: memory-mesh graph {id_} --chain"
        )


def _format(options: argparse.Namespace) -> str:
    if options.format is not None:
        return str(options.format)
    return "svg" if (options.output or "").lower().endswith(".svg") else "mermaid"


def _drawn(around: Neighbourhood, format_: str, *, chain: bool) -> str:
    if format_ == "svg":
        from memory_mesh.formats.chain_svg import chain_svg
        from memory_mesh.formats.graph_svg import graph_svg

        return chain_svg(around) if chain else graph_svg(around)
    from memory_mesh.formats.mermaid import chain_mermaid, graph_mermaid

    return chain_mermaid(around) if chain else graph_mermaid(around)


def _write(around: Neighbourhood, drawn: str, options: argparse.Namespace) -> int:
    from memory_mesh.process.durable_files import write_atomically

    path = Path(options.output).expanduser()
    if not path.parent.is_dir():
        raise UsageError(
            f"there is no folder {path.parent}; make it first, or give another --output"
        )
    write_atomically(path, drawn.encode())
    count = len(around.memories)
    drew = f"Drew {count} {'memory' if count == 1 else 'memories'}"
    told = f"[MemoryMesh] {drew} to {output.named(path)}."
    if around.more:
        told += f" {around.more} more within reach are not drawn (--limit, at most {_MOST})."
    return output.answer({**_plain(around), "path": output.named(path)}, told, as_json=options.json)


def _plain(around: Neighbourhood) -> dict[str, Json]:
    return {
        "center": around.center,
        "memories": [_plain_memory(memory) for memory in around.memories],
        "links": [_plain_link(link) for link in around.links],
        "more": around.more,
    }


def _plain_memory(memory: Memory) -> dict[str, Json]:
    return {
        "id": memory.id,
        "status": memory.status.value,
        "kind": memory.kind.value,
        "created_at": memory.created_at,
        "content": memory.text,
    }


def _plain_link(link: Link) -> dict[str, Json]:
    return {
        "source": link.source,
        "target": link.target,
        "type": link.type,
        "similarity": link.similarity,
        "at": None if link.at is None else record.iso(link.at),
    }
