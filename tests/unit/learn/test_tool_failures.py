"""Which failed tool calls may teach something, and what tells their fix."""

import pytest

from memory_mesh.learn.rules import tool_failures as rules


@pytest.mark.parametrize(
    ("command", "error", "pattern"),
    [
        ("npm start", "Error: listen EADDRINUSE: address already in use :::3000", "address_in_use"),
        ("pytest -q", "E   ModuleNotFoundError: No module named 'respx'", "python_module_missing"),
        ("git push", "error: failed to push some refs", "push_rejected"),
        ("alembic upgrade head", "Exit code 255\nFAILED: Multiple heads", "fail head"),
    ],
)
def test_a_failure_names_its_pattern(command: str, error: str, pattern: str) -> None:
    found = rules.read_failure("Bash", {"command": command}, error)
    assert found is not None
    assert found.tried == command
    assert found.pattern.startswith(pattern)
    assert "Exit code" not in found.said


@pytest.mark.parametrize(
    ("tool", "command", "error"),
    [
        ("Bash", "grep -rn legacyAuth src/", "Exit code 1"),
        ("Bash", "cat notes.txt", "cat: notes.txt: No such file or directory"),
        ("Bash", "make bench", "[Request interrupted by user for tool use]"),
        ("Bash", "rm -rf build", "The user doesn't want to proceed with this tool use."),
        ("Bash", "npm test", "FAIL src/a.test.ts\n expected 3 to be 4"),
        ("Bash", "ruff check .", "F401 imported but unused\nFound 1 error."),
        ("Edit", "a.py", "String to replace not found in file."),
        ("WebFetch", "https://example.org", "Request failed with status code 503"),
        ("Bash", "make", ""),
    ],
)
def test_what_teaches_nothing_is_left_out(tool: str, command: str, error: str) -> None:
    assert rules.read_failure(tool, {"command": command}, error) is None


@pytest.mark.parametrize(
    "message",
    [
        "I stopped the old container and npm start works.",
        "With org.gradle.jvmargs=-Xmx4g in gradle.properties the build succeeds.",
        "The cause was a stale lock file; deleting it solved the problem.",
        "I installed respx. The suite passes now.",
    ],
)
def test_a_fix_that_worked_is_read(message: str) -> None:
    assert rules.told_fix(message) == message


@pytest.mark.parametrize(
    "message",
    [
        "Done.",
        "Maybe the cache is corrupt; I cleared it.",
        "I cleared the cache. The test still fails.",
        "I could not build the target, though everything works elsewhere.",
        "Shall I check that it works now?",
    ],
)
def test_a_guess_is_no_fix(message: str) -> None:
    assert rules.told_fix(message) == ""


@pytest.mark.parametrize(
    "message",
    ["The test fails as expected.", "I retried and it worked.", "I had mistyped the path."],
)
def test_intended_failures_and_slips_teach_nothing(message: str) -> None:
    assert rules.taught_nothing(message)


def test_the_user_can_deny_a_fix() -> None:
    assert rules.denies(["cache is not it"])
    assert rules.denies(["no, that was not the cause"])
    assert rules.denies(["that didn't help"])
    assert not rules.denies(["great, apply it"])
