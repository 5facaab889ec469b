"""Heritage: why a memory came to be, the newest five links, the cut ones counted."""

import json

import pytest

from memory_mesh.model import Channel, Heritage, Scope, SourceKind
from memory_mesh.model.errors import InvalidInput, NotFound
from memory_mesh.sync import MemoryMesh
from tests.receipts import id_of, memory_of


@pytest.mark.req("R-000-117", "R-000-150", "R-000-263")
def test_a_chain_is_given_to_a_memory_and_returned_with_it(mesh):
    stored = mesh.add("we chose SQLite")
    chain = {"intentChain": ["find a store"], "hypotheses": ["one file is enough"],
             "rationales": ["no server"]}  # fmt: skip
    mesh.insert_heritage(stored.id, chain)
    memory = mesh.get(stored.id)
    assert memory.heritage == Heritage(("find a store",), ("one file is enough",), ("no server",))
    assert memory.metadata["heritage_chain"] == chain
    (_, block) = mesh.care.blocks()
    assert (block.entry.operation, block.entry.metadata["type"]) == ("change", "heritage")
    assert mesh.care.verify().ok
    with pytest.raises(NotFound):
        mesh.insert_heritage("mem_1_abcdef", chain)
    for wrong in ('{"intents": "one"}', '{"mood": []}', '{"rationales": [1]}'):
        with pytest.raises(InvalidInput):
            mesh.insert_heritage(stored.id, json.loads(wrong))


@pytest.mark.req("R-000-140", "R-000-271")
def test_the_newest_links_are_kept_and_the_cut_ones_counted(mesh, tmp_path):
    stored = mesh.add("we chose SQLite")
    intents = [f"step {number}" for number in range(8)]
    memory = mesh.insert_heritage(stored.id, {"intentChain": intents, "rationales": ["one"]})
    assert memory.heritage.intents == tuple(intents[3:])
    assert (memory.heritage.rationales, memory.heritage.cut) == (("one",), 3)
    with MemoryMesh(db_dir=tmp_path / "deep", settings={"max_heritage_depth": 2}) as shallow:
        again = shallow.insert_heritage(id_of(shallow.add("same")), {"intentChain": intents})
        assert again.heritage == Heritage(tuple(intents[6:]), cut=6)


@pytest.mark.req("R-000-139")
def test_heritage_is_tracked_on_add_when_enabled(tmp_path):
    own = {"intent": "measure", "hypothesis": "it is faster", "rationale": "users wait"}
    with MemoryMesh(db_dir=tmp_path / "off") as mesh:
        assert memory_of(mesh, mesh.add("a figure", own)).heritage is None
    with MemoryMesh(db_dir=tmp_path / "on", settings={"enable_heritage_tracking": True}) as mesh:
        first = id_of(mesh.add("a figure", own))
        second = mesh.add("a decision", {"rationale": "it is"}, derived_from=[first])
        heritage = memory_of(mesh, second).heritage
        assert heritage == Heritage(("measure",), ("it is faster",), ("users wait", "it is"))
        assert memory_of(mesh, mesh.add("a plain note")).heritage is None


def test_what_is_derived_has_the_trust_of_its_least_trusted_source(tmp_path):
    with MemoryMesh(db_dir=tmp_path, channel=Channel.WEB) as web:
        page = id_of(web.add("the page says so"))
    with MemoryMesh(db_dir=tmp_path) as mesh:
        derived = mesh.add("therefore it is so", derived_from=[page])
        assert memory_of(mesh, derived).source.kind is SourceKind.DOCUMENT


def test_a_chain_that_holds_no_texts_is_refused(mesh):
    id_ = mesh.add("x").id
    with pytest.raises(InvalidInput, match="intentChain"):
        mesh.insert_heritage(id_, Heritage(intents=(1,)))  # type: ignore[arg-type]


def test_the_heritage_of_what_a_writer_cannot_see_is_not_copied(tmp_path):
    with MemoryMesh(db_dir=tmp_path, settings={"enable_heritage_tracking": True}) as mesh:
        secret = id_of(mesh.add("theirs", {"intent": "secret plan"}, scope=Scope(project="other")))
        mine = mesh.add("mine", {"intent": "own plan"}, derived_from=[secret])
        assert memory_of(mesh, mine).heritage == Heritage(("own plan",))
