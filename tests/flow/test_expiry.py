"""Time to live: what has expired is hidden at once, counted, and deleted some days later."""

from datetime import timedelta

import pytest

from memory_mesh.config.tables import Settings
from memory_mesh.model import Channel, Outcome, Status
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.postgres import SECRET

DOOR, TEA = "The code of the door is green", "Tea is served at four"
HOUR = 3600


@pytest.fixture
def clock():
    return FrozenClock()


@pytest.fixture(params=["a folder", "a database"])
def mesh(request, tmp_path, clock, monkeypatch):
    where = {"db_dir": tmp_path}
    if request.param == "a database":
        monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
        where = {"store": request.getfixturevalue("database")}
    with MemoryMesh(**where, clock=clock, embedder="none") as opened:
        yield opened


def texts(mesh, **options):
    return [memory.text for memory in mesh.get_all(**options)]


def everywhere(mesh, id_):
    """Whether each way to read shows the memory."""
    return {
        "get": mesh.get(id_) is not None,
        "get_all": id_ in [memory.id for memory in mesh.get_all()],
        "search": id_ in [hit.memory.id for hit in mesh.search(DOOR, min_relevance=0)],
        "context": DOOR in str(mesh.context(DOOR, min_relevance=0)),
        "as_of": id_ in [memory.id for memory in mesh.get_all(as_of=mesh._now())],
        "filter": id_ in [memory.id for memory in mesh.get_all(filter="expires_at IS NOT NULL")],
    }


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("by", ["ttl", "expires_at", "metadata"])
def test_it_is_hidden_from_its_moment_on_in_every_read(mesh, clock, by, pinned):
    end = clock.now() + timedelta(hours=1)
    given = {
        "ttl": {"ttl": HOUR},
        "expires_at": {"expires_at": end},
        "metadata": {"metadata": {"expires_at": end.isoformat()}},
    }[by]
    id_ = str(mesh.add(DOOR, **given, pinned=pinned).id)
    mesh.add(TEA)
    assert all(everywhere(mesh, id_).values()), everywhere(mesh, id_)
    assert mesh.get(id_).metadata["expires_at"] == end.isoformat(timespec="milliseconds").replace(
        "+00:00", "Z"
    )
    clock.advance(timedelta(minutes=59, seconds=59))
    assert all(everywhere(mesh, id_).values())
    clock.advance(timedelta(seconds=1))
    assert not any(everywhere(mesh, id_).values()), everywhere(mesh, id_)
    assert (mesh.stats().memories, mesh.stats().expired) == (1, 1)
    (hidden,) = mesh.get_all(include=["expired"], filter="expires_at IS NOT NULL")
    assert (hidden.id, hidden.status) == (id_, Status.EXPIRED)
    assert "expired" in str(mesh.explain(id_, query=DOOR))
    assert mesh.care.verify().ok


def test_an_update_moves_the_moment_keeps_it_or_takes_it_away(mesh, clock):
    id_ = str(mesh.add(DOOR, {"room": 7}, ttl=HOUR).id)
    mesh.update(id_, metadata={"room": 8})  # metadata is replaced, the moment stays
    clock.advance(timedelta(hours=2))
    assert mesh.get(id_) is None
    mesh.update(id_, ttl=HOUR)
    assert mesh.get(id_).metadata["room"] == 8
    clock.advance(timedelta(hours=2))
    assert mesh.get(id_) is None
    mesh.update_many([{"id": id_, "expires_at": None}])
    clock.advance(timedelta(days=900))
    assert "expires_at" not in mesh.get(id_).metadata
    mesh.care.upkeep()
    assert mesh.get(id_) is not None


def test_what_expired_is_deleted_after_seven_days_by_upkeep_alone(mesh, clock):
    id_ = str(mesh.add(DOOR, ttl=HOUR).id)
    mesh.add(TEA)
    clock.advance(timedelta(hours=1, days=7) - timedelta(seconds=1))
    mesh.care.upkeep()
    assert mesh.stats().by_status["expired"] == 1
    clock.advance(timedelta(seconds=1))
    (planned,) = mesh.care.run_jobs(["retention"], dry_run=True)
    assert [(step.action, step.ids) for step in planned.steps] == [("delete", (id_,))]
    assert mesh.stats().by_status["expired"] == 1
    mesh.care.upkeep()
    assert mesh.stats().by_status == {"active": 1, "deleted": 1}
    assert texts(mesh) == [TEA]
    entry = mesh.care.blocks()[-1].entry
    assert (entry.memories, "expired 7 days ago" in (entry.wire or "")) == ((id_,), True)
    mesh.care.upkeep()
    assert mesh.stats().by_status == {"active": 1, "deleted": 1}
    assert mesh.care.verify().ok


