"""What is written to memory files reads back, and no name leaves the folder."""

import pytest

from memory_mesh.formats import documents, file_names, memory_file, yaml_text
from memory_mesh.formats.memory_file import MemoryFile
from tests.faults import memory_files
from tests.faults.hostile import TEXTS, TITLES, hostile_texts, hostile_titles
from tests.faults.sample import SEED
from tests.faults.suites import counts, sampled


def test_there_are_as_many_hostile_texts_as_the_proof_promises():
    assert len(set(hostile_texts(500, SEED))) == 500
    assert len(set(hostile_titles(300, SEED))) == 300
    assert set(TEXTS) <= set(hostile_texts(500, SEED))
    assert set(TITLES) <= set(hostile_titles(300, SEED))


@pytest.mark.slow
def test_a_thousand_documents_read_back_as_they_were():
    report = sampled("memory-files")
    report.holds()
    assert report.figures["round trips"] == 5 * counts("memory-files")["documents"]
    assert report.figures["ended by a mark"]


def test_hostile_strings_read_back_from_every_field():
    report = sampled("memory-files/hostile strings")
    report.holds()
    assert report.figures["fields"] == 12 * counts("memory-files/hostile strings")["count"]


@pytest.mark.slow
def test_a_damaged_file_is_read_and_a_change_touches_one_document():
    report = sampled("memory-files/mutated")
    report.holds()
    assert report.figures["changes"]


@pytest.mark.req("R-001-043")
def test_hostile_titles_and_paths_stay_in_the_folder(tmp_path):
    report = sampled("memory-files/hostile names", tmp_path)
    report.holds()
    assert report.figures["titles"] == counts("memory-files/hostile names")["count"]
    assert report.figures["paths refused"]
    assert report.figures["paths taken"]


def test_reading_is_linear_for_texts_made_to_be_expensive():
    sampled("memory-files/linear").holds()


def test_the_suite_notices_a_body_without_its_end(monkeypatch):
    monkeypatch.setattr(memory_file, "_found_again", lambda _body: True)
    monkeypatch.setattr(memory_files, "_WAYS", {"alone": memory_files._alone})
    report = memory_files.round_trips(documents=200, seed=SEED)
    assert report.figures["alone"]


@pytest.mark.slow
def test_the_suite_notices_a_text_that_is_not_quoted(monkeypatch):
    monkeypatch.setattr(yaml_text, "_READ_AS_VALUES", set())
    report = memory_files.hostile_strings(count=500, seed=SEED)
    assert report.figures["changed"]


def test_the_suite_notices_a_separator_found_in_code(monkeypatch):
    monkeypatch.setattr(documents._Fences, "closed_after", lambda *_: None)
    code = "```\n\n---\n\n---\ntitle: y\n---\n```"
    assert memory_files._alone(MemoryFile("t", body=code), MemoryFile("t")) is False  # by its mark
    assert "bodyEnd" in memory_file.render(MemoryFile("t", body=code))


def test_the_suite_notices_a_path_that_leaves_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(file_names, "_unsafe", lambda _part: None)
    report = memory_files.hostile_names(tmp_path, count=300, seed=SEED)
    assert report.figures["left the folder"]
