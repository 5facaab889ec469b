"""What a folder lies on, and what encrypts it, as far as the kernel says it."""

from pathlib import Path

import pytest

from memory_mesh.ledgers.sqlite.namespace_places import encrypted_by, mount_of

STORE = Path("/data/store")


def mounts(kind: str, device: str = "253:2") -> str:
    return (
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        f"35 22 {device} / /data rw,relatime shared:1 - {kind} /dev/mapper/data rw\n"
        "36 35 0:44 / /data/other rw - tmpfs tmpfs rw\n"
    )


def device(place: Path, number: str, uuid: str | None = None, below: tuple[str, ...] = ()) -> None:
    """A device as the kernel shows it in /sys/dev/block."""
    (place / number / "slaves").mkdir(parents=True)
    if uuid is not None:
        (place / number / "dm").mkdir()
        (place / number / "dm" / "uuid").write_text(f"{uuid}\n")
    for each in below:
        (place / number / "slaves" / each.replace(":", "-")).symlink_to(place / each)


def test_the_file_system_is_that_of_the_nearest_mount():
    assert mount_of(STORE, mounts("xfs")) == ("xfs", "253:2")
    assert mount_of(Path("/data/other/x"), mounts("xfs")) == ("tmpfs", "0:44")
    assert mount_of(Path("/home"), mounts("xfs")) == ("ext4", "8:1")
    assert mount_of(STORE, "") == ("", "")


@pytest.mark.parametrize("kind", ["ecryptfs", "fuse.gocryptfs"])
def test_a_file_system_that_encrypts_says_so_by_its_kind(tmp_path, kind):
    assert encrypted_by(STORE, mounts(kind), tmp_path)
    assert encrypted_by(STORE, mounts("ext4"), tmp_path) is None


def test_a_volume_on_dm_crypt_is_found_below_lvm_and_partitions(tmp_path):
    device(tmp_path, "8:0")
    device(tmp_path, "253:0", "CRYPT-LUKS2-0a1b-data", ("8:0",))
    device(tmp_path, "253:2", "LVM-xyz", ("253:0",))
    assert encrypted_by(STORE, mounts("ext4"), tmp_path) == "dm-crypt"
    assert encrypted_by(STORE, mounts("ext4", "253:0"), tmp_path) == "dm-crypt"
    assert encrypted_by(STORE, mounts("ext4", "8:0"), tmp_path) is None
    disk = tmp_path / "253:0" / "part1"
    disk.mkdir()
    (disk / "partition").write_text("1\n")
    (tmp_path / "259:1").symlink_to(disk)
    assert encrypted_by(STORE, mounts("ext4", "259:1"), tmp_path) == "dm-crypt"


def test_a_volume_of_which_one_disk_is_in_clear_is_not_called_encrypted(tmp_path):
    device(tmp_path, "8:0")
    device(tmp_path, "8:16")
    device(tmp_path, "253:0", "CRYPT-LUKS2-0a1b-data", ("8:0",))
    device(tmp_path, "253:2", "LVM-xyz", ("253:0", "8:16"))
    assert encrypted_by(STORE, mounts("ext4"), tmp_path) is None


def test_devices_that_lead_in_a_circle_end(tmp_path):
    device(tmp_path, "253:2", "LVM-xyz")
    (tmp_path / "253:2" / "slaves" / "itself").symlink_to(tmp_path / "253:2")
    assert encrypted_by(STORE, mounts("ext4"), tmp_path) is None


def test_this_machine_is_asked_without_an_error(tmp_path):
    assert encrypted_by(tmp_path) in {None, "dm-crypt", "eCryptfs", "gocryptfs"}
