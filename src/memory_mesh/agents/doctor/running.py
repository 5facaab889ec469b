"""Runs a command as a host does, and tells how long its answer took."""

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from memory_mesh.typed import Any

_SECONDS = 30.0


def ran(
    command: Sequence[str], given: bytes, environment: Mapping[str, str], folder: Path
) -> tuple[bytes, int]:
    """What a command prints, and the milliseconds it took; waits for the processes it leaves.

    They inherit one end of a pipe, and the other end tells when the last of them is gone.
    """
    watched, held = os.pipe()
    began = time.monotonic()
    try:
        process = subprocess.Popen(  # noqa: S603  # what the host runs
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            cwd=folder,
            pass_fds=(held,),
        )
    except OSError:
        os.close(watched)
        return b"", 0
    finally:
        os.close(held)
    try:
        data, _ = process.communicate(given, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        data, _ = process.communicate()
    milliseconds = _since(began)
    select.select([watched], [], [], _SECONDS)
    os.close(watched)
    return data, milliseconds


def answered(
    command: Sequence[str],
    asked: Sequence[Mapping[str, Any]],
    environment: Mapping[str, str],
    folder: Path,
) -> list[tuple[int, dict[str, Any]]]:
    """The replies of a server on standard input and output, each with its milliseconds."""
    began = time.monotonic()
    try:
        process = subprocess.Popen(  # noqa: S603  # what the host runs
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            cwd=folder,
        )
    except OSError:
        return []
    replies = []
    try:
        for message in asked:
            _send(process, message)
            line = _line(process, began + _SECONDS)
            if line is None:
                break
            replies.append((_since(began), line))
    finally:
        with suppress(OSError):
            process.stdin.close()  # type: ignore[union-attr]  # it was asked for
        _end(process)
    return replies


def _send(process: subprocess.Popen[bytes], message: Mapping[str, Any]) -> None:
    with suppress(OSError):  # it has ended: there will be no line
        process.stdin.write(json.dumps(message).encode() + b"\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]


def _line(process: subprocess.Popen[bytes], end: float) -> dict[str, Any] | None:
    """The next line as an object; None if there is none in time."""
    source = process.stdout.fileno()  # type: ignore[union-attr]
    data = b""
    while not data.endswith(b"\n"):
        left = end - time.monotonic()
        if left <= 0 or not select.select([source], [], [], left)[0]:
            return None
        part = os.read(source, 1 << 16)
        if not part:
            return None
        data += part
    try:
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()  # type: ignore[union-attr]


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
