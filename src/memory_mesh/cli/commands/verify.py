"""`memory-mesh verify`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.errors import MeshError
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import Json, Verification
from memory_mesh.policy.users import shown_namespace

EXAMPLE = "memory-mesh verify --checkpoint today.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="save the last block of the chain to a file, to keep elsewhere",
    )
    parser.add_argument(
        "--against", metavar="FILE", help="compare the chain with an earlier checkpoint"
    )


def run(options: argparse.Namespace) -> int:
    """Prints what was checked and what is wrong; the exit code is 1 if anything is wrong."""
    with cli_options.mesh_of(options) as mesh:
        verification = mesh.verify(checkpoint=options.checkpoint, against=options.against)
    if options.json:
        output.say_json(_plain(verification))
    else:
        _show(verification)
    if verification.ok:
        return 0
    raise MeshError(
        f"{len(verification.findings)} findings in the namespace "
        f"{shown_namespace(verification.namespace)}"
    )


def _plain(verification: Verification) -> Json:
    return {
        "namespace": shown_namespace(verification.namespace),
        "ok": verification.ok,
        "checked": dict(verification.checked),
        "findings": [
            {"check": finding.check, "detail": finding.detail} for finding in verification.findings
        ],
    }


def _show(verification: Verification) -> None:
    count = len(verification.findings)
    name = safe_text(shown_namespace(verification.namespace), keep_newlines=False)
    print(output.bold(f"Namespace {name}: {count} findings"))
    width = max((len(str(number)) for number in verification.checked.values()), default=0)
    for what, number in verification.checked.items():
        print(f"  checked {number:>{width}}  {safe_text(what, keep_newlines=False)}")
    for finding in verification.findings:
        detail = safe_text(finding.detail, keep_newlines=False)
        print(f"  {output.bold('wrong')} {safe_text(finding.check)}: {detail}")
