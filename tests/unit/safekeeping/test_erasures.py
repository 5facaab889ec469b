"""The erasure file: what is noted stays noted, and says nothing to whoever has no copy."""

import stat
from pathlib import Path

import pytest

from memory_mesh.errors import StoreError
from memory_mesh.safekeeping import erasures

ONE, OTHER = "0f" * 16, "a1" * 16


def test_what_was_recorded_is_erased_and_nothing_else_is(tmp_path: Path) -> None:
    assert not erasures.is_erased(tmp_path, ONE)
    erasures.record(tmp_path, ONE)
    assert erasures.is_erased(tmp_path, ONE)
    assert not erasures.is_erased(tmp_path, OTHER)


def test_a_line_has_a_keyed_hash_and_a_date_and_no_identity(tmp_path: Path) -> None:
    erasures.record(tmp_path, ONE)
    version, kind, key, hashed, _ = (tmp_path / erasures.FILE).read_text().split()
    assert (version, kind, key) == ("v1", "namespace", "own")
    assert len(hashed) == 64
    assert ONE not in (tmp_path / erasures.FILE).read_text()


def test_the_file_is_for_its_owner_only_and_grows_by_what_is_new(tmp_path: Path) -> None:
    erasures.record(tmp_path, ONE)
    erasures.record(tmp_path, ONE)
    erasures.record(tmp_path, OTHER)
    path = tmp_path / erasures.FILE
    assert len(path.read_text().splitlines()) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_line_that_was_cut_short_spoils_neither_those_before_nor_those_after(
    tmp_path: Path,
) -> None:
    erasures.record(tmp_path, ONE)
    path = tmp_path / erasures.FILE
    path.write_bytes(path.read_bytes() + b"v1 namespace own 00ff")
    erasures.record(tmp_path, OTHER)
    assert erasures.is_erased(tmp_path, ONE)
    assert erasures.is_erased(tmp_path, OTHER)


def test_what_one_store_erased_is_carried_to_another_once(tmp_path: Path) -> None:
    source, to = tmp_path / "source", tmp_path / "to"
    erasures.record(source, ONE)
    erasures.record(to, OTHER)
    assert erasures.carry(source, to) == 1
    assert erasures.carry(source, to) == 0
    assert erasures.carry(tmp_path / "nowhere", to) == 0
    assert erasures.is_erased(to, ONE)
    assert erasures.is_erased(to, OTHER)


def test_a_file_that_cannot_be_read_is_an_error_and_never_nothing_erased(tmp_path: Path) -> None:
    (tmp_path / erasures.FILE).mkdir()
    with pytest.raises(StoreError, match="cannot be read"):
        erasures.is_erased(tmp_path, ONE)
    with pytest.raises(StoreError, match="Nothing was erased"):
        erasures.record(tmp_path, ONE)
