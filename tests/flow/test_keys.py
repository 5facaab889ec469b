"""Rotated, missing and lost keys: what was rejected stays out, and no store gets a key unasked."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memory_mesh import care
from memory_mesh.care import key_file
from memory_mesh.care.key_file import KEY_FOLDER, KeyFile, key_for
from memory_mesh.model import Outcome
from memory_mesh.model.errors import InvalidInput, StoreError, WrongKey
from memory_mesh.sync import MemoryMesh
from tests.receipts import id_of

RUMOUR = "Ada Example reads mail at ada@example.org"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def rejected(mesh: MemoryMesh, text: str) -> str:
    """A text that waited for review, and that a person rejected."""
    found = id_of(mesh.add(text, quarantine="odd"))
    mesh.review(found, approve=False, reason="a rumour")
    return found


def reopened(store: Path) -> MemoryMesh:
    return MemoryMesh(db_dir=store)


# --- rotation -------------------------------------------------------------------------------------


def test_a_rotation_between_the_looks_at_file_and_record_makes_no_wrong_key(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    KeyFile.of(store).keys()
    rotated: list[str] = []

    def followed(read: Callable[..., Sequence[object]]) -> Callable[..., Sequence[object]]:
        """Reads; after the first of the two another process rotates."""

        def reading(*asked: object) -> Sequence[object]:
            found = read(*asked)
            if not rotated:
                rotated.append("now")
                rotated.append(KeyFile.of(store).rotate().id)
            return found

        return reading

    monkeypatch.setattr(key_file, "read", followed(key_file.read))
    monkeypatch.setattr(KeyFile, "_lines", followed(KeyFile._lines))
    assert KeyFile.of(store).keys()
    assert KeyFile.of(store).newest.id == rotated[1]
    assert [line.id for line in KeyFile.of(store).recorded()][-1] == rotated[1]


@pytest.mark.parametrize("text", ["the port is two", RUMOUR])
@pytest.mark.parametrize("rotations", [1, 3])
def test_what_was_rejected_before_a_rotation_stays_out_after_it(
    store: Path, text: str, rotations: int
) -> None:
    with reopened(store) as mesh:
        rejected(mesh, text)
    for _ in range(rotations):
        KeyFile.of(store).rotate()
    with reopened(store) as mesh:
        assert mesh.add(text).outcome is Outcome.REFUSED
        assert mesh.add(text.upper() + "!").outcome is Outcome.REFUSED
        assert mesh.add(f"{text}, and more").outcome is not Outcome.REFUSED


@pytest.mark.parametrize("text", ["the port is two", RUMOUR])
def test_a_rejection_before_a_rotation_can_be_undone_after_it(store: Path, text: str) -> None:
    with reopened(store) as mesh:
        found = rejected(mesh, text)
    KeyFile.of(store).rotate()
    with reopened(store) as mesh:
        mesh.review.undo(found)
        mesh.review(found, approve=True)
        assert mesh.add(text).outcome is not Outcome.REFUSED


def test_a_claim_about_a_person_stays_rejected_after_a_rotation(store: Path) -> None:
    def said(value: str) -> dict[str, str]:
        return {"subject": "ada@example.org", "predicate": "port", "value": value}

    with reopened(store) as mesh:
        found = id_of(mesh.add("she has two", quarantine="odd", claim=said("2")))
        mesh.review(found, approve=False)
    KeyFile.of(store).rotate()
    with reopened(store) as mesh:
        assert mesh.add("other words", claim=said("2")).outcome is Outcome.REFUSED
        assert mesh.add("other words still", claim=said("3")).outcome is not Outcome.REFUSED


def test_a_rotation_counts_in_a_process_that_has_the_store_open(store: Path) -> None:
    with reopened(store) as one, reopened(store) as other:
        before = one.add(RUMOUR).content
        KeyFile.of(store).rotate()
        rejected(other, "the port is two")
        assert one.add("the port is two").outcome is Outcome.REFUSED
        assert one.add(f"{RUMOUR} daily").content != f"{before} daily"


# --- the record -----------------------------------------------------------------------------------


def test_the_record_names_every_key_that_was_in_use_and_holds_none(store: Path) -> None:
    keys = KeyFile.of(store)
    first, second = keys.newest, keys.rotate()
    path = store / key_file.RECORD_FILE
    lines = [line.split() for line in path.read_text().splitlines()]
    assert [line[0] for line in lines] == [first.id, second.id]
    assert all(len(check) == 16 for _, check in lines)
    assert all(key.secret.hex()[:16] not in path.read_text() for key in (first, second))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_store_of_an_earlier_version_gets_its_record_at_the_next_use_of_its_key(
    store: Path,
) -> None:
    key = key_for(store)
    (store / key_file.RECORD_FILE).unlink()
    with reopened(store) as mesh:
        mesh.add(RUMOUR)
    assert len(key_file.read(store)) == 1
    assert key_for(store) == key


def test_a_cut_line_of_the_record_spoils_no_other(store: Path) -> None:
    keys = KeyFile.of(store)
    keys.rotate()
    path = store / key_file.RECORD_FILE
    path.write_bytes(path.read_bytes()[:-5])
    found = keys.keys()
    assert len(found) == 2
    assert [one.id for one in key_file.read(store)] == [key.id for key in found]


# --- another home ---------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The key folder of a home that never saw the store, which was written in another one."""
    with reopened(store) as mesh:
        mesh.add(RUMOUR)
        mesh.add("The deploy key is in the safe.")
        rejected(mesh, "the port is two")
    folder = tmp_path / "elsewhere"
    monkeypatch.setenv(KEY_FOLDER, str(folder))
    return folder