def test_many_that_expired_are_all_deleted(mesh, clock):
    mesh.add_many([{"content": f"Lamp {n} stands in room {n}", "ttl": HOUR} for n in range(230)])
    clock.advance(timedelta(days=8))
    mesh.care.upkeep()
    assert mesh.stats().by_status == {"deleted": 230}


def test_said_again_it_lives_as_long_as_either_says(mesh, clock):
    first = mesh.add(DOOR, ttl=HOUR)
    again = mesh.add(DOOR, ttl=2 * HOUR)
    assert (again.id, again.outcome) == (first.id, Outcome.MERGED)
    mesh.add(DOOR, ttl=HOUR / 2)
    clock.advance(timedelta(hours=1, minutes=30))
    assert texts(mesh) == [DOOR]
    clock.advance(timedelta(hours=1))
    assert texts(mesh) == []
    mesh.add(DOOR)
    clock.advance(timedelta(days=900))
    assert texts(mesh) == [DOOR]


def test_an_agent_shortens_no_life_of_what_the_user_said(mesh, clock):
    mesh.view(channel=Channel.CLI).add(DOOR)
    mesh.view(channel=Channel.MCP).add(DOOR, ttl=HOUR)
    clock.advance(timedelta(hours=2))
    assert texts(mesh) == [DOOR]


def test_a_proposed_time_to_live_counts_from_the_proposal(mesh, clock):
    id_ = str(mesh.add(DOOR).id)
    asked = mesh.view(channel=Channel.MCP).review.propose_update(id_, ttl=HOUR)
    clock.advance(timedelta(minutes=30))
    mesh.review.decide(asked.id, approve=True)
    assert texts(mesh) == [DOOR]
    clock.advance(timedelta(minutes=30))
    assert texts(mesh) == []


def test_the_settings_say_how_long_a_kind_or_a_tag_lives(tmp_path, clock):
    settings: Settings = {"expiry": {"finding": 30, "scratch": 2}}
    with MemoryMesh(db_dir=tmp_path, clock=clock, embedder="none", settings=settings) as mesh:
        agent = mesh.view(channel=Channel.MCP)
        agent.add("Lamp 1 is a note", tags=["scratch"])
        agent.add("Lamp 2 is found", kind="finding", ttl=900 * 24 * HOUR)  # no more than the policy
        agent.add("Lamp 3 is found", kind="finding", ttl=HOUR)
        agent.add_many([{"content": "Lamp 4 is both", "kind": "finding", "tags": ["scratch"]}])
        user = mesh.view(channel=Channel.CLI)
        user.add("Lamp 5 is found", kind="finding", ttl=900 * 24 * HOUR)  # the user says otherwise
        user.add("Lamp 6 is a fact")
        left = []
        for hours in (2, 24 * 3, 24 * 31):
            clock.advance(timedelta(hours=hours))
            left.append(sorted(text[5] for text in texts(mesh)))
    assert left == [["1", "2", "4", "5", "6"], ["2", "5", "6"], ["5", "6"]]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"ttl": 0}, "seconds above 0"),
        ({"ttl": -5}, "seconds above 0"),
        ({"ttl": "soon"}, "a number"),
        ({"ttl": float("nan")}, "seconds above 0"),
        ({"ttl": 1e300}, "too far ahead"),
        ({"ttl": 5, "expires_at": "2030-01-01"}, "either"),
        ({"expires_at": "soon"}, "ISO 8601"),
    ],
)
def test_what_is_no_moment_is_refused(mesh, wrong, said):
    with pytest.raises(InvalidInput, match=said):
        mesh.add(DOOR, **wrong)
    id_ = str(mesh.add(TEA).id)
    with pytest.raises(InvalidInput, match=said):
        mesh.update(id_, **wrong)


def test_metadata_of_somebody_else_is_no_moment(mesh, clock):
    for value in ("soon", 5, True, None, ["2020-01-01"]):
        mesh.add(f"Lamp {value}", {"expires_at": value})
    clock.advance(timedelta(days=900))
    assert len(texts(mesh)) == 5
    mesh.care.upkeep()
    assert len(texts(mesh)) == 5
