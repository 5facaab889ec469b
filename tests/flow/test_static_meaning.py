"""A store with static vectors: search by meaning without a model, and other spaces beside it."""

from pathlib import Path

import pytest

from memory_mesh.learn.health import checkup
from memory_mesh.sync import MemoryMesh

NOTES = [
    "The user prefers dark themes",
    "Deploys happen on Thursdays after the stand-up.",
    "Ben is allergic to peanuts.",
    "Anna's flight to Lisbon leaves at seven.",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def spaces(mesh: MemoryMesh) -> dict[str, tuple[int, int]]:
    """Vectors and waiting texts by provider."""
    return {state.space.provider: (state.vectors, state.pending) for state in mesh.stats().spaces}


def test_static_vectors_find_what_shares_no_word(folder):
    with MemoryMesh(db_dir=folder, embedder="static") as mesh:
        mesh.add_many(NOTES)
        found = mesh.search("dark mode for my eyes")
        assert found[0].content == "The user prefers dark themes"
        assert spaces(mesh) == {"static": (4, 0)}
        details = [check.detail for check in checkup(mesh._access(), mesh._now()).checks]
        assert "answers as static/l2_supercat_256/0f0604f2-1/256" in details


def test_texts_stored_without_an_embedder_get_static_vectors_at_the_next_search(folder):
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        mesh.add_many(NOTES)
    with MemoryMesh(db_dir=folder, embedder="static") as mesh:
        mesh.search("dark mode for my eyes")
        assert spaces(mesh) == {"static": (4, 0)}


@pytest.mark.parametrize("order", [("static", "local"), ("local", "static")])
def test_a_store_of_one_embedder_is_searched_with_another(folder, order, model_folder):
    first, second = order
    with MemoryMesh(db_dir=folder, embedder=first, model_dir=model_folder) as mesh:
        mesh.add_many(NOTES)
    with MemoryMesh(db_dir=folder, embedder=second, model_dir=model_folder) as mesh:
        assert mesh.search("dark themes")[0].content == "The user prefers dark themes"
        mesh.care.upkeep()
        assert spaces(mesh) == {first: (4, 0), second: (4, 0)}
        assert mesh.search("dark mode for my eyes")[0].content == "The user prefers dark themes"
    with MemoryMesh(db_dir=folder, embedder=first, model_dir=model_folder) as mesh:
        mesh.add("The kitchen tap drips again.")
        assert spaces(mesh)[first] == (5, 0)
        assert spaces(mesh)[second] == (4, 1)
        assert mesh.search("dark mode for my eyes")[0].content == "The user prefers dark themes"
