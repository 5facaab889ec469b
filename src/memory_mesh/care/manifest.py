"""The manifest of a backup: what it holds, with a hash of each file and one of itself.

A backup without a manifest was never finished. One whose manifest or files are not what their
hashes say is not restored.
"""

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from memory_mesh._version import __version__
from memory_mesh.base.typed import Any, dataclass
from memory_mesh.ledgers.sqlite import namespace_places
from memory_mesh.model import BackupIsDamaged, Json, NotFound
from memory_mesh.model.care import NamespaceCopy
from memory_mesh.platform.durable_files import write_atomically

FILE = "manifest.json"
FORMAT = 2
_FLAT_FORMAT = 1  # of a backup without folders in `namespaces`, which earlier versions read
_PART = 1 << 20  # bytes read at once
_LOOKED_AT = 100  # backups at most whose manifests are read to name one
_ANOTHER = "Nothing was restored: restore another backup"


@dataclass(frozen=True, slots=True)
class BackupFile:
    """One file of a backup."""

    name: str  # with slashes, below the backup's folder
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """What a backup holds."""

    made: str
    store: str | None  # the identity of the store; None if it has none
    key: str | None  # the id of the key that the store was written with, if it is known
    files: tuple[BackupFile, ...]
    namespaces: tuple[NamespaceCopy, ...]
    missing: tuple[tuple[str, str], ...] = ()

    @property
    def ok(self) -> bool:
        """True when the backup holds every namespace, and none with findings."""
        return not self.missing and not any(kept.findings for kept in self.namespaces)


def write(folder: Path, manifest: BackupManifest) -> None:
    """Writes the manifest, which makes the folder a backup."""
    plain = _plain(manifest)
    text = json.dumps({**plain, "sum": _sum(plain)}, indent=2, sort_keys=True)
    write_atomically(folder / FILE, text.encode() + b"\n", private=True)


def read(folder: Path) -> BackupManifest:
    """The manifest of a backup; raises NotFound or BackupIsDamaged with what to do."""
    path = folder / FILE
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise _no_backup(folder) from None
    try:
        plain = json.loads(data)
        stated = plain.pop("sum")
        if plain.get("format") not in {_FLAT_FORMAT, FORMAT}:
            raise BackupIsDamaged(
                f"{path} has the format {plain.get('format')!r}, and this version reads {FORMAT}: "
                "restore it with the version that made it, or a newer one"
            )
        if stated != _sum(plain):
            raise BackupIsDamaged(f"{path} was changed. {_ANOTHER}")
        return BackupManifest(
            made=plain["made"],
            store=plain["store"],
            key=plain["key"],
            files=tuple(
                BackupFile(_inside(one["name"]), one["sha256"], one["bytes"])
                for one in plain["files"]
            ),
            namespaces=tuple(_kept(one) for one in plain["namespaces"]),
            missing=tuple((one["namespace"], one["why"]) for one in plain["missing"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BackupIsDamaged(f"{path} is not a manifest of ours. {_ANOTHER}") from error


def held(folder: Path, name: str) -> BackupFile:
    """A file of the backup as the manifest names it."""
    digest, size = digest_of(folder / name)
    return BackupFile(name, digest, size)


def digest_of(path: Path) -> tuple[str, int]:
    """The hash of a file, and its size."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while part := file.read(_PART):
            digest.update(part)
            size += len(part)
    return digest.hexdigest(), size


def carry(folder: Path, entry: BackupFile, target: Path) -> None:
    """Copies a file out of a backup; raises BackupIsDamaged if it is not the one that was put in.

    The hash is of the bytes that were written to the target.
    """
    source, digest, size = folder / entry.name, hashlib.sha256(), 0
    try:
        with source.open("rb") as file, target.open("r+b") as copy:
            while part := file.read(_PART):
                digest.update(part)
                size += copy.write(part)
    except FileNotFoundError as error:
        raise BackupIsDamaged(f"{source} is missing. {_ANOTHER}") from error
    if (digest.hexdigest(), size) != (entry.sha256, entry.bytes):
        raise BackupIsDamaged(f"{source} is not what the manifest says. {_ANOTHER}")


def _no_backup(folder: Path) -> Exception:
    if not folder.exists():
        return NotFound(f"there is no {folder}; give the folder of a backup")
    whole = sorted(path.parent for path in folder.glob(f"*/{FILE}"))
    if whole:
        sound = [path for path in whole[-_LOOKED_AT:] if _is_sound(path)]
        newest = f"the newest is {whole[-1].name}"
        if sound and sound[-1] != whole[-1]:
            newest += f", which holds damage; the newest without is {sound[-1].name}"
        elif not sound:
            newest += ", which holds damage"
        return NotFound(f"{folder} holds backups; give one of them, {newest}")
    named = shlex.quote(str(folder))
    if any(namespace_places.holding(folder / "namespaces", ".head")):
        return NotFound(
            f"{folder} is a store and no backup. Use it as it is: --db-dir {named}; or make a "
            f"backup of it, which restore takes: memory-mesh backup --db-dir {named} --to FOLDER"
        )
    return BackupIsDamaged(
        f"{folder} has no {FILE}, so it is no whole backup; it may have been killed. {_ANOTHER}"
    )


def _is_sound(folder: Path) -> bool:
    try:
        return read(folder).ok
    except BackupIsDamaged:
        return False


def _sum(plain: Mapping[str, Json]) -> str:
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(manifest: BackupManifest) -> dict[str, Json]:
    is_flat = all(one.name.count("/") <= 1 for one in manifest.files)
    return {
        "format": _FLAT_FORMAT if is_flat else FORMAT,
        "memory_mesh": __version__,
        "made": manifest.made,
        "store": manifest.store,
        "key": manifest.key,
        "files": [
            {"name": one.name, "sha256": one.sha256, "bytes": one.bytes} for one in manifest.files
        ],
        "namespaces": [plain_kept(kept) for kept in manifest.namespaces],
        "missing": [{"namespace": name, "why": why} for name, why in manifest.missing],
    }


def plain_kept(kept: NamespaceCopy) -> dict[str, Json]:
    """A namespace as JSON values."""
    return {
        "namespace": kept.namespace,
        "identity": kept.identity,
        "schema": kept.schema,
        "seq": kept.seq,
        "position": kept.position,
        "hash": kept.hash,
        "findings": list(kept.findings),
    }


def _kept(plain: Mapping[str, Any]) -> NamespaceCopy:
    findings: Sequence[str] = plain["findings"]
    return NamespaceCopy(**{**plain, "findings": tuple(findings)})


def _inside(name: str) -> str:
    """A name that leads to a file of the backup and nowhere else."""
    parts = name.split("/")
    most = 3 if parts[0] == "namespaces" else 2
    if not name or len(parts) > most or any(part in {"", ".", ".."} for part in parts):
        raise ValueError(name)
    return name
