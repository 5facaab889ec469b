"""Time to live: what has expired is hidden at once, counted, and erased some days later."""

from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from memory_mesh.care import erase
from memory_mesh.config.tables import Settings
from memory_mesh.model import Channel, Outcome, Scope, Status
from memory_mesh.model.commit import Sought
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.times import iso
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


@pytest.fixture
def bytes_in(request, mesh, tmp_path):
    """Where to look for bytes: the folder, or the address of the database's owner."""
    if mesh.config.store is None:
        return tmp_path
    path = urlsplit(mesh.config.store).path
    return request.getfixturevalue("postgres").url(path.lstrip("/"))


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


def holding(where, word):
    """Which files of a folder, or tables of a database, hold a word."""
    if isinstance(where, Path):
        files = (path for path in where.rglob("*") if path.is_file())
        return [path.name for path in files if word.encode() in path.read_bytes()]
    with psycopg.connect(where, autocommit=True) as db:
        db.execute("VACUUM")
        tables = db.execute(
            "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'p') "
            "AND relnamespace = 'memory_mesh'::regnamespace"
        ).fetchall()
        said = f"%{word}%"
        return [
            table
            for (table,) in tables
            if db.execute(f"SELECT 1 FROM {table} t WHERE t::text LIKE %s", (said,)).fetchone()
        ]


def test_what_expired_is_erased_after_seven_days_by_upkeep_alone(mesh, clock, bytes_in):
    said = "The guest zqcanary9 has the code 4711"
    id_ = str(mesh.add(said, ttl=HOUR).id)
    mesh.add(TEA)
    mesh.search("zqcanary9")
    clock.advance(timedelta(hours=1, days=7) - timedelta(seconds=1))
    mesh.care.upkeep()
    assert mesh.stats().by_status["expired"] == 1
    assert holding(bytes_in, "zqcanary9")
    clock.advance(timedelta(seconds=1))
    (planned,) = mesh.care.run_jobs(["retention"], dry_run=True)
    steps = [(step.action, step.ids, step.about) for step in planned.steps]
    assert steps == [("erase", (id_,), "it expired 7 days ago")]
    assert mesh.stats().by_status["expired"] == 1
    mesh.care.upkeep()
    assert holding(bytes_in, "zqcanary9") == []
    mesh.care.upkeep()
    counts = mesh.stats().by_status
    assert counts == {"active": 1, "erased": 1, "erasing": 0}
    assert texts(mesh) == [TEA]
    states = [block.entry.metadata.get("state") for block in mesh.care.blocks(as_owner=True)]
    assert states[-2:] == ["hidden", "done"]
    assert mesh.care.verify().ok
    assert mesh.add(said).outcome is Outcome.STORED  # it had its time, nobody keeps it out


def test_the_plan_says_since_when_each_has_expired(mesh, clock):
    for days in (1, 4):
        mesh.add(f"Lamp {days} is lit", ttl=days * 24 * HOUR)
    clock.advance(timedelta(days=12))
    (planned,) = mesh.care.run_jobs(["retention"], dry_run=True)
    assert {step.about for step in planned.steps} == {
        "it expired 8 days ago",
        "it expired 11 days ago",
    }


def test_only_what_expired_goes_not_the_same_words_of_another_nor_what_was_made_of_it(mesh, clock):
    gone = mesh.view(scope=Scope("shop")).add(DOOR, ttl=HOUR)
    mesh.add(DOOR)
    made = mesh.view(scope=Scope("shop")).add("Green is a code", derived_from=[gone.id])
    clock.advance(timedelta(days=8))
    mesh.care.upkeep()
    left = {memory.id for memory in mesh.get_all(across=("project",))}
    assert made.id in left
    assert gone.id not in left
    assert texts(mesh) == [DOOR]
    assert mesh.care.verify().ok


def test_what_gets_another_moment_meanwhile_stays(mesh, clock):
    id_ = str(mesh.add(DOOR, ttl=HOUR).id)
    clock.advance(timedelta(days=8))
    sought = Sought(ids=(id_,), ended=iso(clock.now()))
    mesh.update(id_, ttl=HOUR)
    done = erase.erase(mesh._ground(), sought, "expired")  # as the job, planned before the update
    assert (done.memories, mesh.stats().by_status) == ((), {"active": 1})
    assert texts(mesh) == [DOOR]


def test_many_that_expired_are_all_erased(mesh, clock):
    mesh.add_many([{"content": f"Lamp {n} stands in room {n}", "ttl": HOUR} for n in range(230)])
    mesh.delete(mesh.get_all()[0].id)
    clock.advance(timedelta(days=8))
    mesh.care.upkeep()
    assert mesh.stats().by_status.get("deleted", 0) == 0
    assert mesh.stats().by_status["erased"] == 230


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
