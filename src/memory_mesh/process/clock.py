"""The system's clock, the only one the product reads."""

from datetime import UTC, datetime


class SystemClock:
    """Wall-clock time in UTC."""

    def now(self) -> datetime:
        """The present."""
        return datetime.now(UTC)
