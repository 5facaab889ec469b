"""Masks secrets in messages and records, by a function that the package hands over at start-up."""

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from collections.abc import Callable

_masks: "list[Callable[[str], str]]" = []


def mask_with(function: "Callable[[str], str]") -> None:
    """From now on every message passes through this function."""
    _masks[:] = [function]


def masked(text: str) -> str:
    """The text as it may be shown; nothing is shown before a mask was handed over."""
    (mask,) = _masks
    return mask(text)
