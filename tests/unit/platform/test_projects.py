"""What a store takes note of about a repository, decided without a store."""

import pytest

from memory_mesh.platform.projects import (
    CLONE,
    FOLDER,
    MAX_NAMES,
    NAMES,
    PLACE,
    ProjectNames,
    Sighting,
    folder_project,
    merged,
    names_of,
    names_text,
    settle,
    split,
)

PLACED, OTHER = "/w/app", "/w/app#bb"


def seen(name: str = "h/app", **changed: object) -> Sighting:
    stated: dict[str, object] = {
        "clone": "/w/app#aa", "place": PLACED, "name": name, "how": "remote",
    }  # fmt: skip
    return Sighting(**{**stated, **changed})  # type: ignore[arg-type]


def after(*sightings: Sighting, states: dict[str, str] | None = None) -> dict[str, str]:
    held = dict(states or {})
    for each in sightings:
        held |= settle(each, held).changes
    return held


def names(states: dict[str, str], project: str) -> ProjectNames:
    return names_of(states.get(f"{NAMES}{project}"))


def test_what_is_known_changes_nothing() -> None:
    held = after(seen())
    assert settle(seen(), held).changes == {}


def test_only_the_first_repository_at_a_path_gets_what_is_stored_under_it() -> None:
    held = after(seen("h/one"), seen("h/two", clone=OTHER))
    assert names(held, "h/one").same == (PLACED,)
    assert names(held, "h/two") == ProjectNames()
    assert held[f"{PLACE}{PLACED}"] == "/w/app#aa"


def test_a_nameless_repository_at_the_path_of_another_one_has_a_name_of_its_own() -> None:
    held = after(seen(PLACED, how="path"))
    assert settle(seen(PLACED, how="path"), held).name == PLACED
    assert settle(seen(PLACED, how="path", clone=OTHER), held).name == OTHER


def test_a_clone_reads_what_it_was_called_before_and_what_that_read() -> None:
    held = after(seen(PLACED, how="path"), seen("commit:1", how="root", root="1"), seen("h/app"))
    assert names(held, "h/app").same == ("commit:1", PLACED)
    assert '"root": "1"' in held[f"{CLONE}/w/app#aa"]


def test_a_former_name_that_another_clone_has_is_only_read() -> None:
    held = after(seen("h/old"), seen("h/old", clone="/w/two#cc", place="/w/two"), seen("h/new"))
    assert names(held, "h/new") == ProjectNames((), ("h/old", PLACED, "/w/two"))


def test_a_former_name_that_comes_to_life_again_is_only_read() -> None:
    held = after(seen("h/old"), seen("h/new"))
    assert "h/old" in names(held, "h/new").same
    held = after(seen("h/old", clone="/w/two#cc", place="/w/two"), states=held)
    assert names(held, "h/new").read == ("h/old",)
    assert "h/old" not in names(held, "h/new").same


def test_a_clone_that_keeps_its_former_remote_is_a_fork_of_it() -> None:
    held = after(seen("h/app"), seen("h/fork", others=("h/app",)))
    assert names(held, "h/fork") == ProjectNames()


def test_merging_reads_and_splitting_ends_it() -> None:
    states = {
        f"{NAMES}b": names_text(ProjectNames(("c",), ("d",))),
        f"{NAMES}a": names_text(ProjectNames(("p",))),
    }
    both = merged("a", "b", states)
    assert both == ProjectNames(("p",), ("b", "c", "d"))
    assert merged("a", "b", {f"{NAMES}a": names_text(both)}) == both
    assert split(both, "b", {}) == ProjectNames(("p",), ("c", "d"))
    assert split(both, "p", {}).same == ()
    for other in ("b", "c"):  # what came with it goes with it, by whichever of its names
        assert split(both, other, states) == ProjectNames(("p",), ())


def test_the_number_of_names_is_bounded() -> None:
    many = names_text(ProjectNames((), tuple(f"n{number}" for number in range(MAX_NAMES * 2))))
    assert len(merged("a", "b", {f"{NAMES}b": many}).read) == MAX_NAMES


@pytest.mark.parametrize(
    ("folder", "found"),
    [
        ("/home/a/notes", ("mine", "/home/a/notes")),
        ("/home/a/notes/deep/er", ("mine", "/home/a/notes")),
        ("/home/a/notes2", None),
        ("/home/a", None),
        ("/", None),
    ],
)
def test_a_name_holds_for_the_folders_below(folder: str, found: tuple[str, str] | None) -> None:
    assert folder_project(folder, {f"{FOLDER}/home/a/notes": "mine"}) == found
