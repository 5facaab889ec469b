"""`memory-mesh bisect`: a person at a terminal, a test command, and what is kept."""

import json
import os
import pty
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.surface.command import CommandLine

COMPLAINT = "the agent ran the wrong deploy command"
WRONG = "Deploy the app with ship --prod, not with make deploy"
JUDGE = "! grep -q 'ship --prod'"  # of what is right
_SECONDS = 60


@pytest.fixture
def wrong(cli: CommandLine) -> str:
    """A store whose prompt was told something wrong; the wrong memory."""
    cli.stored("Lunch is on Friday")
    cli.stored("Deploy the app with make deploy")
    found = cli.stored(WRONG)
    cli.stored("A deploy of the app takes four minutes")
    assert WRONG in cli("context", "how do we deploy the app?").out
    return found


def seeing(shown: str) -> str:
    """What a person answers who sees the wrong command in a list, or not."""
    if shown.endswith("[y/N] "):
        return "y"
    told = [line[4:] for line in shown.splitlines() if line[:3] in {"   ", "  +"}]
    return "n" if WRONG in told else "y"


def leaving(shown: str) -> str:
    """The same, by a person who leaves the write as it is."""
    return "n" if shown.endswith("[y/N] ") else seeing(shown)


def answered(cli: CommandLine, answer: Callable[[str], str], *words: str) -> str:
    """What the terminal shows of a command whose questions are answered, each by what it shows."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*cli.start, *words], stdin=theirs, stdout=theirs, stderr=theirs, cwd=cli.home,
        env=cli.environment,
    ) as ran:  # fmt: skip
        os.close(theirs)
        shown, before = b"", 0
        while True:
            try:
                part = os.read(ours, 4_096)
            except OSError:  # it ended
                break
            shown += part
            if shown.endswith((b"[q]uit: ", b"[y/N] ")):
                asked = shown[before:].decode().replace("\r\n", "\n")
                os.write(ours, f"{answer(asked)}\n".encode())
                before = len(shown)
        ran.wait(_SECONDS)
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def test_a_test_command_finds_the_write_and_takes_it_back(cli: CommandLine, wrong: str) -> None:
    said = cli("bisect", COMPLAINT, "--run", JUDGE)
    assert said.code == 0
    assert f"It turned wrong with {wrong}, said by the user on " in said.out
    assert "memory-mesh eval run" in said.out
    assert wrong in cli("list").out
    back = cli("bisect", COMPLAINT, "--run", JUDGE, "--take-back", "--json")
    assert json.loads(back.out)["culprit"]["memory"]["id"] == wrong
    assert wrong not in cli("list").out
    assert "ship" not in cli("context", "how do we deploy the app?").out


@pytest.mark.parametrize("often", [False, True])
def test_vectors_that_a_search_makes_are_no_write(cli: CommandLine, *, often: bool) -> None:
    cli = replace(cli, variables={**cli.variables, "MEMORY_MESH_EMBEDDER": "static"})
    ids = []
    for text in ("Deploy the app with make deploy", WRONG, "A deploy takes four minutes"):
        ids.append(cli.stored(text))
        if often:
            cli("search", "deploys")
    cli("context", "how do we deploy the app?")
    said = cli("bisect", COMPLAINT, "--run", JUDGE, "--take-back", "--json")
    found = json.loads(said.out)
    assert (found["exact"], found["writes"]) == (True, 3)
    assert found["culprit"]["memory"]["id"] == ids[1]
    assert ids[1] not in cli("list").out


def test_the_case_that_is_kept_fails_before_and_holds_after(cli: CommandLine, wrong: str) -> None:
    cli("bisect", COMPLAINT, "--run", JUDGE)
    (suite,) = Path(cli.home).rglob("bisected-*.yaml")
    suite.write_text(suite.read_text().replace("k: [1, 5]", "k: [1, 2]"))
    asked = ("eval", "run", str(suite), "--systems", "keyword", "--out", str(cli.home / "out"))
    before = cli(*asked)
    cli("delete", wrong)
    after = cli(*asked)
    assert "newest_above_stale 1.0000" in after.out
    assert before.code == after.code == 0


def test_the_case_of_an_update_fails_while_it_stands_and_holds_after(
    cli: CommandLine,
) -> None:
    changed = cli.stored("Deploy the app with make deploy")
    others = [cli.stored(text) for text in ("Lunch is on Friday", "The app is blue", "Ann is in")]
    assert cli("update", changed, "Run ship --prod to deploy the app").code == 0
    cli("context", "how do we deploy the app?")
    cli("bisect", COMPLAINT, "--run", JUDGE)
    (suite,) = Path(cli.home).rglob("bisected-*.yaml")
    case = {"ask": "when is lunch?", "expect": [others[0]], "stale": [others[1]]}
    suite.write_text(
        suite.read_text().replace("k: [1, 5]", "k: [1, 2]") + f"  - {json.dumps(case)}\n"
    )
    asked = ("eval", "run", str(suite), "--systems", "keyword", "--out", str(cli.home / "out"))
    before = cli(*asked)
    assert before.code == 0, before.err
    assert "newest_above_stale 0.5000" in before.out
    failed = (cli.home / "out/bisected.failures.jsonl").read_text()
    assert "Deploy the app with make deploy" in failed
    cli("bisect", COMPLAINT, "--run", JUDGE, "--take-back")
    assert "newest_above_stale 1.0000" in cli(*asked).out
    assert cli("erase", changed, "--yes").code == 0
    assert not suite.exists()


@pytest.mark.parametrize("words", [("erase", "{}"), ("namespaces", "delete", "default")])
def test_an_erasure_takes_the_case_along(
    cli: CommandLine, wrong: str, words: tuple[str, ...]
) -> None:
    cli("bisect", COMPLAINT, "--run", JUDGE)
    done = cli(*(word.format(wrong) for word in words), "--yes")
    assert done.code == 0
    assert "still holds" not in done.out + done.err
    assert list(Path(cli.home).rglob("bisected-*.yaml")) == []


def test_a_person_finds_the_write_and_takes_it_back(cli: CommandLine, wrong: str) -> None:
    shown = answered(cli, seeing, "bisect", COMPLAINT)
    assert "the agent was asked: how do we deploy the app?" in shown
    assert f"It turned wrong with {wrong}, said by the user on " in shown
    assert "Taken back: 1 memory changed." in shown
    assert f"What was deleted comes back with: memory-mesh restore {wrong}" in shown
    assert wrong not in cli("list").out


def test_an_interrupted_bisection_goes_on_with_its_answers(cli: CommandLine, wrong: str) -> None:
    whole = answered(cli, leaving, "bisect", COMPLAINT)
    asked = whole.count("[q]uit")
    assert asked > 1
    given = iter(["n", "q"])
    first = answered(cli, lambda _: next(given), "bisect", COMPLAINT, "--again")
    assert "the same command goes on" in first
    rest = answered(cli, seeing, "bisect", COMPLAINT)
    assert rest.count("[q]uit") < asked
    assert wrong in rest


def test_only_the_pack_on_record_is_said_to_be_told(cli: CommandLine, wrong: str) -> None:
    given = iter(["n", "q"])
    assert "It was told:\n" in answered(cli, lambda _: next(given), "bisect", COMPLAINT)
    rest = answered(cli, seeing, "bisect", COMPLAINT)
    assert "\n1. On" in rest
    assert "It was told" not in rest
    assert wrong in rest


def test_an_interrupt_says_that_the_same_command_goes_on(cli: CommandLine, wrong: str) -> None:
    said = cli.real("bisect", COMPLAINT, "--run", "kill -INT $PPID; sleep 9")
    assert said.code == 130
    assert "the same command goes on" in said.err


def test_a_bisection_that_finds_nothing_says_why(cli: CommandLine, wrong: str) -> None:
    said = cli("bisect", COMPLAINT, "--run", "true")
    assert said.code == 1
    assert "the pack is right as it was told" in said.out
    assert "the same command with --again" in said.out
    said = cli("bisect", COMPLAINT, "--run", "false")
    assert said.code == 1
    assert "no earlier pack of this question was right" in said.out


def test_what_cannot_be_asked_or_run_is_said(cli: CommandLine, wrong: str) -> None:
    said = cli("bisect", COMPLAINT)
    assert said.code == 2
    assert "give --run" in said.err
    assert "say what went wrong" in cli("bisect").err
    assert "ended with 127" in cli("bisect", COMPLAINT, "--run", "no-such-command-here").err


def test_what_cost_tokens_for_nothing_is_listed_for_review(cli: CommandLine, wrong: str) -> None:
    cli("context", "how do we deploy the app?")
    cli("rate", wrong, "--not-helpful")
    assert "1 told for nothing: memory-mesh review --worth" in cli("review").out
    (worth,) = json.loads(cli("review", "--worth", "--json").out)["items"]
    assert (worth["helpful"], worth["harmful"]) == (0, 1)
    listed = cli("review", "--worth").out
    assert wrong in listed
    assert "told 2 times" in listed
