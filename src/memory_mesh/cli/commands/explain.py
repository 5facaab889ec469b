"""`memory-mesh explain`."""

import argparse

from memory_mesh.cli import advice, options as cli_options, output
from memory_mesh.formats import why_text
from memory_mesh.formats.fences import fence_word
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model.why import Gate, Why
from memory_mesh.policy.audience import AUDIENCE
from memory_mesh.policy.ranking.profiles import MESH, NAMES
from memory_mesh.sync import MemoryMesh

EXAMPLE = 'memory-mesh explain mem_1767225600000_0a1b2c --query "dark themes"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "named", nargs="?", metavar="ID", help="of a memory, block or prompt; or its fence"
    )
    parser.add_argument("--id", metavar="ID", help="the same, as an option")
    add = parser.add_argument
    add("--query", metavar="TEXT", help="why a search for this finds the memory where it does")
    cli_options.add_view(parser, limit=10)
    add("--keyword", action="store_true", help="search by keyword only, without a model")
    add(
        "--profile",
        default=MESH,
        choices=NAMES,
        help="how the search ranks",
    )
    add("--min-relevance", type=float, metavar="0..1", help="the threshold of the search")
    add("--min-similarity", type=float, metavar="0..1", help="the same for composite and lane")
    add("--max-tokens", type=int, metavar="N", help="explain a pack of `context` of this budget")
    add(
        "--see-all",
        action="store_true",
        help="look at memories of other projects, agents and sessions, too",
    )


def run(options: argparse.Namespace) -> int:
    """Prints the sentences, then the numbers."""
    id_ = cli_options.any_id(options, "explain")
    meaning = options.query is not None and not options.keyword
    with cli_options.mesh_of(options, meaning=meaning) as mesh:
        reader = cli_options.reader_of(mesh)
        with cli_options.looked_up(id_, reader, mesh):
            why = _asked(options, mesh.view(scope=reader), id_)
        if why.gate is Gate.NAMESPACE:
            raise cli_options.missing(id_, reader, mesh)
    told = [advice.include_option(line) for line in why_text.lines(why)]
    lines = [safe_text(line, keep_newlines=False) for line in told]
    return output.answer(why.as_json(), *lines, as_json=options.json)


def _asked(options: argparse.Namespace, mesh: MemoryMesh, id_: str) -> Why:
    across = ("project",) if options.all_projects else ()
    see = tuple(sorted(AUDIENCE)) if options.see_all else across
    if not options.see_all and (id_.startswith("inj_") or fence_word(id_) is not None):
        see = (*across, "agent", "session")  # the user of the machine owns the agents' sessions
    if options.query is None:
        return mesh.explain(id_, see_across=see)
    return mesh.explain(
        id_,
        query=options.query,
        limit=options.limit,
        filter=options.filter,
        include=options.include,
        across=across,
        as_of=options.as_of,
        valid_at=options.valid_at,
        profile=options.profile,
        keyword_only=options.keyword,
        min_similarity=options.min_similarity,
        min_relevance=options.min_relevance,
        max_tokens=options.max_tokens,
        see_across=see,
    )
