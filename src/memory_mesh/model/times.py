"""Moments as text."""

from datetime import UTC, datetime

EXPIRES = "expires_at"  # the metadata key of the moment from which no read shows a memory


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
