"""The whole walk: every face, opening, command, file and setting, then every byte."""

import os
import random
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from unittest.mock import patch

from memory_mesh.platform.agent_shell import agent_variables
from tests.faults.planted import KINDS
from tests.faults.report import Progress, Report, silent
from tests.faults.secret_faces import walk_faces
from tests.faults.secret_openings import walk_openings
from tests.faults.secrets import Walk, listening
from tests.faults.secrets_cli import walk_commands, walk_files, walk_settings

PARTS = ("library", "openings", "commands", "files", "settings")


def planted(
    folder: Path,
    *,
    parts: tuple[str, ...] = PARTS,
    share: float = 1.0,
    seed: int,
    progress: Progress = silent,
) -> Report:
    """Plant secrets in every argument, or in a share of each method's; then search for them.

    What commands write where the user tells them to, and the user's own files, lie in a folder
    beside the one that is searched.
    """
    walk = Walk(folder / "searched", share=share, dice=random.Random(seed))
    given = folder / "given"
    (walk.folder / "home").mkdir(parents=True)
    given.mkdir()
    with _at_home(walk.folder / "home"), listening(walk), ExitStack() as opened:
        steps: dict[str, Callable[[], None]] = {
            "library": lambda: walk_faces(walk, opened),
            "openings": lambda: walk_openings(walk, opened),
            "commands": lambda: walk_commands(walk, given),
            "files": lambda: walk_files(walk, given),
            "settings": lambda: walk_settings(walk, given),
        }
        for part in parts:
            progress(part)
            steps[part]()
    progress("searching")
    report = walk.finish()
    report.figures |= {"kinds": list(KINDS) if share == 1 else "one of each argument"}
    return report


def _at_home(home: Path) -> AbstractContextManager[object]:
    """The keys' folder is below the home, so that it is searched as well."""
    variables = {name: value for name, value in os.environ.items() if not _steers(name)}
    settings = {
        "HOME": str(home),
        "MEMORY_MESH_DIR": str(home / "store"),
        "MEMORY_MESH_EMBEDDER": "none",
        "MEMORY_MESH_OWN_NAMES": "off",
    }
    return patch.dict(os.environ, variables | settings, clear=True)


def _steers(name: str) -> bool:
    own = name.startswith(("MEMORY_MESH", "XDG_"))
    return own or name in agent_variables(os.environ)
