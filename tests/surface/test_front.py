"""What a program meets first: 33 names, families that load on use, hints for other names."""

import inspect
import io
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

import memory_mesh
from memory_mesh.mesh.async_mesh import AsyncMemoryMesh
from memory_mesh.mesh.document_names import ASIDE, IN_FAMILIES
from memory_mesh.mesh.operation import options_of
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh
from tests.operations import FAMILIES, operations, reach

MOST_NAMES = 33
MOST_SETTINGS = 30
FACES = [MemoryMesh, memory_mesh.MemoryMesh]


@pytest.fixture
def mesh(tmp_path: Path) -> MemoryMesh:
    return MemoryMesh(db_dir=tmp_path / "store", embedder="none")


@pytest.mark.parametrize("face", FACES)
def test_dir_shows_at_most_thirty_three_names(face: type) -> None:
    shown = [name for name in dir(face) if not name.startswith("_")]
    assert len(shown) <= MOST_NAMES
    assert set(shown) >= {"add", "search", "context", "get", "delete", "lessons", "care"}


def test_dir_of_an_object_shows_what_dir_of_the_class_shows(mesh: MemoryMesh) -> None:
    assert {name for name in dir(mesh) if not name.startswith("_")} == {
        name for name in dir(MemoryMesh) if not name.startswith("_")
    }


def test_help_shows_no_name_that_dir_leaves_out() -> None:
    page = io.StringIO()
    with redirect_stdout(page):
        help(MemoryMesh)
    methods = [
        line.split("(")[0].strip() for line in page.getvalue().splitlines() if "self" in line
    ]
    assert not {line.removeprefix("|  ") for line in methods} & ASIDE


@pytest.mark.parametrize("face", FACES)
def test_the_first_page_of_help_names_every_name(face: type) -> None:
    page = io.StringIO()
    with redirect_stdout(page):
        help(face)
    first, _, rest = page.getvalue().partition("Method resolution order")
    assert len(first.splitlines()) <= 24
    assert rest
    named = set(re.findall(r"\w+", first.partition("Write:")[2]))
    assert {name for name in dir(face) if not name.startswith("_")} - named <= {"close", "init"}


@pytest.mark.parametrize("face", FACES)
def test_the_constructor_takes_what_most_programs_set(face: type) -> None:
    assert len(inspect.signature(face).parameters) <= MOST_SETTINGS


def test_other_settings_are_taken_as_settings(tmp_path: Path) -> None:
    with MemoryMesh(db_dir=tmp_path, settings={"session_days": 3}) as mesh:
        assert mesh.config.session_days == 3
    with MemoryMesh(db_dir=tmp_path, session_days=4) as mesh:  # type: ignore[call-arg]  # taken, too
        assert mesh.config.session_days == 4
    with pytest.raises(InvalidInput, match="session_days"):
        MemoryMesh(db_dir=tmp_path, settings={"sesion_days": 3})  # type: ignore[typeddict-unknown-key]


@pytest.mark.parametrize("name", sorted(IN_FAMILIES))
def test_a_name_that_a_document_fixes_is_the_operation_of_a_family(
    mesh: MemoryMesh, name: str
) -> None:
    assert getattr(mesh, name).__func__ is reach(mesh, IN_FAMILIES[name]).__func__
    theirs = inspect.signature(getattr(memory_mesh.MemoryMesh, name)).parameters
    assert [*theirs] == [*inspect.signature(getattr(mesh, name)).parameters] or [*theirs][1:] == [
        *inspect.signature(getattr(mesh, name)).parameters
    ]


def test_a_family_is_loaded_when_it_is_used() -> None:
    code = (
        "import sys, tempfile\nfrom memory_mesh.sync import MemoryMesh\n"
        "mesh = MemoryMesh(db_dir=tempfile.mkdtemp(), embedder='none'); mesh.add('tea')\n"
        "print('memory_mesh.mesh.operations.skills' in sys.modules)\n"
        "mesh.skills\nprint('memory_mesh.mesh.operations.skills' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_a_family_reads_and_writes_what_its_mesh_does(mesh: MemoryMesh) -> None:
    ann = mesh.for_user("ann")
    ann.traces.record("Ship the release")
    assert [trace.goal for trace in ann.traces()] == ["Ship the release"]
    assert list(mesh.traces()) == []
    mesh.close()
    with pytest.raises(memory_mesh.Closed):
        mesh.traces.get_all()


def test_families_that_were_lists_can_still_be_called(mesh: MemoryMesh) -> None:
    mesh.traces.record("Ship the release")
    assert mesh.traces(limit=1) == mesh.traces.get_all(limit=1)
    with pytest.raises(InvalidInput, match="limit"):
        mesh.traces(limit=0)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("delete_all", r"delete\(id\) deletes one memory; .* memory-mesh wipe"),
        ("clear", "memory-mesh wipe"),
        ("backup", r"memory_mesh\.care\.backup"),
        ("get_all_memories", "did you mean get_all?"),
        ("remember", "did you mean add?"),
        ("verify", "did you mean care.verify?"),
        ("switch", "did you mean care.models.switch?"),
        ("serach", "did you mean search?"),
        ("xyzzy", r"help\(MemoryMesh\) lists all"),
    ],
)
def test_a_name_that_there_is_not_says_what_was_meant(
    mesh: MemoryMesh, name: str, hint: str
) -> None:
    with pytest.raises(AttributeError, match=hint):
        getattr(mesh, name)
    assert not hasattr(mesh, name)


@pytest.mark.parametrize(
    ("family", "name", "hint"),
    [
        ("care", "backup", r"memory_mesh\.care\.backup"),
        ("lessons", "add", "did you mean record?"),
        ("traces", "list", "did you mean get_all?"),
        ("review", "confilcts", "did you mean conflicts?"),
        ("graph", "xyzzy", r"help\(GraphVerbs\) lists all"),
    ],
)
def test_a_name_that_a_family_does_not_have_says_what_was_meant(
    mesh: MemoryMesh, family: str, name: str, hint: str
) -> None:
    with pytest.raises(AttributeError, match=hint):
        getattr(getattr(mesh, family), name)
    awaited = getattr(AsyncMemoryMesh(db_dir=mesh.folder), family)
    with pytest.raises(AttributeError, match=hint):
        getattr(awaited, name)
    assert mesh.lessons() == []


def test_every_family_is_counted_where_operations_are_listed(mesh: MemoryMesh) -> None:
    for name, kind in FAMILIES[MemoryMesh].items():
        assert type(reach(mesh, name)) is kind
    assert len(operations(MemoryMesh)) > 80


def test_an_operation_of_a_family_names_itself_in_errors(mesh: MemoryMesh) -> None:
    with pytest.raises(TypeError, match=r"MemoryMesh\.review\.waiting\(\) has no option 'top_k'"):
        mesh.review.waiting(top_k=3)  # type: ignore[call-arg]
    assert "limit" in options_of(type(mesh.review).waiting)
