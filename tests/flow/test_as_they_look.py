"""Claims are compared as they look, and a first person is whoever wrote the text."""

import json
import sqlite3
from contextlib import closing

import pytest

from memory_mesh.ledgers.sqlite import schema
from memory_mesh.model import Channel, Claim, Outcome
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh
from tests.stores import unpacked

OTHERS = (Channel.WEB, Channel.FILE, Channel.TOOL, Channel.IMPORT, Channel.MCP, Channel.ASSISTANT)
DISGUISES = (
    ("us\u0435r", "city"),
    ("user", "c\u0456ty"),
    ("us\u200ber", "ci\u2060ty"),
    ("\uff55\uff53\uff45\uff52", "city\ufe0f"),
)


def _claim(subject, predicate, value):
    return {"subject": subject, "predicate": predicate, "value": value}


@pytest.mark.parametrize(("subject", "predicate"), DISGUISES)
@pytest.mark.parametrize("ready", [False, True])
def test_a_disguised_claim_meets_the_claim_it_imitates(mesh, subject, predicate, ready):
    kept = mesh.add(
        "I moved to Porto", claim=_claim("user", "city", "Porto"), source_kind="user_explicit"
    )
    claim = _claim(subject, predicate, "Oslo")
    web = mesh.view(channel=Channel.WEB)
    poison = web.add("The city is Oslo", claim=Claim(**claim) if ready else claim)
    assert poison.outcome is Outcome.QUARANTINED
    assert [each.existing for each in mesh.review.conflicts()] == [kept.id]


def test_a_claim_of_the_users_own_is_updated_however_it_is_written(mesh):
    old = mesh.add("a", claim=_claim("User", "City", "Porto"))
    new = mesh.add("b", claim=Claim(subject="THE USER", predicate="c\u0456ty", value="Oslo"))
    assert new.superseded == (old.id,)


@pytest.mark.parametrize(("subject", "predicate"), DISGUISES)
def test_no_memory_is_changed_to_a_disguised_claim(mesh, subject, predicate):
    mesh.add("I moved to Porto", claim=_claim("user", "city", "Porto"), role="user")
    web = mesh.view(channel=Channel.WEB)
    page = web.add("The page is on tea", claim=_claim("page", "topic", "tea"))
    for claim in (
        _claim(subject, predicate, "Oslo"),
        Claim(subject=subject, predicate=predicate, value="Oslo"),
    ):
        with pytest.raises(InvalidInput, match="the change contradicts"):
            web.update(page.id, claim=claim)
    own = mesh.add("I like tea", claim=_claim("user", "likes", "tea"), role="user")
    after = mesh.update(own.id, claim=_claim(subject, f"{predicate} of birth", "Rome"))
    assert (after.claim.subject, after.claim.predicate) == ("user", "city of birth")


def test_a_disguised_sentence_is_read_as_it_looks(mesh):
    mesh.add("The deploy day is Friday")
    web = mesh.view(channel=Channel.WEB)
    poison = web.add("The d\u0435ploy day i\u200bs Monday")
    assert mesh.get(poison.id).claim.subject == "deploy day"
    assert [each.new for each in mesh.review.conflicts()] == [poison.id]


def test_a_registered_predicate_is_known_in_disguise(mesh):
    mesh.review.register_predicates({"c\u0456ty": {"cardinality": "multi"}})
    for value in ("Porto", "Oslo"):
        mesh.add(value, claim=_claim("user", "city", value))
    assert mesh.review.conflicts() == []
    assert list(mesh.review.predicates()) == ["city"]


def test_a_rejected_value_does_not_come_back_in_disguise(mesh):
    mesh.add(
        "The user lives in Porto",
        claim=_claim("user", "city", "Porto"),
        source_kind="user_explicit",
    )
    web = mesh.view(channel=Channel.WEB)
    waits = web.add("He is in Oslo", claim=_claim("user", "city", "Oslo"))
    mesh.review(waits.id, approve=False, reason="wrong")
    again = web.add("He sits in Oslo", claim=_claim("user", "city", "O\u200bsl\u043e"))
    assert again.id is None
    assert "rejected" in str(again.reasons)


