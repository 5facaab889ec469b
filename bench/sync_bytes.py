"""What a sync of two machines costs: bytes a memory in the shared folder, processor time.

python -m bench.sync_bytes [MEMORIES]
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from bench import corpus
from memory_mesh.machines import exchange
from memory_mesh.sync import MemoryMesh

_MEMORIES = 1_000


def main(count: int) -> None:
    """Print the figures of a first sync, of one with a change, and of one without."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        os.environ["MEMORY_MESH_KEY_DIR"] = str(place / "keys")
        texts = [*corpus.texts(0, count)]
        size = sum(len(text.encode()) for text in texts)
        names, keys = ("one", "other"), list[str]()
        for name in names:
            with MemoryMesh(db_dir=place / name, embedder="none") as mesh:
                site = mesh.care._sync_site()  # noqa: SLF001  # as the command does
                keys.append(exchange.pair(site, place / "shared", name, keys).text)
        with MemoryMesh(db_dir=place / "one", embedder="none") as one:
            site = one.care._sync_site()  # noqa: SLF001
            exchange.pair(site, place / "shared", None, keys[1:])
            one.add_many(texts)
            print(f"send {count} memories: {_timed(site):.2f} s")
            with MemoryMesh(db_dir=place / "other", embedder="none") as other:
                to = other.care._sync_site()  # noqa: SLF001
                print(f"receive them: {_timed(to):.2f} s")
                print(f"nothing new: {1_000 * _timed(to, idle=True):.1f} ms")
                one.add("one more")
                print(f"send one more: {_timed(site):.2f} s")
                print(f"receive it: {_timed(to):.2f} s")
        files = [path.stat().st_size for path in (place / "shared").iterdir()]
        print(f"{len(files)} files, {sum(files):,} bytes: {sum(files) / count:.0f} bytes a memory")
        print(f"of which its text: {size / count:.0f} bytes")


def _timed(site: exchange.SyncSite, *, idle: bool = False) -> float:
    begun = time.process_time()
    exchange.run(site, idle=idle)
    return time.process_time() - begun


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else _MEMORIES)
