"""What metadata may hold: JSON of bounded depth and size, and no key that could bite a reader."""

import math
from collections.abc import Mapping, Sequence

from memory_mesh.errors import InvalidInput
from memory_mesh.model import Json

FORBIDDEN = frozenset({"__proto__", "constructor", "prototype"})
MAX_DEPTH = 16
MAX_ITEMS = 4_096
MAX_CHARACTERS = 65_536
_LONGEST_KEY = 256


def check_metadata(value: object) -> dict[str, Json]:
    """The metadata as plain JSON values; raises InvalidInput and names the offending place."""
    if not isinstance(value, Mapping):
        message = f"metadata must be an object of keys and values, not {type(value).__name__}"
        raise InvalidInput(message)
    budget = _Budget()
    return {_key(key, "metadata"): _copy(item, str(key), 1, budget) for key, item in value.items()}


def check_text(value: object, name: str) -> str:
    """The value as storable text: a str without NUL and without lone surrogates."""
    if not isinstance(value, str):
        message = f"{name} must be text, not {type(value).__name__}"
        raise InvalidInput(message)
    if "\0" in value:
        message = f"{name} holds a NUL character"
        raise InvalidInput(message)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        message = f"{name} is not valid Unicode (a lone surrogate at {error.start})"
        raise InvalidInput(message) from None
    return value


def check_share(value: object, name: str) -> float:
    """The value as a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        message = f"{name} must be a number from 0 to 1, not {value!r:.80}"
        raise InvalidInput(message)
    return float(value)


class _Budget:
    """How much more one metadata object may hold."""

    def __init__(self) -> None:
        self.items = MAX_ITEMS
        self.characters = MAX_CHARACTERS

    def spend(self, characters: int) -> None:
        """One more value of this length."""
        self.items -= 1
        self.characters -= characters
        if self.items < 0 or self.characters < 0:
            message = (
                f"metadata is too large: at most {MAX_ITEMS} values, {MAX_CHARACTERS} characters"
            )
            raise InvalidInput(message)


def _key(key: object, path: str) -> str:
    text = check_text(key, f"a key of {path}")
    if text in FORBIDDEN or (text.startswith("__") and text.endswith("__")):
        message = f"the metadata key {text!r} is not allowed"
        raise InvalidInput(message)
    if len(text) > _LONGEST_KEY:
        message = f"a metadata key has {len(text)} characters, at most {_LONGEST_KEY} fit"
        raise InvalidInput(message)
    return text


def _copy(value: object, path: str, depth: int, budget: _Budget) -> Json:
    if depth > MAX_DEPTH:
        message = f"metadata is nested deeper than {MAX_DEPTH} at {path[:80]!r}"
        raise InvalidInput(message)
    if isinstance(value, str):
        budget.spend(len(value))
        return check_text(value, f"metadata {path!r}")
    if value is None or isinstance(value, bool | int):
        budget.spend(1)
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
    message = f"metadata {path!r} holds {type(value).__name__}, which JSON cannot say"
    raise InvalidInput(message)