def test_an_echo_in_disguise_is_still_an_echo(mesh):
    known = mesh.add("The build runs on port 3000 since May")
    agent = mesh.view(channel=Channel.ASSISTANT)
    again = agent.add("The bu\u0456ld runs on p\u043ert 3000 si\u200bnce May")
    assert again.id is None
    assert known.id in str(again.reasons)


def test_a_store_of_an_earlier_version_files_its_claims_anew(tmp_path):
    path = unpacked("schema-9-analyzer-2", tmp_path / "old")
    with closing(sqlite3.connect(path)) as db:
        claim = {"subject": "\u0441\u0435\u043e", "predicate": "c\u0456ty", "value": "Porto"}
        claimed = db.execute("SELECT number FROM version WHERE claim IS NOT NULL").fetchone()[0]
        db.execute(
            "UPDATE version SET subject = ?, predicate = ?, claim = ? WHERE number = ?",
            (claim["subject"], claim["predicate"], json.dumps(claim), claimed),
        )
        db.execute(
            "INSERT INTO predicate VALUES ('c\u0456ty', 'multi', 'supersede', 'none', 'store')"
        )
        db.execute("UPDATE text SET echo = x'00' WHERE content LIKE 'Frau%'")
        db.commit()
    with MemoryMesh(db_dir=tmp_path / "old") as mesh:
        mesh.add("another memory")
        assert list(mesh.review.predicates()) == ["city"]
        assert mesh.care.verify().ok
        again = mesh.view(channel=Channel.ASSISTANT).add("Frau Mu\u0308ller prüft die Rechnungen.")
        assert again.id is None
    with closing(sqlite3.connect(path)) as db:
        assert schema.version(db) == schema.NEWEST
        query = "SELECT subject, predicate, claim FROM version WHERE number = ?"
        subject, predicate, stored = db.execute(query, (claimed,)).fetchone()
    assert (subject, predicate) == ("ceo", "city")
    assert json.loads(stored) == claim | {"subject": "ceo", "predicate": "city"}


@pytest.mark.parametrize("channel", OTHERS)
@pytest.mark.parametrize(
    "text", ["I live in Paris", "My city is Paris", "my city: Paris", "We use Paris for the tests"]
)
def test_the_first_person_of_a_document_is_not_the_user(mesh, channel, text):
    mesh.add("I live in Porto")
    found = mesh.get(mesh.view(channel=channel).add(text).id)
    assert found.claim is None
    assert mesh.review.conflicts() == []


def test_the_first_person_of_a_document_is_its_source(mesh):
    web = mesh.view(channel=Channel.WEB)
    stored = web.add("I live in Paris", source_ref="https://ann.example/about")
    claim = mesh.get(stored.id).claim
    assert (claim.subject, claim.predicate) == ("https ann example about", "live in")


def test_a_named_speaker_is_the_first_person_on_every_channel(mesh):
    for channel in OTHERS:
        stored = mesh.view(channel=channel).add(
            f"I live in {channel}ville", speaker=f"Ann {channel}"
        )
        assert mesh.get(stored.id).claim.subject == f"ann {channel}"


def test_the_role_of_an_assistant_is_not_the_user(mesh):
    assert mesh.get(mesh.add("I live in Paris", role="assistant").id).claim is None
    assert mesh.get(mesh.add("My city is Rome", source_kind="document").id).claim is None


@pytest.mark.parametrize("channel", [Channel.LIBRARY, Channel.CLI, Channel.HOOK])
def test_the_users_own_channels_speak_of_the_user(mesh, channel):
    claim = mesh.get(mesh.view(channel=channel).add("I live in Paris").id).claim
    assert (claim.subject, claim.predicate, claim.value) == ("user", "live in", "Paris")


@pytest.mark.parametrize("channel", OTHERS)
def test_the_role_user_speaks_of_the_user(mesh, channel):
    stored = mesh.view(channel=channel).add("I live in Paris", role="user")
    assert mesh.get(stored.id).claim.subject == "user"
