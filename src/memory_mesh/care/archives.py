"""Export a namespace into one portable file, and import such a file.

::

    export   one read transaction: verify, measure every table, write   -> FILE.partial -> FILE
    import   seal of the file -> rows into a file of their own -> keyword tables -> verify
             -> the lock of the namespace -> into place in one step

Both stream: neither holds more than a row of a namespace in memory. A kill leaves a file whose name
ends in `.partial`, which the next import removes, and never half a namespace.
"""

import gzip
import hashlib
import io
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from os import PathLike
from pathlib import Path

from memory_mesh._version import __version__
from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.care import backups, restores
from memory_mesh.care.key_file import users_key_ids
from memory_mesh.care.sqlite import copies
from memory_mesh.care.store_files import key_ids
from memory_mesh.formats import archive
from memory_mesh.ledgers.sqlite import archive_rows, namespace_file, namespace_places, vector_file
from memory_mesh.ledgers.sqlite.connection import command
from memory_mesh.ledgers.sqlite.connections import refuse_read_only
from memory_mesh.model import Checkpoint, InvalidInput, NotFound, StoreError, StoreIsDamaged
from memory_mesh.model.care import Exported, Imported
from memory_mesh.platform import moved_marks, system
from memory_mesh.platform.durable_files import sync_folder
from memory_mesh.platform.locks import locked
from memory_mesh.platform.store_urls import need_folder
from memory_mesh.rules.arguments import shown_namespace

if TYPE_CHECKING:
    from memory_mesh.ledgers.postgres.copies import PostgresDump

    Dump = archive_rows.FileDump | PostgresDump

# The file of an archive: a compressed tar that ends with a seal over every byte before it.
#
# ::
#
#     gzip member   tar: manifest.json, then tables/<name>.jsonl as the manifest lists them
#     gzip member   empty; its comment is the SHA-256 of the member before: the seal
#
# Both are read by `tar xzf`. gzip's own checksum is of the content only, and it ignores bits of its
# header, so the seal is compared before anything is unpacked. Nothing here holds more than a line
# of
# a table in memory.


MANIFEST = "manifest.json"
_LEVEL = 6  # of compression, always the same
_PART = 1 << 20  # bytes read at once
_LONGEST_LINE = 1 << 28  # bytes of a row: a text has ten million characters at most
_LONGEST_MANIFEST = 1 << 24
_SEAL_HEAD = b"\x1f\x8b\x08\x10\0\0\0\0\0\xff" + b"memory-mesh archive, sha256 "
_SEAL_TAIL = b"\0\x03\0" + bytes(8)
_DIGITS = 64
_SEAL_BYTES = len(_SEAL_HEAD) + _DIGITS + len(_SEAL_TAIL)
_UNREADABLE = (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile)


class ArchiveWriter:
    """Writes the members one after another."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar

    def add(self, name: str, size: int, lines: Iterable[bytes]) -> None:
        """Adds a member of so many bytes."""
        info = tarfile.TarInfo(name)  # of nobody, made at no time
        info.size, info.mode = size, 0o600
        self._tar.addfile(info, io.BufferedReader(_Stream(lines), _PART))


@contextmanager
def writing(file: io.BufferedWriter) -> Iterator[ArchiveWriter]:
    """A writer of an archive, which is sealed at the end."""
    hashed = _Hashed(file)
    with (
        gzip.GzipFile("", "wb", _LEVEL, hashed, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        yield ArchiveWriter(tar)
    file.write(_seal(hashed.digest))


class ArchiveReader:
    """Reads the members in the order in which they were written."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.manifest: archive.ArchiveManifest = archive.read(
            self._member(MANIFEST).read(_LONGEST_MANIFEST)
        )

    def lines(self, table: archive.ArchiveTable, between: Callable[[], None]) -> Iterator[bytes]:
        """The lines of the next table; raises InvalidInput where they are not what was written."""
        hashed, rows = hashlib.sha256(), 0
        member = self._member(table.file)
        while line := member.readline(_LONGEST_LINE):
            hashed.update(line)
            rows += 1
            between()
            yield line
        if hashed.hexdigest() != table.sha256 or rows != table.rows:
            raise InvalidInput(f"{table.file} is not what the manifest of the archive says")

    def _member(self, name: str) -> io.BufferedReader:
        info = self._tar.next()
        found = None if info is None or info.name != name else self._tar.extractfile(info)
        if found is None:
            raise InvalidInput(f"the archive does not hold {name} where it should")
        return found  # type: ignore[return-value]  # a buffered reader


@contextmanager
def reading(path: Path) -> Iterator[ArchiveReader]:
    """A reader of a sealed archive; every fault of the file is InvalidInput that names it."""
    try:
        _check_seal(path)
        with gzip.open(path) as plain, tarfile.open(fileobj=plain, mode="r|") as tar:
            yield ArchiveReader(tar)
    except _UNREADABLE as error:
        raise InvalidInput(f"{path} cannot be read as an archive: {error}") from error
    except OSError as error:
        if error.filename is None or Path(error.filename) != path:
            raise
        raise InvalidInput(f"{path} cannot be read: {error.strerror}. Check --from") from error
    except InvalidInput as error:
        if str(path) in str(error):
            raise
        raise InvalidInput(f"{path}: {error}") from error


