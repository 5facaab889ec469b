"""A folder of Markdown files becomes memories: new ones, next versions, deletes, moves, links."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_mesh.mirror import Mirror, state
from memory_mesh.model import Channel, Memory, SourceKind, Status
from memory_mesh.model.errors import NotFound
from memory_mesh.sync import MemoryMesh

AUTH = """---
title: "Authentication Module Structure"
whenToUse:
  - "auth|authentication|login|security"
  - "When implementing security features"
tags: [auth, codebase-structure]
importance: high
discoveredAt: 2026-01-23T10:30:00Z
discoveredBy: planner
discoveredIn: "Task: Implement user authentication"
source: "review of src/auth"
relatedMemories: [jwt.md]
reviewed: true
owner: {team: platform, size: 3}
---

# Authentication Module Structure

Tokens are checked in one place.
"""
JWT = """---
title: "JWT"
whenToUse: jwt
tags: [auth]
importance: low
discoveredAt: 2026-01-24
discoveredBy: developer
---

# JWT

The key is rotated each week.
"""


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


def titled(mesh: MemoryMesh, title: str, **options) -> Memory:
    (found,) = [m for m in mesh.get_all(limit=100, **options) if m.extra.get("title") == title]
    return found


@pytest.mark.req("R-001-001", "R-001-008")
def test_a_file_becomes_a_memory_with_all_its_fields(own, folder, mirror):
    (folder / "auth.md").write_text(AUTH)
    (folder / "jwt.md").write_text(JWT)
    assert mirror.run().counts == {"added": 2, "linked": 1}
    memory = titled(own, "Authentication Module Structure")
    assert memory.text.endswith("Tokens are checked in one place.")
    assert memory.triggers[0] == "auth|authentication|login|security"
    assert memory.tags == ("auth", "codebase-structure")
    assert memory.importance == 0.8
    assert memory.source.agent == "planner"
    assert memory.source.channel is Channel.MIRROR
    assert memory.source.kind is SourceKind.USER_EXPLICIT
    assert memory.created.isoformat() == "2026-01-23T10:30:00+00:00"
    assert memory.extra["reviewed"] is True
    assert memory.extra["owner"] == {"team": "platform", "size": 3}
    assert [link.target for link in own.graph.links(memory.id)] == [titled(own, "JWT").id]


def test_what_is_not_changed_keeps_its_bytes(own, folder, mirror):
    (folder / "auth.md").write_text(AUTH)
    windows = b"# A note\r\n\r\nWith line ends of Windows.\r\n\r\n\r\n"
    (folder / "note.md").write_bytes(windows)
    mirror.run()
    assert mirror.run().quiet
    assert (folder / "auth.md").read_text() == AUTH
    assert (folder / "note.md").read_bytes() == windows


def test_an_edit_by_hand_is_the_next_version_of_a_memory_that_the_user_stored(own, folder, mirror):
    stored = own.add("The port is 8080.", source_kind="user_explicit").id
    mirror.run()
    (path,) = folder.glob("*.md")
    path.write_text(path.read_text().replace("8080.", "9090.").replace("medium", "critical"))
    assert mirror.run().counts == {"changed": 1}
    versions = own.history(stored)
    assert [version.text for version in versions] == ["The port is 8080.", "The port is 9090."]
    assert versions[-1].importance == 1.0
    assert versions[-1].source.kind is SourceKind.USER_EXPLICIT
    assert mirror.run().quiet


@pytest.mark.parametrize(
    ("line", "cleared"),
    [
        ("reviewed: true\n", lambda m: "reviewed" not in m.extra),
        ("importance: high\n", lambda m: m.importance == 0.5),
        ("discoveredBy: planner\n", lambda m: m.source.agent is None),
        pytest.param('discoveredIn: "Task: Implement user authentication"\n',
         lambda m: "discoveredIn" not in m.extra["frontmatter"],
         marks=pytest.mark.req("R-001-020")),
        ("tags: [auth, codebase-structure]\n", lambda m: m.tags == ()),
        ("discoveredAt: 2026-01-23T10:30:00Z\n", lambda m: m.occurred_at is None),
        ('source: "review of src/auth"\n', lambda m: "source" not in m.extra["frontmatter"]),
    ],
)  # fmt: skip
def test_a_field_that_is_deleted_in_the_file_is_cleared(own, folder, mirror, line, cleared):
    path = folder / "auth.md"
    path.write_text(AUTH)
    mirror.run()
    assert not cleared(titled(own, "Authentication Module Structure"))
    path.write_text(AUTH.replace(line, ""))
    assert mirror.run().counts == {"changed": 1}
    assert cleared(titled(own, "Authentication Module Structure"))


def test_what_only_the_store_says_is_kept_by_an_edit(own, folder, mirror):
    (folder / "jwt.md").write_text(JWT)
    mirror.run()
    memory = titled(own, "JWT")
    own.update(memory.id, metadata={"ticket": 7}, merge=True)
    Mirror(own, folder).pull()
    (folder / "other.md").write_text(AUTH)
    mirror.run()
    assert titled(own, "JWT").extra["ticket"] == 7


@pytest.mark.req("R-001-045")
def test_several_documents_of_a_file_are_memories_and_the_newest_of_a_title_wins(
    own, folder, mirror
):
    newer = JWT.replace("each week", "each day")
    (folder / "auth.md").write_text(f"{AUTH}\n\n---\n\n{JWT}\n\n---\n\n{newer}")
    assert mirror.run().counts["added"] == 2
    assert titled(own, "JWT").text.endswith("each day.")


def test_a_new_title_is_no_new_memory(own, folder, mirror):
    (folder / "jwt.md").write_text(JWT)
    mirror.run()
    before = titled(own, "JWT").id
    (folder / "jwt.md").write_text(JWT.replace('"JWT"', '"JSON Web Tokens"'))
    assert mirror.run().counts == {"changed": 1}
    assert titled(own, "JSON Web Tokens").id == before


def test_a_moved_file_is_the_same_memory(own, folder, mirror):
    (folder / "jwt.md").write_text(JWT)
    mirror.run()
    before = titled(own, "JWT").id
    (folder / "sub").mkdir()
    (folder / "jwt.md").rename(folder / "sub" / "tokens.md")
    assert mirror.run().counts == {"moved": 1}
    assert titled(own, "JWT").id == before
    assert len(own.history(before)) == 1


@pytest.mark.parametrize("ids", [False, True])
def test_files_that_change_names_keep_their_memories(own, folder, mirror, ids):
    paths = [folder / "auth.md", folder / "jwt.md"]
    for path, text in zip(paths, (AUTH, JWT), strict=True):
        path.write_text(text)
    mirror.run()
    before = {m.id: m.text for m in own.get_all()}
    if ids:
        for path in paths:
            title = "JWT" if path.stem == "jwt" else "Authentication Module Structure"
            named = f"memoryId: {titled(own, title).id}\n---\n\n#"
            path.write_text(path.read_text().replace("---\n\n#", named))
        mirror.run()
    paths[0].rename(folder / "aside.md")
    paths[1].rename(paths[0])
    (folder / "aside.md").rename(paths[1])
    assert mirror.run().counts == {"moved": 2}
    assert {m.id: m.text for m in own.get_all()} == before
    paths[0].rename(paths[1])  # it takes the place of the other
    assert mirror.run().counts == {"moved": 1, "deleted": 1}
    assert titled(own, "JWT").text == before[titled(own, "JWT").id]


def test_a_deleted_file_deletes_its_memory_and_a_file_that_comes_back_restores_it(
    own, folder, mirror
):
    (folder / "jwt.md").write_text(JWT)
    (folder / "auth.md").write_text(AUTH)
    mirror.run()
    id_ = titled(own, "JWT").id
    (folder / "jwt.md").unlink()
    assert mirror.run().counts == {"deleted": 1}
    assert own.history(id_)[-1].status is Status.DELETED
    assert mirror.run().quiet
    (folder / "jwt.md").write_text(JWT)
    assert mirror.run().counts["restored"] == 1
    assert titled(own, "JWT").id == id_


def test_a_deleted_document_deletes_its_memory_alone(own, folder, mirror):
    (folder / "both.md").write_text(f"{AUTH}\n\n---\n\n{JWT}")
    mirror.run()
    (folder / "both.md").write_text(AUTH)
    assert mirror.run().counts == {"deleted": 1}
    assert [m.extra["title"] for m in own.get_all()] == ["Authentication Module Structure"]


def test_an_empty_file_deletes_nothing(own, folder, mirror):
    (folder / "jwt.md").write_text(JWT)
    mirror.run()
    (folder / "jwt.md").write_text("")
    report = mirror.run()
    assert report.deleted == []
    assert "empty" in report.notes[0].words
    assert titled(own, "JWT").text


def test_nothing_is_deleted_when_most_files_are_gone(own, folder, mirror):
    for number in range(12):
        (folder / f"{number}.md").write_text(JWT.replace("JWT", f"JWT {number}"))
    mirror.run()
    for path in folder.glob("*.md"):
        path.unlink()
    report = mirror.run()
    assert report.deleted == []
    assert "--deletes" in report.notes[0].words
    assert len(own.get_all()) == 12
    assert len(mirror.run(deletes=True).deleted) == 12


@pytest.mark.parametrize("count", [2, 9])
def test_an_emptied_folder_deletes_nothing_without_a_word(own, folder, mirror, count):
    for number in range(count):
        (folder / f"{number}.md").write_text(JWT.replace("JWT", f"JWT {number}"))
    mirror.run()
    aside = [path.rename(folder.parent / path.name) for path in folder.glob("*.md")]
    for _ in range(2):
        report = mirror.run()
        assert report.counts == {"notes": 1}
        assert "--deletes" in report.notes[0].words
    for path in aside:
        path.rename(folder / path.name)
    assert mirror.run().quiet
    for path in folder.glob("*.md"):
        path.unlink()
    assert mirror.run(deletes=True).counts == {"deleted": count}


def test_most_documents_gone_from_a_file_can_still_be_deleted(own, folder, mirror):
    texts = [JWT.replace("JWT", f"JWT {number}") for number in range(12)]
    (folder / "all.md").write_text("\n\n---\n\n".join(texts))
    assert mirror.run().counts == {"added": 12}
    (folder / "all.md").write_text(texts[0])
    assert mirror.run().counts == {"notes": 1}
    assert mirror.run().counts == {"notes": 1}
    assert mirror.run(deletes=True).counts == {"deleted": 11}


def test_a_folder_that_is_gone_is_an_error_that_says_what_to_do(own, tmp_path):
    with pytest.raises(NotFound, match="mirror init"):
        Mirror(own, tmp_path / "nowhere").run()


def test_links_follow_the_names_in_the_text(own, folder, mirror):
    (folder / "note.md").write_text("# Overview\n\nSee [[JWT]] and [[auth|the module]].\n")
    mirror.run()
    overview = titled(own, "Overview").id
    assert own.graph.links(overview) == []
    (folder / "jwt.md").write_text(JWT)
    (folder / "auth.md").write_text(AUTH.replace("relatedMemories: [jwt.md]\n", ""))
    mirror.run()
    targets = {link.target for link in own.graph.links(overview)}
    assert targets == {titled(own, "JWT").id, titled(own, "Authentication Module Structure").id}
    (folder / "note.md").write_text("# Overview\n\nSee [[JWT]].\n")
    mirror.run()
    assert {link.target for link in own.graph.links(overview)} == {titled(own, "JWT").id}


def test_notes_of_obsidian_are_read_and_keep_their_keys(own, folder, mirror):
    note = "---\naliases: [Tokens]\ncssclass: wide\ntype: note\n---\n\nUse #jwt in [[Login]].\n"
    (folder / "Daily").mkdir()
    (folder / "Daily" / "My Note.md").write_text(note)
    (folder / ".obsidian").mkdir()
    (folder / ".obsidian" / "hidden.md").write_text(JWT)
    (folder / "picture.png").write_bytes(b"\x89PNG")
    assert mirror.run().counts == {"added": 1}
    memory = titled(own, "My Note")
    assert memory.tags == ("jwt",)
    assert memory.extra["aliases"] == ["Tokens"]
    assert memory.extra["frontmatter"] == {"type": "note"}
    own.update(memory.id, "Use #jwt everywhere.")
    Mirror(own, folder, updates="replace").run()
    written = (folder / "Daily" / "My Note.md").read_text()
    assert "aliases" in written
    assert "type: note" in written
    assert "Use #jwt everywhere." in written


def test_a_link_that_leads_out_of_the_folder_is_not_followed(own, folder, mirror, tmp_path):
    (tmp_path / "secret.md").write_text(JWT)
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "elsewhere").symlink_to(tmp_path)
    assert mirror.run().quiet
    assert list(own.get_all()) == []


def test_a_file_that_cannot_be_taken_is_named_in_every_run(own, folder, mirror):
    (folder / "broken.md").write_text("---\ntitle: [unclosed\n---\n\nText.\n")
    (folder / "long.md").write_text("# Long\n\n" + "word " * 2_001)
    (folder / "binary.md").write_bytes(b"\0\1")
    for _ in range(2):
        refused = {line.path: line.words for line in mirror.run().refused}
        assert set(refused) == {"broken.md", "long.md", "binary.md"}
        assert "2,000" in refused["long.md"]
        assert "line" in refused["broken.md"]
    (folder / "broken.md").write_text(JWT)
    assert len(mirror.run().added) == 1


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_a_file_whose_name_is_no_text_stops_nothing(own, folder, mirror):
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.md")).write_text(AUTH)
    (folder / "jwt.md").write_text(JWT)
    report = mirror.run()
    assert report.counts == {"added": 1, "refused": 1}
    assert report.refused[0].path == "caf\\udce9.md"
    assert "rename" in report.refused[0].words


def test_a_faulty_file_does_not_delete_what_it_held(own, folder, mirror):
    (folder / "jwt.md").write_text(JWT)
    mirror.run()
    (folder / "jwt.md").write_text(JWT.replace("tags: [auth]", "tags: [auth"))
    assert mirror.run().deleted == []
    assert titled(own, "JWT").text


def test_two_files_with_the_same_text_are_two_memories(own, folder, mirror):
    (folder / "a.md").write_text(JWT)
    (folder / "b.md").write_text(JWT.replace('"JWT"', '"Copy"').replace("auth", "copy"))
    assert len(mirror.run().added) == 2
    assert titled(own, "JWT").tags == ("auth",)
    assert titled(own, "Copy").tags == ("copy",)


def test_a_dry_run_changes_nothing(own, folder, mirror):
    (folder / "jwt.md").write_text(JWT)
    own.add("Stored here.")
    report = mirror.run(dry_run=True)
    assert report.dry
    assert report.counts == {"added": 1, "written": 1}
    assert len(own.get_all()) == 1
    assert len(list(folder.glob("*.md"))) == 1
    assert mirror.run().counts == {"added": 1, "written": 1}


def test_an_unchanged_file_is_not_opened(own, folder, mirror, monkeypatch):
    for number in range(20):
        path = folder / f"{number}.md"
        path.write_text(JWT.replace("JWT", f"JWT {number}"))
    monkeypatch.setattr(state, "UNSETTLED_NS", 0)  # the files are not so new
    mirror.run()
    (folder / "3.md").write_text(JWT.replace("JWT", "JWT 3").replace("week", "month"))
    report = mirror.run()
    assert (report.files, report.read) == (20, 1)
    assert report.counts == {"changed": 1}


def test_a_change_within_one_tick_of_the_clock_is_seen(own, folder, mirror):
    path = folder / "jwt.md"
    path.write_text(JWT)
    mirror.run()
    stamp = path.stat()
    path.write_text(JWT.replace("week", "hour"))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert mirror.run().counts == {"changed": 1}


def test_personal_data_stays_in_the_file_and_out_of_the_store(own, folder, mirror):
    text = JWT.replace("each week", "by jane@example.org")
    (folder / "jwt.md").write_text(text)
    mirror.run()
    assert "jane@example.org" not in titled(own, "JWT").text
    assert mirror.run().quiet
    assert (folder / "jwt.md").read_text() == text


def test_the_state_holds_no_secret_of_a_title(tmp_path, mesh):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "login.md").write_text(
        "# Login of jane.doe@example.com\n\nSee [[jane.doe@example.com]].\n"
    )
    assert Mirror(mesh, folder).run().counts == {"added": 1}
    for file in mesh.folder.rglob("*"):
        assert not file.is_file() or b"jane.doe" not in file.read_bytes().lower(), file
