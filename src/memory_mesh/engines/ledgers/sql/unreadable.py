"""Rows that hold what was never written: damage, whichever database they are in."""

from collections.abc import Callable
from functools import wraps

from memory_mesh.errors import StoreIsDamaged
from memory_mesh.typed import TypeVar

F = TypeVar("F", bound=Callable[..., object])
_NOT_WRITTEN = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


class UnreadableRow(StoreIsDamaged, ValueError):
    """A row holds what was never written."""


def of_rows(read: F) -> F:
    """A function that makes a value of a row: what no row of ours holds is said to be damage."""

    @wraps(read)
    def reading(*row: object) -> object:
        try:
            return read(*row)
        except _NOT_WRITTEN as error:
            raise UnreadableRow(f"a row holds what was never written ({error})") from error

    return reading  # type: ignore[return-value]  # it is called as the function is
