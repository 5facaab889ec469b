"""A line on a person's terminal that counts along: how many of how many, and how long it takes."""

import re
import time

from memory_mesh.cli import output

_PAUSE = 0.1  # seconds between two updates of the line
_TRUSTED_AFTER = 2.0  # seconds after which a guess of the rest is shown
_MINUTE, _HOUR = 60, 3600
_PART = re.compile(r"(\d+) of (\d+): (?:.*, (\d+) %$)?")


class Counting:
    """Counts things along; in a pipe, and with --json, it prints nothing."""

    def __init__(self, unit: str, total: int | None = None, *, before: str = "") -> None:
        """Count so many units; `before` stands at the beginning of the line."""
        self._unit, self._total, self._before = unit, total, before
        self._began = self._shown = time.monotonic()

    def __call__(self, done: int, total: int | None = None) -> None:
        """Shows how far it is; a total that is known only now can be given."""
        self._total = total or self._total
        now = time.monotonic()
        if now - self._shown < _PAUSE and done != self._total:
            return
        self._shown = now
        output.progress(self._before + line(self._unit, done, self._total, now - self._began))

    def end(self) -> None:
        """Removes the line."""
        output.progress("")


class Telling:
    """Shows lines such as `2 of 5: default, 40 %`, with how long the rest takes."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, line: str) -> None:
        """Shows a line; an empty one removes it."""
        output.progress(line + remaining(line, time.monotonic() - self._began))


def remaining(line: str, seconds: float) -> str:
    """Returns how long the rest takes, by the part that a line names; empty if it is too early."""
    found = _PART.match(line)
    if found is None or seconds < _TRUSTED_AFTER:
        return ""
    number, total, percent = (int(each or 0) for each in found.groups())
    done = (number - 1 + percent / 100) / max(1, total)
    return f", about {lasting(seconds / done * (1 - done))} left" if done > 0 else ""


def line(unit: str, done: int, total: int | None, seconds: float) -> str:
    """Returns how far something is: 300 of 1,200 files, 25 %, about 9 s left."""
    if not total or total < done:
        return f"{done:,} {unit} …"
    told = f"{done:,} of {total:,} {unit}, {100 * done // total} %"
    if done and done < total and seconds >= _TRUSTED_AFTER:
        told += f", about {lasting(seconds / done * (total - done))} left"
    return told


def lasting(seconds: float) -> str:
    """Returns a length of time in a person's words: 40 s, 3 min, 2 h 5 min."""
    if seconds < _MINUTE:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / _MINUTE)
    if minutes < _HOUR // _MINUTE:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
