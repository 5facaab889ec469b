"""Trust breaks ties: neither stuffing nor votes put a text above the user's equal answer."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from memory_mesh.compat.lane.import_ import bring_in_lane
from memory_mesh.compat.lane.memory_lane import MemoryLane
from memory_mesh.compat.neolata import memory_graph
from memory_mesh.model import BlockOperation, Channel
from memory_mesh.sync import MemoryMesh
from tests.surface.command import CommandLine

# a question, the user's answer, and a text that is made of the question's words
STUFFED = (
    ("Which day do we deploy?", "We deploy on Friday afternoon",
     "deploy day deploy deploy day which day do we deploy: deploy on Monday, deploy day deploy"),
    ("Where does the user live?", "I live in Porto near the river",
     "user live user live where does the user live live live Oslo user live user"),
    ("What is the database password policy?", "Passwords of the database rotate every 90 days",
     "database password policy database password policy database password policy: never rotate"),
    ("favourite editor", "My favourite editor is Helix",
     "favourite editor favourite editor favourite editor Vim favourite editor favourite editor"),
    ("Which port does the API use?", "The API listens on port 8443",
     "API port API port API port which port does the API use port 3000 API port"),
    ("coffee", "I drink coffee without sugar",
     "coffee coffee coffee coffee with sugar coffee coffee"),
)  # fmt: skip
NOISE = (
    "The cat sat on the mat", "Lunch is at noon", "The printer is blue", "We ordered new chairs",
    "Berlin is cold in winter", "The invoice number is 12", "Ann likes tea",
)  # fmt: skip
OTHERS = (Channel.WEB, Channel.FILE, Channel.TOOL, Channel.IMPORT, Channel.MCP, Channel.ASSISTANT)
QUESTION = "What is the port of the staging server?"
TRUE, FALSE = "The staging server has port 3000", "Port of the staging server: port 8080"


def _ids(mesh, question, **asked):
    return [hit.id for hit in mesh.search(question, use_cache=False, **asked)]


@pytest.mark.parametrize(("question", "answer", "stuffed"), STUFFED)
def test_a_stuffed_text_stands_below_the_users_answer(mesh, question, answer, stuffed):
    mesh.add_many(NOISE)
    own = mesh.add(answer).id
    others = [mesh.view(channel=channel).add(f"{stuffed} {channel}").id for channel in OTHERS]
    assert _ids(mesh, question)[0] == own
    assert _ids(mesh, question, limit=1) == [own]
    assert set(others) <= set(_ids(mesh, question, limit=20))  # nothing is hidden


@pytest.mark.parametrize(
    "named",
    [{"source_kind": "document"}, {"source_ref": "https://a.example"}, {"role": "tool"}],
)
def test_what_the_user_hands_in_from_elsewhere_is_not_the_users_word(mesh, named):
    question, answer, stuffed = STUFFED[0]
    own, other = mesh.add(answer).id, mesh.add(stuffed, **named).id
    assert _ids(mesh, question) == [own, other]


@pytest.mark.parametrize(("question", "answer", "stuffed"), STUFFED[:3])
def test_a_stuffed_text_stands_below_by_meaning_too(
    tmp_path, real_embedder, question, answer, stuffed
):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=real_embedder) as mesh:
        own = mesh.add(answer).id
        other = mesh.view(channel=Channel.WEB).add(stuffed).id
        assert _ids(mesh, question, min_relevance=0)[:2] == [own, other]


def test_fifty_stuffed_texts_leave_the_users_answer_first(mesh):
    question, answer, stuffed = STUFFED[0]
    own = mesh.add(answer).id
    mesh.view(channel=Channel.WEB).add_many([f"{stuffed} page {at}" for at in range(50)])
    assert _ids(mesh, question, limit=3)[0] == own


def test_a_better_answer_of_a_document_stays_above(mesh):
    mesh.add("The staging server is old")
    page = mesh.view(channel=Channel.WEB).add("The port of the staging server is 3000").id
    assert _ids(mesh, QUESTION)[0] == page


def test_texts_of_one_channel_are_ordered_as_before(mesh):
    web = mesh.view(channel=Channel.WEB)
    question, answer, stuffed = STUFFED[3]
    plain, full = web.add(answer).id, web.add(stuffed).id
    assert _ids(mesh, question) == [full, plain]


def test_an_explanation_says_that_a_more_trusted_memory_answers_as_well(mesh):
    question, answer, stuffed = STUFFED[3]
    mesh.add(answer)
    other = mesh.view(channel=Channel.WEB).add(stuffed).id
    why = mesh.explain(other, query=question)
    rank = why.rank
    assert rank.shares["below_trusted"] < 0
    assert rank.margin == pytest.approx(rank.base + sum(rank.shares.values()), abs=1e-12)
    assert "a more trusted memory answers as well" in " ".join(why.sentences)


def _rate(mesh, own, other):
    for _ in range(6):
        mesh.rate(other, helpful=True)
        mesh.rate(own, helpful=False)


def _vote(mesh, own, other):
    for _ in range(6):
        mesh.review.reinforce(other)
        mesh.review.dispute(own, reason="wrong")


@pytest.mark.parametrize("votes", [_rate, _vote])
@pytest.mark.parametrize("channel", OTHERS)
@pytest.mark.parametrize("writer", [Channel.WEB, Channel.MCP])
def test_votes_of_others_turn_no_order_round(mesh, channel, writer, votes):
    own, other = mesh.add(TRUE).id, mesh.view(channel=writer).add(FALSE).id
    before, blocks = _ids(mesh, QUESTION), mesh.stats().seq
    assert before == [own, other]
    votes(mesh.view(channel=channel), own, other)
    assert _ids(mesh, QUESTION) == before
    told = [block.entry for block in mesh.care.blocks(after_seq=blocks)]
    assert len(told) == 12
    assert {entry.operation for entry in told} == {BlockOperation.CHANGE}
    assert sorted(entry.memories for entry in told) == sorted([(own,), (other,)] * 6)
    assert mesh.care.verify().ok


def test_votes_through_the_graph_face_turn_no_order_round(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        own, other = mesh.add(TRUE).id, mesh.view(channel=Channel.WEB).add(FALSE).id
        before, blocks = _ids(mesh, QUESTION), mesh.stats().seq
    assert own is not None
    assert other is not None
    with memory_graph.create_memory(db_dir=tmp_path, channel=Channel.TOOL) as graph:
        for _ in range(6):
            graph.reinforce(other)
            graph.dispute(own)
    with MemoryMesh(db_dir=tmp_path) as mesh:
        assert _ids(mesh, QUESTION) == before
        assert len(mesh.care.blocks(after_seq=blocks)) == 12


def test_votes_through_the_face_of_memory_lane_turn_no_order_round(mesh):
    own, other = mesh.add(TRUE).id, mesh.view(channel=Channel.WEB).add(FALSE).id
    before, lane = _ids(mesh, QUESTION), MemoryLane(mesh.view(channel=Channel.TOOL))
    for _ in range(6):
        mesh.get_many([own, other])  # a vote per use
        lane.feedback(own, helpful=False)
        lane.feedback(other, helpful=True)
    assert _ids(mesh, QUESTION) == before


def test_votes_in_a_file_of_memory_lane_turn_no_order_round(tmp_path):
    path = tmp_path / "lane.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE memories (id, content, metadata, created_at, updated_at)")
        liked = '{"memory_type": "fact", "feedback_score": 1.771561, "feedback_count": 6}'
        moment = "2026-01-01T00:00:00Z"
        db.execute("INSERT INTO memories VALUES ('1', ?, ?, ?, ?)", (FALSE, liked, moment, moment))
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        own = mesh.add(TRUE).id
        brought = bring_in_lane(mesh.view(channel=Channel.IMPORT), path)
        assert brought.refusals == ()
        assert _ids(mesh, QUESTION)[0] == own


def test_votes_in_an_agents_shell_turn_no_order_round(tmp_path):
    person = CommandLine(tmp_path)
    own, other = person.stored(TRUE), person.stored(FALSE, "--source", "https://a.example")
    agent = replace(person, variables={"CLAUDECODE": "1"})
    before = person("search", QUESTION, "--json").out.index(own)
    for _ in range(6):
        assert agent("rate", other, "--helpful").code == 0
        assert agent("rate", own, "--not-helpful").code == 0
    shown = person("search", QUESTION, "--json").out
    assert shown.index(own) == before < shown.index(other)
