"""A file that gets every block as one line of JSON: an audit trail outside the store."""

import errno
import json
import os
from collections.abc import Sequence
from pathlib import Path

from memory_mesh.model import Block, Json
from memory_mesh.platform import system


class JsonLinesSink:
    """Appends one line per block in a single write, so that lines of two processes never mix."""

    def __init__(self, path: Path, name: str = "jsonl") -> None:
        self._path = path
        self._name = name

    @property
    def name(self) -> str:
        """The name its cursor is kept under."""
        return self._name

    def deliver(self, namespace: str, blocks: Sequence[Block]) -> None:
        """Append the commit's blocks and wait for the disk."""
        lines = "".join(json.dumps(block_row(namespace, block)) + "\n" for block in blocks).encode()
        descriptor = system.open_file(self._path, os.O_RDWR | os.O_APPEND)
        try:
            if _cut_off(descriptor):
                lines = b"\n" + lines
            if os.write(descriptor, lines) < len(lines):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _cut_off(descriptor: int) -> bool:
    """True when the file ends within a line: a full disk took only a part of it."""
    size = os.fstat(descriptor).st_size
    return size > 0 and system.read_at(descriptor, 1, size - 1) != b"\n"


def block_row(namespace: str, block: Block) -> dict[str, Json]:
    """A block as JSON; the words about a memory that was deleted meanwhile are left out."""
    return {
        "namespace": namespace,
        "seq": block.seq,
        "position": block.position,
        "id": block.entry.id,
        "operation": block.entry.operation,
        "agent": block.entry.agent,
        "timestamp": block.entry.at.isoformat(),
        "memories": list(block.entry.memories),
        "yamo_text": block.entry.wire,
        "metadata": dict(block.entry.metadata),
        "block_hash": block.hash.hex() if block.hash else None,
        "prev_hash": block.prev_hash.hex() if block.prev_hash else None,
    }
