"""`memory-mesh ingest-dir`."""

import argparse
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memory_mesh.care.key_file import key_for
from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.commands.store import FOR_ALL
from memory_mesh.cli.parsing import Command, argument
from memory_mesh.cli.progress import Counting
from memory_mesh.model import Channel, Outcome, Receipt, Scope
from memory_mesh.model.errors import NotFound
from memory_mesh.platform.text_files import Skipped, paths, shown, texts
from memory_mesh.privacy import masked
from memory_mesh.write.rules.receipts import ReceiptCounts

_BATCH = 32  # files per transaction; an interruption repeats at most one batch
_MAX_NAME_CHARS = 512  # characters of a file name that are stored
_NAMED = 20  # file names printed per kind of failure


@dataclass(slots=True)
class _Tally:
    """Counts of stored, known and refused files."""

    stored: int = 0
    known: int = 0
    empty: list[str] = field(default_factory=list)
    refused: list[tuple[str, Sequence[str]]] = field(default_factory=list)
    more: ReceiptCounts = field(default_factory=ReceiptCounts)

    def count(self, name: str, receipt: Receipt) -> None:
        """Counts one receipt."""
        if not receipt.again:
            self.more.count(receipt)
        if receipt.outcome is Outcome.REFUSED:
            self.refused.append((name, receipt.reasons))
        elif receipt.again or receipt.outcome is Outcome.MERGED:
            self.known += 1
        else:
            self.stored += 1

    @property
    def total(self) -> int:
        """The number of all files."""
        return self.stored + self.known + len(self.refused)


def _run_ingest_dir(options: argparse.Namespace) -> int:
    """Stores every text file; a second run stores only new and changed files."""
    root = Path(options.path)
    if not root.exists():
        raise NotFound(f"the folder or file {root} does not exist")
    endings = [
        (extension.lower() if extension.startswith(".") else f".{extension.lower()}")
        for extension in options.extension or ()
    ]
    found = texts(root, endings, recursive=options.recursive)
    tally, counting = _Tally(), Counting("files")
    if output.at_terminal():
        counting = Counting("files", len(paths(root, endings, recursive=options.recursive)))
    with cli_options.opened(options, meaning=True, channel=Channel.FILE) as (mesh, reader):
        scope = Scope(None if options.for_all else reader.project, None, None)
        with_text = _with_text(found.found, tally.empty)
        items = _items(root, with_text, options.type, scope, key_for(mesh.folder))
        for batch in _batches(items):
            for item, receipt in zip(batch, mesh.add_many(batch), strict=True):
                tally.count(str(item["source_ref"]), receipt)
            counting(tally.total)
    return _report(tally, found.skipped, as_json=options.json)


def _with_text(found: Iterator[tuple[Path, str]], empty: list[str]) -> Iterator[tuple[Path, str]]:
    """Yields the files that hold a text; `empty` gets the names of the others."""
    for path, text in found:
        if text.strip():
            yield path, text
        else:
            empty.append(shown(path))


def _items(
    root: Path, found: Iterator[tuple[Path, str]], type_: str | None, scope: Scope, key: bytes
) -> Iterator[dict[str, object]]:
    """Yields one memory per file, with an idempotency key so that a second run adds nothing.

    The key is a keyed digest: somebody who has only the store cannot test guesses of the content.
    """
    for path, text in found:
        name = shown(path.relative_to(root).as_posix() if path != root else path.name)
        message = f"{scope.project}\n{name}\n{text}".encode()
        digest = hmac.digest(key, message, "sha256").hex()
        metadata: dict[str, object] = {"type": type_} if type_ else {}
        yield {
            "content": text,
            "metadata": metadata,
            "scope": scope,
            "source_ref": name[-_MAX_NAME_CHARS:],
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


def _report(tally: _Tally, skipped: Skipped, *, as_json: bool) -> int:
    failed = {
        "not UTF-8": skipped.not_utf8,
        "too large": skipped.too_large,
        "no plain file": skipped.special,
        "unreadable": skipped.unreadable,
    }
    ordinary = {"binary": skipped.binary, "empty": tally.empty}
    code = 1 if tally.refused or any(failed.values()) else 0
    if as_json:
        output.say_json(
            {
                "ingested": tally.stored,
                "known": tally.known,
                "refused": [
                    {"file": masked(name), "reasons": list(reasons)}
                    for name, reasons in tally.refused
                ],
                "binary": len(skipped.binary),
                "ignored": skipped.ignored,
                "links": skipped.links,
                "too_large": len(skipped.too_large),
                "unreadable": [masked(name) for name in skipped.unreadable],
                "skipped": {
                    "binary": [masked(name) for name in skipped.binary],
                    "empty": [masked(name) for name in tally.empty],
                    "not_utf8": [masked(name) for name in skipped.not_utf8],
                    "too_large": [masked(name) for name in skipped.too_large],
                    "no_plain_file": [masked(name) for name in skipped.special],
                },
                **tally.more.plain(),
            }
        )
        return code
    output.progress("")
    count = output.counted(tally.stored, "file")
    output.say(f"[MemoryMesh] Ingested {count}, {tally.known} already known.")
    named = ordinary | failed
    left = {
        "ignored": skipped.ignored,
        "links": skipped.links,
        **{what: len(names) for what, names in named.items()},
        "refused": len(tally.refused),
    }
    said = ", ".join(f"{count} {what}" for what, count in left.items() if count)
    if said:
        output.say(f"[MemoryMesh] Skipped: {said}.")
    output.tell(tally.more.sentences())
    for what, names in named.items():
        _name(what, names)
    _name("refused", [f"{name}: {'; '.join(reasons)}" for name, reasons in tally.refused])
    return code


def _name(what: str, files: Sequence[str]) -> None:
    """Prints the first files of a kind, and how many more there are."""
    title = what[0].upper() + what[1:]
    for text in files[:_NAMED]:
        output.say(f"[MemoryMesh] {title}: {output.unbroken(masked(text))}.")
    output.say_more(len(files), _NAMED, what)


INGEST_DIR = Command(
    "memory-mesh import folder docs --extension .md --recursive",
    (
        argument("path", help="a folder, or a single file"),
        argument(
            "--extension",
            metavar="EXT",
            action="append",
            help="only files with this extension; may be repeated",
        ),
        argument("--type", metavar="TYPE", help="type of the memories"),
        argument("--recursive", action="store_true", help="also read subfolders"),
        FOR_ALL,
    ),
    _run_ingest_dir,
)
