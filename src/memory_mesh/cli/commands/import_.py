"""`memory-mesh import`."""

import argparse
import os
import sys
from pathlib import Path

from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.advice import completed, option
from memory_mesh.cli.progress import Counting
from memory_mesh.fastdataclass import replace
from memory_mesh.model.safekeeping import Imported
from memory_mesh.policy.users import check_plain_namespace, shown_namespace, user_of
from memory_mesh.process.agent_shell import agent_variables

_ASKED = (
    "The archive was made under another key, or under none, so its memories count as a document's. "
    "If you trust who it says they are from, type yes: "
)
_AS_DOCUMENT = (
    "the archive was made under another key, or an agent's shell imported it: its memories count "
    "as a document's, and none is pinned. To take them as it says, import it at a terminal and say "
    "yes, under another name (--into NAME) if this one is taken"
)
EXAMPLE = "memory-mesh import memories.tar.gz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_place(parser, "--from", "FILE", "source", "the archive")
    parser.add_argument(
        "--into",
        metavar="NAMESPACE",
        help="another name for the namespace; default: the name it had, or --namespace or --user",
    )


def run(options: argparse.Namespace) -> int:
    """Brings the namespace into the store, whole or not at all, and says what does not match."""
    into = store_folder.named_namespace(options)
    if options.into is not None:
        into = check_plain_namespace(options.into)
    done = _imported(options, into)
    name = shown_namespace(done.namespace)
    code = output.answer(
        {
            "namespace": name,
            "came_from": shown_namespace(done.came_from),
            "memories": done.memories,
            "position": done.position,
            "with_vectors": done.with_vectors,
            "remarks": list(done.remarks),
        },
        f"[MemoryMesh] Imported {output.counted(done.memories, 'memory', 'memories')}, "
        f"{output.counted(done.position, 'block')}, into {name}; the chain was verified.",
        as_json=options.json,
    )
    if not options.json:
        user = user_of(done.namespace)
        part = option("namespace", name) if user is None else option("user", user)
        output.tell(completed(remark, options, part) for remark in done.remarks)
    return code


def _imported(options: argparse.Namespace, into: str | None) -> Imported:
    config, source = store_folder.config_of(options), Path(options.source).expanduser()
    as_document = _is_documents_word(options, source)
    counting = Counting("rows")
    if config.store is not None:
        from memory_mesh.safekeeping.server import import_to_server

        done = import_to_server(
            config, source, into=into, progress=counting, as_document=as_document
        )
    else:
        from memory_mesh.safekeeping.archive import import_archive

        done = import_archive(
            config.db_dir, source, into=into, progress=counting, as_document=as_document
        )
    counting.end()
    return replace(done, remarks=(*done.remarks, _AS_DOCUMENT)) if as_document else done


def _is_documents_word(options: argparse.Namespace, source: Path) -> bool:
    """Whether nobody vouches for who the archive says its memories are from; asks on a terminal."""
    from memory_mesh.safekeeping.archive import is_own

    own = not agent_variables(os.environ) and is_own(source)
    if own or options.json or agent_variables(os.environ) or not sys.stdin.isatty():
        return not own
    print(_ASKED, end="", file=sys.stderr)
    sys.stderr.flush()
    return sys.stdin.readline().strip() != "yes"
