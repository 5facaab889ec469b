"""Memories leave for a file that other programs read, and come back from one."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_mesh.cli.main import run
from memory_mesh.compat.lane.import_ import bring_out_lane
from memory_mesh.model import Channel, Scope, SourceKind, times
from memory_mesh.model.errors import InvalidInput, NotAllowed
from memory_mesh.sync import MemoryMesh

TEXTS = ["Ann leads the web team.", "Deploys run on Mondays,\nnever on Fridays.", 'He said "no".']


@pytest.fixture
def mesh(tmp_path: Path) -> MemoryMesh:
    return MemoryMesh(db_dir=tmp_path / "store", embedder="none")


def texts(mesh: MemoryMesh) -> list[str]:
    return sorted(memory.text for memory in mesh.get_all())


@pytest.mark.parametrize("ending", ["jsonl", "csv", "md"])
def test_what_is_exported_comes_back_in_another_store(
    mesh: MemoryMesh, tmp_path: Path, ending: str
) -> None:
    for text in TEXTS:
        mesh.add(text, tags=["team"])
    file, counted = tmp_path / f"notes.{ending}", list[int]()
    assert mesh.export(file, progress=counted.append) == 3
    assert counted == [3]
    with MemoryMesh(db_dir=tmp_path / "other", embedder="none") as other:
        assert other.import_(file).outcomes == {"stored": 3, "refused": 0}
        assert texts(other) == sorted(TEXTS)
        if ending != "md":
            assert all(memory.tags == ("team",) for memory in other.get_all())
        assert other.import_(file).outcomes == {"merged": 3, "refused": 0}
        assert texts(other) == sorted(TEXTS)


def test_other_programs_can_read_the_files(mesh: MemoryMesh, tmp_path: Path) -> None:
    mesh.add(TEXTS[1], {"team": "web"})
    mesh.export(tmp_path / "a.jsonl")
    mesh.export(tmp_path / "a.csv")
    (line,) = (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert json.loads(line)["content"] == row["content"] == TEXTS[1]
    assert json.loads(line)["metadata"]["team"] == json.loads(row["metadata"])["team"] == "web"


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_what_was_said_of_a_memory_travels_with_it(
    mesh: MemoryMesh, tmp_path: Path, ending: str
) -> None:
    said = {
        "kind": "decision", "speaker": "Ann", "role": "user", "tags": ["web", "team"], "order": 3,
        "occurred_at": "2026-03-01T10:00:00Z", "valid_until": "2027-01-01T00:00:00Z",
        "importance": 0.4, "confidence": 0.9, "source_ref": "notes/team.md",
    }  # fmt: skip
    mesh.add(TEXTS[0], {"team": {"name": "web"}}, scope=Scope(project="shop"), **said)  # type: ignore[arg-type]
    mesh.export(tmp_path / f"a.{ending}", across=("project",))
    with MemoryMesh(db_dir=tmp_path / "other", embedder="none", project="shop") as other:
        assert other.import_(tmp_path / f"a.{ending}").outcomes == {"stored": 1, "refused": 0}
        (one,) = mesh.view(scope=Scope(project="shop")).get_all()
        (two,) = other.get_all()
        assert two.scope == Scope(project="shop")
        assert two.extra == one.extra
        for name in said:
            if name != "source_ref":
                assert getattr(two, name) == getattr(one, name), name
        assert two.source.ref == "notes/team.md"


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_when_a_memory_was_stored_is_when_it_happened_where_it_is_imported(
    mesh: MemoryMesh, tmp_path: Path, ending: str
) -> None:
    file = tmp_path / f"a.{ending}"
    mesh.add(TEXTS[0])
    mesh.add(TEXTS[1], occurred_at="2026-03-01T10:00:00Z")
    stored = {memory.text: memory.created_at for memory in mesh.get_all()}
    mesh.export(file)
    with MemoryMesh(db_dir=tmp_path / "other", embedder="none") as other:
        other.import_(file)
        at = {memory.text: memory.occurred_at for memory in other.get_all()}
        first = at[TEXTS[0]]
        assert first is not None
        assert times.iso(first) == stored[TEXTS[0]]
        assert at[TEXTS[1]] == datetime(2026, 3, 1, 10, tzinfo=UTC)
        assert other.import_(file).outcomes == {"merged": 2, "refused": 0}
    assert mesh.import_(file).outcomes == {"merged": 2, "refused": 0}
    assert {memory.text: memory.created_at for memory in mesh.get_all()} == stored


def test_a_time_of_others_that_cannot_be_read_stays_a_word_about_the_memory(
    mesh: MemoryMesh, tmp_path: Path
) -> None:
    file = tmp_path / "theirs.jsonl"
    file.write_text('{"text": "Ann likes tea.", "created_at": "last spring"}', encoding="utf-8")
    assert mesh.import_(file).outcomes == {"stored": 1, "refused": 0}
    (memory,) = mesh.get_all()
    assert (memory.occurred_at, memory.extra) == (None, {"created_at": "last spring"})


def test_paragraphs_of_a_markdown_file_are_memories_and_headings_are_not(
    mesh: MemoryMesh, tmp_path: Path
) -> None:
    file = tmp_path / "hand.md"
    file.write_text(
        "# Team\n\nAnn leads the web team.\nShe likes tea.\n\n## Deploys\n- On Mondays,\n"
        "never on Fridays.\n- By Bob\n\n  or by Ann.\n\n---\nCarla is on leave.\n#7 is open.\n",
        encoding="utf-8",
    )
    assert mesh.import_(file).outcomes == {"stored": 4, "refused": 0}
    assert texts(mesh) == [
        "Ann leads the web team.\nShe likes tea.",
        "By Bob\n\nor by Ann.",
        "Carla is on leave.\n#7 is open.",
        "On Mondays,\nnever on Fridays.",
    ]


def test_rows_of_others_are_read_and_what_is_none_is_refused_with_its_reason(
    mesh: MemoryMesh, tmp_path: Path
) -> None:
    file = tmp_path / "theirs.jsonl"
    rows = [
        '"Ann likes tea."',
        '{"memory": "Bob likes rum.", "user": {"n": "bob"}, "tags": ["x"]}',
        "{",
        "[]",
        '{"a": 1}',
    ]
    file.write_text("\n".join(rows), encoding="utf-8")
    done = mesh.import_(file)
    assert done.outcomes == {"stored": 2, "refused": 3}
    assert texts(mesh) == ["Ann likes tea.", "Bob likes rum."]
    assert [": ".join(reason.split(": ")[:2]) for reason in done.reasons] == [
        "line 3: it is no JSON",
        "line 4: a row must be a text or an object, not list",
        "line 5: a row has no content, text, memory",
    ]


def test_a_file_speaks_as_a_document_whoever_it_names(mesh: MemoryMesh, tmp_path: Path) -> None:
    file = tmp_path / "theirs.jsonl"
    file.write_text(
        '{"content": "Ann likes tea.", "source_kind": "user_explicit"}', encoding="utf-8"
    )
    mesh.import_(file)
    (memory,) = mesh.get_all()
    assert memory.source.kind is SourceKind.DOCUMENT


def test_a_file_of_another_ending_says_which_there_are(mesh: MemoryMesh, tmp_path: Path) -> None:
    for call in (mesh.export, mesh.import_):
        with pytest.raises(InvalidInput, match=r"\.jsonl, \.csv, \.md"):
            call(tmp_path / "notes.xls")


def test_an_export_keeps_a_file_that_is_there(mesh: MemoryMesh, tmp_path: Path) -> None:
    file, lane = tmp_path / "notes.jsonl", tmp_path / "lane.db"
    for each in (file, lane):
        each.write_text("old", encoding="utf-8")
    mesh.add(TEXTS[0])
    for export in (lambda: mesh.export(file), lambda: bring_out_lane(mesh, lane)):
        with pytest.raises(InvalidInput, match="is there already: name another file, or remove it"):
            export()
    for each in (file, lane):
        assert run(["--db-dir", str(mesh.folder), "export", "--to", str(each)]) == 1
        assert each.read_text(encoding="utf-8") == "old"
    file.unlink()
    assert mesh.export(file) == 1


def test_an_export_that_fails_leaves_no_file(mesh: MemoryMesh, tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    mesh.add(TEXTS[0])

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mesh.export(file, progress=stop)
    assert [*tmp_path.glob("*notes*")] == []


def test_a_user_is_deleted_by_the_user_only(mesh: MemoryMesh) -> None:
    for name in ("ann", "bob"):
        mesh.for_user(name).add("likes tea")
    with pytest.raises(NotAllowed, match="only the user"):
        mesh.view(channel=Channel.MCP).delete_user("ann")
    mesh.delete_user("ann")
    assert mesh.users() == ["bob"]
    assert [*mesh.for_user("ann").get_all()] == []
    assert len(mesh.for_user("bob").get_all()) == 1
