"""Stores of others, read and written: what comes in goes through the same doors as everything.

Times are here as the stores of others write them.
"""

from datetime import UTC, datetime, timedelta

from memory_mesh.model.errors import InvalidInput, shown

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def moment(name: str, value: object) -> datetime | None:
    """A time as milliseconds or ISO 8601 text; without a zone it is UTC."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            stated = datetime.fromisoformat(value)
            return stated.replace(tzinfo=UTC) if stated.tzinfo is None else stated.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _EPOCH + timedelta(milliseconds=value)
    except (ValueError, OverflowError):
        pass
    raise InvalidInput(f"{name} is no time: {shown(value)}")


def millis(at: datetime) -> int:
    """A moment in milliseconds since 1970."""
    return (at - _EPOCH) // _MILLISECOND
