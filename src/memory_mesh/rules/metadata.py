"""Checks metadata: JSON of limited depth and size, without dangerous keys."""

import math
from collections.abc import Mapping, Sequence

from memory_mesh.model import Json
from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.rules.arguments import check_text
from memory_mesh.rules.limits import (
    INTEGER,
    METADATA_CHARS,
    METADATA_DEPTH,
    METADATA_ITEMS,
    METADATA_KEY_CHARS,
)

_NUMBER_BITS = 3_322  # a thousand digits
FORBIDDEN = frozenset({"__proto__", "constructor", "prototype"})


def check_metadata(value: object) -> dict[str, Json]:
    """Returns the metadata as plain JSON values; InvalidInput names the invalid place."""
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"metadata must be an object of keys and values, not {type(value).__name__}"
        )
    budget = _Budget()
    return {_key(key, "metadata"): _copy(item, str(key), 1, budget) for key, item in value.items()}


class _Budget:
    """Counts values and characters of one metadata object against the limits."""

    def __init__(self) -> None:
        self.items = METADATA_ITEMS
        self.characters = METADATA_CHARS

    def spend(self, characters: int) -> None:
        """Counts one value of this length."""
        self.items -= 1
        self.characters -= characters
        if self.items < 0 or self.characters < 0:
            raise InvalidInput(
                f"metadata is too large; the limits are {METADATA_ITEMS} values and "
                f"{METADATA_CHARS} characters"
            )


def is_forbidden(key: str) -> bool:
    """True for a key that metadata may not have."""
    return key in FORBIDDEN or (key.startswith("__") and key.endswith("__"))


def _key(key: object, path: str) -> str:
    text = check_text(key, f"a key of {path}")
    if is_forbidden(text):
        raise InvalidInput(f"the metadata key {text!r} is not allowed")
    if len(text) > METADATA_KEY_CHARS:
        raise InvalidInput(
            f"a metadata key has {len(text)} characters; the limit is {METADATA_KEY_CHARS}"
        )
    return text


def _copy(value: object, path: str, depth: int, budget: _Budget) -> Json:
    if depth > METADATA_DEPTH:
        raise InvalidInput(
            f"metadata is nested deeper than {METADATA_DEPTH} levels at {shown(path, 80)}"
        )
    if isinstance(value, str):
        budget.spend(len(value))
        return check_text(value, f"metadata {path!r}")
    if value is None or isinstance(value, bool | int):
        if value and value.bit_length() > _NUMBER_BITS:
            raise InvalidInput(f"metadata {path!r} is a number of more than 1,000 digits")
        budget.spend(1)
        if value is not None and not -INTEGER <= value <= INTEGER:
            raise InvalidInput(
                f"metadata {path[:80]!r} is a whole number that needs more than 64 bits; write it "
                "as text"
            )
        return value
    if isinstance(value, float) and math.isfinite(value):
        budget.spend(1)
        return value
    if isinstance(value, Mapping):
        budget.spend(1)
        return {
            _key(key, path): _copy(item, f"{path}.{key}", depth + 1, budget)
            for key, item in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        budget.spend(1)
        return [_copy(item, path, depth + 1, budget) for item in value]
    kind = type(value).__name__
    instead = "value.isoformat()" if hasattr(value, "isoformat") else "text, a number or a list"
    raise InvalidInput(f"metadata {path!r} is a {kind} that JSON cannot represent; give {instead}")
