"""No secret that a caller gives reaches a file, a record, an answer or a message."""

import base64
import inspect
import zlib

import pytest

import memory_mesh
from memory_mesh.base.typed import fields
from memory_mesh.compat.neolata import MemoryGraph as AsyncGraph
from memory_mesh.compat.neolata.memory_graph import MemoryGraph
from memory_mesh.mesh.document_names import IN_FAMILIES
from memory_mesh.model import Draft, Query, SkillDraft
from memory_mesh.sync import MemoryContextManager, MemoryMesh
from tests.faults import planted
from tests.faults.planted import everything_in
from tests.faults.report import Report
from tests.faults.secret_faces import needed
from tests.faults.secret_shapes import draft_of, is_text
from tests.faults.secrets import Face, Walk, parameters, public
from tests.faults.suites import sampled

NO_TEXT = {  # of Draft: numbers, times, enums, ids
    "kind", "order", "occurred_at", "valid_from", "valid_until", "importance", "confidence", "tier",
    "pinned", "allow_duplicate", "origin", "keep_active", "supersedes",
}  # fmt: skip


def counted(report: Report, name: str) -> int:
    found = report.figures[name]
    assert isinstance(found, int)
    return found


@pytest.mark.slow
@pytest.mark.req("R-000-186", "R-003-081")
def test_a_secret_in_an_argument_of_the_library_is_found_nowhere(tmp_path):
    report = sampled("secrets", tmp_path, parts=("library", "openings"))
    report.holds()
    assert counted(report, "arguments") > 100
    assert counted(report, "calls") > 200


@pytest.mark.slow
def test_a_secret_in_an_option_a_file_or_a_setting_is_found_nowhere(tmp_path):
    parts = ("commands", "files", "settings")
    report = sampled("secrets", tmp_path, parts=parts)
    report.holds()
    assert counted(report, "options") > 60
    assert counted(report, "commands") > 150


@pytest.mark.parametrize(
    ("blocking", "awaited"),
    [
        (MemoryMesh, memory_mesh.MemoryMesh),
        (MemoryContextManager, memory_mesh.MemoryContextManager),
        (MemoryGraph, AsyncGraph),
    ],
)
def test_an_async_face_has_no_argument_that_the_blocking_one_lacks(blocking, awaited):
    for name, method in public(awaited).items():
        own = {each.name for each in parameters(method)}
        twin = public(blocking)[IN_FAMILIES.get(name, name)]
        assert own <= {each.name for each in parameters(twin)}, name


def test_every_field_of_a_draft_is_planted_or_holds_no_text():
    walk = planted.Planted()
    draft = draft_of(lambda part: walk.secret("key", part))
    empty = Draft(text="")
    given = {
        each.name
        for each in fields(Draft)
        if getattr(draft, each.name) != getattr(empty, each.name)
    }
    assert {each.name for each in fields(Draft)} == given | NO_TEXT


def test_every_field_of_a_query_and_of_a_skill_is_known_here():
    lens_and_numbers = {
        "lens",
        "limit",
        "profile",
        "keyword_only",
        "weights",
        "rules",
        "read_names",
    }
    thresholds = {"min_similarity", "min_relevance"}
    assert {field.name for field in fields(Query)} == {"text"} | lens_and_numbers | thresholds
    known = {"text", "metadata", "scope", "source", "sources", "staged", "watched", "origin"}
    assert {field.name for field in fields(SkillDraft)} == known


def test_a_new_argument_that_takes_text_and_has_no_plan_is_a_failure(tmp_path):
    def told(*, letters: object) -> None:
        assert letters

    told.__annotations__["letters"] = "Mapping[Letter, Letter]"
    walk = Walk(tmp_path, kinds=("key",))
    walk.face(Face("new", {"told": told}, lambda _: told, lambda *_: None))
    assert walk.report.failures == ["no plan: new.told(letters): Mapping[Letter, Letter]"]


@pytest.mark.parametrize(
    ("annotation", "takes"),
    [
        (str, True),
        ("str | None", True),
        ("Iterable[str]", True),
        ("Mapping[str, object]", True),
        ("Scope | None", True),
        (object, True),
        (int, False),
        ("bool | None", False),
        ("Callable[[str], int] | None", False),
        ("datetime | None", False),
    ],
)
def test_what_takes_text_is_told_by_its_type(annotation, takes):
    kind = inspect.Parameter.KEYWORD_ONLY
    assert is_text(inspect.Parameter("a", kind, annotation=annotation)) is takes


@pytest.mark.parametrize("kind", planted.KINDS)
def test_the_search_sees_a_secret_in_every_form(kind):
    walk = planted.Planted()
    said = walk.secret(kind, "here").said.encode()
    for form in (
        said,
        said.upper(),
        said.decode().encode("utf-16-le"),
        said.decode().encode("utf-32-be"),
        base64.b64encode(b"a" + said),
        base64.urlsafe_b64encode(b"ab" + said),
        said.hex().encode(),
        b"x" * 100 + zlib.compress(said),
    ):
        assert walk.found(b"before " + form + b" after") == ["here"]
    assert walk.found(b"nothing " * 100) == []


def test_the_walk_would_find_what_is_not_redacted(tmp_path):
    walk = Walk(tmp_path, kinds=("password",))
    with MemoryMesh(db_dir=tmp_path / "store", redact=False) as mesh:
        add = public(MemoryMesh)["add"]
        face = Face("mesh", {"add": add}, lambda _: mesh.add, needed)
        walk.face(face)
    found = everything_in(tmp_path)
    places = " ".join(place for _, data in found for place in walk.planted.found(data))
    for name in ("metadata", "speaker", "tags", "triggers", "claim", "source_ref", "content"):
        assert f"mesh.add({name})" in places
