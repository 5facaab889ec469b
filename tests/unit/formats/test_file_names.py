"""Names of memory files: kebab-case, portable, never outside of their folder."""

import pytest

from memory_mesh.formats.file_names import FOLDER, file_name, safe_path, slug
from memory_mesh.model.errors import InvalidInput


@pytest.mark.req("R-001-026", "R-001-043")
@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Authentication Module Structure", "authentication-module-structure"),
        ("OAuth2 Integration Was Too Broad", "oauth2-integration-was-too-broad"),
        ("  What's new -- in v2.0?  ", "whats-new-in-v2-0"),
        ("Überblick: Größe & Maß", "uberblick-grosse-mass"),
        ("日本語の メモ", "日本語の-メモ"),
        ("../../etc/passwd", "etc-passwd"),
        ("CON", "con-memory"),
        (".hidden", "hidden"),
        ("COM¹", "com1-memory"),
        ("a" * 300, "a" * 80),
        ("word " * 40, "-".join(["word"] * 16)),
    ],
)
def test_a_title_becomes_a_name_in_kebab_case(title, name):
    assert slug(title) == name
    assert file_name(title) == f"{name}.md"


@pytest.mark.req("R-001-008", "R-001-043")
def test_a_memory_file_lives_in_the_folder_under_the_slug_of_its_title():
    path = safe_path(FOLDER, file_name("Authentication Module Structure"))
    assert path == ".rawko/memories/authentication-module-structure.md"


@pytest.mark.parametrize("title", ["", " ", "...", "/", "!?", "\u202e", "😀"])
def test_a_title_without_letters_has_a_name_of_its_own(title):
    assert slug(title).startswith("memory-")
    assert slug(title) == slug(title) != slug(title + "!")


def test_a_name_that_is_taken_gets_a_number():
    assert file_name("A b", ["A-B.md"]) == "a-b-2.md"
    assert file_name("A b", ["a-b.md", "a-b-2.md"]) == "a-b-3.md"
    many = ["a.md", *(f"a-{number}.md" for number in range(2, 200))]
    assert file_name("a", many) not in many
    assert len({*many, file_name("a", many)}) == len(many) + 1
    again = [*many, file_name("a", many)]
    assert file_name("a", again) not in again


@pytest.mark.parametrize("name", ["a.md", "notes/a.md", "What? Why.md", "日本/メモ.md", "a..b.md"])
def test_a_name_inside_the_folder_is_taken(name):
    assert safe_path("/vault", name) == f"/vault/{name}"
    assert safe_path("vault/", name) == f"vault/{name}"
    assert safe_path("/", name) == f"/{name}"
    assert safe_path("", name) == name


@pytest.mark.parametrize(
    "name",
    ["", "/a.md", "../a.md", "a/../../b.md", "a//b.md", "./a.md", ".git/config", ".a.md", "a.md/",
     "a\\b.md", "C:a.md", "a\x00.md", "a\n.md", "con.md", "NUL", "aux.x/a.md", "a./b.md", "a .md/",
     "a ", "\u202ea.md", "．．/a.md", "\ud800.md", "a" * 256, "a/" * 600 + "b.md", "..", "."],
)  # fmt: skip
def test_a_name_that_could_lead_elsewhere_is_refused(name):
    with pytest.raises(InvalidInput):
        safe_path("/vault", name)
