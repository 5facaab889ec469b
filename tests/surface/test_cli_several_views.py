"""`search` over the memories of several users, projects and namespaces."""

import json

import pytest

from tests.surface.command import CommandLine


@pytest.fixture
def office(cli: CommandLine) -> CommandLine:
    cli.stored("I leave the office at four", "--user", "alice")
    cli.stored("I leave the office at five", "--user", "bob", "--project", "shop")
    cli.stored("The office closes at six", "--namespace", "team")
    cli.stored("The office of the shop", "--project", "shop")
    cli.stored("The office of the blog", "--project", "blog")
    return cli


def found(cli: CommandLine, *words: str) -> dict[str, tuple[object, ...]]:
    done = cli("search", "office", "--json", *words)
    assert (done.code, done.err) == (0, "")
    return {
        hit["content"]: (hit["view"]["namespace"], hit["view"]["user"], hit["view"]["project"])
        for hit in json.loads(done.out)["items"]
    }


def test_users_and_namespaces_are_read_for_the_project_that_asks(office: CommandLine) -> None:
    asked = ("--user", "alice", "--also-user", "bob", "--also-namespace", "team")
    assert found(office, *asked) == {
        "I leave the office at four": ("user.alice", "alice", None),
        "The office closes at six": ("team", None, None),
    }
    assert found(office, *asked, "--project", "shop") == {
        "I leave the office at four": ("user.alice", "alice", "shop"),
        "I leave the office at five": ("user.bob", "bob", "shop"),
        "The office closes at six": ("team", None, "shop"),
    }


def test_projects_are_searched_together_and_options_may_be_repeated(office: CommandLine) -> None:
    asked = ("--also-project", "shop", "--also-project", "blog")
    assert found(office, *asked) == {
        "The office of the shop": ("default", None, "shop"),
        "The office of the blog": ("default", None, "blog"),
    }
    users = ("--also-user", "alice", "--also-user", "bob", "--project", "shop")
    assert len(found(office, *users)) == 3


def test_a_line_for_each_view_says_which_hits_it_has(office: CommandLine) -> None:
    done = office("search", "office", "--user", "alice", "--also-namespace", "team")
    assert "Found 2 matches." in done.out
    first, second = done.err.splitlines()
    views = sorted(line.partition(": ")[0] for line in (first, second))
    assert views == ["[MemoryMesh] From namespace team", "[MemoryMesh] From user alice"]
    assert all(line.partition(": ")[2].startswith("mem_") for line in (first, second))
    assert office("search", "office", "--user", "alice").err == ""


def test_a_hit_is_shown_as_that_of_its_own_view(office: CommandLine) -> None:
    asked = ("search", "office", "--user", "alice", "--also-user", "bob", "--project", "shop")
    wide = (*asked, "--also-namespace", "team", "--also-project", "blog")
    items = json.loads(office(*wide, "--json").out)["items"]
    assert {hit["content"]: hit["user"] for hit in items} == {
        "I leave the office at four": "alice",
        "I leave the office at five": "bob",
        "The office closes at six": None,
    }
    shown = office.on_terminal(*wide).out.split("\n\n")
    whose = {"four": "of alice", "five": "of bob", "six": "of namespace team"}
    for word, owner in whose.items():
        (block,) = (each for each in shown if f" at {word}" in each)
        assert f"· {owner} ·" in " ".join(block.split())


def test_a_user_as_a_namespace_is_refused(office: CommandLine) -> None:
    wrong = office("search", "office", "--also-namespace", "user.alice")
    assert (wrong.code, "--user" in wrong.err) == (1, True)


def test_what_another_project_may_answer_is_said_where_nothing_is_relevant(
    cli: CommandLine,
) -> None:
    cli.stored("The port of the API is 8080", "--project", "shop")
    cli.stored("The deploy key is kept by Tom", "--project", "blog")
    asked = cli("search", "deploy", "--project", "blog", "--min-relevance", "1")
    assert "--all shows it" in asked.err
    assert "1 memory in shop: --all-projects" in asked.err
    also = ("search", "port of the API", "--project", "blog", "--also-project")
    assert "No memory has the project shpo" in cli(*also, "shpo").err
    assert "No memory has" not in cli(*also, "shop").err
