"""The layout of a project's memory: written from the store, again only what differs."""

import shutil
from pathlib import Path

import pytest

from memory_mesh.formats import trace_file
from memory_mesh.model import Scope
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh
from memory_mesh.traces.files import write_layout

SHORT, LONG = "memory/short_term", "memory/long_term"
LEARNING = "# Learning: deploys\n\n## Recommended Approach\n1. Migrate first\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return tmp_path / "projects/shop"


def filled(mesh: MemoryMesh) -> list[str]:
    ids = [
        str(mesh.traces.record(f"Deploy {n}", results=f"took {n} s", tools_used=["scp"]).id)
        for n in range(3)
    ]
    mesh.traces.record("Roll back", status="failure")
    mesh.add(LEARNING, {"type": "learning"})
    mesh.add("We use SQLite", {"rationale": "one file"}, kind="decision")
    mesh.add("Dark themes please", kind="preference")
    mesh.add("The shop opens at nine", pinned=True)
    mesh.add("Deploys fail on Fridays", kind="pattern_seed")
    return ids


@pytest.mark.req("R-002-005")
@pytest.mark.req("R-002-055")
def test_short_term_memory_is_a_log_of_traces_their_results_and_the_working_memory(
    mesh: MemoryMesh, tmp_path: Path, shop: Path
) -> None:
    ids = filled(mesh)
    write_layout(mesh, tmp_path, "shop")
    log = (shop / SHORT / "execution_log.md").read_text()
    assert trace_file.parse_all(log) == list(mesh.traces())[::-1]
    results = {path.stem: path.read_text() for path in (shop / SHORT / "tool_results").iterdir()}
    assert len(results) == 4
    assert "Tools: scp" in results[ids[1]]
    assert "took 1 s" in results[ids[1]]
    cache = (shop / SHORT / "context_cache.md").read_text()
    assert "The shop opens at nine" in cache
    assert "Deploy 1" not in cache


@pytest.mark.req("R-002-007")
@pytest.mark.req("R-002-048", "R-002-056")
def test_long_term_memory_is_learnings_patterns_and_decisions(
    mesh: MemoryMesh, tmp_path: Path, shop: Path
) -> None:
    filled(mesh)
    mesh.ingest_skill("---\nname: deploy\ndescription: Deploys the shop\n---\n\nRun make deploy.\n")
    write_layout(mesh, tmp_path, "shop")
    assert {path.name for path in (shop / LONG).iterdir()} == {
        "learnings.md",
        "patterns.md",
        "decisions.md",
    }
    assert LEARNING.strip() in (shop / LONG / "learnings.md").read_text()
    patterns = (shop / LONG / "patterns.md").read_text()
    assert "Deploys fail on Fridays" in patterns
    assert "**deploy**" in patterns
    decisions = (shop / LONG / "decisions.md").read_text()
    assert "We use SQLite" in decisions
    assert "Rationale: one file" in decisions


@pytest.mark.req("R-002-057")
def test_the_context_of_a_project_stands_above_its_memory(
    mesh: MemoryMesh, tmp_path: Path, shop: Path
) -> None:
    filled(mesh)
    write_layout(mesh, tmp_path, "shop")
    text = (shop / "context.md").read_text()
    assert "# Project: shop" in text
    assert "75% of the last 4" in text
    assert "The shop opens at nine" in text
    assert "Dark themes please" in text


def test_a_second_run_writes_only_what_differs(mesh: MemoryMesh, tmp_path: Path) -> None:
    ids = filled(mesh)
    first = write_layout(mesh, tmp_path, "shop")
    assert len(first.written) == 10
    second = write_layout(mesh, tmp_path, "shop")
    assert (second.written, len(second.unchanged)) == ((), 10)
    new = mesh.traces.record("Deploy 4").id
    mesh.delete(ids[0])
    third = write_layout(mesh, tmp_path, "shop")
    assert set(third.written) == {
        f"{SHORT}/execution_log.md",
        f"{SHORT}/tool_results/{new}.md",
    }
    assert third.removed == (f"{SHORT}/tool_results/{ids[0]}.md",)


def test_what_somebody_else_wrote_is_left(mesh: MemoryMesh, tmp_path: Path, shop: Path) -> None:
    filled(mesh)
    (shop / SHORT / "tool_results").mkdir(parents=True)
    (shop / LONG).mkdir(parents=True)
    (shop / "context.md").write_text("my own")
    (shop / SHORT / "tool_results/trace-mine.md").write_text("mine")
    target = tmp_path / "elsewhere.md"
    (shop / LONG / "decisions.md").symlink_to(target)
    done = write_layout(mesh, tmp_path, "shop")
    assert done.kept == (f"{LONG}/decisions.md", "context.md")
    assert (shop / "context.md").read_text() == "my own"
    assert (shop / SHORT / "tool_results/trace-mine.md").read_text() == "mine"
    assert not target.exists()


