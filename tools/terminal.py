"""Runs a command on a pseudo-terminal and reads all of what it prints.

The terminal is closed last, after a mark of our own has come through it: Linux may say that a
terminal whose writers have gone is at its end while the last of their output is still on its way.
"""

import os
import pty
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PATIENCE = 60
_CHUNK = 65_536
_MARK = b"\x00end of the output\x00"


def on_terminal(
    command: Sequence[str],
    folder: Path,
    variables: Mapping[str, str],
    *,
    typing: bool = False,
) -> tuple[int, str]:
    """The code and the output of a command; with `typing` it may read from the terminal too."""

    def run(terminal: int) -> int:
        return subprocess.call(
            command,
            stdin=terminal if typing else subprocess.DEVNULL,
            stdout=terminal,
            stderr=terminal,
            cwd=folder,
            env=variables,
            timeout=PATIENCE,
        )

    return shown(run)


def shown(run: Callable[[int], int]) -> tuple[int, str]:
    """What `run` returns, and all that is printed to the terminal that it is given."""
    ours, theirs = pty.openpty()

    def marked() -> int:
        try:
            return run(theirs)
        finally:
            os.write(theirs, _MARK)

    try:
        with ThreadPoolExecutor(1) as pool:
            code = pool.submit(marked)
            printed = b""
            while not printed.endswith(_MARK):
                printed += os.read(ours, _CHUNK)
            return code.result(), printed.removesuffix(_MARK).decode()
    finally:
        for end in (ours, theirs):
            os.close(end)
