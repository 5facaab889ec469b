"""`python -m memory_mesh.agents.daemon --store FOLDER [--idle SECONDS]`: a detached daemon."""

import os
import sys

from memory_mesh.platform import system

_USAGE = "usage: python -m memory_mesh.agents.daemon --store FOLDER [--idle SECONDS]"


def main(words: list[str]) -> int:
    """Runs the daemon of a store, detached from whoever started it."""
    given = dict(zip(words[::2], words[1::2], strict=False))
    try:
        store, idle = given.pop("--store"), float(given.pop("--idle", "900"))
    except (KeyError, ValueError):
        store, idle = "", 0.0
    if given or len(words) % 2 or not store or not idle > 0:
        print(_USAGE, file=sys.stderr)  # noqa: T201
        return 2
    if system.fork():
        return 0  # the starter has nothing to wait for
    system.detach()
    os.closerange(3, 65_536)  # what the starter left open would keep its pipes alive
    from memory_mesh.agents.daemon.running import serve

    serve(store, idle)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
