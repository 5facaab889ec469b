"""`memory-mesh doctor`."""

import argparse
import os
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from memory_mesh._version import __version__
from memory_mesh.agents.doctor import Case, Finding, Mark, examined
from memory_mesh.agents.doctor.finding import counted
from memory_mesh.cli import options as cli_options, output, stated_store
from memory_mesh.model import Json

EXAMPLE = "memory-mesh doctor"
_WIDTH = 13  # of the checks' names
_SIGNS = {Mark.OK: ("✓", "green"), Mark.WARNING: ("!", "yellow"), Mark.FAILED: ("✗", "red")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--quick", action="store_true", help="without the trials of hook, MCP and daemon"
    )
    parser.add_argument(
        "--whole-chain", action="store_true", help="check every block, also of a long chain"
    )


def run(options: argparse.Namespace) -> int:
    """Checks every link from the store to the agent; the exit code is 1 if one is broken."""
    found: list[Finding] = []
    with ExitStack() as open_ones:
        mesh, meaning = (cli_options.mesh_of(options, meaning=each) for each in (False, True))
        open_ones.callback(mesh.close)
        open_ones.callback(meaning.close)
        case = Case(
            mesh,
            _variables(options),
            Path(cli_options.here() or "/"),
            meaning=meaning,
            whole_chain=options.whole_chain,
        )
        store = case.where
        for finding in examined(case, trials=not options.quick):
            found.append(finding)
            if not options.json:
                _show(finding)
    counts = Counter(finding.mark for finding in found)
    if options.json:
        output.say_json(_plain(found, store))
    else:
        warnings = counted(counts[Mark.WARNING], "warning")
        said = f"{counts[Mark.OK]} ok, {warnings}, {counts[Mark.FAILED]} failed"
        output.say(f"[MemoryMesh] {said}. Version {__version__}, store {output.named(store)}.")
    return 1 if counts[Mark.FAILED] else 0


def _variables(options: argparse.Namespace) -> dict[str, str]:
    """The variables of this call, with what its options state."""
    return {**os.environ, **stated_store.variables(options, to_write=False)}


def _show(finding: Finding) -> None:
    """One line in a pipe; on a terminal a sign, and what to do in a line of its own."""
    said, fix = output.named(finding.said), output.named(finding.fix)
    if not output.on_terminal():
        end = f" | {'next' if finding.mark is Mark.OK else 'fix'}: {fix}" if fix else ""
        print(f"{finding.mark:<8} {finding.check}: {said}{end}")
        return
    sign, colour = _SIGNS[finding.mark]
    name = output.bold(f"{finding.check:<{_WIDTH}}")
    print(f"{output.in_colour(colour, sign)} {name} {said}")
    if fix:
        arrow = f"{'':{_WIDTH + 3}}→ {fix}"
        print(output.dim(arrow) if finding.mark is Mark.OK else output.in_colour(colour, arrow))


def _plain(found: list[Finding], store: str) -> Json:
    return {
        "ok": all(finding.mark is not Mark.FAILED for finding in found),
        "version": __version__,
        "store": store,
        "checks": [
            {
                "check": finding.check,
                "mark": finding.mark.value,
                "said": finding.said,
                "fix": finding.fix or None,
            }
            for finding in found
        ],
    }