def sha256_of(path: Path) -> str:
    """The SHA-256 of a whole file, in hexadecimal digits."""
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_PART):
            hashed.update(part)
    return hashed.hexdigest()


def _check_seal(path: Path) -> None:
    """Refuses a file that is no archive, is cut off, or has any other byte."""
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        rest = file.seek(0, io.SEEK_END) - _SEAL_BYTES
        file.seek(max(rest, 0))
        seal = file.read()
        if rest < 0 or not seal.startswith(_SEAL_HEAD):
            raise InvalidInput(
                f"{path} is no archive of memory-mesh, or its end is missing. Copy it again from "
                "where it was made, or export it there again; "
                "files of text are stored by: memory-mesh ingest-dir"
            )
        file.seek(0)
        while rest and (part := file.read(min(_PART, rest))):
            hashed.update(part)
            rest -= len(part)
    if seal != _seal(hashed.hexdigest()):
        raise InvalidInput(
            f"{path} is damaged: it is not what was exported. Nothing was imported. Copy it again "
            "from where it was made, or export it there again"
        )


def _seal(digest: str) -> bytes:
    return _SEAL_HEAD + digest.encode() + _SEAL_TAIL


class _Hashed:
    """A file that knows the SHA-256 of what was written to it."""

    def __init__(self, file: io.BufferedWriter) -> None:
        self.file, self._hash = file, hashlib.sha256()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        return self.file.write(data)

    def flush(self) -> None:
        self.file.flush()


