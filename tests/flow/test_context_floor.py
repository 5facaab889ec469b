"""What a pack leaves out although there is room: what is not relevant, and what tells nothing."""

import pytest

from memory_mesh.model.pack import LeftOutBy

NOTES = (
    "The shop is deployed by running make ship from the main branch.",
    "My daughter's birthday is on 3 May.",
    "The wifi password of the office hangs on the fridge.",
    "We use pnpm and not npm.",
    "Lambda functions time out after 15 minutes.",
    "The retro is on Friday at ten.",
)


@pytest.fixture
def noted(mesh):
    mesh.add_many(list(NOTES))
    return mesh


def test_a_large_budget_is_not_filled_with_what_is_not_relevant(noted):
    question = "How is the shop deployed?"
    pack = noted.context(question, max_tokens=2_000)
    hits = noted.search(question, limit=100, min_relevance=0.12)
    assert [item.memory.text for item in pack][:1] == [NOTES[0]]
    assert {item.id for item in pack} == {hit.id for hit in hits}
    assert len(pack) < len(NOTES)


def test_a_similar_link_does_not_bring_in_what_the_search_found_irrelevant(noted):
    ids = {memory.text: memory.id for memory in noted.get_all()}
    question = "How is the shop deployed?"
    noted.graph.link(ids[NOTES[0]], ids[NOTES[1]], type="related")
    shown = [item.memory.text for item in noted.context(question, max_tokens=2_000)]
    assert NOTES[1] in shown  # somebody linked it
    assert NOTES[4] not in shown


def test_what_is_below_the_floor_is_told_with_the_floor_that_it_missed(noted):
    question = "How is the shop deployed?"
    pack = noted.context(question, max_tokens=2_000)
    left = [one for one in pack.left_out if one.by is LeftOutBy.RELEVANCE]
    for one in left:
        told = noted.explain(one.id, query=question, max_tokens=2_000).sentences
        assert any("the floor of the pack is 0.012" in sentence for sentence in told)


def test_an_episode_is_no_fact_for_a_prompt(noted):
    noted.graph.create_episode("Deploying the shop", ids=[memory.id for memory in noted.get_all()])
    asked = noted.context("How is the shop deployed?", max_tokens=2_000)
    start = noted.context(max_tokens=2_000)
    texts = [item.memory.text for item in (*asked, *start)]
    assert NOTES[0] in texts
    assert "Deploying the shop" not in texts


def test_the_compact_form_shows_the_first_line_of_a_long_text(mesh):
    lines = ["# Runbook", *(f"Section {number}: step {number}" for number in range(400))]
    mesh.add("\n".join([*lines, "The backup key is in the blue safe."]))
    pack = mesh.context("Where is the backup key?", compact=True)
    assert "Runbook" in str(pack)


def test_a_pack_says_that_the_assistant_said_it(mesh):
    mesh.add("The deploy key rotates on Mondays.", role="assistant")
    mesh.add("The deploy key lives in the vault.", role="user")
    text = str(mesh.context("Where is the deploy key?"))
    assert text.count("assistant") == 1
    assert ", user" not in text
