"""Reads a host's input without waiting for more than there is."""

import os
import select
import time

from memory_mesh.agents import light_json
from memory_mesh.typed import Any

MOST_BYTES = 64 << 20


class NoInput(Exception):
    """The host said nothing that can be read; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def read_input(source: int, end: float) -> dict[str, Any]:
    """The JSON object on standard input, as soon as it is whole; NoInput when the time is up."""
    ready = select.poll()
    ready.register(source, select.POLLIN)
    data = bytearray()
    while len(data) <= MOST_BYTES:
        left = end - time.monotonic()
        if left <= 0 or not ready.poll(left * 1000):
            raise NoInput("standard input did not end")
        part = os.read(source, 1 << 20)
        data += part
        if (not part or part.rstrip().endswith(b"}")) and (found := _object(data)) is not None:
            return found
        if not part:
            raise NoInput("standard input holds no JSON object")
    raise NoInput("standard input is too large")


def without_private(found: dict[str, Any]) -> dict[str, Any]:
    """The input's texts without what their user marked as private."""
    return {
        name: _cleaned(value) if isinstance(value, str) else value for name, value in found.items()
    }


def _cleaned(text: str) -> str:
    if "private" not in text.lower():
        return text
    from memory_mesh.formats import private  # loads `re`

    return private.without_private(text)


def _object(data: bytearray) -> dict[str, Any] | None:
    try:
        found = light_json.loads(data.decode())
    except ValueError:  # half of it, or none
        return None
    return found if isinstance(found, dict) else None
