"""The page of a store: each page is read and each action pressed, in process."""

import io
import json
import os
import signal
import sqlite3
import sys
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from pathlib import Path
from subprocess import PIPE, Popen, run

import httpx
import pytest
from starlette.testclient import TestClient

from memory_mesh import dashboard
from memory_mesh.dashboard.app import Dashboard
from memory_mesh.dashboard.readers import OwnerReaders
from memory_mesh.model import Scope
from memory_mesh.server.app import Service
from memory_mesh.server.mcp import application
from memory_mesh.sync import MemoryMesh
from tests.surface.page_reading import HOSTILE, PLACE, ReaderClient, looked_at, opened


@pytest.fixture
def mesh(tmp_path: Path) -> Iterator[MemoryMesh]:
    with opened(tmp_path / "store") as made:
        yield made


@pytest.fixture
def reader(mesh: MemoryMesh) -> Iterator[ReaderClient]:
    with looked_at(mesh) as made:
        yield made


# Who may look.


def test_the_link_signs_in_once_and_nobody_else_sees_a_page(mesh: MemoryMesh) -> None:
    mesh.add("The office is in Oslo")
    readers = OwnerReaders(mesh)
    token = readers.token
    application = Dashboard(readers).application()
    with TestClient(application, base_url=PLACE) as stranger:
        shut = stranger.get("/default/memories")
        assert "Sign in" in shut.text
        assert "Oslo" not in shut.text
    with TestClient(application, base_url=PLACE) as first:
        assert first.get("/-/in", params={"token": token}).status_code == 200
        assert "Oslo" in first.get("/default/memories").text
    with TestClient(application, base_url=PLACE) as second:
        assert second.get("/-/in", params={"token": token}).status_code == 401


