"""The erasure file: what is noted stays noted, and says nothing to whoever has no copy."""

import stat
from pathlib import Path

import pytest

from memory_mesh.care import backups
from memory_mesh.model.errors import StoreError

ONE, OTHER = "0f" * 16, "a1" * 16


def test_what_was_recorded_is_erased_and_nothing_else_is(tmp_path: Path) -> None:
    assert not backups.is_erased(tmp_path, ONE)
    backups.record(tmp_path, ONE)
    assert backups.is_erased(tmp_path, ONE)
    assert not backups.is_erased(tmp_path, OTHER)


def test_a_line_has_a_keyed_hash_and_a_date_and_no_identity(tmp_path: Path) -> None:
    backups.record(tmp_path, ONE)
    version, kind, key, hashed, _, checksum = (tmp_path / backups.FILE).read_text().split()
    assert (version, kind, key) == ("v1", "namespace", "own")
    assert (len(hashed), len(checksum)) == (64, 8)
    assert ONE not in (tmp_path / backups.FILE).read_text()


def test_the_file_is_for_its_owner_only_and_grows_by_what_is_new(tmp_path: Path) -> None:
    backups.record(tmp_path, ONE)
    backups.record(tmp_path, ONE)
    backups.record(tmp_path, OTHER)
    path = tmp_path / backups.FILE
    assert len(path.read_text().splitlines()) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_line_that_was_cut_short_spoils_neither_those_before_nor_those_after(
    tmp_path: Path,
) -> None:
    path = tmp_path / backups.FILE
    backups.record(tmp_path, ONE)
    whole = path.read_bytes()
    backups.record(tmp_path, OTHER)
    line = path.read_bytes().removeprefix(whole)
    for length in range(1, len(line)):
        path.write_bytes(whole + line[:length])
        assert backups.is_erased(tmp_path, ONE)
        assert backups.is_erased(tmp_path, OTHER) is (length == len(line) - 1)
        backups.record(tmp_path, OTHER)
        assert backups.is_erased(tmp_path, ONE)
        assert backups.is_erased(tmp_path, OTHER)


def test_a_flipped_bit_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / backups.FILE
    for identity in (ONE, OTHER):
        backups.record(tmp_path, identity)
    data = path.read_bytes()
    ends = [place for place, byte in enumerate(data) if byte == ord("\n")]
    flips = [(place, place % 8) for place in range(len(data))]
    for place, bit in [*flips, *((end, bit) for end in ends for bit in range(8))]:
        changed = bytearray(data)
        changed[place] ^= 1 << bit
        path.write_bytes(changed)
        with pytest.raises(StoreError, match=r"erasures, line [12] is damaged"):
            backups.is_erased(tmp_path, "c3" * 16)


def test_a_damaged_file_keeps_nothing_from_being_erased(tmp_path: Path) -> None:
    backups.record(tmp_path, ONE)
    path = tmp_path / backups.FILE
    path.write_bytes(path.read_bytes().replace(b"own", b"0wn"))
    backups.record(tmp_path, OTHER)
    with pytest.raises(StoreError, match="line 1 is damaged"):
        backups.is_erased(tmp_path, OTHER)
    with pytest.raises(StoreError, match="line 1 is damaged"):
        backups.carry(tmp_path, tmp_path / "to")
    path.write_bytes(path.read_bytes().partition(b"\n")[2])
    assert backups.is_erased(tmp_path, OTHER)


def test_what_one_store_erased_is_carried_to_another_once(tmp_path: Path) -> None:
    source, to = tmp_path / "source", tmp_path / "to"
    backups.record(source, ONE)
    backups.record(to, OTHER)
    assert backups.carry(source, to) == 1
    assert backups.carry(source, to) == 0
    assert backups.carry(tmp_path / "nowhere", to) == 0
    assert backups.is_erased(to, ONE)
    assert backups.is_erased(to, OTHER)


def test_a_file_that_cannot_be_read_is_an_error_and_never_nothing_erased(tmp_path: Path) -> None:
    (tmp_path / backups.FILE).mkdir()
    with pytest.raises(StoreError, match="cannot be read"):
        backups.is_erased(tmp_path, ONE)
    with pytest.raises(StoreError, match="Nothing was erased"):
        backups.record(tmp_path, ONE)
