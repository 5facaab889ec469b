"""What a fault suite hands back: its figures, and every broken promise in words."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

Figure: TypeAlias = "int | float | str | list[str] | dict[str, Figure]"
Progress: TypeAlias = Callable[[str], None]
_SHOWN = 20
_LONGEST = 1500  # characters of one failure; a traceback says most at its end


def silent(_line: str) -> None:
    """No progress is shown."""


@dataclass
class Report:
    """Figures by name, and what went wrong; empty `failures` means that every promise held."""

    figures: dict[str, Figure] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def count(self, name: str, amount: int = 1) -> None:
        """Add to a figure that starts at nought."""
        was = self.figures.get(name, 0)
        if not isinstance(was, int):
            raise TypeError(f"{name} is no counter")
        self.figures[name] = was + amount

    def broken(self, name: str, detail: str) -> None:
        """Count a broken promise and keep the first ones in words."""
        self.count(name)
        if len(self.failures) < _SHOWN:
            self.failures.append(f"{name}: {detail[-_LONGEST:]}")

    def holds(self) -> None:
        """Raise with every failure, for tests."""
        assert not self.failures, "\n".join(map(str, [*self.failures, self.figures]))


class Ticker:
    """Shows progress at most every two seconds."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total = progress, total
        self._shown = time.monotonic()

    def tick(self, done: int, note: str = "") -> None:
        """Say how far it is."""
        if time.monotonic() - self._shown > 2 or done == self._total:
            self._shown = time.monotonic()
            self._progress(f"{done} of {self._total} {note}".rstrip())
