"""`memory-mesh ingest-dir`."""

import argparse
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from memory_mesh.cli import opening, printing
from memory_mesh.errors import NotFound
from memory_mesh.files import Skipped, texts
from memory_mesh.model import Channel, Json, Outcome, Receipt, Scope

EXAMPLE = "memory-mesh ingest-dir docs --extension .md --recursive"
_BATCH = 32  # files per transaction: little is done again after an interruption


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("path", help="a folder, or a single file")
    parser.add_argument(
        "--extension", metavar="EXT", action="append", help="only such files; may be repeated"
    )
    parser.add_argument("--type", metavar="TYPE", help="the memories' type")
    parser.add_argument("--recursive", action="store_true", help="folders below it too")
    parser.add_argument(
        "--global", action="store_true", dest="for_all", help="for every project, not only this one"
    )


def run(options: argparse.Namespace) -> int:
    """Store every text file; run again, it stores only what is new or changed."""
    root = Path(options.path)
    if not root.exists():
        raise NotFound(f"there is no folder or file {root}")
    endings = [_ending(extension) for extension in options.extension or ()]
    found = texts(root, endings, recursive=options.recursive)
    receipts: list[Receipt] = []
    with opening.mesh_of(options, meaning=True, channel=Channel.FILE) as mesh:
        reader = opening.reader_of(mesh.config)
        scope = Scope(None if options.for_all else reader.project, None, None)
        for batch in _batches(_items(root, found.found, options.type, scope)):
            receipts += mesh.add_many(batch)
            _show(len(receipts))
    return _report(receipts, found.skipped, as_json=options.json)


def _items(
    root: Path, found: Iterator[tuple[Path, str]], type_: str | None, scope: Scope
) -> Iterator[dict[str, object]]:
    """One memory per file; its key makes a second run repeat the first one's receipt."""
    for path, text in found:
        name = path.relative_to(root).as_posix() if path != root else path.name
        if not text.strip():
            continue
        digest = hashlib.sha256(f"{scope.project}\n{name}\n{text}".encode()).hexdigest()
        metadata: dict[str, object] = {"type": type_} if type_ else {}
        yield {
            "content": text,
            "metadata": metadata,
            "scope": scope,
            "source_ref": name,
            "key": f"file:{digest}",
        }


def _batches(items: Iterator[dict[str, object]]) -> Iterator[list[dict[str, object]]]:
    batch: list[dict[str, object]] = []
    for item in items:
        batch.append(item)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _ending(extension: str) -> str:
    return extension.lower() if extension.startswith(".") else f".{extension.lower()}"


def _show(count: int) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"\r{count} files …\x1b[K", end="", file=sys.stderr, flush=True)


def _report(receipts: list[Receipt], skipped: Skipped, *, as_json: bool) -> int:
    known = [receipt for receipt in receipts if _is_known(receipt)]
    refused = [receipt for receipt in receipts if receipt.outcome is Outcome.REFUSED]
    stored = len(receipts) - len(known) - len(refused)
    if as_json:
        plain: dict[str, Json] = {
            "ingested": stored,
            "known": len(known),
            "refused": [list(receipt.reasons) for receipt in refused],
            "binary": skipped.binary,
            "ignored": skipped.ignored,
            "links": skipped.links,
            "too_large": skipped.too_large,
            "unreadable": list(skipped.unreadable),
        }
        printing.say_json(plain)
        return 1 if refused or skipped.unreadable else 0
    _show_end()
    printing.say(f"[MemoryMesh] Ingested {stored} files, {len(known)} already known.")
    left = {
        "binary": skipped.binary,
        "ignored": skipped.ignored,
        "links": skipped.links,
        "too large": skipped.too_large,
        "unreadable": len(skipped.unreadable),
        "refused": len(refused),
    }
    said = ", ".join(f"{count} {name}" for name, count in left.items() if count)
    if said:
        printing.say(f"[MemoryMesh] Skipped: {said}.")
    for reason in dict.fromkeys(reason for receipt in refused for reason in receipt.reasons):
        printing.say(f"[MemoryMesh] Refused: {reason}.")
    return 1 if refused or skipped.unreadable else 0


def _is_known(receipt: Receipt) -> bool:
    return receipt.again or receipt.outcome is Outcome.MERGED


def _show_end() -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
