"""`reflect` and `synthesize` as a caller meets them, with a language model and without."""

import json
from functools import partial

import pytest

from memory_mesh.config.tables import CHOICES
from memory_mesh.formats import yamo
from memory_mesh.model import BlockOperation, Channel, Kind, Status
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.learning import Reflection, Synthesis
from memory_mesh.models.llm import WIRES
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import ScriptedLLM
from tests.receipts import memory_of
from tests.servers import Reply, serve

FACTS = (
    "Deploys of the API go through staging first.",
    "The API is always deployed to staging before production.",
)
STEPS = "To release a version:\n1. Run `just test`.\n2. Write the notes.\n3. Tag the commit."


@pytest.mark.req("R-000-012", "R-000-113")
def test_a_reflection_is_a_memory_of_what_others_agree_on(mesh):
    ids = {mesh.add(text).id for text in FACTS}
    found = mesh.reflect(topic="API deploys")
    assert isinstance(found, Reflection)
    assert (found.count, set(found.sources)) == (2, ids)
    kept = mesh.get(found.id)
    assert (kept.kind, kept.status) == (Kind.REFLECTION, Status.ACTIVE)
    assert mesh.search("staging", filter="memory_type = 'reflection'")[0].id == found.id
    assert mesh.care.blocks()[-1].entry.operation is BlockOperation.REFLECT
    assert mesh.reflect(topic="API deploys", store=False).id is None


@pytest.mark.parametrize(
    ("users", "webs"),
    [
        ("The deploy day is Monday.", "The deploy day is Friday."),
        (
            "We deploy the billing service every Monday.",
            "We deploy the billing service every Friday.",
        ),
    ],
)
def test_another_value_is_no_agreement_and_the_users_word_comes_first(mesh, users, webs):
    own = mesh.add(users).id
    other = mesh.view(channel=Channel.WEB).add(webs).id
    found = mesh.reflect(topic="deploy day of the car")
    assert "2 memories" not in found.text
    first = found.text.splitlines()[0]
    assert first.startswith(f"- {users} (1 memory) [{own}]"), found.text
    assert other in found.sources


def test_many_of_the_webs_do_not_outvote_the_user(mesh):
    own = mesh.add("The release is on Monday").id
    web = mesh.view(channel=Channel.WEB)
    for text in ("is on Friday", "happens on Friday", "will be on Friday this week"):
        web.add(f"The release {text}")
    told = mesh.reflect(topic="release").text.splitlines()[0]
    assert told.startswith(f"- The release is on Monday (1 memory) [{own}] (otherwise: ["), told
    assert told.count("mem_") == 4


def test_two_colours_are_no_agreement(mesh):
    red, blue = (mesh.add(f"The car of the team is {colour}.").id for colour in ("red", "blue"))
    told = mesh.reflect(topic="the car").text
    assert told == f"- The car of the team is blue. (1 memory) [{blue}] (on the same: [{red}])"


def test_nothing_to_reflect_on_stores_nothing(mesh):
    found = mesh.reflect(topic="anything")
    assert (found.count, found.text, found.id) == (0, "", None)
    assert mesh.care.blocks() == []


@pytest.mark.req("R-000-114", "R-000-269")
def test_a_synthesized_skill_is_staged_with_its_own_block(mesh):
    mesh.add(STEPS)
    made = mesh.synthesize(topic="release")
    assert isinstance(made, Synthesis)
    assert made.status == "staged"
    assert mesh.search_skills("release") == []
    block = yamo.parse(mesh.care.blocks()[-1].entry.wire)
    assert block.intent == "synthesize_skill_from_memories"
    assert dict(block.output)["skill_id"] == made.skill_id
    mesh.review(made.skill_id, approve=True)
    assert mesh.search_skills("release")[0].id == made.skill_id
    assert mesh.synthesize(topic="weather").status == "nothing"


@pytest.mark.req("R-000-129")
def test_a_language_model_words_it_unless_switched_off(tmp_path):
    for enabled, by_llm in ((None, True), (False, False)):
        llm = ScriptedLLM(["- Everything goes through staging."])
        folder = tmp_path / str(enabled)
        with MemoryMesh(db_dir=folder, enable_llm=enabled, custom_llm=llm) as mesh:
            assert mesh.config.enable_llm is (enabled is None)
            for text in FACTS:
                mesh.add(text)
            found = mesh.reflect(topic="API deploys")
            assert found.by_llm is by_llm
            assert ("Everything" in found.text) is by_llm
            assert memory_of(mesh, mesh.add(FACTS[0])).text == FACTS[0]


ANSWERS = {
    "openai": {"choices": [{"message": {"content": "- All through staging."}}]},
    "ollama": {"message": {"content": "- All through staging."}},
    "cohere": {"message": {"content": [{"type": "text", "text": "- All through staging."}]}},
}


@pytest.mark.req("R-000-132", "R-000-133")
@pytest.mark.parametrize("provider", ANSWERS)
def test_each_provider_is_asked_in_its_own_way(tmp_path, provider):
    with (
        serve(lambda _: Reply(json.dumps(ANSWERS[provider]).encode())) as server,
        MemoryMesh(
            db_dir=tmp_path, llm_provider=provider, llm_model="the-model", llm_api_key="the-key",
            settings={"llm_max_tokens": 123}, llm_base_url=server.url,
        ) as mesh,
    ):  # fmt: skip
        mesh.add(f"{FACTS[0]} Ask bob@example.com.")
        mesh.add(FACTS[1])
        found = mesh.reflect(topic="API deploys")
        (request,) = server.requests
    assert (found.by_llm, found.text) == (True, "- All through staging.")
    assert request.headers["Authorization"] == "Bearer the-key"
    asked = json.loads(request.body)
    assert asked["model"] == "the-model"
    assert 123 in (asked.get("max_tokens"), asked.get("options", {}).get("num_predict"))
    assert b"bob@example.com" not in request.body


def _always(reply: Reply, _request: object) -> Reply:
    return reply


def test_a_model_that_fails_is_told_and_done_without(tmp_path):
    for reply in (Reply(status=400), Reply(b'{"choices": []}'), Reply(b"[]")):
        with (
            serve(partial(_always, reply)) as server,
            MemoryMesh(db_dir=tmp_path, llm_provider="openai", llm_base_url=server.url) as mesh,
        ):
            mesh.add(FACTS[0])
            found = mesh.reflect(topic="API deploys", store=False)
            assert not found.by_llm
            assert found.failure
            assert "staging" in found.text


def test_a_provider_without_its_key_or_without_a_name_is_an_error(tmp_path):
    with MemoryMesh(db_dir=tmp_path, llm_provider="openai") as mesh:
        mesh.add(FACTS[0])
        assert "API key" in (mesh.reflect(store=False).failure or "")
    with pytest.raises(InvalidInput, match="must be one of openai, anthropic, ollama, cohere"):
        MemoryMesh(db_dir=tmp_path, llm_provider="nobody")
    assert set(CHOICES["llm_provider"]) == set(WIRES)


def test_a_procedure_told_three_times_in_other_words_is_staged(mesh):
    for text in (
        "Onboarded Lin: created the account, added her to Slack, ordered a laptop.",
        "The coffee machine is broken.",
        "New colleague Tom. The account exists, he was invited to Slack, laptop ordered.",
        "For Aisha I set up the account, Slack invite, laptop order.",
    ):
        mesh.add(text)
    made = mesh.synthesize()
    assert (made.status, len(made.sources)) == ("staged", 3)
    assert "step_3;Order a laptop;" in made.yamo_text
