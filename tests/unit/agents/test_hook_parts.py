"""The parts of a hook that need no process: the host's words, the question, the line."""

import json

import pytest

from memory_mesh.agents.hook import events, hosts
from memory_mesh.agents.hook.events import MOST_CHARS, question_of
from memory_mesh.agents.hook.worker import without_private
from memory_mesh.model.pack import LeftOut, LeftOutBy, Pack


@pytest.mark.parametrize(
    ("prompt", "question"),
    [
        ("", None),
        ("  \n ", None),
        ("yes", None),
        ("go on", None),
        ("/compact", None),
        ("/model opus", None),
        ("/review the parser of the shop", "the parser of the shop"),
        ("/usr/bin/python fails, why?", "/usr/bin/python fails, why?"),
        ("how do we deploy?", "how do we deploy?"),
        ("我们如何部署网店", "我们如何部署网店"),
        ("...!?", None),
    ],
)
def test_what_of_a_prompt_is_looked_for(prompt: str, question: str | None) -> None:
    assert question_of(prompt) == question


def test_of_a_long_prompt_the_beginning_and_the_end_are_looked_for() -> None:
    found = question_of("first words " + "x " * 50_000 + "last words") or ""
    assert len(found) <= MOST_CHARS + 1
    assert found.startswith("first words")
    assert found.endswith("last words")


@pytest.mark.parametrize(
    ("event", "source", "recalls"),
    [
        ("SessionStart", "startup", True),
        ("SessionStart", "clear", True),
        ("SessionStart", "compact", True),
        ("SessionStart", None, True),
        ("SessionStart", "resume", False),
        ("SessionStart", "fork", False),
        ("SessionStart", "something new", False),
        ("UserPromptSubmit", None, True),
        ("Stop", None, False),
        ("", None, False),
    ],
)
def test_which_events_recall(event: str, source: str | None, *, recalls: bool) -> None:
    given = {"session_id": "s", "transcript_path": "/t"} | ({"source": source} if source else {})
    found = hosts.recall_of(event, given)
    assert (found is not None) == recalls
    assert found is None or "transcript_path" not in found


def test_values_of_another_type_are_left_out() -> None:
    given = {"session_id": 7, "prompt": ["x"], "cwd": "/w"}
    assert hosts.recall_of("UserPromptSubmit", given) == {"cwd": "/w"}


def test_what_the_host_reads() -> None:
    said = hosts.output_of("SessionStart", {"context": "ä\n<x>", "line": "memory-mesh: 1"})
    assert said.isascii()
    assert "\n" not in said
    assert json.loads(said) == {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "ä\n<x>"},
        "systemMessage": "memory-mesh: 1",
    }
    assert hosts.output_of("SessionStart", {}) == ""
    assert hosts.output_of("SessionStart", {"context": None, "line": None}) == ""


def test_private_parts_are_taken_out_of_every_text() -> None:
    given = {"prompt": "a <PRIVATE>b</private> c", "session_id": "s", "n": 3}
    found = without_private(given)
    assert "b" not in found["prompt"]
    assert found["session_id"] == "s"
    assert found["n"] == 3


def packed(memories: int, below: int = 0) -> Pack:
    left = tuple(LeftOut(f"m{n}", LeftOutBy.RELEVANCE, 0) for n in range(below))
    return Pack("text", 310, 2000, (None,) * memories, left)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("memories", "below", "waiting", "at_start", "said"),
    [
        (4, 0, 2, True, "memory-mesh: 4 memories, 310 tokens; 2 wait for review"),
        (1, 0, 1, True, "memory-mesh: 1 memory, 310 tokens; 1 waits for review"),
        (0, 0, 0, True, "memory-mesh: no memories for this project yet"),
        (2, 3, 0, False, "memory-mesh: 2 memories, 310 tokens; 3 below the relevance threshold"),
        (
            0,
            3,
            0,
            False,
            "memory-mesh: no memory fits this prompt; 3 below the relevance threshold",
        ),
        (0, 0, 0, False, None),
    ],
)
def test_the_line_of_a_session(
    memories: int, below: int, waiting: int, *, at_start: bool, said: str | None
) -> None:
    assert events.visible(packed(memories, below), waiting=waiting, at_start=at_start) == said


def test_notices_stand_below_the_line() -> None:
    assert events.with_notices(None, []) is None
    assert events.with_notices("memory-mesh: x", ["stored 1", "stored 1"]) == (
        "memory-mesh: x\nmemory-mesh: stored 1"
    )
