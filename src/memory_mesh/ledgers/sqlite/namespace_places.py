"""Where the files of a namespace lie, and which namespaces a folder holds.

::

    <store>/namespaces/<name>.db        the first 10,000
    <store>/namespaces/<xx>/<name>.db   those made after them; xx is made of the name alone

The other files of a namespace lie beside its database. A database stays where it was made: each
lookup looks at both places, and nothing but the folders says which namespaces there are. Names
become file names, and back: readable, reversible, safe on every file system.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from zlib import crc32

from memory_mesh.model.errors import InvalidInput, StoreIsDamaged, UnsafeFolder, shown
from memory_mesh.platform import locks, moved_marks, system
from memory_mesh.platform.durable_files import sync_folder
from memory_mesh.rules.arguments import shown_namespace, user_of

MOUNTINFO = Path("/proc/self/mountinfo")
_DEVICES = Path("/sys/dev/block")
_ENCRYPTED = {"ecryptfs": "eCryptfs", "fuse.gocryptfs": "gocryptfs", "fuse.encfs": "EncFS",
              "fuse.cryfs": "CryFS", "fuse.securefs": "securefs"}  # fmt: skip
_CRYPT = "CRYPT-"  # what the name of a dm-crypt target begins with: CRYPT-LUKS2-…
_DEEPEST = 8  # devices below one another
NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p"})

SUFFIX = ".db"
FLAT_NAMESPACES = 10_000  # that are made in the flat folder; above them it fans out
PAGE_NAMES = 50_000  # that a listing reads at once: at most twice as many are in memory, 10 MB
_COUNTS_PER_BOUND = 100  # how often the flat folder is counted until it is full
_FANS = frozenset(f"{number:02x}" for number in range(256))
_TRACES = (".head", ".moved", f"{SUFFIX}-wal")  # of a namespace without a database
_PLAIN = "abcdefghijklmnopqrstuvwxyz0123456789-_."
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
)
_MAX_NAME_CHARS = 80  # characters; percent-encoded UTF-8 stays under the usual 255 bytes for most


def database(folder: Path, namespace: str) -> Path:
    """The database of a namespace: where it lies, or in the flat folder if there is none."""
    return found(folder, namespace) or folder / file_name(namespace)


def found(folder: Path, namespace: str) -> Path | None:
    """Where a namespace has a database, or else another file that tells of it; None if nowhere."""
    name = file_name(namespace)
    both = folder / name, folder / _fan(name) / name
    for path in both:
        if os.path.exists(path):  # noqa: PTH110  # at each opening: half the price
            return path
    stem = len(SUFFIX)
    for path in both:
        if any(os.path.exists(f"{path}"[:-stem] + trace) for trace in _TRACES):  # noqa: PTH110
            return path
    return None


def both_folders(folder: Path, namespace: str) -> tuple[Path, Path]:
    """The two folders in which a namespace may have files."""
    return folder, folder / _fan(file_name(namespace))


def twin(folder: Path, database: Path) -> Path | None:
    """A second database of the same namespace in its other place; there should be none."""
    fanned = folder / _fan(database.name) / database.name
    other = fanned if database.parent == folder else folder / database.name
    return other if os.path.exists(other) else None  # noqa: PTH110  # at each opening


def refuse_twin(database: Path, other: Path) -> None:
    """Raises StoreIsDamaged while there are two databases of one namespace."""
    if database.exists() and other.exists():
        raise StoreIsDamaged(
            f"there are two databases of one namespace: {database} and {other}. A version of "
            "memory-mesh that does not know folders in a store made one of them. Look at each: "
            "memory-mesh restore --from FILE --to FOLDER, then memory-mesh list --db-dir FOLDER. "
            "Move the one that you do not want out of the store, with its -wal, -shm and .head"
        )


def no_file(path: Path) -> str | None:
    """What is wrong with a folder, a pipe, a device or a link in the place of a file.

    A link would give one database two names, each with a lock of its own.
    """
    with suppress(FileNotFoundError):
        mode = os.lstat(path).st_mode
        if not stat.S_ISREG(mode):
            what = "a link" if stat.S_ISLNK(mode) else "no file"
            return f"{path} is {what}, so no namespace: move it out of the store"
    return None


def new_place(folder: Path, namespace: str, most: int = FLAT_NAMESPACES) -> Path:
    """Where a namespace that has no database yet is made: in the flat folder until that is full.

    To count is to read the whole folder, so one new name in a hundred does it: the flat folder may
    get one in a hundred more than `most`, or a few.
    """
    if (there := found(folder, namespace)) is not None:
        return there
    name = file_name(namespace)
    if moved_marks.has_folders(folder.parent) or _is_full(folder, name, most):
        return folder / _fan(name) / name
    return folder / name


def make_room(database: Path, seconds: float = locks.USUAL_SECONDS) -> None:
    """Makes the folder of a database; one that fans out after a mark that the store has such."""
    place = database.parent
    if place.name not in _FANS:
        system.make_folder(place)
        return
    root = place.parent
    if place.is_dir() and moved_marks.has_folders(root.parent):
        return
    system.make_folder(root)
    with locks.folder_held(root, seconds):  # as who moves the store away, and leaves a marker
        moved_marks.refuse_store(root.parent)
        moved_marks.mark_folders(root.parent)
        with suppress(FileExistsError):
            place.mkdir(system.FOLDER)
            place.chmod(system.FOLDER)  # a umask may have taken even the owner's rights
            sync_folder(root)


def store_of(database: Path) -> Path | None:
    """The folder of the store that a database lies in; None for a file elsewhere."""
    place = database.parent
    root = place.parent if place.name in _FANS else place
    return root.parent if root.name == "namespaces" else None


def has_folders(folder: Path) -> bool:
    """Whether namespaces lie in folders of their own here."""
    return any((folder / fan).is_dir() for fan in sorted(_FANS))


def entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    """Every file of the namespaces, one folder after the other; none if there is no folder."""
    fans = []
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as here:
        for entry in here:
            if entry.name in _FANS:
                fans.append(entry.path)
            else:
                yield entry
    for fan in sorted(fans):
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(fan) as here:
            yield from here


def holding(folder: Path, *endings: str) -> Iterator[tuple[str, Path]]:
    """Each namespace that has a file with one of these endings, and where its database belongs.

    One with two of the files comes twice. A file in a folder of other names is none of ours.
    """
    for name, place, stored in _named(folder, endings):
        yield name, Path(place, stored)


def names(folder: Path, after: str = "", limit: int | None = None) -> Iterator[str]:
    """Namespaces with a database, or which should have one, sorted as people see their names.

    Those after a name, at most so many. Each page reads the folders once and holds no more than
    twice a page's names in memory; what is made or deleted meanwhile is seen from the next page on.
    """
    while limit is None or limit > 0:
        asked = PAGE_NAMES if limit is None else min(limit, PAGE_NAMES)
        there = (name for name, _, _ in _named(folder, (SUFFIX, ".head")))
        page = _smallest(there, after, asked + 1)
        yield from page[:asked]
        if len(page) <= asked:
            return
        after = shown_namespace(page[asked - 1])
        limit = None if limit is None else limit - asked


def file_name(namespace: str) -> str:
    """The file a namespace lives in; capitals are encoded, so that case cannot collide."""
    too_long = len(namespace) > _MAX_NAME_CHARS and user_of(namespace) is None
    if not namespace or too_long or not namespace.isprintable():
        raise InvalidInput(
            f"a namespace is 1 to {_MAX_NAME_CHARS} printable characters, not "
            f"{shown(namespace, 99)}"
        )
    encoded = _percent(namespace, _PLAIN)
    if encoded[0] == "." or encoded.partition(".")[0] in _RESERVED:
        encoded = f"%{ord(encoded[0]):02x}{encoded[1:]}"
    name = encoded + SUFFIX
    if len(name) > 240:  # noqa: PLR2004  # a file name has 255 bytes, and "-wal" follows
        raise InvalidInput(f"the namespace {shown(namespace, 20)}… is too long for a file name")
    return name


def namespace(entry: str) -> str | None:
    """The namespace a file holds, or None for any other file."""
    if not entry.endswith(SUFFIX):
        return None
    try:
        name = _plain_name(entry.removesuffix(SUFFIX))
        return name if file_name(name) == entry else None
    except (ValueError, InvalidInput):  # somebody else's file
        return None


def quoted(path: str) -> str:
    """A path for SQLite's file: URI."""
    return _percent(path, _PLAIN + "/")