def test_the_command_prints_a_link_that_opens_the_page(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "memory_mesh", "ui", "--port", "0", "--store", str(tmp_path)]
    with Popen(command, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        assert link.startswith("http://127.0.0.1:")
        with httpx.Client(follow_redirects=True) as client:
            assert "Why did you say that?" in client.get(link).text
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_a_name_that_is_not_of_this_machine_is_refused(mesh: MemoryMesh) -> None:
    with TestClient(
        Dashboard(OwnerReaders(mesh)).application(), base_url="http://evil.example"
    ) as it:
        assert it.get("/-/in").status_code == 403


def test_every_answer_forbids_frames_and_scripts_of_others(reader: ReaderClient) -> None:
    for path in ("/default/memories", "/default/nowhere", "/-/in"):
        policy = reader.client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy


def test_a_form_without_the_token_changes_nothing(mesh: MemoryMesh, reader: ReaderClient) -> None:
    kept = mesh.add("The office is in Oslo").id
    answer = reader.client.post("/default/memories/delete", data={"id": kept})
    assert answer.status_code == 403
    assert [memory.id for memory in mesh.get_all()] == [kept]


# The page of the service: its keys sign in.


def _signed_in(service: TestClient, key: str) -> ReaderClient:
    assert service.post("/ui/-/in", data={"token": key}).status_code == 200
    return ReaderClient(service, "ui/default")


def test_a_key_sees_and_does_on_the_page_what_it_may(mesh: MemoryMesh) -> None:
    kept = mesh.add("The office is in Oslo").id
    mesh.for_user("ann").add("Ann lives in Bergen")
    keys = mesh.care.access_keys
    made = {
        role: keys.add(role, grants={"default": role}).text or "" for role in ("reader", "editor")
    }
    with TestClient(application(Service(mesh), PLACE), base_url=PLACE) as service:
        wrong = service.post("/ui/-/in", data={"token": "mm_1_2"})
        assert wrong.status_code == 401
        reader = _signed_in(service, made["reader"])
        page = reader.get("/memories")
        assert "The office is in Oslo" in page.text
        assert "/memories/delete" not in page.html
        assert "ann" not in page.html
        assert service.get("/ui/user.ann/memories").status_code == 403
        assert reader.post("/memories/delete", id=kept).status == 403
        service.cookies.clear()
        editor = _signed_in(service, made["editor"])
        assert "in the inbox" in editor.post("/memories/delete", id=kept).text  # an agent's word
        assert "/memories/forget" not in editor.get("/memories", status="any").html
    assert [memory.id for memory in mesh.get_all()] == [kept]


def test_a_revoked_key_is_signed_out(mesh: MemoryMesh) -> None:
    key = mesh.care.access_keys.add("ann", grants={"default": "reader"})
    with TestClient(application(Service(mesh), PLACE), base_url=PLACE) as service:
        reader = _signed_in(service, key.text or "")
        assert reader.get("/memories").status == 200
        admin = mesh.care.access_keys.add("admin", grants={"*": "admin"}, speaks_as="user").text
        ended = service.post(
            "/v1/care/access_keys/revoke",
            json={"id": key.id},
            headers={"authorization": f"Bearer {admin}"},
        )
        assert ended.status_code == 200
        assert "Sign in" in reader.get("/memories").text


# Memories.


def test_memories_are_listed_newest_first_and_paged(mesh: MemoryMesh, reader: ReaderClient) -> None:
    mesh.add_many([f"Shelf {number} holds the box {number}" for number in range(60)])
    first = reader.get("/memories")
    assert "Shelf 59" in first.text
    assert "Shelf 9 " not in first.text
    rest = reader.client.get(first.links["More"])
    assert "Shelf 9 " in rest.text


def test_a_search_shows_how_likely_each_answer_is(mesh: MemoryMesh, reader: ReaderClient) -> None:
    mesh.add("The office is in Oslo")
    mesh.add("Deploys go out on Tuesdays")
    found = reader.get("/memories", q="where is the office?")
    assert "The office is in Oslo" in found.text
    assert "Deploys" not in found.text
    assert any(word in found.text for word in ("strong", "likely", "possible"))


def test_facets_narrow_the_list_to_what_fits(mesh: MemoryMesh, reader: ReaderClient) -> None:
    mesh.add("Invoices go out on the first", kind="decision", scope=Scope(project="billing"))
    mesh.add("Tea is at four", {"tags": ["tea"]})
    assert "Tea" not in reader.get("/memories", project="billing").text
    assert "Invoices" in reader.get("/memories", kind="decision").text
    assert "Invoices" not in reader.get("/memories", tag="tea").text


def test_an_edit_is_a_new_version_and_the_old_one_stays(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    kept = mesh.add("The office is in Oslo").id
    assert kept is not None
    assert "<textarea" in reader.get("/memories", edit=kept).html
    assert "Saved" in reader.post("/memories/edit", id=kept, text="The office is in Bergen").text
    assert [each.text for each in mesh.history(kept)] == [
        "The office is in Oslo", "The office is in Bergen",
    ]  # fmt: skip


def test_many_are_deleted_at_once_and_undone_at_once(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    ids = [mesh.add(text).id for text in ("Tea is at four", "Deploys go out on Tuesdays")]
    done = reader.post("/memories/delete", id=ids)
    assert "Deleted 2 memories" in done.text
    assert "Undo" in done.text
    assert mesh.get_all() == []
    reader.post("/memories/restore", id=ids)
    assert {memory.id for memory in mesh.get_all()} == set(ids)


def test_forgetting_asks_first_and_then_shows_the_receipt(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    kept = mesh.add("The code of the door is 4711").id
    asked = reader.post("/memories/forget", id=kept)
    assert "cannot be undone" in asked.text
    assert [memory.id for memory in mesh.get_all()] == [kept]
    assert "Receipt" in reader.post("/memories/forget", id=kept, sure="yes").text
    assert mesh.get_all(include=["deleted"]) == []


def test_lessons_traces_and_skills_are_filters_with_cards_of_their_own(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    mesh.add("The office is in Oslo")
    mesh.lessons.record("Never deploy on a Friday")
    trace = mesh.traces.record("Ship the release", plan="Tag it", learnings=["Tag first"]).id
    mesh.skills.add("name: deploy\nintent: ship it\nagent: ann\n")
    lessons = reader.client.get(reader.get("/memories").links["lessons"]).text
    assert "Never deploy on a Friday" in lessons
    assert "Oslo" not in lessons
    assert "Ship the release" in reader.get("/memories", type="trace").text
    assert "Tag first" in reader.get(f"/memories/{trace}").text
    assert "ship it" in reader.get("/memories/skills").text


# One memory.


def test_one_memory_says_who_said_it_and_how_it_changed(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    kept = mesh.add("The office is in Oslo", source_agent="ann").id
    assert kept is not None
    mesh.update(kept, "The office is in Bergen", reason="they moved")
    page = reader.get(f"/memories/{kept}")
    assert "2 versions" in page.text
    assert "<del>Oslo</del><ins>Bergen</ins>" in page.html
    assert "they moved" in page.text
    assert "ann" in page.text
    assert "<ins>" not in reader.get(f"/memories/{kept}", version=1).html


def test_one_memory_names_its_prompts_links_and_blocks(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    one, other = mesh.add("The office is in Oslo").id, mesh.add("Oslo has a fjord").id
    assert one is not None
    assert other is not None
    mesh.graph.link(one, other)
    mesh.context("where is the office?")
    page = reader.get(f"/memories/{one}")
    assert "where is the office?" in page.links
    assert page.links["Oslo has a fjord"].endswith(other)
    assert mesh.care.blocks()[0].hash.hex()[:10] in page.text  # type: ignore[union-attr]
    assert "<svg" in reader.get(f"/memories/{one}/around.svg").html


def test_a_memory_that_there_is_not_is_a_page_that_says_so(reader: ReaderClient) -> None:
    page = reader.get("/memories/mem_1_000000")
    assert page.status == 404
    assert "there is no memory" in page.text
    assert "Memories" in page.links


# Why did you say that?


def test_a_sentence_leads_to_the_memory_that_carries_it(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    mesh.add("The office is in Bergen")
    mesh.add("Tea is served at four in the kitchen", pinned=True)
    mesh.context("where is the office?")
    mesh.context("when is tea?")
    page = reader.get("/why", said="Your office is in Bergen, so take the train")
    carrier = page.html.index("This one carries it")
    assert page.html.index("The office is in Bergen") > carrier
    assert page.html.count("This one carries it") == 1
    assert "where is the office?" in page.links
    assert "when is tea?" not in page.text


def test_a_sentence_of_nobody_is_said_to_be_from_elsewhere(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    mesh.add("The office is in Bergen")
    mesh.context("where is the office?")
    assert "did not have it from here" in reader.get("/why", said="Quarks have colour charge").text


def test_what_misled_is_corrected_and_the_prompt_is_packed_anew(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    kept = mesh.add("The office is in Bergen").id
    prompt = mesh.context("where is the office?").injection_id
    said = "The office is in Bergen"
    done = reader.post(
        "/why/correct", on="/why", id=kept, text="The office is in Oslo", said=said, prompt=prompt
    )
    assert "Corrected" in done.text
    assert "<del>Bergen</del><ins>Oslo</ins>" in done.html
    then, _, now = done.text.partition("The same prompt, packed anew")[2].partition(" Now ")
    assert "Bergen" in then
    assert "changed The office is in Oslo" in now


def test_what_was_forgotten_is_not_in_the_prompt_any_more(
    mesh: MemoryMesh, reader: ReaderClient
) -> None:
    kept = mesh.add("The code of the door is 4711").id
    prompt = mesh.context("what is the code of the door?").injection_id
    reader.post("/memories/forget", on="/why", id=kept, sure="yes")
    page = reader.get("/why", prompt=prompt)
    assert "4711" not in page.html
    assert "Nothing is left" in page.text
    assert "A question that was forgotten for good" in page.text
    assert "The same prompt, packed anew" not in page.text
    assert "nobody can weigh it again" in reader.get(f"/told/{prompt}").text


def test_who_changed_the_words_is_named_before_who_said_them_first(mesh: MemoryMesh) -> None:
    ann, ben = (mesh.view(scope=Scope(agent=name)) for name in ("ann", "ben"))
    kept = mesh.add("The office is in Oslo", source_agent="ann").id or ""
    ben.update(kept, "The office is in Bergen", reason="we moved")
    mesh.context("where is the office?")
    ann.update(kept, "The office is in Oslo", reason="no, we did not")
    with looked_at(mesh) as reader:
        page = reader.get("/why", said="Your office is in Bergen")
        assert "ben changed it to this" in page.text
        assert "we moved" in page.text
        assert page.text.index("ben changed") < page.text.index("ann, ")
        assert "by ann: no, we did not" in reader.get(f"/memories/{kept}").text


def test_a_person_with_a_key_is_named(mesh: MemoryMesh) -> None:
    kept = mesh.add("The office is in Oslo").id or ""
    key = mesh.care.access_keys.add("ben", grants={"default": "editor"}, speaks_as="user")
    with TestClient(application(Service(mesh), PLACE), base_url=PLACE) as service:
        page = _signed_in(service, key.text or "")
        page.post("/memories/edit", id=kept, text="The office is in Bergen")
        assert "by ben" in page.get(f"/memories/{kept}").text


# Looking leaves no trace, and what was stored is only ever text.


def test_looking_counts_nothing(mesh: MemoryMesh, reader: ReaderClient) -> None:
    kept = mesh.add("The office is in Oslo").id
    prompt = mesh.context("where is the office?").injection_id
    before = _counted(mesh)
    looked = [
        ("/memories", {}),
        ("/memories", {"q": "where is the office?"}),
        ("/memories", {"status": "any"}),
        (f"/memories/{kept}", {}),
        (f"/memories/{kept}/around.svg", {}),
        ("/why", {"said": "The office is in Oslo"}),
        ("/why", {"prompt": prompt}),
    ]
    for path, query in looked:
        assert "Oslo" in reader.get(path, **query).html  # type: ignore[arg-type]
    assert _counted(mesh) == before


def _counted(mesh: MemoryMesh) -> tuple[object, ...]:
    records = mesh.care.recalls(as_owner=True), mesh.care.prompts(across=["agent"])
    stats = mesh.stats()  # after what waited was written
    return [*mesh.get_all()], stats.recalls, stats.seq, stats.blocks, *records


def test_hostile_texts_are_shown_as_text(mesh: MemoryMesh, reader: ReaderClient) -> None:
    for text in HOSTILE:
        mesh.add(f"Note {text}", {"tags": [text[:40]]}, speaker=text, scope=Scope(project=text))
    page = reader.get(
        "/memories", status="any", q="Note", edit=mesh.get_all(across=["project"])[0].id
    )
    assert escape(HOSTILE[0]) in page.html
    known = {"memories", "note"}
    assert not [tag for tag, found in page.tags if any(name.startswith("on") for name in found)]
    assert sum(tag == "script" for tag, _ in page.tags) == 2
    assert not known & {tag for tag, _ in page.tags}
    assert not [1 for _, found in page.tags if (found.get("href") or "").startswith("javascript")]


# A page reads no more where there is more, and what it loads is what was checked.


def test_a_page_reads_no_more_the_more_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in steps of SQLite's virtual machine, a hundred at a time."""
    steps, connect = [0], sqlite3.connect

    def step() -> None:
        steps[0] += 1

    def watched(*given: object, **named: object) -> sqlite3.Connection:
        made = connect(*given, **named)  # type: ignore[call-overload]
        made.set_progress_handler(step, 100)
        return made  # type: ignore[no-any-return]

    monkeypatch.setattr(sqlite3, "connect", watched)
    with opened(tmp_path / "store") as mesh, looked_at(mesh) as reader:
        kept = mesh.add("The office is in Oslo").id
        prompt = mesh.context("where is the office?").injection_id
        looks = ["/memories", "/memories?status=any"]
        looks += ["/memories?q=office", f"/memories/{kept}", "/why?said=Oslo", "/why"]
        looks += ["/told", f"/told/{prompt}", "/inbox", "/working", "/health", "/memories/skills"]
        taken: list[list[int]] = []
        for more in (5_200, 5_201):  # above what the page of health counts whole
            mesh.add_many([f"Shelf {at} of {more} holds box {at}" for at in range(more)])
            for look in looks:  # what is read once is read before
                reader.client.get(f"/default{look}")
            taken.append([])
            for look in looks:
                before = steps[0]
                assert reader.client.get(f"/default{look}").status_code == 200
                taken[-1].append(steps[0] - before)
    few, many = taken
    grown = [(look, a, b) for look, a, b in zip(looks, few, many, strict=True) if b > 1.2 * a + 10]
    assert grown == []


def test_nothing_of_the_page_is_loaded_where_it_is_not_asked_for(tmp_path: Path) -> None:
    for asked in (["store", "--content", "tea"], ["search", "tea"], ["stats"], ["--help"]):
        command = [sys.executable, "-X", "importtime", "-m", "memory_mesh", *asked]
        store = {"MEMORY_MESH_DIR": str(tmp_path), "MEMORY_MESH_EMBEDDER": "none"}
        done = run(command, env=os.environ | store, capture_output=True, text=True, check=True)
        loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert "memory_mesh" in loaded
        assert not [name for name in loaded if name.startswith("memory_mesh.dashboard")]
        assert not loaded & {"jinja2", "markupsafe", "starlette", "uvicorn", "anyio"}


def test_the_page_adds_little_to_the_wheel() -> None:
    folder, packed = Path(dashboard.__file__).parent, io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as wheel:
        for each in folder.rglob("*"):
            if each.is_file() and "__pycache__" not in each.parts:
                wheel.write(each, each.relative_to(folder))
    assert 0 < len(packed.getvalue()) < 1_200_000


def test_what_is_vendored_is_what_its_maker_published() -> None:
    static = Path(dashboard.__file__).parent / "static"
    vendored = json.loads((static / "vendored.json").read_text())
    folders = {each.name for each in static.iterdir() if each.is_dir()}
    assert folders == set(vendored)
    for name, said in vendored.items():
        files = {
            each.name: sha256(each.read_bytes()).hexdigest() for each in (static / name).iterdir()
        }
        assert files == said["sha256"]
        assert "LICENSE" in files
