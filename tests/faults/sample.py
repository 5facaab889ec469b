"""How much of a fault suite the gate runs, and under which seed.

`just prove` runs every count in full. The gate runs two per cent of it, but every kind of case at
least once. Its seed is made from the tree, so that one tree gets one answer, and the next one other
cases; `MEMORY_MESH_SEED` repeats a seed that a run has printed.
"""

import os
import subprocess
from pathlib import Path

SHARE = 0.02
VARIABLE = "MEMORY_MESH_SEED"
ROOT = Path(__file__).resolve().parents[2]


def some(full: int, least: int = 1) -> int:
    """The part of a full count that the gate runs; `least` is what every kind of case needs."""
    return min(full, max(least, round(full * SHARE)))


def _seed() -> int:
    stated = os.environ.get(VARIABLE)
    if stated is None:
        command = ["git", "rev-parse", "HEAD^{tree}"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        stated = str(int(done.stdout[:8], 16)) if done.returncode == 0 else "2026"
        os.environ[VARIABLE] = stated  # the processes of this run draw alike
    return int(stated)


SEED = _seed()