def _fan(name: str) -> str:
    """The folder of a file name, if it lies in one: 256 of them, evenly filled."""
    return f"{crc32(name.encode()) & 0xFF:02x}"


def _named(folder: Path, endings: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Namespaces that have a file with one of these endings, its folder and its database's name."""
    top = str(folder)
    for entry in entries(folder):
        for ending in endings:
            if not entry.name.endswith(ending):
                continue
            stored = entry.name.removesuffix(ending) + SUFFIX
            place = entry.path[: -len(entry.name) - 1]
            name = namespace(stored)
            if name is not None and (place == top or place.endswith(os.sep + _fan(stored))):
                yield name, place, stored
                break


def _is_full(folder: Path, name: str, most: int) -> bool:
    every = max(1, most // _COUNTS_PER_BOUND)
    if (crc32(name.encode()) >> 8) % every:
        return False
    with suppress(FileNotFoundError), os.scandir(folder) as here:
        return sum(entry.name.endswith(SUFFIX) for entry in here) >= most
    return not most


def _smallest(found: Iterable[str], after: str, limit: int) -> list[str]:
    """The first names after one, each once, in order; holds at most twice as many as it returns."""
    page: dict[str, str] = {}
    last: str | None = None
    for name in found:
        key = shown_namespace(name)
        if key > after and (last is None or key < last):
            page[key] = name
            if len(page) >= 2 * limit:
                kept = sorted(page)[:limit]
                page, last = {key: page[key] for key in kept}, kept[-1]
    return [page[key] for key in sorted(page)[:limit]]


def _plain_name(raw: str) -> str:
    """Percent signs and two digits as the bytes they stand for."""
    if "%" not in raw:
        return raw
    out = bytearray()
    while raw:
        head, _, raw = raw.partition("%")
        out += head.encode()
        if raw:
            out.append(int(raw[:2], 16))
            raw = raw[2:]
    return out.decode()


def _percent(text: str, plain: str) -> str:
    if not text.strip(plain):  # most names: each of its characters is a plain one
        return text
    return "".join(chr(byte) if chr(byte) in plain else f"%{byte:02x}" for byte in text.encode())


# Refuse folders on network file systems, where SQLite's locks do not hold (Linux only).


def refuse_network_folder(folder: Path, mountinfo: str | None = None) -> None:
    """Raise UnsafeFolder when the folder lies on one of the named file systems."""
    if mountinfo is None:
        if not MOUNTINFO.exists():
            return
        mountinfo = MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape")
    kind, _ = mount_of(folder.resolve(), mountinfo)
    if kind in NETWORK:
        raise UnsafeFolder(
            f"{folder} is on a {kind} file system, where SQLite's locks do not hold and writes "
            "can be lost. Choose a local folder with --db-dir or MEMORY_MESH_DIR, or set "
            "MEMORY_MESH_ALLOW_NETWORK_FOLDER=1 if you alone use it."
        )


# What encrypts the file system of a folder. It is known where the kernel does it: a file system of
# its own kind, or a target of dm-crypt anywhere below it, as under LVM or a partition. A drive, a
# hypervisor or fscrypt may encrypt, too, and says nothing of it here.


def mount_of(folder: Path, mountinfo: str) -> tuple[str, str]:
    """The type of the file system that holds the folder, and its device; later mounts cover others.

    Both are empty where no mount is found.
    """
    best, found = -1, ("", "")
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) < 5 or not right:  # noqa: PLR2004  # field 5 is the mount point, see proc(5)
            continue
        mount = Path(_unescape(fields[4]))
        if folder.is_relative_to(mount) and len(mount.parts) >= best:
            best, found = len(mount.parts), (right.split(" ")[0], fields[2])
    return found


def encrypted_by(
    folder: Path, mountinfo: str | None = None, devices: Path = _DEVICES
) -> str | None:
    """What encrypts the file system of a folder; None where that is not known."""
    if mountinfo is None:
        if not MOUNTINFO.exists():
            return None
        mountinfo = MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape")
    kind, device = mount_of(folder.resolve(), mountinfo)
    if kind in _ENCRYPTED:
        return _ENCRYPTED[kind]
    stacks = [*_stacks(devices / device, _DEEPEST)] if device else []
    return "dm-crypt" if stacks and all(stacks) else None


def _stacks(device: Path, deeper: int) -> Iterator[bool]:
    """For each way from a device down to a disk, whether a target of dm-crypt is on it."""
    try:
        if (device / "dm" / "uuid").read_text(encoding="ascii").startswith(_CRYPT):
            yield True
            return
    except (OSError, UnicodeDecodeError):  # a disk, a partition, or none that is seen
        pass
    below = sorted((device / "slaves").glob("*"))
    if (device / "partition").exists():
        below = [device.resolve().parent]
    if not below or not deeper:
        yield False
    for each in below if deeper else []:
        yield from _stacks(each, deeper - 1)


def _unescape(path: str) -> str:
    """The kernel writes blanks and backslashes in octal."""
    for octal, plain in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        path = path.replace(octal, plain)
    return path
