"""`python -m memory_mesh.agents.daemon --store FOLDER [--idle SECONDS] [--foreground]`."""

import os
import sys


def main(words: list[str]) -> int:
    """Runs the daemon of a store, detached from whoever started it."""
    options = dict(zip(words[::2], words[1::2], strict=False))
    if "--foreground" not in words:
        if os.fork():
            return 0  # the starter has nothing to wait for
        os.setsid()
        os.closerange(3, 65_536)  # what the starter left open would keep its pipes alive
    from memory_mesh.agents.daemon.running import serve

    return serve(options["--store"], float(options.get("--idle", "900")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
