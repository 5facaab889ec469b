"""What is examined, and what was found."""

import time
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from memory_mesh.agents import journal
from memory_mesh.agents.hosts import places
from memory_mesh.base.typed import Any, dataclass
from memory_mesh.config import Config
from memory_mesh.model.stats import Check
from memory_mesh.platform import store_urls
from memory_mesh.sync import MemoryContextManager, MemoryMesh

_LINES = 2_000  # of the journal that are looked at


class CheckStatus(StrEnum):
    """How a link of the chain does."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line: the check, how it went, what was seen, and what to do about it."""

    check: str
    mark: CheckStatus
    said: str
    fix: str = ""  # a command to run or a setting to change


class Case:
    """What is examined: a store, a folder to work in, and the variables of whoever asks."""

    def __init__(
        self,
        mesh: MemoryMesh,
        environment: Mapping[str, str],
        here: Path,
        *,
        meaning: MemoryMesh,
        whole_chain: bool = False,
    ) -> None:
        """Look at nothing yet.

        `mesh` has no embedder, and `meaning` is the same with the one that the settings name: one
        that does not load is no fault of the store. `whole_chain` checks all blocks, however many.
        """
        self.mesh: MemoryMesh = mesh
        self.environment: Mapping[str, str] = environment
        self.here: Path = here
        self.whole_chain: bool = whole_chain
        self._meaning = meaning

    @property
    def store(self) -> Path:
        """The folder of the store, or of this machine's files for a database; it may be absent."""
        return self.mesh.config.db_dir.resolve()

    @property
    def is_server(self) -> bool:
        """Whether the store is in a database."""
        return self.mesh.config.store is not None

    @property
    def where(self) -> str:
        """Where the store is: its folder, or the address of its database without a password."""
        stated = self.mesh.config.store
        return str(self.store) if stated is None else store_urls.shown(stated)

    @property
    def places(self) -> list[places.SettingsFolder]:
        """Where Claude Code reads settings here: the user's, and those of the repository."""
        found = [places.user_place(self.environment), places.repository_place(self.here)]
        return list({place.folder.resolve(): place for place in found[::-1]}.values())[::-1]

    @property
    def config(self) -> Config:
        """The settings of whoever asks, the embedder among them."""
        return self._meaning.config

    @cached_property
    def health(self) -> dict[str, Check]:
        """The library's own health check by part, without an embedder; it records nothing."""
        return _health(self.mesh)

    @cached_property
    def meaning(self) -> dict[str, Check]:
        """The same with the embedder that the settings name."""
        return _health(self._meaning)

    def journal(self, what: str) -> list[dict[str, Any]]:
        """The lines of one kind that hooks, fronts and daemons left, the oldest first."""
        return [line for line in self.lines() if line.get("what") == what]

    def lines(self) -> list[dict[str, Any]]:
        """The last lines of the journal, of every kind."""
        return journal.read(str(self.store), _LINES)


def _health(mesh: MemoryMesh) -> dict[str, Check]:
    found = MemoryContextManager(mesh=mesh).health_check()
    return {check.name: check for check in found.checks}


def ok(check: str, said: str, fix: str = "") -> CheckResult:
    """A link that holds; `fix` is what may be done all the same."""
    return CheckResult(check, CheckStatus.OK, said, fix)


def warning(check: str, said: str, fix: str) -> CheckResult:
    """A link that holds for now, or worse than it could."""
    return CheckResult(check, CheckStatus.WARNING, said, fix)


def failed(check: str, said: str, fix: str) -> CheckResult:
    """A link that is broken."""
    return CheckResult(check, CheckStatus.FAILED, said, fix)


def unseen(check: str, first: str) -> CheckResult:
    """A link that cannot be looked at for a reason that an earlier line gives."""
    fix = f"mend what {first} says, and run memory-mesh doctor again"
    return failed(check, f"cannot be looked at, see {first}", fix)


def age(at: str) -> str:
    """How long ago a line of the journal was written."""
    try:
        then = datetime.fromisoformat(at).timestamp()
    except ValueError:
        return "at an unknown time"
    return ago(time.time() - then)


def ago(seconds: float) -> str:
    """A span of time up to now, in words."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return f"{counted(int(seconds // length), unit)} ago"
    return f"{counted(max(0, int(seconds)), 'second')} ago"


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