def test_only_what_the_reader_sees_is_written(tmp_path: Path) -> None:
    with MemoryMesh(db_dir=tmp_path / "store", project="web") as mesh:
        mesh.view(scope=Scope("shop")).traces.record("Secret of the shop")
        mesh.traces.record("Deploy")
        done = write_layout(mesh, tmp_path)
    assert Path(done.folder) == tmp_path / "projects/web"
    texts = [path.read_text() for path in Path(done.folder).rglob("*.md")]
    assert not any("Secret" in text for text in texts)


@pytest.mark.parametrize(
    "name", ["../../etc", "/etc/passwd", "..", ".git", "a\nb", "CON", "x" * 999]
)
def test_a_hostile_name_stays_in_the_folder(mesh: MemoryMesh, tmp_path: Path, name: str) -> None:
    done = write_layout(mesh, tmp_path / "root", name)
    assert Path(done.folder).resolve().parent == (tmp_path / "root/projects").resolve()
    assert not Path(done.folder).name.startswith(".")


def test_a_folder_that_is_a_link_is_refused(mesh: MemoryMesh, tmp_path: Path, shop: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    shop.mkdir(parents=True)
    (shop / "memory").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidInput, match="is a link"):
        write_layout(mesh, tmp_path, "shop")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_folder_of_another_project_is_left(mesh: MemoryMesh, tmp_path: Path) -> None:
    write_layout(mesh, tmp_path, "acme/web")
    with pytest.raises(InvalidInput, match="of another project"):
        write_layout(mesh, tmp_path, "acme-web")
    assert write_layout(mesh, tmp_path, "acme/web").written == ()


def test_a_work_tree_goes_by_its_last_folder_and_no_file_has_its_path(
    mesh: MemoryMesh, tmp_path: Path
) -> None:
    trees = [tmp_path / where / "shop" for where in ("one", "two")]
    for tree in trees:
        (tree / ".git").mkdir(parents=True)
    one, two = (Scope(str(tree)) for tree in trees)
    mesh.traces.record("Deploy", scope=one)
    done = write_layout(mesh, trees[0], scope=one)
    assert Path(done.folder) == trees[0] / "projects/shop"
    texts = [path.read_text() for path in Path(done.folder).rglob("*.md")]
    assert any("\n# Project: shop\n" in text for text in texts)
    assert not any(str(tmp_path) in text for text in texts)
    assert write_layout(mesh, trees[0], scope=one).written == ()
    assert write_layout(mesh, trees[0], "shop", scope=one).written == ()
    for scope, name in ((two, None), (two, "shop"), (Scope("shop"), None)):
        with pytest.raises(InvalidInput, match="of another project"):
            write_layout(mesh, trees[0], name, scope=scope)


def test_a_clone_writes_on_where_the_other_one_ended(mesh: MemoryMesh, tmp_path: Path) -> None:
    here, clone = tmp_path / "here/shop", tmp_path / "there/shop"
    (here / ".git").mkdir(parents=True)
    write_layout(mesh, here, scope=Scope(str(here)))
    shutil.copytree(here, clone)
    assert write_layout(mesh, clone, scope=Scope(str(clone))).written == ()


def test_outside_of_both_two_work_trees_of_one_name_are_told_apart(
    mesh: MemoryMesh, tmp_path: Path
) -> None:
    write_layout(mesh, tmp_path, scope=Scope("/srv/one/shop"))
    assert write_layout(mesh, tmp_path, scope=Scope("/srv/one/shop")).written == ()
    with pytest.raises(InvalidInput, match="of another project"):
        write_layout(mesh, tmp_path, scope=Scope("/srv/two/shop"))
    assert write_layout(mesh, tmp_path, "shop-2", scope=Scope("/srv/two/shop")).written


def test_a_trace_whose_id_has_colons_is_written(mesh: MemoryMesh, tmp_path: Path) -> None:
    mesh.traces.record("Deploy", trace_id="trace-2026-01-01T12:00:00.000Z-ab")
    done = write_layout(mesh, tmp_path, "shop")
    assert f"{SHORT}/tool_results/trace-2026-01-01T12_00_00.000Z-ab.md" in done.written
