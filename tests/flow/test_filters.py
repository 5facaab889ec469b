"""Filters on metadata: what a store answers, in every read that takes one."""

import pytest

from memory_mesh import Scope
from memory_mesh.sync import MemoryMesh
from tests.corpora.filters import MEMORIES, RIGHT, Right


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filters")
    with MemoryMesh(
        db_dir=folder / "store", embedder="none", settings={"read_claims": False}
    ) as mesh:
        for name, metadata in MEMORIES.items():
            mesh.add(f"memory {name}", metadata)
        hidden = Scope(session="hidden")
        for name, metadata in MEMORIES.items():  # the same, for somebody else
            mesh.add(f"memory {name} hidden", metadata, scope=hidden)
        yield mesh


def _names(memories) -> str:
    return "".join(sorted(memory.text.split()[1] for memory in memories))


@pytest.mark.req("R-000-143", "R-000-259")
@pytest.mark.parametrize("row", RIGHT, ids=lambda row: ascii(row.mapping or row.text)[:60])
def test_a_filter_selects_what_the_corpus_says(stored, row: Right) -> None:
    for given_ in (row.mapping, row.text):
        if given_ is not None:
            assert _names(stored.get_all(filter=given_)) == row.ids
            hits = stored.search("memory", filter=given_)
            assert _names(hit.memory for hit in hits) == row.ids
