"""`memory-mesh namespaces`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.formats.terminal import safe_text

EXAMPLE = "memory-mesh namespaces"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds nothing: only the common options apply."""


def run(options: argparse.Namespace) -> int:
    """Prints the names, one per line."""
    with cli_options.mesh_of(options) as mesh:
        names = mesh.namespaces()
    lines = [safe_text(name, keep_newlines=False) for name in names]
    return output.answer(names, *lines, as_json=options.json)
