"""A clock that stands still until it is told otherwise."""

from datetime import UTC, datetime, timedelta


class FrozenClock:
    """Always says the same time; `advance` and `set` move it, backwards too."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start

    def now(self) -> datetime:
        """The time it stands at."""
        return self._now

    def monotonic(self) -> float:
        """Seconds since 1970 at the time it stands at."""
        return self._now.timestamp()

    def advance(self, step: timedelta) -> datetime:
        """Go on by a step and say the new time."""
        self._now += step
        return self._now

    def set(self, moment: datetime) -> None:
        """Stand at another moment."""
        self._now = moment
