"""A child process that adds memories one by one.

    python -m bench.worker FOLDER NAMESPACE FIRST COUNT

It opens the store, says `ready`, waits for a line, adds, and prints the seconds that took.
"""

import sys
from pathlib import Path

from bench import corpus
from bench.measure import seconds
from bench.stores import keyword_mesh


def main(folder: str, namespace: str, first: str, count: str) -> None:
    """Add the texts `first` and following, each in its own transaction."""
    texts = list(corpus.texts(int(first), int(first) + int(count)))
    with keyword_mesh(Path(folder), namespace) as mesh:
        mesh.stats()
        print("ready", flush=True)
        sys.stdin.readline()
        print(seconds(lambda: [mesh.add(text) for text in texts]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
