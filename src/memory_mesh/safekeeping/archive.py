"""Export a namespace into one portable file, and import such a file.

::

    export   one read transaction: verify, measure every table, write   -> FILE.partial -> FILE
    import   seal of the file -> rows into a file of their own -> keyword tables -> verify
             -> the lock of the namespace -> into place in one step

Both stream: neither holds more than a row of a namespace in memory. A kill leaves a file whose name
ends in `.partial`, which the next import removes, and never half a namespace.
"""

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from os import PathLike, fspath
from pathlib import Path

from memory_mesh._version import __version__
from memory_mesh.engines.ledgers.sqlite import namespace_places, vector_file
from memory_mesh.engines.ledgers.sqlite.connections import refuse_read_only
from memory_mesh.engines.ledgers.sqlite.faults import command
from memory_mesh.engines.ledgers.sqlite.keeping import copying, dumping, head_file
from memory_mesh.engines.ledgers.sqlite.keeping.dumping import Layout, Mark, NewFile
from memory_mesh.errors import InvalidInput, NotFound, StoreError, StoreIsDamaged
from memory_mesh.formats.archive import Manifest, Table, row_line, row_values, written
from memory_mesh.model import Checkpoint
from memory_mesh.model.safekeeping import Exported, Imported
from memory_mesh.policy.users import shown_namespace
from memory_mesh.process import moved, private
from memory_mesh.process.durable_files import sync_folder
from memory_mesh.process.keys import users_key_ids
from memory_mesh.process.locks import locked
from memory_mesh.process.store_urls import is_server, need_folder
from memory_mesh.safekeeping import erasures, placing
from memory_mesh.safekeeping.archive_file import (
    MANIFEST,
    ArchiveReader,
    reading,
    sha256_of,
    writing,
)
from memory_mesh.safekeeping.key_lines import key_ids
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.engines.ledgers.postgres.copying import PostgresDump

    Dump = dumping.FileDump | PostgresDump

PARTIAL = ".partial"
IMPORT_LOCK = ".import.lock"  # of one store: imports come one after another
_LEFT = re.compile(r".+\.[0-9a-f]{12}\.partial(-wal|-shm|-journal)?")  # no namespace ends so
_TOLD_EVERY = 10_000  # rows
_CARRY = "To carry the key, move the namespace instead (move --only), or see docs/keys.md"
_SHOWN = 5  # flaws that a message names
Progress = Callable[[int, int], None]  # rows so far, and of how many


def export_archive(
    folder: str | PathLike[str],
    namespace: str,
    to: str | PathLike[str],
    *,
    with_vectors: bool = False,
    progress: Progress | None = None,
) -> Exported:
    """Writes a namespace of a store to a new file, while others go on writing.

    `folder` is that of the store, or the address of its database. Vectors are left out unless they
    are asked for: they are made anew where the model is.
    """
    if is_server(fspath(folder)):
        from memory_mesh.safekeeping.server import export_from_server, settings_of

        settings = settings_of(fspath(folder), namespace)
        return export_from_server(settings, to, with_vectors=with_vectors, progress=progress)
    store, target = Path(need_folder(folder)), Path(to)
    _check_namespace(store, namespace)
    if target.exists():
        raise InvalidInput(f"{target} is there already; name another file, or remove it first")
    with dumping.snapshot(store, namespace) as db:
        dump = dumping.FileDump(db)
        if found := dump.flaws():
            raise StoreIsDamaged(
                f"the namespace {shown_namespace(namespace)} in {store} is damaged, and an archive "
                f"of it could not be imported: {listed(found)}. Run: "
                f"{command('repair', namespace)}; if that does not help: memory-mesh salvage --to "
                "FOLDER"
            )
        return write_archive(dump, key_ids(store), target, with_vectors, progress)


def write_archive(
    dump: "Dump",
    keys: Iterable[str],
    target: Path,
    with_vectors: bool,  # noqa: FBT001  # as the caller was asked
    progress: Progress | None,
) -> Exported:
    """Writes one moment of a namespace to a new file; `keys` are the ids of those in use."""
    mark = dump.mark()
    layouts = dump.layouts(with_vectors=with_vectors)
    manifest = Manifest(
        product=__version__,
        schema=mark.schema,
        namespace=mark.namespace,
        identities=mark.identities,
        keys=tuple(dict.fromkeys((*mark.keys, *keys))),
        seq=mark.seq,
        position=mark.position,
        hash=mark.hash.hex(),
        with_vectors=with_vectors,
        tables=tuple(_measured(dump, layout) for layout in layouts),
    )
    tell = _Told(progress, manifest)
    _write(target, manifest, lambda layout: _lines(dump, layout, tell), layouts)
    return Exported(
        file=str(target),
        namespace=mark.namespace,
        memories=mark.memories,
        position=mark.position,
        rows=sum(table.rows for table in manifest.tables),
        bytes=target.stat().st_size,
        sha256=sha256_of(target),
        with_vectors=with_vectors,
        vectors=_vectors(manifest),
    )


