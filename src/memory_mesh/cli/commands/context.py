"""`memory-mesh context`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.policy.packing.rules import FORMATS
from memory_mesh.policy.ranking.profiles import MIN_RELEVANCE
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.model.pack import Pack

EXAMPLE = 'memory-mesh context "how do we deploy?" --max-tokens 800'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    add = parser.add_argument
    add("question", nargs="*", help="what the prompt is about; without it: a session's start")
    add("--max-tokens", metavar="N", type=int, help="the most tokens of the text (default: 2000)")
    add("--window", metavar="N", type=int, help="the model's window; 5 %% of it is the default")
    add("--format", default=FORMATS[0], metavar="WORD", help=f"one of: {', '.join(FORMATS)}")
    add("--compact", action="store_true", help="id, first line and tokens of each memory")
    add("--max-memories", metavar="N", type=int, help="the largest number of memories")
    add(
        "--filter",
        metavar="EXPR",
        help='for example: team = \'core\' AND priority >= 3; or JSON: {"team": "core"}',
    )
    add("--as-of", metavar="TIME", help="read the store as it was at that time, ISO 8601")
    add("--all-projects", action="store_true", help="use the memories of every project")
    add("--keyword", action="store_true", help="search by keyword only, without a model")
    add(
        "--min-relevance",
        type=float,
        default=MIN_RELEVANCE,
        metavar="0..1",
        help="the score that the best hit must reach (default: %(default)s)",
    )
    add("--no-record", action="store_true", help="keep no record of what entered the prompt")


def run(options: argparse.Namespace) -> int:
    """Prints the text for the prompt, and to standard error what did not fit."""
    with cli_options.mesh_of(options, meaning=not options.keyword) as mesh:
        pack = mesh.context(
            " ".join(options.question) or None,
            max_tokens=options.max_tokens,
            window=options.window,
            format=options.format,
            compact=options.compact,
            max_memories=options.max_memories,
            filter=options.filter,
            min_relevance=options.min_relevance,
            scope=cli_options.reader_of(mesh),
            across=("project",) if options.all_projects else (),
            as_of=options.as_of,
            record=not options.no_record,
        )
    if options.json:
        output.say_json(pack.as_json())
        return 0
    if pack:
        output.say(pack.text)
    output.note(_summary(pack))
    return 0


def _summary(pack: "Pack") -> str:
    """One line about the pack: how full it is, and what was left out."""
    if not pack and not pack.left_out:
        return "[MemoryMesh] Nothing is relevant enough."
    count = output.counted(len(pack), "memory", "memories")
    kept = f"{count}, {pack.tokens} of {pack.max_tokens} tokens"
    reasons = [one.by.value for one in pack.left_out]
    left = ", ".join(f"{reasons.count(by)} by {by}" for by in dict.fromkeys(reasons))
    return f"[MemoryMesh] {kept}; left out: {left or 'nothing'}."
