"""Refuse folders on network file systems, where SQLite's locks do not hold (Linux only)."""

from pathlib import Path

from memory_mesh.errors import UnsafeFolder

NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p"})
_MOUNTINFO = Path("/proc/self/mountinfo")


def refuse_network_folder(folder: Path, mountinfo: str | None = None) -> None:
    """Raise UnsafeFolder when the folder lies on one of the named file systems."""
    if mountinfo is None:
        if not _MOUNTINFO.exists():
            return
        mountinfo = _MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape")
    kind = file_system(folder.resolve(), mountinfo)
    if kind in NETWORK:
        raise UnsafeFolder(
            f"{folder} is on a {kind} file system, where SQLite's locks do not hold and writes "
            "can be lost. Choose a local folder with --db-dir or MEMORY_MESH_DIR, or set "
            "MEMORY_MESH_ALLOW_NETWORK_FOLDER=1 if you alone use it."
        )


def file_system(folder: Path, mountinfo: str) -> str:
    """The file system type of the mount that holds the folder; later mounts cover earlier ones."""
    best, kind = -1, ""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) < 5 or not right:  # noqa: PLR2004  # field 5 is the mount point, see proc(5)
            continue
        mount = Path(_unescape(fields[4]))
        if folder.is_relative_to(mount) and len(mount.parts) >= best:
            best, kind = len(mount.parts), right.split(" ")[0]
    return kind


def _unescape(path: str) -> str:
    """The kernel writes blanks and backslashes in octal."""
    for octal, plain in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        path = path.replace(octal, plain)
    return path
