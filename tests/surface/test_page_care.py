"""What the agent was told, the inbox, the feed, health and the export: each as a user meets it."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from memory_mesh.agents import journal
from memory_mesh.dashboard.app import Dashboard
from memory_mesh.dashboard.asked import Asked
from memory_mesh.dashboard.export import export
from memory_mesh.dashboard.pages import health, inbox, told, working
from memory_mesh.dashboard.pages.health import growth
from memory_mesh.dashboard.pages.working import MOST, FeedPlace, batch
from memory_mesh.dashboard.readers import Owner, OwnerReaders
from memory_mesh.model import InvalidInput, NotFound, Scope, Status
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.surface.command import CommandLine
from tests.surface.page_reading import PLACE, ReaderClient, looked_at, opened

PAGES = ("/told", "/inbox", "/working", "/health")
HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>'


@pytest.fixture
def mesh(tmp_path: Path) -> Iterator[MemoryMesh]:
    with opened(tmp_path / "store") as made:
        yield made


@pytest.fixture
def reader(mesh: MemoryMesh) -> Iterator[ReaderClient]:
    with looked_at(mesh) as made:
        yield made


@pytest.fixture
def agent(mesh: MemoryMesh) -> MemoryMesh:
    """Writes as an agent: it proposes, and what it says against the user waits."""
    return mesh.view(channel="mcp")


def stored(mesh: MemoryMesh, text: str, *metadata: object, **details: object) -> str:
    found = mesh.add(text, *metadata, **details).id  # type: ignore[arg-type]
    assert found is not None
    return found


def conflict(mesh: MemoryMesh, agent: MemoryMesh) -> tuple[str, str, str]:
    """Two memories that cannot both be true: the old, the new and the conflict."""
    old = stored(mesh, "The office is in Oslo")
    new = stored(agent, "The office is in Bergen")
    (found,) = mesh.review.conflicts(pending=True)
    return old, new, found.id


# What the agent was told.


def test_prompts_stand_under_their_session_with_their_tokens(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    stored(mesh, "The office is in Oslo")
    for session, question in (("monday", "where is the office?"), ("tuesday", "the office?")):
        mesh.context(question, max_tokens=300, scope=Scope(session=session))
    page = reader.get("/told")
    assert page.text.index("tuesday") < page.text.index("monday")
    assert "of 300 tokens" in page.text
    only = reader.client.get(page.links["monday"]).text
    assert "where is the office?" in only
    assert "tuesday" not in only


def test_a_prompt_says_what_entered_it_and_what_became_of_it(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    kept = stored(mesh, "The office is in Oslo")
    pack = mesh.context("where is the office?")
    mesh.update(kept, "The office is in Bergen")
    page = reader.get(f"/told/{pack.injection_id}")
    assert "The office is in Oslo" in page.text  # as the agent read it
    assert "it was changed" in page.text
    assert reader.get("/told/inj_1_abc").status == 404


def test_what_was_left_out_is_listed_with_why(mesh: MemoryMesh, reader: ReaderClient) -> None:
    for number in range(12):
        stored(mesh, f"The office number {number} is in the street with the long name {number}")
    pack = mesh.context("where is the office?", max_tokens=120)
    page = reader.get(f"/told/{pack.injection_id}")
    assert pack.left_out
    assert "there was no room left" in page.text


def test_why_not_this_one_is_answered_for_any_memory(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    stored(mesh, "The office is in Oslo")
    tea = stored(mesh, "Tea is at four")
    pack = mesh.context("where is the office?")
    page = reader.get(f"/told/{pack.injection_id}", why="tea")
    assert "Tea is at four" in page.links
    answer = reader.client.get(page.links["Tea is at four"]).text
    assert "kept out" in answer
    assert tea in page.links["Tea is at four"]


def test_what_was_forgotten_is_in_no_prompt_any_more(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    kept = stored(mesh, "The code of the door is 4711")
    pack = mesh.context("what is the code of the door?")
    mesh.erase(kept)
    page = reader.get(f"/told/{pack.injection_id}")
    assert "4711" not in page.text


# The inbox.


def test_a_proposal_is_compared_word_by_word_approved_and_taken_back(
    mesh: MemoryMesh, agent: MemoryMesh, reader: ReaderClient
) -> None:
    kept = stored(mesh, "Deploys go out on Tuesdays")
    asked = agent.review.propose_update(kept, "Deploys go out on Fridays", reason="said in chat")
    page = reader.get("/inbox")
    assert "<del>Tuesdays</del>" in page.html
    assert "<ins>Fridays</ins>" in page.html
    assert "said in chat" in page.text
    done = reader.post("/inbox/approve", on="/inbox", id=asked.id)
    assert "Approved 1" in done.text
    assert "Undo" in done.text
    assert mesh.get_all()[0].text == "Deploys go out on Fridays"
    reader.post("/inbox/undo", on="/inbox", id=asked.id)
    assert mesh.get_all()[0].text == "Deploys go out on Tuesdays"
    assert asked.id in reader.get("/inbox").html


def test_a_proposal_is_taken_in_the_users_own_words(
    mesh: MemoryMesh, agent: MemoryMesh, reader: ReaderClient
) -> None:
    kept = stored(mesh, "Deploys go out on Tuesdays")
    asked = agent.review.propose_update(kept, "Deploys go out on Fridays")
    assert "<textarea" in reader.get("/inbox", edit=asked.id).html
    reader.post("/inbox/edit", on="/inbox", id=asked.id, text="Deploys go out on Mondays")
    assert mesh.get_all()[0].text == "Deploys go out on Mondays"
    assert mesh.review.proposals() == []


def test_a_wish_to_delete_is_refused_and_the_memory_stays(
    mesh: MemoryMesh, agent: MemoryMesh, reader: ReaderClient
) -> None:
    kept = stored(mesh, "Deploys go out on Tuesdays")
    asked = agent.review.propose_delete(kept)
    assert "Keep it" in reader.get("/inbox").text
    reader.post("/inbox/reject", on="/inbox", id=asked.id)
    assert [memory.id for memory in mesh.get_all()] == [kept]
    assert "Take back" in reader.get("/inbox", show="decided").text


def test_what_was_told_for_nothing_is_kept_with_a_vote_or_deleted(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    kept, gone = (stored(mesh, f"Deploys go out on {day}") for day in ("Tuesdays", "ferry days"))
    for _ in range(2):
        mesh.context("When do deploys go out?")
    for id_ in (kept, gone):
        mesh.rate(id_, helpful=False)
    page = reader.get("/inbox", show="worth")
    assert "told 2 times" in page.text
    assert "Is this memory worth its tokens?" in page.text
    reader.post("/inbox/keep", on="/inbox", id=kept)
    reader.post("/memories/delete", on="/inbox", id=gone)
    assert mesh.review.worth() == []
    assert [memory.id for memory in mesh.get_all()] == [kept]


@pytest.mark.parametrize(
    ("resolution", "active"),
    [("supersede", {"new"}), ("reject", {"old"}), ("keep_both", {"old", "new"})],
)
def test_a_conflict_is_decided_one_way_or_the_other(
    mesh: MemoryMesh, agent: MemoryMesh, reader: ReaderClient, resolution: str, active: set[str]
) -> None:
    old, new, found = conflict(mesh, agent)
    page = reader.get("/inbox", show="conflicts")
    assert "<del>Oslo</del>" in page.html
    assert "<ins>Bergen</ins>" in page.html
    reader.post("/inbox/resolve", on="/inbox", id=found, resolution=resolution)
    left = {memory.id for memory in mesh.get_all()}
    assert left == {{"old": old, "new": new}[name] for name in active}
    assert mesh.review.conflicts(pending=True) == []


@pytest.mark.parametrize("resolution", ["supersede", "reject", "keep_both"])
def test_a_decided_conflict_is_taken_back(
    mesh: MemoryMesh, agent: MemoryMesh, reader: ReaderClient, resolution: str
) -> None:
    old, new, found = conflict(mesh, agent)
    for _ in range(2):  # what waits again is decided and taken back again
        done = reader.post("/inbox/resolve", on="/inbox", id=found, resolution=resolution)
        assert "Undo" in done.text
        assert "Take back" in reader.get("/inbox", show="decided").text
        reader.post("/inbox/undo", on="/inbox", id=new)
        assert [each.id for each in mesh.review.conflicts(pending=True)] == [found]
        assert old in {memory.id for memory in mesh.get_all()}


def test_of_a_kind_with_many_more_are_shown_on_request(
    mesh: MemoryMesh, agent: MemoryMesh, reader: ReaderClient
) -> None:
    for at in range(47):
        agent.review.propose_delete(stored(mesh, f"Shelf {at} is empty"))
    first = reader.get("/inbox", show="proposals")
    assert "20+ wait" in first.text
    assert first.html.count("<article") == 20
    second = reader.client.get(first.links["More"])
    assert second.text.count("<article") == 40
    last = reader.get("/inbox", show="proposals", limit=80)
    assert "47 wait" in last.text
    assert "More" not in last.links


def test_staged_lessons_and_skills_wait_and_are_let_in(
    mesh: MemoryMesh, agent: MemoryMesh, reader: ReaderClient
) -> None:
    lesson = agent.lessons.record("Check the free space before a deploy", when="deploying")
    skill = agent.skills.add("---\nname: deploy\ndescription: How to deploy\n---\n\n1. Deploy.\n")
    page = reader.get("/inbox")
    assert "Learn this lesson?" in page.text
    assert "Use the skill deploy?" in page.text
    done = reader.post("/inbox/approve", on="/inbox", id=[lesson.memory_id, skill.id])
    assert "Approved 2" in done.text
    assert [each.id for each in mesh.skills.get_all()] == [skill.id]
    assert "All is decided" in reader.get("/inbox").text


def test_what_waits_in_a_project_is_decided_there(
    mesh: MemoryMesh, agent: MemoryMesh, reader: ReaderClient
) -> None:
    scope = Scope(project="web")
    lesson = agent.lessons.record("Never deploy on a Friday", when="deploying", scope=scope)
    assert "Never deploy on a Friday" in reader.get("/inbox").text
    reader.post("/inbox/reject", on="/inbox", id=lesson.memory_id)
    (found,) = mesh.get_all(scope=scope, include=["archived"], limit=5)
    assert found.status is Status.ARCHIVED


# Is it working?


def asked_of(mesh: MemoryMesh, reader: Owner | None = None) -> Asked:
    return Asked(reader or Owner(mesh), "default", mesh, datetime.now(UTC), "")


def test_the_page_shows_writes_searches_and_late_hooks(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    stored(mesh, "The office is in Oslo")
    mesh.search("where is the office?")
    journal.note(str(mesh.folder), "hook", event="Stop", ms=412, outcome="late", reason="too slow")
    page = reader.get("/working")
    for words in ("The office is in Oslo", "where is the office?", "412 ms", "1 late", "too slow"):
        assert words in page.text


def test_doctors_findings_stand_on_top(mesh: MemoryMesh, reader: ReaderClient) -> None:
    stored(mesh, "The office is in Oslo")
    page = reader.get("/working", examine="yes")
    assert page.text.index("checks are fine") < page.text.index("Live")


def test_a_batch_begins_where_the_last_one_ended(mesh: MemoryMesh) -> None:
    stored(mesh, "The office is in Oslo")
    first = batch(asked_of(mesh))
    assert [event.text for event in first.events] == ["The office is in Oslo"]
    place = FeedPlace.read(str(first.place))
    assert batch(asked_of(mesh), place).events == []
    stored(mesh, "Tea is at four")
    mesh.search("tea?")
    second = batch(asked_of(mesh), place)
    assert {event.text for event in second.events} == {"Tea is at four", "tea?"}
    assert batch(asked_of(mesh), second.place).events == []


def test_what_was_written_is_shown_where_later_writes_have_no_block(mesh: MemoryMesh) -> None:
    stored(mesh, "The office is in Oslo")
    place = batch(asked_of(mesh)).place
    stored(mesh, "Tea is at four")
    mesh.care.run_jobs(["consolidate-memories"])  # notes in the store when it ran
    for found in (batch(asked_of(mesh), place), batch(asked_of(mesh))):
        assert "Tea is at four" in [event.text for event in found.events]


def test_however_much_arrives_a_batch_is_small_and_counts_the_rest(mesh: MemoryMesh) -> None:
    place = batch(asked_of(mesh)).place
    texts = [f"Shelf {number} holds the box {number}" for number in range(300)]
    for start in range(0, 300, 30):
        mesh.add_many(texts[start : start + 30])
    found = batch(asked_of(mesh), place)
    assert 0 < len(found.events) <= MOST
    assert found.more + len(found.events) == 300
    assert batch(asked_of(mesh), found.place).events == []


def test_a_stranger_hears_nothing(mesh: MemoryMesh, reader: ReaderClient) -> None:
    reader.client.cookies.clear()
    assert reader.client.get("/-/feed/default").status_code == 403


# Health and growth.


def test_figures_by_time_kind_source_and_project_lead_to_their_memories(
    mesh: MemoryMesh, agent: MemoryMesh, reader: ReaderClient
) -> None:
    stored(mesh, "We keep SQLite", kind="decision", scope=Scope(project="storage"))
    stored(agent, "Tea is at four")
    page = reader.get("/health")
    for name in ("decision", "storage"):
        assert "We keep SQLite" in reader.client.get(page.links[name]).text
        assert "Tea" not in reader.client.get(page.links[name]).text
    assert "2 active memories" in page.text


def test_growth_has_few_bars_without_a_gap() -> None:
    found = growth({"2024-01-01": 3, "2026-02-03": 4}, date(2026, 3, 1))
    assert len(found.bars) <= 60
    assert sum(bar.count for bar in found.bars) == found.bars[-1].total == 7
    assert {len(found.bars[at].label) for at in range(3)} == {10}
    assert len(growth({}, date(2026, 3, 1)).bars) == 1


def test_a_store_is_verified_from_the_page(mesh: MemoryMesh, reader: ReaderClient) -> None:
    stored(mesh, "The office is in Oslo")
    assert "nothing is wrong" in reader.post("/health/verify", on="/health").text


def test_what_upkeep_would_put_away_is_proposed_and_nothing_changes_by_looking(
    tmp_path: Path,
) -> None:
    clock = FrozenClock()
    with opened(tmp_path / "old", clock=clock) as mesh, looked_at(mesh) as reader:
        agent = mesh.view(channel="mcp")
        old = stored(agent, "Ann lives in Oslo")
        clock.advance(timedelta(days=9))
        stored(agent, "Ann lives in Tromsø")
        clock.advance(timedelta(days=900))
        assert "Ann lives in Tromsø" in reader.get("/health").text
        before = mesh.stats()
        page = reader.post("/health/look", on="/health")
        assert "1 proposal of upkeep" in page.text
        assert old in page.html
        assert (mesh.stats().seq, mesh.stats().by_status) == (before.seq, before.by_status)


# The export.


def test_an_export_reads_alone_and_holds_nothing_of_elsewhere(
    mesh: MemoryMesh, reader: ReaderClient, tmp_path: Path
) -> None:
    stored(mesh, f"The office is in Oslo {HOSTILE}")
    mesh.context("where is the office?")
    mesh.view(namespace="secret").add("The code of the door is 4711")
    journal.note(str(mesh.folder), "hook", event="Stop", ms=412, outcome="late")
    done = export(mesh, tmp_path / "out", "default")
    texts = {path.name: path.read_text() for path in (tmp_path / "out").glob("*.html")}
    assert done.pages == len(texts)
    assert done.left_out == 0
    whole = "\n".join(texts.values())
    assert "The office is in Oslo" in whole
    assert not re.search(r"4711|secret|412 ms|<script|<form|<img|csrf|hx-", whole)
    links = set(re.findall(r'(?:href|src)="([^"#]+)"', whole))
    assert links <= texts.keys() | {"static/style.css", "static/mark.svg"}
    assert {name.partition("-")[0] for name in texts} >= {"told", "inbox", "working", "health"}


def test_the_command_writes_the_pages_to_a_new_folder_alone(
    tmp_path: Path, cli: CommandLine
) -> None:
    out = tmp_path / "out"
    with opened(cli.store) as mesh:
        stored(mesh, "The office is in Oslo")
    assert str(out / "index.html") in cli("ui", "--export", str(out)).out
    texts = [path.read_text() for path in out.glob("memories-*.html")]
    assert any("The office is in Oslo" in text for text in texts)
    with opened(cli.store) as mesh, pytest.raises(InvalidInput, match="not empty"):
        export(mesh, out, "default")


# All of them.


def test_looking_counts_nothing(mesh: MemoryMesh, agent: MemoryMesh, reader: ReaderClient) -> None:
    old, _, _ = conflict(mesh, agent)
    agent.review.propose_update(old, "The office is in Bodø")
    pack = mesh.context("where is the office?")

    def state() -> tuple[object, ...]:
        found = mesh.care.recalls(as_owner=True)  # writes what waits
        return found, [*mesh.get_all()], mesh.stats().recalls, mesh.stats().seq

    before = state()
    for path in (*PAGES, f"/told/{pack.injection_id}"):
        assert reader.get(path).status == 200
    reader.get(f"/told/{pack.injection_id}", why=old)
    assert state() == before
    blocks = mesh.stats().blocks
    reader.get("/working", examine="yes")  # a check makes an empty commit
    assert state()[:3] == before[:3]
    assert mesh.stats().blocks == blocks


def test_hostile_words_stay_words_on_every_page(
    mesh: MemoryMesh, agent: MemoryMesh, reader: ReaderClient
) -> None:
    kept = stored(mesh, f"Office {HOSTILE}", {"tags": [HOSTILE[:40]]}, speaker=HOSTILE)
    agent.review.propose_update(kept, f"Else {HOSTILE}", reason=HOSTILE)
    agent.lessons.record(f"Rule {HOSTILE}", when=HOSTILE)
    agent.skills.add(f"---\nname: {json.dumps(HOSTILE)}\ndescription: x\n---\n\n{HOSTILE}\n")
    pack = mesh.context(f"office {HOSTILE}", scope=Scope(session=HOSTILE))
    journal.note(str(mesh.folder), "hook", event=HOSTILE, ms=1, outcome="late", reason=HOSTILE)
    own = 2
    for path in (*PAGES, f"/told/{pack.injection_id}"):
        page = reader.get(path)
        assert page.status == 200
        assert not [tag for tag, _ in page.tags if tag == "img"]
        assert sum(tag == "script" for tag, _ in page.tags) == own + (path == "/working")
        assert not [1 for _, found in page.tags if any(name.startswith("on") for name in found)]


class Reads(Owner):
    """May read and nothing else."""

    def may(self, scope: str, namespace: str) -> bool:
        return scope == "read" and super().may(scope, namespace)


class ReadersWhoRead(OwnerReaders):
    """Knows one who may read and nothing else."""

    def __init__(self, mesh: MemoryMesh) -> None:
        super().__init__(mesh)
        self._owner = Reads(mesh)


def test_who_may_only_read_is_shown_no_button_and_nothing_of_the_machine(
    mesh: MemoryMesh, agent: MemoryMesh
) -> None:
    old, _, found = conflict(mesh, agent)
    agent.review.propose_update(old, "The office is in Bodø")
    journal.note(str(mesh.folder), "hook", event="Stop", ms=412, outcome="late")
    readers = ReadersWhoRead(mesh)
    with TestClient(Dashboard(readers).application(), base_url=PLACE) as client:
        client.get("/-/in", params={"token": readers.token})
        reader = ReaderClient(client)
        assert "Approve" not in reader.get("/inbox").text
        assert "412" not in reader.get("/working", examine="yes").text
        assert "Look through" not in reader.get("/health").text
        told = {"id": found, "resolution": "reject"}
        assert reader.post("/inbox/resolve", on="/inbox", **told).status == 403
    assert mesh.review.conflicts(pending=True)


def test_pages_of_a_large_namespace_read_a_few_rows(mesh: MemoryMesh) -> None:
    mesh.add_many([f"Shelf {number} holds the box {number}" for number in range(400)])
    for page in (told, inbox, working, health):
        shown = page.show(asked_of(mesh)).values
        held = [value for value in shown.values() if isinstance(value, list)]
        assert all(len(value) <= 100 for value in held)
    with pytest.raises(NotFound):
        asked_of(mesh).memory("mem_1_abc")


def test_of_a_large_store_a_sample_is_counted_until_all_is_asked_for(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    for kind, count in (("fact", 4_500), ("decision", 1_500)):
        mesh.add_many(
            [{"content": f"Shelf {at} holds a {kind}", "kind": kind} for at in range(count)]
        )
    page = reader.get("/health")
    said = [int(found.replace(",", "")) for found in re.findall(r"≈ ([\d,]+) active", page.text)]
    assert said == [pytest.approx(6_000, rel=0.03)]
    shown = health.show(asked_of(mesh)).values
    assert [each.count for each in shown["kinds"]] == pytest.approx([4_500, 1_500], rel=0.05)
    whole = reader.client.get(page.links["Count all of them"]).text
    assert "6,000" in whole
    assert "≈" not in whole
