"""`memory-mesh evolve`."""

import argparse

from memory_mesh.cli.commands import store

EXAMPLE = 'memory-mesh evolve "The office is in Berlin now"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command: those of `store`."""
    store.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Stores the newer statement; what it contradicts is superseded, what is similar is linked."""
    return store.run(options, evolve=True)
