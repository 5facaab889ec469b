"""Records under the logger `memory_mesh`: ids, counts, durations and outcomes, never content.

Importing `logging` costs a short command a tenth of its time, so nothing here imports it at start:
a record is made only if something else has loaded `logging`, for nobody else could listen. A
warning loads it, and reaches standard error even where logging was never configured.
"""

import sys
import time

from memory_mesh.base.masking import masked
from memory_mesh.base.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import logging

NAME = "memory_mesh"
_INFO, _DEBUG = 20, 10  # logging's own numbers
_warned: set[str] = set()  # kinds of warning that this process has given


def info(event: str, **facts: object) -> None:
    """Records what was done: a write, a search, a job."""
    _record(_INFO, event, facts)


def debug(event: str, **facts: object) -> None:
    """Records a detail, such as a retry."""
    _record(_DEBUG, event, facts)


def warn_once(kind: str, message: str) -> None:
    """Gives a warning of this kind, the first time in this process only."""
    if kind in _warned:
        return
    _warned.add(kind)
    import logging

    logging.getLogger(NAME).warning("memory-mesh: %s", masked(message))


def started() -> float:
    """The time at which something begins, for `milliseconds`."""
    return time.monotonic()


def milliseconds(start: float) -> float:
    """How long ago that was."""
    return round((time.monotonic() - start) * 1000, 1)


def show(level: str) -> None:
    """Prints the records of this level and above to standard error; for the command line."""
    import logging

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("[MemoryMesh] %(levelname)s %(message)s"))
    logger = logging.getLogger(NAME)
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False


def _record(level: int, event: str, facts: dict[str, object]) -> None:
    logger = _listening(level)
    if logger is not None:
        pairs = " ".join(f"{name}={value}" for name, value in facts.items())
        logger.log(level, "%s %s", event, masked(pairs))


def _listening(level: int) -> "logging.Logger | None":
    """The logger, if somebody may listen to records of this level."""
    module = sys.modules.get("logging")
    if module is None:
        return None
    logger: logging.Logger = module.getLogger(NAME)
    return logger if logger.isEnabledFor(level) else None
