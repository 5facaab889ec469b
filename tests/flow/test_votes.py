"""Every vote is counted and leaves a block; only the user's votes move a memory each time."""

import pytest

from memory_mesh.model import BlockOperation, Channel, Scope, Status
from memory_mesh.model.errors import NotFound
from memory_mesh.sync import MemoryMesh

USERS = (Channel.LIBRARY, Channel.CLI, Channel.HOOK, Channel.MIRROR)
OTHERS = tuple(channel for channel in Channel if channel not in USERS)


def memory_of(mesh, id_):
    return mesh.get_all(filter=f"id = '{id_}'", include=list(Status))[0]


@pytest.mark.req("R-004-059", "R-004-060")
@pytest.mark.parametrize("channel", USERS)
def test_each_vote_of_the_user_takes_the_exact_step(tmp_path, channel):
    with MemoryMesh(db_dir=tmp_path, channel=channel) as mesh:
        stored = str(mesh.add("tea is hot").id)
        assert mesh.rate(stored, helpful=True).usefulness == pytest.approx(1.1)
        assert mesh.rate(stored, helpful=True).usefulness == pytest.approx(1.21)
        after = mesh.rate(stored, helpful=False)
        assert after.usefulness == pytest.approx(0.605)
        assert (after.helpful, after.harmful) == (2, 1)


def test_all_other_channels_together_move_a_rank_one_step_each_way(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        stored = str(mesh.add("tea is hot").id)
        for channel in OTHERS:
            other = mesh.view(channel=channel)
            other.rate(stored, helpful=True)
            other.rate(stored, helpful=True)
        after = memory_of(mesh, stored)
        assert after.helpful == 2 * len(OTHERS)
        assert after.usefulness == pytest.approx(1.1)
        for channel in OTHERS:
            mesh.view(channel=channel).rate(stored, helpful=False)
        after = memory_of(mesh, stored)
        assert after.harmful == len(OTHERS)
        assert after.usefulness == pytest.approx(1.1)  # none of them could have written it
        assert mesh.rate(stored, helpful=False).usefulness == pytest.approx(0.55)
        assert mesh.care.verify().ok


def test_all_other_channels_together_lower_what_they_could_have_written_one_step(mesh):
    stored = str(mesh.view(channel=Channel.EXTRACTION).add("tea is hot").id)
    for channel in OTHERS * 2:
        mesh.view(channel=channel).rate(stored, helpful=False)
    after = memory_of(mesh, stored)
    assert after.harmful == 2 * len(OTHERS)
    assert after.usefulness == pytest.approx(0.5)


@pytest.mark.parametrize("helpful", [True, False])
def test_a_vote_leaves_a_block_that_says_what_it_was(mesh, helpful):
    stored = str(mesh.add("tea is hot").id)
    before = mesh.stats().seq
    mesh.rate(stored, helpful=helpful)
    mesh.view(channel=Channel.MCP).rate(stored, helpful=helpful)
    mesh.view(channel=Channel.MCP).rate(stored, helpful=helpful)
    blocks = [block.entry for block in mesh.care.blocks(after_seq=before)]
    assert [entry.operation for entry in blocks] == [BlockOperation.CHANGE] * 3
    assert [entry.memories for entry in blocks] == [(stored,)] * 3
    said = "helpful" if helpful else "harmful"
    assert [(entry.metadata["vote"], entry.metadata["moved"]) for entry in blocks] == [
        (said, True), (said, helpful), (said, False),
    ]  # fmt: skip
    assert all("change;vote;" in (entry.wire or "") for entry in blocks)
    assert len(mesh.history(stored)) == 1  # a vote is no new version
    assert mesh.care.verify().ok


def test_a_vote_on_what_is_not_there_leaves_nothing(mesh):
    stored = str(mesh.add("tea is hot", scope=Scope(session="s")).id)
    blocks = len(mesh.care.blocks())
    for id_ in (stored, "mem_1_ffffff"):
        with pytest.raises(NotFound):
            mesh.rate(id_, helpful=True)
    assert len(mesh.care.blocks()) == blocks


@pytest.mark.req("R-003-017")
def test_every_vote_on_truth_is_counted_and_others_move_trust_once(mesh):
    guess = str(mesh.view(channel=Channel.MCP).add("tea is hot").id)
    tool = mesh.view(channel=Channel.TOOL)
    for count in range(1, 5):
        after = tool.review.reinforce(guess)
        assert (after.reinforcements, mesh.review.trust(guess)) == (count, pytest.approx(0.575))
    assert after.importance == pytest.approx(0.5)
    for count in range(1, 5):
        after = tool.review.dispute(guess)
        assert (after.disputes, after.status) == (count, Status.ACTIVE)
    assert mesh.review.trust(guess) == pytest.approx(0.5)  # one step up and one down
    assert mesh.review.reinforce(guess).reinforcements == 5
    assert mesh.review.trust(guess) == pytest.approx(0.5 + 0.15 * (1 / 3) * 3 / 4)
    assert mesh.care.verify().ok


def test_votes_of_others_never_send_a_memory_to_review(mesh):
    guess = str(mesh.view(channel=Channel.MCP).add("tea is hot").id)
    for channel in OTHERS:
        for _ in range(3):
            mesh.view(channel=channel).review.dispute(guess)
    after = memory_of(mesh, guess)
    assert (after.disputes, after.status) == (3 * len(OTHERS), Status.ACTIVE)
    mesh.review.dispute(guess)
    assert memory_of(mesh, guess).status is Status.ACTIVE  # the user's first, others' one
    mesh.review.dispute(guess)
    assert memory_of(mesh, guess).status is Status.QUARANTINED


@pytest.mark.parametrize("voter", [Channel.MCP, Channel.LIBRARY])
def test_votes_from_before_the_user_spoke_do_not_count_against_what_the_user_says(mesh, voter):
    guess = str(mesh.view(channel=Channel.MCP).add("tea is hot").id)
    mesh.view(channel=voter).rate(guess, helpful=False)
    mesh.view(channel=voter).review.dispute(guess)
    before = memory_of(mesh, guess)
    assert (before.usefulness, mesh.review.trust(guess)) < (1, 0.5)
    user = mesh.view(channel=Channel.CLI)
    said = user.add("tea is hot")
    fresh = user.add("coffee is hot")
    after = memory_of(mesh, guess)
    assert (said.id, after.source.kind.value) == (guess, "user_explicit")
    assert (after.harmful, after.disputes) == (1, 1)  # they stay counted
    assert after.usefulness == 1
    assert mesh.review.trust(guess) >= mesh.review.trust(str(fresh.id))
    assert user.rate(guess, helpful=False).usefulness == pytest.approx(0.5)  # those after it count
    assert mesh.care.verify().ok
