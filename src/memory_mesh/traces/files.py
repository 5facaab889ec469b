"""Trace files: take them into a store, and write them from one."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from memory_mesh.errors import InvalidInput, NotFound
from memory_mesh.fastdataclass import dataclass, replace
from memory_mesh.formats import trace_file
from memory_mesh.model import Channel, Outcome, Receipt, Scope, SourceKind
from memory_mesh.model.trace import Trace
from memory_mesh.policy.privacy import masked
from memory_mesh.policy.writing.traces import content_id, trace_with
from memory_mesh.policy.writing.trust import lowered
from memory_mesh.process.durable_files import write_atomically
from memory_mesh.process.files import texts
from memory_mesh.sync import MemoryMesh
from memory_mesh.typed import TypeAlias

Fault: TypeAlias = tuple[str, str]  # a file or a trace, and what is wrong with it


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of trace files."""

    stored: tuple[str, ...] = ()  # ids of new traces
    known: tuple[str, ...] = ()  # of those that were recorded before
    faults: tuple[Fault, ...] = ()  # what was not taken


def import_files(
    mesh: MemoryMesh, paths: Sequence[Path], *, scope: Scope | None = None
) -> Imported:
    """Records the traces of files and of the files in folders, with the trust of documents.

    A file that is no trace file is a fault and stops nothing. A second run stores what is new.
    """
    found: list[Trace] = []
    faults: list[Fault] = []
    for path in paths:
        if not path.exists():
            raise NotFound(f"there is no file or folder {path}")
        given = texts(path, (".md",) if path.is_dir() else (), recursive=True)
        for file, text in given.found:
            _read(str(file), text, found, faults)
        faults += [(name, "cannot be read") for name in given.skipped.unreadable]
        left = given.skipped
        if path.is_file() and (left.binary or left.not_utf8 or left.too_large):
            faults.append((str(path), "is no text file, or is too large"))
    return import_traces(mesh, found, faults, scope=scope)


def import_text(mesh: MemoryMesh, name: str, text: str, *, scope: Scope | None = None) -> Imported:
    """Records the traces of one text that came from elsewhere."""
    found: list[Trace] = []
    faults: list[Fault] = []
    _read(name, text, found, faults)
    return import_traces(mesh, found, faults, scope=scope)


def import_traces(
    mesh: MemoryMesh, traces: Iterable[Trace], faults: Sequence[Fault], *, scope: Scope | None
) -> Imported:
    """Records traces in the order of time, so that each finds those that it is tied to."""
    ordered = sorted(traces, key=lambda trace: (str(trace.timestamp or ""), trace.trace_id))
    receipts = _as_document(mesh).record_traces(ordered, scope=scope)
    pairs = list(zip(ordered, receipts, strict=True))
    refused = [
        (trace.trace_id, "; ".join(receipt.reasons))
        for trace, receipt in pairs
        if receipt.outcome is Outcome.REFUSED
    ]
    return Imported(
        tuple(_ids(receipt for _, receipt in pairs if not receipt.again)),
        tuple(_ids(receipt for _, receipt in pairs if receipt.again)),
        tuple((masked(name), masked(why)) for name, why in (*faults, *refused)),
    )


def export_files(traces: Iterable[Trace], folder: Path) -> list[str]:
    """Writes each trace to a file of its own, named by its id; returns the names that changed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be a folder for traces: {error.strerror}") from error
    changed: list[str] = []
    for trace in [trace_with(one, {}) for one in traces]:
        path = folder / f"{trace.trace_id.replace(':', '_')}.md"
        data = trace_file.render(trace).encode("utf-8")
        if not path.is_symlink() and path.is_file() and path.read_bytes() == data:
            continue
        write_atomically(path, data)
        changed.append(path.name)
    return changed


def _as_document(mesh: MemoryMesh) -> MemoryMesh:
    """A view that writes with the trust of documents, or with less if the mesh has less."""
    channel = mesh._channel  # noqa: SLF001  # a view's own
    trusted = lowered(SourceKind.DOCUMENT, channel) is SourceKind.DOCUMENT
    return mesh.view(channel=Channel.FILE) if trusted else mesh


def _ids(receipts: Iterable[Receipt]) -> Iterator[str]:
    return (receipt.id for receipt in receipts if receipt.id is not None)


def _read(name: str, text: str, found: list[Trace], faults: list[Fault]) -> None:
    """Adds the checked traces of a file, or what is wrong with it."""
    try:
        traces = [trace_with(trace, {}) for trace in trace_file.parse_all(text)]
    except InvalidInput as error:
        faults.append((name, str(error)))
        return
    for trace in traces:
        digest = hashlib.sha256(trace_file.render(trace).encode("utf-8")).hexdigest()
        named = trace.trace_id or content_id(trace, digest)
        found.append(replace(trace, trace_id=named))