def import_archive(
    folder: str | PathLike[str],
    archive: str | PathLike[str],
    *,
    into: str | None = None,
    progress: Progress | None = None,
    as_document: bool = False,
) -> Imported:
    """Brings a namespace from an archive into a store, whole or not at all.

    `folder` is that of the store, or the address of its database. The namespace keeps its name
    unless another is given. One that was written to is never changed. `as_document` trusts no
    memory of it more than a document, whoever the archive says that it is from.
    """
    if is_server(fspath(folder)):
        from memory_mesh.safekeeping.server import import_to_server, settings_of

        settings = settings_of(fspath(folder))
        return import_to_server(
            settings, archive, into=into, progress=progress, as_document=as_document
        )
    store = Path(need_folder(folder))
    moved.refuse_store(store)
    places = store / "namespaces"
    with reading(Path(archive)) as reader:
        manifest = reader.manifest
        namespace = manifest.namespace if into is None else into
        _refuse_erased(store, manifest)
        _refuse_filled(copying.place(store, namespace), namespace)
        refuse_read_only(places)
        private.make_folder(places)
        with locked(places / IMPORT_LOCK):
            _sweep(places)
            named = places / namespace_places.file_name(namespace)
            new = named.with_suffix(f".{os.urandom(6).hex()}{PARTIAL}")
            try:
                tell = _Told(progress, manifest)
                mark = _filled(new, reader, namespace, places, tell, as_document=as_document)
                with placing.place_held(places, namespace) as path:
                    _refuse_filled(path, namespace)
                    publish(new, path)
            finally:
                _remove(new)
    return Imported(
        namespace=namespace,
        came_from=manifest.namespace,
        memories=mark.memories,
        position=mark.position,
        with_vectors=manifest.with_vectors,
        remarks=tuple(remarks(key_ids(store), manifest, mark)),
    )


def is_own(archive: str | PathLike[str]) -> bool:
    """Whether an archive was made under keys of this user; under none, it may be anybody's."""
    with reading(Path(archive)) as reader:
        made_under = set(reader.manifest.keys)
    return bool(made_under) and made_under <= users_key_ids()


def publish(new: Path, path: Path) -> None:
    """Gives a finished file its name; a log without its database is kept under another name."""
    if not path.exists():
        for end in ("-wal", "-shm"):
            lost = path.with_name(path.name + end)
            with suppress(FileNotFoundError):
                lost.rename(path.with_suffix(f".lost-{os.urandom(6).hex()}{end}.bak"))
    path.with_suffix(".head").unlink(missing_ok=True)
    vector_file.remove(path)
    dumping.put_into_place(new, path)
    copying.acknowledge(path)
    moved.remove(moved.of_namespace(path))
    sync_folder(path.parent)


def _check_namespace(store: Path, namespace: str) -> None:
    moved.refuse_store(store)
    path = copying.place(store, namespace)
    if not path.exists():
        moved.refuse_namespace(path, namespace)
        raise NotFound(
            f"there is no namespace {shown_namespace(namespace)!r} in {store}. "
            "List those there are: memory-mesh namespaces"
        )


def _measured(dump: "Dump", layout: Layout) -> Table:
    """How many rows and bytes a table has, and their hash: a tar says it before the table."""
    hashed, rows, size = hashlib.sha256(), 0, 0
    for row in dump.rows(layout):
        line = row_line(layout.columns, row)
        hashed.update(line)
        rows += 1
        size += len(line)
    return Table(layout.name, layout.columns, rows, size, hashed.hexdigest())


def _lines(dump: "Dump", layout: Layout, tell: "_Told") -> Iterator[bytes]:
    for row in dump.rows(layout):
        tell()
        yield row_line(layout.columns, row)


def _write(
    target: Path,
    manifest: Manifest,
    lines: Callable[[Layout], Iterator[bytes]],
    layouts: Sequence[Layout],
) -> None:
    """Writes the archive under another name; it gets its own when all of it is on the disk."""
    draft = target.with_name(f"{target.name}.{os.urandom(6).hex()}{PARTIAL}")
    try:
        for left in target.parent.iterdir():
            if left.name.startswith(f"{target.name}.") and _LEFT.fullmatch(left.name):
                left.unlink()  # of a killed process
        private.make_file(draft)
        with draft.open("wb") as file:
            text = written(manifest)
            with writing(file) as writer:
                writer.add(MANIFEST, len(text), [text])
                for table, layout in zip(manifest.tables, layouts, strict=True):
                    writer.add(table.file, table.bytes, lines(layout))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
        sync_folder(target.parent)
    except OSError as error:
        raise StoreError(
            f"{target} cannot be written: {error.strerror}. Check the folder and its free space"
        ) from error
    finally:
        _remove(draft)


