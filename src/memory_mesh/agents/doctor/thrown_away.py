"""A store for one trial, with its key and settings of its own, that leaves nothing behind."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from memory_mesh.agents import journal, request as requests
from memory_mesh.agents.hook.main import BUDGET
from memory_mesh.agents.opening import Stores
from memory_mesh.fastdataclass import dataclass
from memory_mesh.model import Channel

PLANTED = "The doctor of memory-mesh keeps its stethoscope in drawer 42."
_OURS = "MEMORY_MESH_"


@dataclass(frozen=True, slots=True)
class ThrownAway:
    """A folder with a store in it, and the variables that lead there."""

    folder: Path
    environment: dict[str, str]

    @property
    def store(self) -> Path:
        """The folder of the store."""
        return Path(self.environment[f"{_OURS}DIR"])

    def plant(self) -> None:
        """Stores one memory, by a real write."""
        request = requests.made("hook", environment=self.environment, cwd=str(self.folder))
        stores = Stores(embedder=False)
        try:
            stores.mesh_for(request, channel=Channel.CLI).add(PLANTED)
        finally:
            stores.close()

    def reason(self) -> str:
        """What the last hook wrote down."""
        told = [line for line in journal.read(str(self.store)) if line.get("what") == "hook"]
        if not told:
            return "it left no line in the journal"
        return f"{told[-1].get('outcome')}: {told[-1].get('reason') or 'no reason is known'}"


@contextmanager
def thrown_away(environment: Mapping[str, str], *, daemon: bool = False) -> Iterator[ThrownAway]:
    """A store of its own; none of the user's settings, files or keys is used."""
    folder = Path(tempfile.mkdtemp(prefix="mm-doctor-")).resolve()
    (folder / "config.toml").write_text("", encoding="utf-8")
    variables = {
        name: value
        for name, value in environment.items()
        if not name.startswith(_OURS) or name == BUDGET
    }
    stated = {
        "DIR": str(folder / "store"),
        "KEY_DIR": str(folder / "keys"),
        "CONFIG": str(folder / "config.toml"),
        "EMBEDDER": "none",
        "OWN_NAMES": "off",
        "DAEMON": "1" if daemon else "0",
        "DAEMON_IDLE_SECONDS": "60",
    }
    variables |= {f"{_OURS}{name}": value for name, value in stated.items()}
    try:
        yield ThrownAway(folder, variables)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
