"""Memories become Markdown files: new files, appended documents, removals, disagreements."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_mesh import care
from memory_mesh.formats.memory_file import MemoryFile, parse
from memory_mesh.mirror import Author, Mirror
from memory_mesh.mirror.store_to_folder import KEPT, append
from memory_mesh.model import Scope
from memory_mesh.model.errors import InvalidInput, NotAllowed, NotFound
from memory_mesh.sync import MemoryMesh


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "project" / ".rawko" / "memories"
    place.mkdir(parents=True)
    return place


@pytest.fixture
def own(tmp_path: Path) -> Iterator[MemoryMesh]:
    with MemoryMesh(db_dir=tmp_path / "store", project="p") as mesh:
        yield mesh


@pytest.fixture
def mirror(own: MemoryMesh, folder: Path) -> Mirror:
    return Mirror(own, folder)


def only(folder: Path) -> Path:
    (path,) = folder.glob("*.md")
    return path


@pytest.mark.req("R-001-001", "R-001-008", "R-001-042", "R-001-043")
def test_a_memory_becomes_a_file_named_after_its_title(own, folder, mirror):
    receipt = own.add(
        "# Express Middleware\n\nAlways call next().",
        {"title": "Express Middleware: a Pattern!", "ticket": 7},
        tags=["patterns"],
        triggers=["middleware|interceptor"],
        importance="high",
        source_agent="developer",
    )
    own.graph.link(receipt.id, own.add("Handlers are async.", {"title": "Async handlers"}).id)
    assert len(mirror.run().written) == 2
    (document,) = parse((folder / "express-middleware-a-pattern.md").read_text()).documents
    assert document == MemoryFile(
        "Express Middleware: a Pattern!",
        ("middleware|interceptor",),
        ("patterns",),
        "high",
        own.history(receipt.id)[0].created_at,
        "developer",
        body="# Express Middleware\n\nAlways call next().",
        related=("async-handlers.md",),
        more={"ticket": 7},
        memory_id=receipt.id,
    )
    assert mirror.run().quiet


@pytest.mark.req("R-001-027", "R-001-044")
def test_an_update_is_appended_behind_a_separator_and_overwrites_nothing(own, folder, mirror):
    id_ = own.add("The port is 8080.", {"title": "Port"}).id
    mirror.run()
    before = only(folder).read_text()
    own.update(id_, "The port is 9090.")
    assert mirror.run().counts == {"written": 1}
    after = only(folder).read_text()
    assert after.startswith(before + "\n\n---\n\n---\n")
    assert [one.body for one in parse(after).documents] == [
        "The port is 8080.",
        "The port is 9090.",
    ]
    assert mirror.run().quiet
    assert len(own.get_all()) == 1


def test_an_update_replaces_the_document_where_that_is_set(own, folder):
    mirror = Mirror(own, folder, updates="replace")
    id_ = own.add("The port is 8080.", {"title": "Port"}).id
    mirror.run()
    path = only(folder)
    path.write_text(path.read_text() + "\n\n---\n\n---\ntitle: Other\n---\n\nBytes  stay.\n\n")
    mirror.run()
    own.update(id_, "The port is 9090.")
    mirror.run()
    text = path.read_text()
    assert [one.body for one in parse(text).documents] == ["The port is 9090.", "Bytes  stay."]
    assert text.endswith("---\ntitle: Other\n---\n\nBytes  stay.\n\n")
    assert mirror.run().quiet
    assert [kept.name for kept in (folder / KEPT).iterdir()] == [".gitignore"]


def test_two_memories_of_one_title_get_two_files(own, folder, mirror):
    for port in (1, 2):
        own.add(f"The port is {port}.", {"title": "Port"})
    mirror.run()
    assert {path.name for path in folder.glob("*.md")} == {"port.md", "port-2.md"}
    assert mirror.run().quiet


def test_a_deleted_memory_takes_its_documents_along_and_no_other_byte(own, folder, mirror):
    (folder / "both.md").write_text("# One\n\nfirst\n\n---\n\n---\ntitle: Two\n---\n\nsecond  \n")
    (folder / "alone.md").write_text("# Alone\n\nthird\n")
    mirror.run()
    found = {memory.extra["title"]: memory.id for memory in own.get_all()}
    own.delete(found["One"])
    own.delete(found["Alone"])
    assert len(mirror.run().removed) == 2
    assert [path.name for path in folder.glob("*.md")] == ["both.md"]
    assert (folder / "both.md").read_text() == "---\ntitle: Two\n---\n\nsecond  \n"
    assert mirror.run().quiet
    own.restore(found["Alone"])
    assert len(mirror.run().written) == 1


def test_only_the_long_term_memories_of_the_project_are_written(own, folder, mirror, tmp_path):
    own.add("Of the project.", {"title": "Project"})
    own.add("For one agent.", scope=Scope("p", "planner"))
    own.add("For one session.", scope=Scope("p", None, "s1"))
    own.add("For all projects.", scope=Scope())
    own.add("For a moment.", tier="short_term")
    mirror.run()
    assert [path.name for path in folder.glob("*.md")] == ["project.md"]


def test_what_was_learned_from_traces_is_not_written(own, folder, mirror):
    for number in (1, 2):
        own.traces.record(f"Release version {number} of the shop", steps=["Check", "Tag"])
    own.care.run_jobs(["consolidate-traces"])
    (learning,) = own.get_all(filter="label = 'learning'")
    assert (learning.tier, learning.scope.project) == ("long_term", "p")
    assert (mirror.run().counts, [*folder.iterdir()]) == ({}, [])


def test_both_sides_changed_is_shown_and_neither_is_clobbered(own, folder, mirror):
    id_ = own.add("The port is 8080.", {"title": "Port"}).id
    mirror.run()
    path = only(folder)
    edited = path.read_text().replace("8080", "7070")
    path.write_text(edited)
    own.update(id_, "The port is 9090.")
    for _ in range(2):
        mirror.run()
        assert path.read_text() == edited
        assert own.history(id_)[-1].text == "The port is 9090."
        assert len(mirror.run().disagreements) == 1
    (line,) = mirror.status().disagreements
    assert (line.path, line.memory) == ("port.md", id_)


@pytest.mark.parametrize("side", ["file", "store"])
def test_a_disagreement_ends_when_one_side_takes_its_change_back(own, folder, mirror, side):
    id_ = own.add("The port is 8080.", {"title": "Port"}).id
    mirror.run()
    path = only(folder)
    before = path.read_text()
    path.write_text(before.replace("8080", "7070"))
    own.update(id_, "The port is 9090.")
    mirror.run()
    if side == "file":
        path.write_text(before)
        assert mirror.run().counts == {"written": 1}
        assert parse(path.read_text()).documents[-1].body == "The port is 9090."
    else:
        own.update(id_, "The port is 8080.")
        assert mirror.run().counts == {"changed": 1}
        assert own.history(id_)[-1].text == "The port is 7070."
    assert mirror.run().quiet


def test_a_title_that_the_store_redacts_stays_in_the_file(own, folder, mirror):
    path = folder / "mail.md"
    path.write_text("---\ntitle: Mail of jane@example.org\n---\n\nIt is read daily.\n")
    mirror.run()
    (memory,) = own.get_all()
    assert "jane" not in memory.extra["title"]
    own.update(memory.id, "It is read weekly.")
    mirror.run()
    assert [one.title for one in parse(path.read_text()).documents] == [
        "Mail of jane@example.org",
        "Mail of jane@example.org",
    ]
    assert mirror.run().quiet


@pytest.mark.parametrize(("keep", "text"), [("file", "7070"), ("store", "9090")])
def test_a_disagreement_ends_as_a_person_decides(own, folder, mirror, keep, text):
    id_ = own.add("The port is 8080.", {"title": "Port"}).id
    mirror.run()
    path = only(folder)
    path.write_text(path.read_text().replace("8080", "7070"))
    own.update(id_, "The port is 9090.")
    mirror.run()
    mirror.resolve(path, keep=keep)
    assert mirror.status().quiet
    assert own.history(id_)[-1].text == f"The port is {text}."
    assert parse(path.read_text()).documents[-1].body == f"The port is {text}."
    assert {"The port is 9090.", f"The port is {text}."} <= {v.text for v in own.history(id_)}
    with pytest.raises(NotFound, match="mirror status"):
        mirror.resolve(path, keep=keep)
    with pytest.raises(InvalidInput):
        mirror.resolve(path, keep="both")


@pytest.mark.parametrize(("keep", "left"), [("file", 0), ("store", 1)])
def test_a_document_deleted_while_its_memory_changed_disagrees(own, folder, mirror, keep, left):
    id_ = own.add("The port is 8080.", {"title": "Port"}).id
    mirror.run()
    only(folder).unlink()
    own.update(id_, "The port is 9090.")
    assert mirror.run().disagreements
    assert len(own.get_all()) == 1
    mirror.resolve("port.md", keep=keep)
    assert len(own.get_all()) == left
    assert len(list(folder.glob("*.md"))) == left
    assert mirror.run().quiet


def test_both_sides_changed_to_the_same_agree(own, folder, mirror):
    id_ = own.add("The port is 8080.", {"title": "Port"}).id
    mirror.run()
    path = only(folder)
    path.write_text(path.read_text().replace("8080.", "9090."))
    own.update(id_, "The port is 9090.")
    assert mirror.run().counts == {"agreed": 1}
    assert mirror.run().quiet


def test_a_document_of_the_mirror_that_an_editor_overwrote_is_shown(own, folder, mirror):
    id_ = own.add("The port is 8080.", {"title": "Port"}).id
    mirror.run()
    path = only(folder)
    loaded = path.read_text()
    own.update(id_, "The port is 9090.")
    mirror.run()
    path.write_text(loaded.replace("8080", "8081"))
    assert "an older one is left" in mirror.run().disagreements[0].words
    assert own.history(id_)[-1].text == "The port is 9090."


def test_a_lost_state_makes_no_second_memory(own, folder, mirror, tmp_path):
    own.add("The port is 8080.", {"title": "Port"})
    (folder / "note.md").write_text("# Note\n\nBy hand.\n")
    mirror.run()
    for path in (tmp_path / "store" / "mirrors").iterdir():
        path.unlink()
    mirror.run()
    assert len(own.get_all()) == 2
    assert mirror.run().quiet


def test_a_broken_state_is_begun_anew(own, folder, mirror, tmp_path):
    (folder / "note.md").write_text("# Note\n\nBy hand.\n")
    mirror.run()
    (path,) = (tmp_path / "store" / "mirrors").glob("*.sqlite")
    path.write_bytes(b"this is no database" * 100)
    report = mirror.run()
    assert "began anew" in report.notes[0].words
    assert len(own.get_all()) == 1


def test_a_file_that_names_a_memory_of_another_project_does_not_touch_it(own, folder, mirror):
    other = own.view(scope=Scope("other"))
    secret = other.add("Of another project.").id
    (folder / "trick.md").write_text(
        f"---\ntitle: Trick\nmemoryId: {secret}\n---\n\nOverwritten.\n"
    )
    assert len(mirror.run().added) == 1
    assert [version.text for version in other.history(secret)] == ["Of another project."]


@pytest.mark.req("R-001-086")
def test_a_memory_whose_source_changed_is_stale(own, folder, mirror, tmp_path):
    source = tmp_path / "project" / "src" / "auth.py"
    source.parent.mkdir()
    source.write_text("TOKEN = 1\n")
    for title, line in {
        "By source": "source: src/auth.py:12",
        "By task": "discoveredIn: src/auth.py",
        "By nothing": 'source: "a talk"',
    }.items():
        name = title.lower().replace(" ", "-")
        (folder / f"{name}.md").write_text(f"---\ntitle: {title}\n{line}\n---\n\n{title}: text.\n")
    own.add("Stored: tokens are here.", {"title": "Stored"}, source_ref="src/auth.py")
    mirror.run()
    assert mirror.stale() == []
    source.write_text("TOKEN = 2\n")
    found = {one.path: one.words for one in mirror.stale()}
    assert set(found) == {"by-source.md", "by-task.md", "stored.md"}
    assert set(found.values()) == {"has changed"}
    path = folder / "by-source.md"
    path.write_text(path.read_text().replace("text", "a checked text"))
    mirror.run()
    assert {one.path for one in mirror.stale()} == {"by-task.md", "stored.md"}
    source.unlink()
    assert {one.words for one in mirror.stale()} == {"is gone"}


@pytest.mark.req("R-001-042", "R-001-044")
def test_a_document_is_appended_to_the_file_that_is_there(tmp_path):
    path = tmp_path / "new" / "port.md"
    append(path, MemoryFile("Port", body="8080"))
    first = path.read_text()
    append(path, MemoryFile("Port", body="9090"))
    assert path.read_text().startswith(first + "\n\n---\n\n")
    assert append(path, MemoryFile("Port", body="1"), expected=lambda now: not now) is None
    assert len(parse(path.read_text()).documents) == 2


def test_a_folder_that_has_the_name_of_a_file_stops_no_file(own, folder, mirror):
    (folder / "port.md").mkdir()
    own.add("The port is 8080.", {"title": "Port"})
    own.add("The gate is red.", {"title": "Gate"})
    report = mirror.run()
    assert {line.path for line in report.written} == {"gate.md", "port-2.md"}
    assert report.refused == []


def test_what_a_program_wrote_to_a_replaced_file_is_kept(own, folder):
    mirror = Mirror(own, folder, updates="replace")
    id_ = own.add("The port is 8080.", {"title": "Port"}).id
    mirror.run()
    editor = os.open(only(folder), os.O_WRONLY | os.O_APPEND)
    own.update(id_, "The port is 9090.")
    mirror.run()
    os.write(editor, b"\nLate words.\n")
    os.close(editor)
    for _ in range(2):
        (note,) = mirror.run().notes
        assert "Late words." in (folder / note.path).read_text()


@pytest.mark.parametrize("project", ["", None])
def test_memories_of_no_project_are_written_too(folder, tmp_path, project):
    with MemoryMesh(db_dir=tmp_path / "global", project=project) as mesh:
        mesh.add("Handlers are async.")
        assert Mirror(mesh, folder).run().counts == {"written": 1}
        only(folder).write_text(only(folder).read_text().replace("async", "sync"))
        assert Mirror(mesh, folder).run().counts == {"changed": 1}
        assert [memory.text for memory in mesh.get_all()] == ["Handlers are sync."]
        assert Mirror(mesh, folder).run().quiet


def test_a_name_that_is_no_usable_file_is_left_alone_and_stops_nothing(own, folder, mirror):
    (folder / "one.md").mkdir()
    (folder / "two.md").symlink_to(folder.parent / "elsewhere.md")
    (folder / "three.md").write_bytes(b"caf\xe9")
    (folder / "four.md").write_text("---\ntitle: [\n---\n\nhalf written\n")
    for title in ("One", "Two", "Three", "Four", "Five"):
        own.add(f"The text of {title}.", {"title": title})
    report = mirror.run()
    assert sorted(line.path for line in report.written) == [
        "five.md", "four-2.md", "one-2.md", "three-2.md", "two-2.md",
    ]  # fmt: skip
    assert not (folder.parent / "elsewhere.md").exists()
    assert (folder / "four.md").read_text().endswith("half written\n")
    assert mirror.run().written == []


def test_a_file_that_cannot_be_written_does_not_stop_the_others(own, folder, mirror, monkeypatch):
    def refusing(path, *args, **options):
        if path.name == "one.md":
            raise PermissionError(13, "Permission denied", str(path))
        return append(path, *args, **options)

    monkeypatch.setattr("memory_mesh.mirror.store_to_folder.append", refusing)
    for title in ("Two", "One", "Three"):
        own.add(f"The text of {title}.", {"title": title})
    report = mirror.run()
    assert report.counts == {"written": 2, "refused": 1}
    assert "Permission denied" in report.refused[0].words
    monkeypatch.undo()
    assert mirror.run().counts == {"written": 1}


@pytest.mark.parametrize("key", ["importance", "whenToUse"])
def test_a_memory_that_no_file_can_show_is_reported_and_leaves_no_file(own, folder, mirror, key):
    own.add("Tea is in the second drawer", {key: "now and then"})
    own.add("Milk is in the fridge")
    for _ in range(2):
        (line,) = mirror.run().refused
        assert line.words.startswith(f"it cannot be written: {key!r} is a field of its own")
        assert only(folder).name == "milk-is-in-the-fridge.md"


def test_a_folder_that_became_a_link_is_not_written_through(own, folder, mirror, tmp_path):
    receipt = own.add("The port is 80.", {"title": "Port"})
    mirror.run()
    (folder / "sub").mkdir()
    (folder / "port.md").rename(folder / "sub" / "port.md")
    mirror.run()
    (folder / "sub").rename(tmp_path / "outside")
    (folder / "sub").symlink_to(tmp_path / "outside")
    before = (tmp_path / "outside" / "port.md").read_bytes()
    own.update(receipt.id, "The port is 81.")
    mirror.push()
    own.delete(receipt.id)
    mirror.push()
    assert (tmp_path / "outside" / "port.md").read_bytes() == before


def test_two_memories_of_one_title_stay_two_when_their_files_are_joined(own, folder, mirror):
    first = own.add("The first words.", {"title": "Notes"})
    second = own.add("Quite other ones about fish.", {"title": "Notes"})
    mirror.run()
    texts = [path.read_text() for path in (folder / "notes.md", folder / "notes-2.md")]
    (folder / "notes-2.md").unlink()
    (folder / "notes.md").write_text("\n\n---\n\n".join(texts))
    assert mirror.run().counts == {"moved": 1}
    own.update(first.id, "The first words, again.")
    own.update(second.id, "Other ones about birds.")
    assert mirror.run().counts == {"written": 2}
    assert mirror.run().quiet
    own.delete(first.id)
    assert mirror.run().counts == {"removed": 1}
    assert "The first words" not in (folder / "notes.md").read_text()
    assert [memory.text for memory in own.get_all()] == ["Other ones about birds."]
    assert mirror.run().quiet


def test_a_file_that_takes_the_place_of_another_of_its_title_is_the_memory_it_names(
    own, folder, mirror
):
    own.add("The first words.", {"title": "Notes"})
    own.add("Quite other ones about fish.", {"title": "Notes"})
    mirror.run()
    kept = (folder / "notes-2.md").read_text()
    (folder / "notes-2.md").rename(folder / "notes.md")
    assert mirror.run().counts == {"moved": 1, "deleted": 1}
    (memory,) = own.get_all()
    assert memory.id in kept
    assert memory.text in kept
    assert len(own.history(memory.id)) == 1


def test_an_agent_does_not_put_the_stores_words_over_the_users(own, folder):
    mirror = Mirror(own, folder, updates="replace")
    receipt = own.add("The port is 80.", {"title": "Port"})
    mirror.run()
    own.update(receipt.id, "The port is 81.")
    only(folder).write_text(only(folder).read_text().replace("80", "82"))
    mirror.run()
    with pytest.raises(NotAllowed, match="user"):
        mirror.resolve(only(folder), keep="store", author=Author.AGENT)
    assert "The port is 82." in only(folder).read_text()
    assert mirror.resolve(only(folder), keep="file", author=Author.AGENT).counts == {"proposed": 1}


def test_a_dry_run_keeps_the_file_that_was_replaced(own, folder):
    mirror = Mirror(own, folder, updates="replace")
    receipt = own.add("The port is 80.", {"title": "Port"})
    mirror.run()
    own.update(receipt.id, "The port is 81.")
    mirror.run()
    (kept,) = (folder / KEPT).glob("port.*")
    mirror.status()
    assert "The port is 80." in kept.read_text()
    mirror.run()
    assert not kept.exists()


@pytest.mark.parametrize(("text", "kind"), [("2", "disagreements"), ("1", "agreed")])
def test_a_dry_run_does_not_say_that_the_file_was_changed_meanwhile(own, folder, text, kind):
    mirror = Mirror(own, folder)
    stored = own.add("The port is 8080.", source_kind="user_explicit").id
    mirror.run()
    own.update(stored, "The port is 1.")
    only(folder).write_text(only(folder).read_text().replace("is 8080.\n", f"is {text}.\n"))
    assert mirror.status().counts == {kind: 1}
    assert mirror.run(dry_run=True).counts == {kind: 1}


def test_after_a_restore_the_writes_that_took_lost_numbers_are_mirrored(tmp_path: Path) -> None:
    store, folder = tmp_path / "restored", tmp_path / "mirrored"
    folder.mkdir()

    def pushed(*texts: str) -> set[str]:
        with MemoryMesh(db_dir=store, embedder="none") as mesh:
            for text in texts:
                mesh.add(text)
            Mirror(mesh, folder).push()
        return {path.name for path in folder.glob("*.md")}

    assert pushed("one is about lamps") == {"one-is-about-lamps.md"}
    backup = care.backup(store, tmp_path / "backups")
    assert len(pushed("two is about tables", "three is about trees")) == 3
    care.restore(backup.folder, store, replace=True)
    assert {"four-is-for-foxes.md", "five-is-for-flies.md"} <= pushed(
        "four is for foxes", "five is for flies"
    )
