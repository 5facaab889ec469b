"""`memory-mesh doctor` of stores that do not open: whole, moved, and single namespaces."""

import gzip
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memory_mesh import care
from memory_mesh.agents.doctor import CheckStatus, store
from memory_mesh.sync import MemoryMesh
from tests.surface.test_doctor import Patient, is_, ledger, patient, stored

__all__ = ["patient"]  # the fixture


def test_what_keeps_several_checks_from_looking_is_said_once(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(patient, "The shop listens on port 6543.")
    ledger(patient).write_bytes(b"this is no database" * 1000)
    monkeypatch.delenv("MEMORY_MESH_EMBEDDER")
    found = patient.found()
    assert sum("is damaged" in one.said for one in found.values()) == 1
    for check in ("chain", "embedder", "index", "project"):
        is_(
            found[check],
            CheckStatus.FAILED,
            "cannot be looked at, see store",
            "mend what store says",
        )
    assert not [one for one in found.values() if "models pull" in one.fix]


def test_a_store_that_was_moved_away_is_said_once(patient: Patient) -> None:
    stored(patient, "The shop listens on port 6543.")
    care.move_store(patient.place.store, patient.home / "moved")
    done = patient("doctor", "--quick")
    assert done.code == 1
    assert done.out.count(f"--db-dir {patient.home / 'moved'}") == 1
    assert re.search(r"(?m)^failed   store: .* was moved to ", done.out)


def test_every_namespace_is_opened_and_those_that_do_not_are_named(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(patient, "The shop listens on port 6543.")
    is_(patient.found()["namespaces"], CheckStatus.OK, "no other", "")
    others = ("a", "b", "c", "d")
    for name in others:
        with MemoryMesh(db_dir=patient.place.store, namespace=name, embedder="none") as mesh:
            mesh.add("The office listens on port 6544.")
    is_(patient.found()["namespaces"], CheckStatus.OK, "4 other namespaces open and have", "")
    paths = {name: ledger(patient).with_name(f"{name}.db") for name in others}
    paths["b"].write_bytes(b"this is no database" * 1000)
    is_(
        patient.found()["namespaces"],
        CheckStatus.FAILED,
        "1 of 4 other namespaces does not open: b. ",
        "",
    )
    paths["c"].unlink()
    paths["d"].write_bytes(paths["a"].read_bytes())
    found = patient.found()
    is_(
        found["namespaces"],
        CheckStatus.FAILED,
        "do not open: b, c, d. ",
        "memory-mesh verify --all",
    )
    assert (found["store"].mark, found["chain"].mark) == (CheckStatus.OK, CheckStatus.OK)
    assert patient("doctor", "--quick").code == 1
    monkeypatch.setattr(store, "MOST_NAMESPACES", 1)
    is_(
        patient.found()["namespaces"],
        CheckStatus.OK,
        "first 1 of 4 other",
        "memory-mesh verify --all",
    )


def test_a_look_at_a_namespace_migrates_none(patient: Patient) -> None:
    stored(patient, "The shop listens on port 6543.")
    fixture = Path(__file__).parents[1] / "fixtures/stores/schema-9-analyzer-2.db.gz"
    before = gzip.decompress(fixture.read_bytes())
    old = ledger(patient).with_name("old.db")
    old.write_bytes(before)
    is_(patient.found()["namespaces"], CheckStatus.OK, "1 other namespace opens and has", "")
    assert old.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("MEMORY_MESH_MODEL_DIR", "nowhere", "set MEMORY_MESH_MODEL_DIR to a folder with a model"),
        ("MEMORY_MESH_EMBEDDER", "openai", "MEMORY_MESH_EMBEDDER=local"),
    ],
)
def test_a_model_that_is_missing_says_what_to_do_about_its_setting(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, name: str, value: str, fix: str
) -> None:
    monkeypatch.delenv("MEMORY_MESH_EMBEDDER")
    monkeypatch.delenv("MEMORY_MESH_MODEL_DIR", raising=False)
    monkeypatch.setenv(name, value)
    found = patient.found()["embedder"]
    is_(found, CheckStatus.WARNING, "", fix)
    assert "pip install" not in found.fix


def test_a_machine_without_the_model_in_use_says_how_to_get_it(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, model_folder: Path
) -> None:
    monkeypatch.setenv("MEMORY_MESH_EMBEDDER", "static")
    monkeypatch.delenv("MEMORY_MESH_MODEL_DIR", raising=False)
    with MemoryMesh(db_dir=patient.place.store) as mesh:
        mesh.add("The shop listens on port 6543.")
        mesh.care.models.reembed({"model_dir": str(model_folder)})
        mesh.care.models.switch()
    is_(
        patient.found()["embedder"],
        CheckStatus.WARNING,
        "use the model local/",
        "FOLDER --name NAME",
    )


def test_a_plugin_of_a_database_is_told_from_one_of_a_folder(patient: Patient) -> None:
    there = "postgresql://mesh@db.example.org/memories"
    assert patient("--store", there, "init", "--yes").code == 0
    is_(
        patient.found()["commands"],
        CheckStatus.WARNING,
        f"uses the store {there}",
        f"--store {there}",
    )


def test_an_erasure_that_is_hidden_and_not_done_is_named(patient: Patient) -> None:
    stored(patient, "The shop listens on port 6543.")
    with closing(sqlite3.connect(ledger(patient), isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memory").fetchone()
        with MemoryMesh(db_dir=patient.place.store, embedder="none") as mesh:
            assert not mesh.erase(mesh.get_all()[0].id).done
        is_(
            patient.found()["erasures"],
            CheckStatus.WARNING,
            "1 erasure hidden and not done: bytes of it are still there",
            "memory-mesh upkeep",
        )
    with MemoryMesh(db_dir=patient.place.store, embedder="none") as mesh:
        mesh.care.upkeep()
    assert "erasures" not in patient.found()