def test_a_store_in_another_home_gets_no_other_key_unasked(store: Path, elsewhere: Path) -> None:
    with reopened(store) as mesh:
        for act in (
            lambda: mesh.add("Bob is bob@example.org"),
            lambda: mesh.search("who is ada@example.org"),
            lambda: mesh.add("the port is two"),
        ):
            with pytest.raises(WrongKey) as raised:
                act()
            for named in (str(elsewhere), ".key", KEY_FOLDER, "memory-mesh keys replace"):
                assert named in str(raised.value)
    assert not elsewhere.exists()


def test_what_needs_no_key_goes_on_in_another_home(store: Path, elsewhere: Path) -> None:
    with reopened(store) as mesh:
        assert len(mesh.get_all()) == 2
        found = mesh.search("deploy key")[0]
        assert mesh.get(found.id) is not None
        assert "deploy key" in mesh.context("deploy key").text
        assert mesh.care.verify().ok
    assert not elsewhere.exists()


def test_the_right_key_in_another_place_opens_the_store_again(
    store: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(WrongKey):
        key_for(store)
    monkeypatch.delenv(KEY_FOLDER)
    path = KeyFile.of(store).path
    elsewhere.mkdir(mode=0o700)
    path.rename(elsewhere / path.name)
    monkeypatch.setenv(KEY_FOLDER, str(elsewhere))
    with reopened(store) as mesh:
        assert mesh.add("the port is two").outcome is Outcome.REFUSED


def test_a_key_file_from_before_the_rotation_is_the_wrong_one(store: Path) -> None:
    keys = KeyFile.of(store)
    keys.keys()
    older = keys.path.read_bytes()
    newest = keys.rotate()
    keys.path.write_bytes(older)
    with pytest.raises(WrongKey, match=f"{newest.id}.*other keys"):
        keys.keys()
    assert keys.path.read_bytes() == older


def test_a_store_that_lost_its_identity_says_so_and_gets_no_new_one(store: Path) -> None:
    key_for(store)
    (store / "identity").unlink()
    with pytest.raises(StoreError, match=r"identity is missing.*backup"):
        key_for(store)
    assert not (store / "identity").exists()


def test_a_store_that_lost_identity_and_record_gets_no_new_key_unasked(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with reopened(store) as mesh:
        mesh.add(RUMOUR)
    for name in ("identity", key_file.RECORD_FILE):
        (store / name).unlink()
    with reopened(store) as mesh:
        with pytest.raises(StoreError, match=r"are missing.*backup.*memory-mesh keys replace"):
            mesh.add("Bob is bob@example.org")
        assert mesh.add("The deploy key is in the safe.").outcome is Outcome.STORED
        (finding,) = mesh.care.verify().findings
    assert (finding.check, "are missing" in finding.detail) == ("key", True)
    assert not (store / "identity").exists()
    care.replace_key(store)
    with reopened(store) as mesh:
        assert mesh.add("Bob is bob@example.org").outcome is Outcome.STORED
        assert mesh.care.verify().ok


def test_a_store_without_a_key_gets_its_first_one_unasked(store: Path) -> None:
    with reopened(store) as mesh:
        mesh.add("The deploy key is in the safe.")
        assert mesh.care.verify().ok
        mesh.add(RUMOUR)
        assert mesh.care.verify().ok


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("identity", None, "identity is missing"),
        ("identity", "?\n", "identity is damaged"),
        ("identity", "ab" * 16 + "\n", "the store's key is in another file"),
        (key_file.RECORD_FILE, None, "key-record is missing"),
        (key_file.RECORD_FILE, "", "key-record is missing"),
        (key_file.RECORD_FILE, "1f0c9a7e 0123456789abcdef\n", "has other keys"),
    ],
)
def test_verify_holds_identity_and_record_against_the_key(
    store: Path, name: str, text: str | None, said: str
) -> None:
    with reopened(store) as mesh:
        mesh.add(RUMOUR)
    (store / name).unlink()
    if text is not None:
        (store / name).write_text(text)
    with reopened(store) as mesh:
        (finding,) = mesh.care.verify().findings
    assert (finding.check, said in finding.detail) == ("key", True), finding
    assert (store / name).exists() is (text is not None)  # verify mends nothing