class _Stream(io.RawIOBase):
    """Lines as a file to read from."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines, self._rest = iter(lines), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]  # the base's own
        parts, size = [self._rest], len(self._rest)
        while size < len(buffer) and (line := next(self._lines, b"")):
            parts.append(line)
            size += len(line)
        data = b"".join(parts)
        count = min(len(buffer), len(data))
        buffer[:count], self._rest = data[:count], data[count:]
        return count


PARTIAL = ".partial"
IMPORT_LOCK = ".import.lock"  # of one store: imports come one after another
_LEFT = re.compile(r".+\.[0-9a-f]{12}\.partial(-wal|-shm|-journal)?")  # no namespace ends so
_TOLD_EVERY = 10_000  # rows
_CARRY = "To carry the key, move the namespace instead (move --only), or see docs/keys.md"
_SHOWN = 5  # flaws that a message names
Progress = Callable[[int, int], None]  # rows so far, and of how many


def export_folder(
    folder: str | PathLike[str],
    namespace: str,
    to: str | PathLike[str],
    *,
    with_vectors: bool = False,
    progress: Progress | None = None,
) -> Exported:
    """Writes a namespace of the store in a folder to a new file, while others go on writing."""
    store, target = Path(need_folder(folder)), Path(to)
    _check_namespace(store, namespace)
    if target.exists():
        raise InvalidInput(f"{target} is there already; name another file, or remove it first")
    with archive_rows.snapshot(store, namespace) as db:
        dump = archive_rows.FileDump(db)
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
    manifest = archive.ArchiveManifest(
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


def import_folder(
    folder: str | PathLike[str],
    archive: str | PathLike[str],
    *,
    into: str | None = None,
    progress: Progress | None = None,
    as_document: bool = False,
) -> Imported:
    """Brings a namespace from an archive into the store in a folder, whole or not at all."""
    store = Path(need_folder(folder))
    moved_marks.refuse_store(store)
    places = store / "namespaces"
    with reading(Path(archive)) as reader:
        manifest = reader.manifest
        namespace = manifest.namespace if into is None else into
        _refuse_erased(store, manifest)
        _refuse_filled(copies.place(store, namespace), namespace)
        refuse_read_only(places)
        system.make_folder(places)
        with _same_folder(store), locked(places / IMPORT_LOCK):
            _sweep(places)
            named = places / namespace_places.file_name(namespace)
            new = named.with_suffix(f".{os.urandom(6).hex()}{PARTIAL}")
            try:
                tell = _Told(progress, manifest)
                mark = _filled(new, reader, namespace, places, tell, as_document=as_document)
                erased = copies.replay(new, namespace, partial(backups.erased_of, store))
                with restores.place_held(places, namespace) as path:
                    _refuse_erased(store, manifest)  # meanwhile
                    _refuse_filled(path, namespace)
                    publish(new, path)
            finally:
                _remove(new)
    return Imported(
        namespace=namespace,
        came_from=manifest.namespace,
        memories=mark.memories - erased,
        position=mark.position,
        with_vectors=manifest.with_vectors,
        remarks=(
            *remarks(key_ids(store), manifest, mark),
            *([f"{erased} of its memories were erased here since, and left out"] if erased else ()),
        ),
    )


@contextmanager
def _same_folder(store: Path) -> Iterator[None]:
    """Says what became of the store where its folder went away in the middle of an import."""
    try:
        yield
    except FileNotFoundError as error:
        moved_marks.refuse_store(store)
        raise StoreError(
            f"the store in {store} was restored or removed meanwhile, and nothing was imported: "
            "look at it, then import again"
        ) from error


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
    archive_rows.put_into_place(new, path)
    copies.acknowledge(path)
    moved_marks.remove(moved_marks.of_namespace(path))
    sync_folder(path.parent)


def _check_namespace(store: Path, namespace: str) -> None:
    moved_marks.refuse_store(store)
    path = copies.place(store, namespace)
    if not path.exists():
        moved_marks.refuse_namespace(path, namespace)
        raise NotFound(
            f"there is no namespace {shown_namespace(namespace)!r} in {store}. "
            "List those there are: memory-mesh namespaces"
        )


def _measured(dump: "Dump", layout: archive_rows.TableLayout) -> archive.ArchiveTable:
    """How many rows and bytes a table has, and their hash: a tar says it before the table."""
    hashed, rows, size = hashlib.sha256(), 0, 0
    for row in dump.rows(layout):
        line = archive.row_line(layout.columns, row)
        hashed.update(line)
        rows += 1
        size += len(line)
    return archive.ArchiveTable(layout.name, layout.columns, rows, size, hashed.hexdigest())


def _lines(dump: "Dump", layout: archive_rows.TableLayout, tell: "_Told") -> Iterator[bytes]:
    for row in dump.rows(layout):
        tell()
        yield archive.row_line(layout.columns, row)


def _write(
    target: Path,
    manifest: archive.ArchiveManifest,
    lines: Callable[[archive_rows.TableLayout], Iterator[bytes]],
    layouts: Sequence[archive_rows.TableLayout],
) -> None:
    """Writes the archive under another name; it gets its own when all of it is on the disk."""
    draft = target.with_name(f"{target.name}.{os.urandom(6).hex()}{PARTIAL}")
    try:
        for left in target.parent.iterdir():
            if left.name.startswith(f"{target.name}.") and _LEFT.fullmatch(left.name):
                left.unlink()  # of a killed process
        system.make_file(draft)
        with draft.open("wb") as file:
            text = archive.written(manifest)
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


def _refuse_erased(store: Path, manifest: archive.ArchiveManifest) -> None:
    if any(backups.is_erased(store, identity) for identity in manifest.identities):
        raise StoreError(
            f"this namespace was erased from the store in {store}, and stays erased. If it was "
            "erased by mistake, import the archive into another store: --db-dir FOLDER"
        )


def _refuse_filled(path: Path, namespace: str) -> None:
    if not archive_rows.is_empty(path):
        raise InvalidInput(
            f"the namespace {shown_namespace(namespace)} holds memories already, and nothing is "
            "merged into it; import under another name: --into NAME"
        )


def unpack(path: Path, new: Path) -> tuple[archive.ArchiveManifest, archive_rows.DumpPoint]:
    """Makes a file of the rows of an archive that its caller knows byte by byte; where it stands.

    It was verified when it was written, and is not verified again; it has no keyword tables.
    """
    with reading(path) as reader:
        manifest = reader.manifest
        tell = _Told(None, manifest)
        return manifest, _filled(new, reader, manifest.namespace, new.parent, tell, known=True)


def _filled(
    new: Path,
    reader: ArchiveReader,
    namespace: str,
    places: Path,
    tell: "_Told",
    *,
    as_document: bool = False,
    known: bool = False,
) -> archive_rows.DumpPoint:
    """Makes a file of the archive's rows and verifies it; raises InvalidInput if it is damaged."""
    manifest = reader.manifest
    file = archive_rows.NewFile(new, manifest.schema, namespace)
    try:
        file.check(manifest.tables, with_vectors=manifest.with_vectors)
        for table in manifest.tables:
            lines = reader.lines(table, tell)
            file.fill(table, (archive.row_values(table.columns, line) for line in lines))
        identity = None if known else _own_identity(places, manifest.identities)
        mark = file.finish(manifest.keys, identity, as_document=as_document, words=not known)
        stands = (mark.seq, mark.position, mark.hash.hex())
        found = [] if known else file.flaws(Checkpoint(namespace, mark.position, mark.hash))
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
    mark = namespace_file.read_head(path)
    return archive_rows.identity_of(path) if mark is None else mark.identity


def remarks(
    own_keys: Collection[str],
    manifest: archive.ArchiveManifest,
    mark: archive_rows.DumpPoint,
    to_carry: str = _CARRY,
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


def _vectors(manifest: archive.ArchiveManifest) -> int:
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

    def __init__(self, progress: Progress | None, manifest: archive.ArchiveManifest) -> None:
        self._progress, self._rows = progress, 0
        self._all = sum(table.rows for table in manifest.tables)

    def __call__(self) -> None:
        self._rows += 1
        if self._progress is not None and self._rows % _TOLD_EVERY == 0:
            self._progress(self._rows, self._all)
