"""`memory-mesh link`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.errors import NotFound
from memory_mesh.verbs.links import LINK_TYPES

EXAMPLE = "memory-mesh link mem_1767225600000_0a1b2c mem_1767225700000_3d4e5f --type depends_on"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("source", metavar="ID", help="the memory that the link begins at")
    parser.add_argument("target", metavar="OTHER", help="the id of the memory that it leads to")
    parser.add_argument(
        "--type", choices=LINK_TYPES, default="related", help="the type; default: related"
    )
    parser.add_argument("--remove", action="store_true", help="remove such a link instead")
    parser.add_argument("--reason", metavar="TEXT", help="the reason, stored in the audit block")


def run(options: argparse.Namespace) -> int:
    """Links two memories, or removes the link."""
    said = {} if options.reason is None else {"reason": options.reason}
    ends = (options.source, options.target)
    with cli_options.opened(options) as (mesh, reader):
        try:
            if options.remove:
                gone = mesh.unlink(*ends, type=options.type, scope=reader, **said)
            else:
                mesh.link(*ends, type=options.type, scope=reader, **said)
        except NotFound:
            known = (end for end in ends if mesh.get(end, scope=reader) is None)
            raise cli_options.missing(next(known, ends[0]), reader, mesh) from None
    plain = {"source": ends[0], "target": ends[1], "type": options.type}
    if not options.remove:
        done = f"[MemoryMesh] Linked {ends[0]} to {ends[1]} ({options.type})"
        return output.answer(plain, done, as_json=options.json)
    done = f"[MemoryMesh] {'Removed the link' if gone else 'There was no such link'}"
    return output.answer(
        plain | {"removed": gone}, f"{done} ({options.type})", as_json=options.json
    )
