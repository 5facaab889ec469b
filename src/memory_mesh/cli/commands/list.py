"""`memory-mesh list`."""

import argparse
from collections.abc import Sequence

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.advice import completed
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import Json, Memory, record
from memory_mesh.sync import MemoryMesh

EXAMPLE = "memory-mesh list --limit 20 --filter \"type = 'preference'\""
_WIDEST_TYPE = 16
_NARROWEST = 20  # columns of a text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_view(parser, limit=100)
    parser.add_argument("--cursor", metavar="CURSOR", help="continue where an earlier list ended")


def run(options: argparse.Namespace) -> int:
    """Prints one line per memory: aligned on a terminal, separated by tabs in a pipe."""
    with cli_options.mesh_of(options) as mesh:
        page = mesh.get_all(cursor=options.cursor, **cli_options.view_of(options, mesh))
        if not page and options.cursor is None:
            _tell_unknown(mesh, options)
    if options.json:
        memories: list[Json] = [output.described(memory) for memory in page]
        output.say_json({"items": memories, "cursor": page.cursor})
        return 0
    if output.on_terminal():
        _align(page)
    else:
        _separate(page)
    if page.cursor is not None:
        output.hint(f"There are more: repeat the command with --cursor {page.cursor}")
    return 0


def _tell_unknown(mesh: MemoryMesh, options: argparse.Namespace) -> None:
    """Says that a user or a namespace that was named is not there: nothing was ever written."""
    named = options.user or options.namespace
    if named is None or mesh.stats().seq:
        return
    what = "namespace" if options.user is None else "user"
    said = f"there is no {what} {output.named(named)} here. Those there are: memory-mesh namespaces"
    output.tell([completed(said, options)])


def _separate(memories: Sequence[Memory]) -> None:
    for memory in memories:
        cells = (memory.id, memory.created_at, record.shown_type(memory), memory.text)
        print("\t".join(safe_text(cell, keep_newlines=False) for cell in cells))


def _align(memories: Sequence[Memory]) -> None:
    import shutil

    columns = shutil.get_terminal_size().columns
    types = [output.one_line(record.shown_type(memory), _WIDEST_TYPE) for memory in memories]
    width = max(map(len, types), default=0)
    for memory, type_ in zip(memories, types, strict=True):
        day = f"{memory.created.astimezone():%Y-%m-%d %H:%M}"
        left = columns - len(memory.id) - len(day) - width - 6
        text = output.one_line(memory.text, max(left, _NARROWEST))
        if left >= _NARROWEST:
            print(f"{output.bold(memory.id)}  {output.dim(day)}  {type_:<{width}}  {text}")
        else:  # a narrow terminal: the text stands below
            print(f"{output.bold(memory.id)}  {output.dim(day[:10])}")
            print(f"  {output.one_line(memory.text, max(columns - 4, _NARROWEST))}")
