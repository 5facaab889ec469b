"""What a folder lies on: the file system, its device, and whether that is encrypted (Linux only).

Encryption is known where the kernel does it: a file system of its own kind, or a device-mapper
target of dm-crypt anywhere below the file system, as under LVM or a partition. A drive, a
hypervisor or a single folder under fscrypt may encrypt, too, and says nothing of it here.
"""

from collections.abc import Iterator
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")
_DEVICES = Path("/sys/dev/block")
_ENCRYPTED = {"ecryptfs": "eCryptfs", "fuse.gocryptfs": "gocryptfs", "fuse.encfs": "EncFS",
              "fuse.cryfs": "CryFS", "fuse.securefs": "securefs"}  # fmt: skip
_CRYPT = "CRYPT-"  # what the name of a dm-crypt target begins with: CRYPT-LUKS2-…
_DEEPEST = 8  # devices below one another


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
