"""`memory-mesh check`: memories whose code changed, for a person, a git hook or CI."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, about, adding
from memory_mesh.model import Json
from memory_mesh.sync import MemoryMesh

_STALE = ("drifted", "orphaned")
_SAID = {
    "moved": "the code is somewhere else now",
    "drifted": "the code changed",
    "orphaned": "the code is gone",
}


def _run(options: argparse.Namespace) -> int:
    """Prints what moved, changed or is gone; exit status 1 if something changed or is gone."""
    with cli_options.opened(options) as (mesh, reader):
        found = mesh.review.check(against=options.against, fix=options.fix, scope=reader)
    stale = sum(one.verdict in _STALE for one in found)
    if options.json:
        counts = {name: sum(one.verdict == name for one in found) for name in _SAID}
        output.say_json({"memories": [one.as_json() for one in found], **counts})
        return int(stale > 0)
    for one in found:
        output.say(f"{one.verdict}: {_SAID[one.verdict]}  {one.id}")
        output.say(f"  {output.one_line(output.unbroken(one.content), 100)}")
        for place in one.places:
            output.say(f"  {_place(place)}")
        if one.proposal is not None:
            output.say(f"  waits for review: {one.proposal}")
    if not found:
        output.note("[MemoryMesh] All cited code is where it was.")
    elif not options.fix:
        output.hint("To follow what moved and put the rest up for review: memory-mesh check --fix")
    return int(stale > 0)


def _place(place: dict[str, Json]) -> str:
    """One line for a place: what became of it, where it is now, and since which commit."""
    now = f", now {place['now']}" if place["now"] else ""
    commit = f", commit {place['commit']}" if place["commit"] else ""
    return output.unbroken(f"{place['place']}: {place['verdict']}{now}{commit}")


CHECK = Command(
    "memory-mesh check --against main",
    (
        about(
            "Looks at the code that memories of this project cite (memory-mesh store … --evidence\n"
            "src/a.py#name). Exit status 1: some of it changed or is gone."
        ),
        adding(cli_options.add_operation, MemoryMesh.review.check),
    ),
    _run,
)
