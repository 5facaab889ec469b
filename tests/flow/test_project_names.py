"""What is stored under a former name of a project is for the same audience as what comes later."""

import sqlite3
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_mesh.ledgers.shared.rows import JOINED
from memory_mesh.ledgers.shared.visibility import predicate
from memory_mesh.mirror import Mirror
from memory_mesh.model import Channel, Lens, Outcome, Scope, Status
from memory_mesh.model.errors import InvalidInput, NotAllowed, NotFound
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.stores import grow

NOW = datetime(2026, 11, 16, tzinfo=UTC)


def made(folder: Path, remote: str | None = None) -> Path:
    """A repository as far as its identity goes."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git/description").write_text("x")
    if remote is not None:
        (folder / ".git/config").write_text(f'[remote "origin"]\n\turl = {remote}\n')
    return folder


def opened(tmp_path: Path) -> MemoryMesh:
    clock = FrozenClock(NOW)
    return MemoryMesh(db_dir=tmp_path / "store", embedder="none", agent_id="t", clock=clock)


def at(mesh: MemoryMesh, folder: Path) -> MemoryMesh:
    found = mesh.care.projects.at(folder)
    assert found is not None
    return mesh.view(scope=Scope(found.name))


@pytest.fixture
def renamed(tmp_path: Path) -> tuple[MemoryMesh, Path]:
    """A repository whose remote will be renamed after something was stored."""
    folder = made(tmp_path / "app", "git@github.com:ada/old.git")
    return opened(tmp_path), folder


def rename(folder: Path) -> None:
    (folder / ".git/config").write_text('[remote "origin"]\n\turl = git@github.com:ada/new.git\n')


def test_the_same_text_under_a_former_name_is_the_same_memory(
    renamed: tuple[MemoryMesh, Path],
) -> None:
    mesh, folder = renamed
    first = at(mesh, folder).add("the build takes nine minutes")
    at(mesh, folder)
    rename(folder)
    again = at(mesh, folder).add("the build takes nine minutes")
    assert (again.outcome, again.id) == (Outcome.MERGED, first.id)
    assert len(at(mesh, folder).search("build")) == 1


def test_a_new_claim_replaces_one_under_a_former_name(renamed: tuple[MemoryMesh, Path]) -> None:
    mesh, folder = renamed
    claim = {"subject": "api", "predicate": "port", "exclusive": True}
    old = at(mesh, folder).add("the api has port 80", claim={**claim, "value": "80"})
    at(mesh, folder)
    rename(folder)
    new = at(mesh, folder).add("the api has port 90", claim={**claim, "value": "90"})
    view = at(mesh, folder)
    assert old.id is not None
    assert view.get(old.id) is None
    (kept,) = view.get_many([old.id], include=[Status.SUPERSEDED])
    assert kept.successor == new.id


def test_a_merged_project_is_read_and_nothing_of_it_is_replaced(tmp_path: Path) -> None:
    mesh = opened(tmp_path)
    one, two = mesh.view(scope=Scope("one")), mesh.view(scope=Scope("two"))
    claim = {"subject": "api", "predicate": "port", "exclusive": True}
    old = two.add("the api has port 80", claim={**claim, "value": "80"})
    assert mesh.care.projects.merge("two", project="one").merged == ("two",)
    one.add("the api has port 90", claim={**claim, "value": "90"})
    assert old.id is not None
    assert {hit.content for hit in one.search("api port")} == {
        "the api has port 80",
        "the api has port 90",
    }
    assert [hit.content for hit in two.search("api port")] == ["the api has port 80"]
    mesh.care.projects.split("two", project="one")
    assert [hit.content for hit in one.search("api port")] == ["the api has port 90"]
    with pytest.raises(NotFound):
        mesh.care.projects.split("two", project="one")


@pytest.mark.parametrize("number", [0, 1])
def test_a_split_by_any_of_its_names_takes_back_all_of_them(
    renamed: tuple[MemoryMesh, Path], number: int
) -> None:
    mesh, folder = renamed
    at(mesh, folder).add("the build takes nine minutes")
    projects = mesh.care.projects
    found = projects.at(folder)
    assert found is not None
    names = (found.name, *found.former)
    projects.merge(found.name, project="one")
    assert set(projects.stated("one").merged) == {*names}
    projects.split(names[number], project="one")
    assert projects.stated("one").merged == ()


def test_a_project_is_not_merged_with_itself_nor_without_a_name(tmp_path: Path) -> None:
    mesh = opened(tmp_path)
    with pytest.raises(InvalidInput, match="this project already"):
        mesh.care.projects.merge("one", project="one")
    with pytest.raises(InvalidInput, match="no project is named"):
        mesh.care.projects.merge("one")


def test_a_memory_under_a_former_name_is_listed_changed_explained_and_packed(
    renamed: tuple[MemoryMesh, Path],
) -> None:
    mesh, folder = renamed
    old = at(mesh, folder).add("deploy on Mondays", pinned=True)
    at(mesh, folder)
    rename(folder)
    view = at(mesh, folder)
    assert old.id is not None
    assert [memory.id for memory in view.get_all()] == [old.id]
    assert old.id in [item.id for item in view.context("when do we deploy?").items]
    view.update(old.id, "deploy on Tuesdays")
    assert [hit.content for hit in view.search("deploy")] == ["deploy on Tuesdays"]
    assert view.explain(old.id).sentences
    view.delete(old.id)
    assert view.search("deploy") == []


def test_what_is_derived_from_a_memory_under_a_former_name_keeps_its_source(
    renamed: tuple[MemoryMesh, Path],
) -> None:
    mesh, folder = renamed
    old = at(mesh, folder).add("the queue is slow")
    at(mesh, folder)
    rename(folder)
    assert old.id is not None
    view = at(mesh, folder)
    new = view.add("the queue needs a second worker", derived_from=[old.id])
    assert new.id is not None
    assert old.id in [link.target for link in view.graph.links(new.id)]


def test_skills_under_a_former_name_are_found(
    renamed: tuple[MemoryMesh, Path],
) -> None:
    mesh, folder = renamed
    text = "---\nname: Deploy\nintent: deploy the app\n---\nRun make deploy.\n"
    at(mesh, folder).ingest_skill(text)
    at(mesh, folder)
    rename(folder)
    view = at(mesh, folder)
    assert [skill.name for skill in view.list_skills()] == ["Deploy"]
    assert [skill.name for skill in view.search_skills("deploy the app")] == ["Deploy"]


def test_a_read_of_an_empty_store_writes_nothing(tmp_path: Path) -> None:
    folder = made(tmp_path / "app", "git@github.com:ada/app.git")
    mesh = opened(tmp_path)
    assert at(mesh, folder).search("anything") == []
    assert list(mesh.care.namespaces()) == []


def test_what_is_known_already_writes_nothing(renamed: tuple[MemoryMesh, Path]) -> None:
    mesh, folder = renamed
    at(mesh, folder).add("something")
    at(mesh, folder)
    with mesh._read() as snapshot:
        head = snapshot.head()
    at(mesh, folder)
    with mesh._read() as snapshot:
        assert snapshot.head() == head


def test_of_many_that_come_at_once_one_gets_the_path(tmp_path: Path) -> None:
    """Eight clones that were at the same path one after another ask at the same time."""
    mesh = opened(tmp_path)
    place = str(tmp_path / "app")
    mesh.add("stored under the path", scope=Scope(place))
    from memory_mesh.mesh import flows
    from memory_mesh.platform.projects import Sighting

    def come(number: int) -> None:
        seen = Sighting(f"{place}#{number}", place, f"host/app{number}", "remote")
        flows.projects.settled(mesh._access(), seen, {})

    threads = [threading.Thread(target=come, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    readers = [
        number for number in range(8)
        if mesh.view(scope=Scope(f"host/app{number}")).search("stored path")
    ]  # fmt: skip
    assert len(readers) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT v.number FROM version v WHERE v.number IN (SELECT value FROM json_each('[]')) AND ",
        f"SELECT v.number FROM {JOINED} WHERE v.memory < 9 AND ",
        f"SELECT v.number FROM {JOINED} WHERE t.hash = x'00' AND ",
    ],
)
def test_further_names_leave_the_plan_of_a_query_as_it_is(tmp_path: Path, statement: str) -> None:
    with opened(tmp_path) as mesh:
        mesh.add("something")
        (file,) = (tmp_path / "store").rglob("default.db")
    db = sqlite3.connect(file)
    grow(db)
    plans = []
    for names in ((), ("b", "c")):
        condition, values = predicate(Lens(NOW, Scope("a", names=names)))
        found = db.execute(f"EXPLAIN QUERY PLAN {statement}{condition}", values)
        plans.append([row[3] for row in found])
    db.close()
    assert plans[0] == plans[1]
    assert any("SEARCH" in line for line in plans[0])


def test_an_agent_that_repeats_a_memory_under_a_former_name_adds_no_weight(
    renamed: tuple[MemoryMesh, Path],
) -> None:
    mesh, folder = renamed
    view = at(mesh, folder)
    old = view.add("the cache is cleared every night at two")
    at(mesh, folder)
    rename(folder)
    speaking = at(mesh, folder).view(channel=Channel.ASSISTANT)
    said = speaking.add("the cache is cleared every night at two")
    assert said.outcome is not Outcome.STORED
    (memory,) = at(mesh, folder).get_all()
    assert (memory.id, memory.origins) == (old.id, 1)


@pytest.mark.parametrize("folder", ["x" * 300, "/a" * 3_000, "a\0b", Path("x" * 300), Path("a\0b")])
def test_a_path_that_no_folder_can_have_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str | Path
) -> None:
    monkeypatch.chdir(tmp_path)
    mesh = opened(tmp_path)
    with pytest.raises(InvalidInput, match="folder"):
        mesh.care.projects.at(folder)
    with pytest.raises(InvalidInput, match="folder"):
        mesh.care.projects.name(folder, "one")


def test_an_agent_does_not_decide_what_a_project_reads(tmp_path: Path) -> None:
    agent = opened(tmp_path).view(scope=Scope("one"), channel=Channel.MCP)
    for change in (
        lambda: agent.care.projects.merge("two"),
        lambda: agent.care.projects.split("two"),
        lambda: agent.care.projects.name(tmp_path, "two"),
    ):
        with pytest.raises(NotAllowed, match="only the user"):
            change()


def test_traces_under_a_former_name_are_archived_with_the_project(
    renamed: tuple[MemoryMesh, Path],
) -> None:
    mesh, folder = renamed
    view = at(mesh, folder)
    for number in range(3):
        view.traces.record(f"ship release {number}")
    at(mesh, folder)
    rename(folder)
    (_, archived) = at(mesh, folder).care.archive_project(dry_run=True)
    assert archived.ran


def test_a_mirror_goes_on_under_the_new_name_without_what_was_merged(
    renamed: tuple[MemoryMesh, Path],
) -> None:
    mesh, folder = renamed
    view = at(mesh, folder)
    view.add("Handlers are async.", {"title": "Handlers"})
    files = folder / ".rawko/memories"
    Mirror(view, files).init()
    at(mesh, folder)
    rename(folder)
    mesh.add("Of another project.", {"title": "Other"}, scope=Scope("other"))
    now = at(mesh, folder)
    now.care.projects.merge("other")
    assert Mirror(now, files).run().counts == {}
    now.add("Tests are fast.", {"title": "Tests"})
    Mirror(now, files).run()
    assert sorted(path.name for path in files.glob("*.md")) == ["handlers.md", "tests.md"]
