"""`memory-mesh upkeep`."""

import argparse
from collections import Counter

from memory_mesh.cli import every_namespace, options as cli_options, output
from memory_mesh.cli.advice import completed, option
from memory_mesh.cli.progress import Counting
from memory_mesh.errors import StoreError
from memory_mesh.model import Json, UpkeepReport
from memory_mesh.sync import MemoryMesh

EXAMPLE = "memory-mesh upkeep --all"
_DONE = {  # what due jobs did
    "learn": "learned",
    "extend": "learned",
    "merge": "merged",
    "archive": "archived",
    "compress": "packed",
    "stage": "staged",
}
_ALWAYS = ("reindexed", "embedded", "indexed", "pending")  # the counts that a line shows if 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--all", action="store_true", help="work on every namespace of the store, one by one"
    )
    every_namespace.add_after(parser)
    parser.add_argument(
        "--rebuild-index", action="store_true", help="delete and rebuild the index of large stores"
    )
    parser.add_argument(
        "--rebuild-terms", action="store_true", help="compute the keyword terms of every text again"
    )


def run(options: argparse.Namespace) -> int:
    """Updates terms, vectors and the index where needed; can be interrupted and run again."""
    every_namespace.check_after(options)
    with cli_options.mesh_of(options, meaning=True) as mesh:
        if options.all:
            return _run_all(mesh, options)
        counts = _upkeep(mesh, options)
    output.progress("")
    return output.answer(
        counts, f"[MemoryMesh] {_said(counts).capitalize()}.", as_json=options.json
    )


def _run_all(mesh: MemoryMesh, options: argparse.Namespace) -> int:
    """Works on each namespace; one that cannot be opened is reported and passed over.

    What was done stays if the command is interrupted, and the next run does what is left: all of
    them once more, or only those after the last one that is done.
    """
    told: dict[str, Json] = {}
    total: Counter[str] = Counter()
    number = done = 0
    last: str | None = options.after
    try:
        for number, (name, view) in enumerate(every_namespace.views(mesh, last), start=1):
            counts = _tried(view, options, name, number)
            last = name
            if counts is None:
                continue
            done += 1
            total.update(counts)
            if options.json:
                told[name] = dict(counts)
            elif any(counts.values()):
                output.progress("")
                output.say(f"[MemoryMesh] {name}: {_said(counts)}.")
    except KeyboardInterrupt:
        output.progress("")
        rest = "" if last is None else option("after", last)
        said = completed(f"To go on from here: memory-mesh upkeep --all{rest}", options)
        output.note(f"[MemoryMesh] {said}")
        raise
    output.progress("")
    output.answer(
        told,
        f"[MemoryMesh] {done} of {output.counted(number, 'namespace')}: {_said(total)}.",
        as_json=options.json,
    )
    return 0 if done == number else 1


def _tried(
    mesh: MemoryMesh, options: argparse.Namespace, name: str, number: int
) -> dict[str, int] | None:
    """Works on one of several namespaces; None if it cannot be opened."""
    where = f"{number}, {output.one_line(name, 40)}: "
    output.progress(where)
    try:
        return _upkeep(mesh, options, where)
    except StoreError as error:
        output.progress("")
        output.note(f"[MemoryMesh Error] {name}: {error}")
        return None


def _upkeep(mesh: MemoryMesh, options: argparse.Namespace, where: str = "") -> dict[str, int]:
    """Works on one namespace; returns what was done, by name."""
    rebuilt = mesh.rebuild_terms() if options.rebuild_terms else 0
    waiting = sum(state.pending for state in mesh.stats().spaces) if output.at_terminal() else None
    report = mesh.upkeep(progress=Counting("texts embedded", waiting, before=where))
    bodies = mesh.rebuild_index() if options.rebuild_index else list(report.bodies)
    return {
        "reindexed": rebuilt + report.reindexed,
        "embedded": report.embedded,
        "indexed": sum(body.rows for body in bodies),
        "pending": sum(state.pending for state in mesh.stats().spaces),
        "pruned": report.recalls_pruned,
        "linked": report.linked,
        **Counter(_DONE[action] for action in _actions(report) if action in _DONE),
    }


def _actions(report: UpkeepReport) -> list[str]:
    return [step.action for job in report.jobs for step in job.steps]


def _said(counts: dict[str, int]) -> str:
    names = dict.fromkeys((*_ALWAYS, "linked", "pruned", *_DONE.values()))
    shown = (name for name in names if name in _ALWAYS or counts.get(name))
    return ", ".join(f"{name} {counts.get(name, 0)}" for name in shown)
