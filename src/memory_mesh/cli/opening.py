"""What the common options open: a mesh, and who is reading or writing through it."""

import argparse
import os

from memory_mesh.cli.project import project_of
from memory_mesh.config import Config
from memory_mesh.model import Channel, Scope
from memory_mesh.sync import MemoryMesh


def mesh_of(
    options: argparse.Namespace, *, meaning: bool = False, channel: Channel = Channel.CLI
) -> MemoryMesh:
    """The mesh that the options name, to be used in a `with`.

    Loading a model takes a second: only a command that needs meaning has one. What the others store
    waits for its vector, and the next search or upkeep gives it one.
    """
    return MemoryMesh(
        embedder=None if meaning else "none",
        channel=channel,
        db_dir=options.db_dir,
        namespace=options.namespace,
        agent_id=options.agent,
        project=options.project,
        session=options.session,
    )


def reader_of(config: Config) -> Scope:
    """Who is asking: as stated, and by default in the project one stands in."""
    project = config.project or None
    if "project" not in config.origins:
        project = project_of(_here())
    return Scope(project, config.agent_id, config.session)


def _here() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109  # a plain string is all project_of wants
    except FileNotFoundError:  # the folder was removed under our feet
        return None
