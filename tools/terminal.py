"""Runs a command on a pseudo-terminal and reads all of what it prints.

The terminal is closed last, after a mark of our own has come through it: Linux may say that a
terminal whose writers have gone is at its end while the last of their output is still on its way.
"""

import os
import pty
import subprocess
import threading
from collections.abc import Mapping, Sequence
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
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=theirs if typing else subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env=variables,
    )
    waiting = threading.Thread(target=_mark_the_end, args=(process, theirs))
    waiting.start()
    shown = b""
    while not shown.endswith(_MARK):
        shown += os.read(ours, _CHUNK)
    waiting.join()
    for end in (ours, theirs):
        os.close(end)
    return process.returncode, shown.removesuffix(_MARK).decode()


def _mark_the_end(process: subprocess.Popen[bytes], terminal: int) -> None:
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        os.write(terminal, _MARK)
