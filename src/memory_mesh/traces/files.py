"""Trace files: take them into a store, and write them from one."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from memory_mesh.base.typed import TypeAlias, dataclass, replace
from memory_mesh.formats import file_names, project_memory, trace_file
from memory_mesh.model import (
    Channel,
    InvalidInput,
    Memory,
    NotFound,
    Outcome,
    Receipt,
    Scope,
    SourceKind,
)
from memory_mesh.model.trace import LABEL, LEARNING_LABEL, Trace
from memory_mesh.platform.durable_files import write_atomically
from memory_mesh.platform.projects import identity_of, short_name
from memory_mesh.platform.text_files import texts
from memory_mesh.privacy import masked
from memory_mesh.rules.trust import lowered
from memory_mesh.sync import MemoryMesh
from memory_mesh.write.rules.trace_checks import content_id, trace_with

LOGGED = 1_000  # traces of the log
LISTED = 1_000  # memories of the other files
RECENT = 50  # memories of the working memory
SHORT_TERM, LONG_TERM = "memory/short_term", "memory/long_term"
_RESULTS = f"{SHORT_TERM}/tool_results"

Fault: TypeAlias = tuple[str, str]  # a file or a trace, and what is wrong with it


@dataclass(frozen=True, slots=True)
class TraceImport:
    """What became of trace files."""

    stored: tuple[str, ...] = ()  # ids of new traces
    known: tuple[str, ...] = ()  # of those that were recorded before
    faults: tuple[Fault, ...] = ()  # what was not taken


def import_files(
    mesh: MemoryMesh, paths: Sequence[Path], *, scope: Scope | None = None
) -> TraceImport:
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


def import_text(
    mesh: MemoryMesh, name: str, text: str, *, scope: Scope | None = None
) -> TraceImport:
    """Records the traces of one text that came from elsewhere."""
    found: list[Trace] = []
    faults: list[Fault] = []
    _read(name, text, found, faults)
    return import_traces(mesh, found, faults, scope=scope)


def import_traces(
    mesh: MemoryMesh, traces: Iterable[Trace], faults: Sequence[Fault], *, scope: Scope | None
) -> TraceImport:
    """Records traces in the order of time, so that each finds those that it is tied to."""
    ordered = sorted(traces, key=lambda trace: (str(trace.timestamp or ""), trace.trace_id))
    receipts = _as_document(mesh).traces.record_many(ordered, scope=scope)
    pairs = list(zip(ordered, receipts, strict=True))
    refused = [
        (trace.trace_id, "; ".join(receipt.reasons))
        for trace, receipt in pairs
        if receipt.outcome is Outcome.REFUSED
    ]
    return TraceImport(
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


# Writes a project's memory as a folder that people and tools can read (002's layout).
#
# ::
#
#     projects/{name}/
#     ├── memory/short_term/execution_log.md   the newest traces, in the order of time
#     │                     tool_results/      one file for each of them
#     │                     context_cache.md   the newest other memories
#     ├── memory/long_term/learnings.md, patterns.md, decisions.md
#     └── context.md                           what holds for the whole project
#
# The store is the truth: only files that differ are written, and a file that somebody else wrote is
# left as it is and named in the report.


@dataclass(frozen=True, slots=True)
class FolderReport:
    """What became of a project's folder, by the paths of its files."""

    folder: str
    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()  # files of somebody else


def write_layout(
    mesh: MemoryMesh, root: Path, name: str | None = None, *, scope: Scope | None = None
) -> FolderReport:
    """Writes the folder `projects/{name}` below the root; the same store writes the same files.

    Without a name it is the project's; a project that is a path goes by its last folder.
    """
    reader = scope or Scope(mesh.config.project or None)
    title = _title(root, name, reader.project or "default")
    title = replace(title, name=mesh._redacted(title.name))  # noqa: SLF001  # files for git
    folder = root / "projects" / file_names.slug(title.name)
    _refuse_links(root, folder)
    _refuse_another(folder, title)
    texts = _texts(mesh, title, scope)
    try:
        return _written(folder, texts)
    except OSError as error:
        raise InvalidInput(f"{error.filename or folder}: {error.strerror}") from error


