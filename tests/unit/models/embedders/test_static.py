"""The static embedder: what a vector is made of, what a process loads, what is said if it fails."""

import json
import subprocess
import sys

import pytest

from memory_mesh.model.errors import EmbeddingError
from memory_mesh.models.embedders.static import MAX_TOKENS, StaticEmbedder
from memory_mesh.models.model_files import STATIC_BYTES, StaticFiles
from memory_mesh.testing.embedder_contract import closeness
from tests.embedding import static_files

NOTES = [
    "Deploys happen on Thursdays after the stand-up.",
    "The dentist moved the appointment to Monday.",
    "Anna's flight to Lisbon leaves at seven.",
    "The user prefers dark themes",
    "The build needs Python 3.12.",
    "Invoices are sent at the end of the month.",
    "The kitchen tap drips again.",
    "The test database listens on port 5433.",
    "Ben is allergic to peanuts.",
    "The garden needs water in the evening.",
    "The meeting was cancelled by the customer.",
]


@pytest.fixture(scope="module")
def embedder():
    return StaticEmbedder(static_files())


def test_dark_mode_for_my_eyes_finds_dark_themes_first(embedder):
    ((question,),) = embedder.embed(["dark mode for my eyes"], query=True).vectors
    found = [closeness(question, note) for (note,) in embedder.embed(NOTES).vectors]
    assert NOTES[found.index(max(found))] == "The user prefers dark themes"


def test_the_space_names_the_files_and_the_recipe(embedder):
    space = embedder.embed([]).space
    assert space.name == "static/l2_supercat_256/0f0604f2-1/256"
    assert (space.dimension, space.max_tokens, space.normalised) == (256, 128, True)


def test_case_does_not_matter(embedder):
    small, large = embedder.embed(["dark themes", "Dark THEMES"]).vectors
    assert small == large


def test_a_frequent_word_counts_less_than_a_rare_one(embedder):
    both, frequent, rare = (
        vector for (vector,) in embedder.embed(["the dentist", "the", "dentist"]).vectors
    )
    assert closeness(both, rare) > 0.9 > closeness(both, frequent)


def test_a_long_text_has_a_vector_for_each_window_and_a_short_one_has_one(embedder):
    short, long = embedder.embed(["word " * MAX_TOKENS, "word " * 4 * MAX_TOKENS]).vectors
    assert len(short) <= 2
    assert 4 <= len(long) <= 6


@pytest.mark.parametrize(
    "text", ["", " \n", "用户喜欢深色主题", "🎉🙂", "ሰላም ለዓለም", "<s></s>", "İİİ" * 90]
)
def test_any_script_has_a_vector(embedder, text):
    (parts,) = embedder.embed([text]).vectors
    assert all(len(part) == 4 * 256 for part in parts)
    assert closeness(parts[0], parts[0]) == pytest.approx(1, abs=1e-4)


def test_a_vector_does_not_depend_on_the_batch(embedder):
    together = embedder.embed(NOTES).vectors
    assert together == tuple(embedder.embed([note]).vectors[0] for note in NOTES)


_OTHER_PROCESS = """
import json, sys
from pathlib import Path
from memory_mesh.models.embedders.static import StaticEmbedder
from memory_mesh.models.model_files import find_static
embedder = StaticEmbedder(find_static())
before = sorted({"numpy", "safetensors", "tokenizers"} & sys.modules.keys())
vectors = [parts[0].hex() for parts in embedder.embed(json.load(sys.stdin)).vectors]
heavy = sorted({"wordllama", "pydantic", "requests", "torch", "onnxruntime"} & sys.modules.keys())
print(json.dumps([before, heavy, vectors]))
"""


def test_another_process_makes_the_same_vectors_and_never_imports_the_package(embedder):
    done = subprocess.run(
        [sys.executable, "-c", _OTHER_PROCESS],
        input=json.dumps(NOTES),
        capture_output=True,
        text=True,
        check=True,
    )
    before, heavy, vectors = json.loads(done.stdout)
    assert (before, heavy) == ([], [])
    assert vectors == [parts[0].hex() for parts in embedder.embed(NOTES).vectors]


_THOUSAND_NOTES = """
import os
from memory_mesh.models.embedders.static import StaticEmbedder
from memory_mesh.models.model_files import find_static
embedder = StaticEmbedder(find_static())
embedder.embed(["load"])
threads = len(os.listdir("/proc/self/task"))
found = embedder.embed([f"Note {number}: the dentist moved it to May." for number in range(1000)])
assert [len(parts) for parts in found.vectors] == [1] * 1000
assert len(os.listdir("/proc/self/task")) == threads
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_a_thousand_notes_start_no_thread(embedder):
    subprocess.run([sys.executable, "-c", _THOUSAND_NOTES], check=True)


def test_the_stated_size_is_that_of_the_files():
    assert static_files().size == STATIC_BYTES


def test_damaged_files_are_said_with_the_command_that_mends_them(tmp_path):
    files = StaticFiles(tmp_path)
    for file in (files.weights, files.tokenizer):
        file.parent.mkdir()
        file.write_bytes(b"no weights")
    with pytest.raises(EmbeddingError, match=r"pip install --force-reinstall (-e )?'\S+\[local\]'"):
        StaticEmbedder(files).embed(["a"])


def test_closed_files_are_loaded_again(embedder):
    embedder.close()
    assert embedder.embed(["a"]).vectors