def _refuse_erased(store: Path, manifest: Manifest) -> None:
    if any(erasures.is_erased(store, identity) for identity in manifest.identities):
        raise StoreError(
            f"this namespace was erased from the store in {store}, and stays erased. If it was "
            "erased by mistake, import the archive into another store: --db-dir FOLDER"
        )


def _refuse_filled(path: Path, namespace: str) -> None:
    if not dumping.is_empty(path):
        raise InvalidInput(
            f"the namespace {shown_namespace(namespace)} holds memories already, and nothing is "
            "merged into it; import under another name: --into NAME"
        )


def _filled(
    new: Path,
    reader: ArchiveReader,
    namespace: str,
    places: Path,
    tell: "_Told",
    *,
    as_document: bool,
) -> Mark:
    """Makes a file of the archive's rows and verifies it; raises InvalidInput if it is damaged."""
    manifest = reader.manifest
    file = NewFile(new, manifest.schema, namespace)
    try:
        file.check(manifest.tables, with_vectors=manifest.with_vectors)
        for table in manifest.tables:
            lines = reader.lines(table, tell)
            file.fill(table, (row_values(table.columns, line) for line in lines))
        identity = _own_identity(places, manifest.identities)
        mark = file.finish(manifest.keys, identity, as_document=as_document)
        stands = (mark.seq, mark.position, mark.hash.hex())
        found = file.flaws(Checkpoint(namespace, mark.position, mark.hash))
        if stands != (manifest.seq, manifest.position, manifest.hash):
            found.append("the chain does not end where the manifest says")
        if found:
            raise InvalidInput(f"the archive is not whole: {listed(found)}. Nothing was imported")
        file.close()
    finally:
        file.abandon()
    return mark


def _own_identity(places: Path, identities: Sequence[str]) -> str | None:
    """A new identity for a copy of a namespace that is in the store; None for any other."""
    there = namespace_places.holding(places, namespace_places.SUFFIX)
    if any(_identity(path) == identities[0] for _, path in there):
        return os.urandom(16).hex()
    return None


def _identity(path: Path) -> str | None:
    """The identity of a namespace, by its head file if it has one: the database stays closed."""
    mark = head_file.read(path)
    return dumping.identity_of(path) if mark is None else mark.identity


def remarks(
    own_keys: Collection[str], manifest: Manifest, mark: Mark, to_carry: str = _CARRY
) -> Iterator[str]:
    """What does not match any more in a store of these keys, and what to do."""
    count = mark.tombstones
    rejected = f" and {count} rejected value{'' if count == 1 else 's'}" if count else ""
    what = f"placeholders{rejected}"
    again = ", and a rejected value can be stored again" if count else ""
    if mark.namespace != manifest.namespace:
        yield (
            f"{what} were keyed for the name {shown_namespace(manifest.namespace)}: under the name "
            f"{shown_namespace(mark.namespace)} new placeholders differ from those that are "
            f"there{again}; a checkpoint belongs to the old name"
        )
    missing = [key for key in manifest.keys if key not in own_keys]
    if missing:
        yield (
            f"{what} were made with the key {', '.join(missing)}, which this store does not have: "
            f"new placeholders differ from those that are there{again}. {to_carry}"
        )
    if not _vectors(manifest):
        yield "the archive has no vectors: memory-mesh upkeep makes them where a model is installed"


def _vectors(manifest: Manifest) -> int:
    """How many vectors an archive carries."""
    return sum(table.rows for table in manifest.tables if table.name == "vector")


def _sweep(places: Path) -> None:
    """Removes what killed imports left; the caller holds the lock of imports."""
    for left in places.iterdir():
        if _LEFT.fullmatch(left.name):
            left.unlink(missing_ok=True)


def _remove(path: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + end).unlink()


def listed(flaws: Sequence[str]) -> str:
    """The first flaws, and how many more there are."""
    more = f", and {len(flaws) - _SHOWN} more" if len(flaws) > _SHOWN else ""
    return "; ".join(flaws[:_SHOWN]) + more


class _Told:
    """Counts rows, and tells the caller now and then."""

    def __init__(self, progress: Progress | None, manifest: Manifest) -> None:
        self._progress, self._rows = progress, 0
        self._all = sum(table.rows for table in manifest.tables)

    def __call__(self) -> None:
        self._rows += 1
        if self._progress is not None and self._rows % _TOLD_EVERY == 0:
            self._progress(self._rows, self._all)