def _written(folder: Path, texts: Mapping[str, str]) -> FolderReport:
    done: dict[str, list[str]] = {"written": [], "unchanged": [], "removed": [], "kept": []}
    (folder / _RESULTS).mkdir(parents=True, exist_ok=True)
    (folder / LONG_TERM).mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        done[_put(folder, path, text)].append(path)
    for path in _left_over(folder, texts):
        (folder / path).unlink()
        done["removed"].append(path)
    return FolderReport(str(folder), **{word: tuple(paths) for word, paths in done.items()})


def _title(root: Path, name: str | None, project: str) -> project_memory.Title:
    """How the files name a project; they are for git, so no path of this machine is among it."""
    here = identity_of(str(root))
    if here is not None and here.name == project and here.how != "set":
        short = short_name(here.former[-1] if here.how == "root" else project)
        return project_memory.Title(name or short, "this repository")  # the same in every clone
    short = short_name(project)
    if short == project:
        return project_memory.Title(name or project)
    return project_memory.Title(name or short, hashlib.sha256(project.encode()).hexdigest()[:12])


def _texts(mesh: MemoryMesh, title: project_memory.Title, scope: Scope | None) -> dict[str, str]:
    """The text of every file, by its path in the folder."""
    traces: list[Trace] = list(mesh.traces(limit=LOGGED, scope=scope))[::-1]
    found = {
        f"{SHORT_TERM}/execution_log.md": project_memory.execution_log(traces),
        f"{SHORT_TERM}/context_cache.md": project_memory.context_cache(
            _listed(mesh, f"NOT label = '{LABEL}' OR label IS NULL", scope, RECENT)
        ),
        f"{LONG_TERM}/learnings.md": project_memory.learnings(
            _listed(mesh, f"label = '{LEARNING_LABEL}'", scope)
        ),
        f"{LONG_TERM}/patterns.md": project_memory.patterns(
            _listed(mesh, "kind IN ('pattern_seed', 'reflection')", scope),
            mesh.skills.get_all(limit=LISTED, scope=scope),
        ),
        f"{LONG_TERM}/decisions.md": project_memory.decisions(
            _listed(mesh, "kind = 'decision' OR label = 'decision'", scope)
        ),
        "context.md": project_memory.context(
            title,
            _listed(mesh, "pinned", scope),
            _listed(mesh, "kind = 'preference' OR label = 'preference'", scope),
            traces,
        ),
    }
    for trace in traces:
        path = file_names.safe_path(_RESULTS, f"{_file_name(trace.trace_id)}.md")
        found[path] = project_memory.tool_results(trace)
    return found


def _listed(
    mesh: MemoryMesh, filter_: str, scope: Scope | None, limit: int = LISTED
) -> list[Memory]:
    return list(mesh.get_all(filter=filter_, limit=limit, scope=scope))


def _put(folder: Path, path: str, text: str) -> str:
    """Writes a file that differs; says what became of it."""
    target, data = folder / path, text.encode("utf-8")
    if target.is_symlink():
        return "kept"
    if target.exists():
        held = target.read_bytes()
        if held == data:
            return "unchanged"
        if not project_memory.is_ours(held.decode("utf-8", "replace")):
            return "kept"
    write_atomically(target, data)
    return "written"


def _left_over(folder: Path, texts: Mapping[str, str]) -> Iterator[str]:
    """Results of traces that are no longer in the log: deleted, archived, or older."""
    for file in sorted((folder / _RESULTS).glob("trace-*.md")):
        path = f"{_RESULTS}/{file.name}"
        ours = not file.is_symlink() and project_memory.is_ours(
            file.read_text(encoding="utf-8", errors="replace")
        )
        if path not in texts and ours:
            yield path


def _refuse_another(folder: Path, title: project_memory.Title) -> None:
    """Two names can give one folder: a/b and a-b, /one/shop and /two/shop."""
    context = folder / "context.md"
    if context.is_file() and project_memory.is_of_another(
        context.read_text(encoding="utf-8", errors="replace"), title
    ):
        raise InvalidInput(
            f"{folder} holds the memory of another project; give this one another name: --name NAME"
        )


def _refuse_links(root: Path, folder: Path) -> None:
    """A folder of the layout that is a link could lead anywhere."""
    inside = [folder / path for path in ("", "memory", SHORT_TERM, LONG_TERM, _RESULTS)]
    for part in (root / "projects", *inside):
        if part.is_symlink():
            raise InvalidInput(f"{part} is a link; links are not followed: write to where it leads")


def _file_name(trace_id: str) -> str:
    """A trace id as the name of a file; some file systems take no colon."""
    return trace_id.replace(":", "_")
