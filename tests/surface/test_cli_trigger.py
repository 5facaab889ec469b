"""`memory-mesh trigger` as a user runs it."""

import json

import pytest

from tests.surface.command import CommandLine


@pytest.mark.req("R-001-085")
@pytest.mark.parametrize(
    ("pattern", "text", "code"),
    [
        ("auth|login|security", "add login page", 0),
        ("auth|login|security", "add user page", 1),
        ("implement.*auth", "implement authentication", 0),
        ("implement.*auth", "auth module", 1),
        ("When implementing security", "security features task", 0),
        ("When implementing security", "database task", 1),
    ],
)
def test_a_pattern_is_tested_and_the_exit_code_tells(
    cli: CommandLine, pattern: str, text: str, code: int
) -> None:
    done = cli("trigger", "test", pattern, text)
    assert (done.code, done.err) == (code, "")
    assert done.out.startswith("[MemoryMesh] match" if code == 0 else "[MemoryMesh] no match")
    assert not cli.store.exists()


@pytest.mark.req("R-001-085")
def test_what_is_wrong_with_a_pattern_is_told(cli: CommandLine) -> None:
    done = cli("trigger", "test", "a(?=b)", "ab")
    assert (done.code, "RE2 has no lookahead" in done.err) == (1, True)
    plain = json.loads(cli("trigger", "test", "a(?=b)", "ab", "--json").out)
    assert (plain["matches"], plain["match"]) == (False, None)
    assert plain["problems"]
    assert plain["reads"] == ["text that contains 'a(?=b)'"]


@pytest.mark.parametrize("words", [("test", "a"), ("list", "x"), ("find",), ("prompt", "a", "b")])
def test_the_wrong_number_of_words_is_a_misuse(cli: CommandLine, words: tuple[str, ...]) -> None:
    done = cli("trigger", *words)
    assert done.code == 2
    assert "memory-mesh trigger test" in done.err


def test_triggers_are_stored_listed_and_call_a_memory_up(cli: CommandLine) -> None:
    stored = cli.stored(
        "# Auth\n\nTokens are JWT.", "--trigger", "auth|login", "--trigger", "x(?=y)",
        "--importance", "high",
    )  # fmt: skip
    cli.stored("No triggers here.")
    listed = cli("trigger", "list")
    assert f"{stored}  Auth\n    auth|login, x(?=y)" in listed.out
    assert "no lookahead" in listed.err
    found = cli("trigger", "find", "add login page", "--for-agent", "developer")
    assert "The task calls up 1 memory" in found.out
    assert f" 35  {stored}  Auth\n" in found.out
    (plain,) = json.loads(cli("trigger", "find", "add login page", "--json").out)["items"]
    assert (plain["id"], plain["points"], plain["whenToUse"][0]) == (stored, 35, "auth|login")
    assert json.loads(cli("trigger", "find", "feed the cat", "--json").out) == {"items": []}


@pytest.mark.req("R-001-076")
def test_a_prompt_is_printed(cli: CommandLine) -> None:
    cli.stored("# Auth\n\nTokens are JWT.", "--trigger", "auth|login", "--importance", "high")
    done = cli("trigger", "prompt", "add login page", "--for-agent", "developer")
    assert done.out == (
        "## Background Knowledge from Previous Runs\n\n### Auth\n*Importance: HIGH*\n"
        "*Discovered by: unknown*\n\n# Auth\n\nTokens are JWT.\n"
    )
    assert cli("trigger", "prompt", "feed the cat").out == ""