# --- a lost key -----------------------------------------------------------------------------------


def test_a_lost_key_is_replaced_on_request_and_the_store_goes_on(
    store: Path, elsewhere: Path
) -> None:
    new = KeyFile.of(store).replace()
    assert [one.id for one in key_file.read(store)][-1] == new.id
    with reopened(store) as mesh:
        assert mesh.add("Bob is bob@example.org").outcome is Outcome.STORED
        assert mesh.add("the port is two").outcome is Outcome.STORED  # as `keys replace` says


def test_a_key_that_is_there_is_not_replaced(store: Path) -> None:
    key = key_for(store)
    with pytest.raises(InvalidInput, match="keys rotate"):
        KeyFile.of(store).replace()
    assert key_for(store) == key


def test_a_damaged_key_file_is_set_aside_and_replaced(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_mesh.care.key_file._PATIENCE", 1)
    keys = KeyFile.of(store)
    keys.keys()
    keys.path.write_text("no key at all\n")
    with pytest.raises(StoreError, match="keys replace"):
        keys.keys()
    new = keys.replace()
    assert keys.keys() == [new]
    aside = [path for path in keys.path.parent.iterdir() if "damaged" in path.name]
    assert [path.read_text() for path in aside] == ["no key at all\n"]


def test_older_keys_that_are_still_there_hold_after_a_replacement(store: Path) -> None:
    with reopened(store) as mesh:
        rejected(mesh, "the port is two")
    keys = KeyFile.of(store)
    older = keys.path.read_bytes()
    keys.rotate()
    keys.path.write_bytes(older)
    keys.replace()
    with reopened(store) as mesh:
        assert mesh.add("the port is two").outcome is Outcome.REFUSED


def test_processes_that_meet_a_new_store_record_one_key(store: Path, tmp_path: Path) -> None:
    script = "import sys; from pathlib import Path; from memory_mesh.care.key_file import key_for;"
    script += "key_for(Path(sys.argv[1]))"
    environment = os.environ | {KEY_FOLDER: str(tmp_path / "keys")}
    children = [
        subprocess.Popen([sys.executable, "-c", script, str(store)], env=environment)
        for _ in range(4)
    ]
    assert [child.wait() for child in children] == [0] * 4
    assert len((store / key_file.RECORD_FILE).read_text().splitlines()) == 1
