"""`context(exclude=…)` leaves out what was given already; a prompt is named by its fence."""

from pathlib import Path

import pytest

from memory_mesh.model import Scope
from memory_mesh.model.errors import InvalidInput, NotFound
from memory_mesh.model.pack import LeftOutBy
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing.doubles import FrozenClock

QUESTION = "how do we deploy the web shop?"


def test_what_was_given_is_left_out_and_said(mesh: MemoryMesh) -> None:
    first = mesh.add("We deploy the web shop through staging").id or ""
    second = mesh.add("A deploy of the web shop needs two reviews").id or ""
    both = {item.id for item in mesh.context(QUESTION)}
    assert both == {first, second}
    pack = mesh.context(QUESTION, exclude=[first])
    assert [item.id for item in pack] == [second]
    assert [(one.id, one.by) for one in pack.left_out] == [(first, LeftOutBy.GIVEN)]
    assert not mesh.context(QUESTION, exclude={first, second})


def test_at_a_start_what_was_given_is_left_out_too(mesh: MemoryMesh) -> None:
    ids = [mesh.add(f"Note {at} about the shop").id or "" for at in range(3)]
    assert {item.id for item in mesh.context(exclude=ids[:2])} == {ids[2]}


def test_the_best_of_what_is_new_must_reach_the_floor_itself(mesh: MemoryMesh) -> None:
    texts = [f"Deploy {at} of the web shop went through gate {at * 7}" for at in range(9)]
    mesh.add_many(["We deploy the web shop through staging", *texts])
    scores = {hit.id: hit.score for hit in mesh.search(QUESTION)}
    best = max(scores.values())
    floor = best * 0.999
    known = [id_ for id_, score in scores.items() if score >= floor]
    with_known = {item.id for item in mesh.context(QUESTION, min_relevance=floor)}
    assert len(with_known) > len(known)  # the best hit carries others along
    assert not mesh.context(QUESTION, exclude=known, min_relevance=floor)


def test_a_given_memory_does_not_come_back_by_a_link(mesh: MemoryMesh) -> None:
    found = mesh.add("We deploy the web shop through staging").id or ""
    linked = mesh.add("Ann has the keys of the blue room").id or ""
    mesh.graph.link(found, linked)
    assert linked in {item.id for item in mesh.context(QUESTION)}
    assert linked not in {item.id for item in mesh.context(QUESTION, exclude=[linked])}


def test_what_was_given_takes_no_place_among_the_hits(mesh: MemoryMesh) -> None:
    texts = [f"Deploy {at} of the web shop" for at in range(40)]
    ids = [receipt.id or "" for receipt in mesh.add_many(texts)]
    pack = mesh.context(QUESTION, exclude=ids[:30], max_tokens=150, min_relevance=0.0)
    assert pack
    assert {item.id for item in pack} <= set(ids[30:])


def test_a_single_text_is_no_list_of_ids(mesh: MemoryMesh) -> None:
    with pytest.raises(InvalidInput, match="exclude must be a list"):
        mesh.context(QUESTION, exclude="mem_1")


@pytest.mark.parametrize("form", ["{}", "memories-{}", "<memories-{}>", "</memories-{}>"])
def test_a_prompt_is_explained_by_its_fence(mesh: MemoryMesh, form: str) -> None:
    mesh.add("We deploy the web shop through staging")
    pack = mesh.context(QUESTION)
    why = mesh.explain(form.format(pack.fence))
    assert why.id == pack.injection_id
    assert mesh.explain(form.format(pack.fence)).as_json() == why.as_json()


def test_of_the_prompts_with_one_fence_the_latest_of_this_reader_is_explained(
    tmp_path: Path, clock: FrozenClock
) -> None:
    with MemoryMesh(db_dir=tmp_path, clock=clock, embedder="none") as mesh:
        mesh.add("We deploy the web shop through staging")
        own = mesh.context(QUESTION, scope=Scope("shop"))
        other = mesh.context(QUESTION, scope=Scope("bakery"))
        assert own.fence == other.fence
        reader = mesh.view(scope=Scope("shop"))
        assert reader.explain(own.fence).id == own.injection_id
        with pytest.raises(NotFound):
            mesh.view(scope=Scope("garage")).explain(own.fence)


def test_a_word_that_is_no_fence_of_a_prompt_is_not_found(mesh: MemoryMesh) -> None:
    with pytest.raises(NotFound):
        mesh.explain("0123456789ab")
