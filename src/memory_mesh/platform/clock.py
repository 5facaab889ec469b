"""The system's clock, the only one the product reads."""

import time
from datetime import UTC, datetime


class SystemClock:
    """Wall-clock time in UTC."""

    def now(self) -> datetime:
        """The present."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that only go forward."""
        return time.monotonic()
