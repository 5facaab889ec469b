"""`memory-mesh-hook`: what a host's prompts are given, by real processes on a real store."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from memory_mesh.agents.sessions import Session
from memory_mesh.model.errors import NotFound
from tests import fork_server
from tests.surface.hooking import HOOK, PATIENCE, PLANTED, PROMPT, Host

LESSON = {
    "situation": "a deploy of the shop on Friday",
    "error_pattern": "deploy without staging",
    "oversight": "nobody looked",
    "fix": "rolled back",
    "preventative_rule": "Deploy the shop through staging first",
    "applicable_scope": "shop",
    "severity": "critical",
    "confidence": 0.9,
}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))  # the key of the store is the same one
    return Host(home)


@pytest.fixture
def daemon(host: Host) -> Iterator[Host]:
    """The same host with a daemon that runs."""
    with host.daemon():
        yield host


def planted(host: Host, *texts: str) -> list[str]:
    with host.mesh() as mesh:
        return [mesh.add(text).id or "" for text in texts or (PLANTED,)]


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_asked_for_help_it_prints_its_usage_and_reads_nothing(host: Host, word: str) -> None:
    source, held = os.pipe()  # nobody writes, and nobody closes it
    try:
        done = subprocess.run(
            [*HOOK, "--host", "codex", word], stdin=source, capture_output=True, text=True,
            env=host.environment, cwd=host.folder, timeout=PATIENCE, check=True,
        )  # fmt: skip
    finally:
        os.close(source)
        os.close(held)
    assert done.stdout.startswith("usage: memory-mesh-hook [--host NAME] [EVENT]\n")
    assert not host.store.exists()


def test_a_prompt_is_given_what_fits_it(host: Host) -> None:
    planted(host)
    said = host.prompt()
    assert said.code == 0
    assert PLANTED in said.context
    assert said.whole["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    [line] = host.lines(1)
    told = {name: line[name] for name in ("event", "session", "outcome", "through", "memories")}
    assert told == {
        "event": "UserPromptSubmit",
        "session": "s1",
        "outcome": "answered",
        "through": "process",
        "memories": 1,
    }


def test_a_daemon_gives_the_same_bytes(daemon: Host) -> None:
    planted(daemon)
    through_daemon = daemon.prompt(session="a")
    daemon.variables["MEMORY_MESH_DAEMON"] = "0"
    alone = daemon.prompt(session="b")
    assert through_daemon.raw == alone.raw
    assert [line["through"] for line in daemon.lines(2)] == ["daemon", "process"]


def test_a_session_is_given_each_memory_once(host: Host) -> None:
    [first] = planted(host)
    assert PLANTED in host.prompt().context
    assert host.prompt().raw == b""
    [second] = planted(host, "The shop uses port 7000 for its staging database since May")
    again = host.prompt()
    assert PLANTED not in again.context
    assert "port 7000" in again.context
    session = Session.of(str(host.store), "claude-code", "s1")
    assert session.given() == {first, second}
    assert PLANTED in host.prompt(session="s2").context


@pytest.mark.parametrize("source", ["startup", "clear", "compact"])
def test_a_session_begins_with_its_memories(host: Host, source: str) -> None:
    planted(host)
    assert PLANTED in host.start(source).context


def test_a_session_begins_with_what_stands_and_every_memory_comes_once(host: Host) -> None:
    stands = "We deploy on Fridays."
    planted(host, stands, *(f"Note {number} about the till" for number in range(3)))
    said = host.start().context
    lines = [line for line in said.splitlines() if line.startswith("| ")]
    assert lines[0] == f"| {stands}"
    assert len(lines) == len(set(lines)) == 4


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_a_silent_resume_is_not_injected_again(host: Host, source: str) -> None:
    planted(host)
    assert PLANTED in host.start().context
    resumed = host.start(source)
    assert (resumed.code, resumed.raw) == (0, b"")
    assert host.prompt().raw == b""


def test_after_a_compaction_the_session_is_given_all_of_it_again(host: Host) -> None:
    planted(host)
    first = host.start()
    compacted = host.start("compact")
    assert compacted.context == first.context  # the same bytes: a prompt cache hits
    assert compacted.line is None
    assert host.prompt().raw == b""


def test_lessons_come_first(host: Host) -> None:
    planted(host)
    with host.mesh() as mesh:
        mesh.distill_lesson(LESSON)
    context = host.start().context
    assert 0 < context.index("through staging first") < context.index(PLANTED)


def test_a_task_that_was_done_before_begins_with_what_earlier_runs_say_and_once(host: Host) -> None:
    task = "Fix the failing logout test in the shop"
    assert "Plan" not in host.prompt(task, session="before").context
    with host.mesh() as mesh:
        mesh.traces.record(
            task,
            status="failure",
            results="the clock was real",
            learnings=["freeze the clock first"],
        )
    first, again = host.prompt(task), host.prompt(f"{task} again")
    assert "# Plan: what earlier runs of such a task say" in first.context
    assert "freeze the clock first" in first.context
    assert "Plan" not in again.context
    assert "Plan" not in host.prompt("Which colour has the checkout page?", session="s3").context


def test_one_line_per_session_is_visible(host: Host) -> None:
    planted(host)
    first = host.start()
    assert first.line is not None
    assert first.line.startswith("memory-mesh: 1 memory, ")
    assert host.start("compact").line is None
    planted(host, "The staging database moves to port 7000 in May")
    assert host.prompt().line is None
    assert host.start(session="s2").line is not None


def test_the_line_says_that_there_is_nothing_yet(host: Host) -> None:
    said = host.start()
    assert said.context == ""
    assert said.line == "memory-mesh: no memories for this project yet"


def test_the_line_says_what_waits_for_review(host: Host) -> None:
    planted(host)
    with host.mesh() as mesh:
        id_ = mesh.add("The shop closes at eight").id or ""
        mesh.view(channel="mcp").delete(id_)
        assert len(mesh.review.waiting()) == 1
    line = host.start().line
    assert line is not None
    assert line.endswith("; 1 waits for review")


@pytest.mark.parametrize(
    "text", ["yes", "go on", "/compact", "/model opus", "", "what is the weather in Lisbon today"]
)
def test_a_prompt_that_memory_has_nothing_to_say_to_stays_alone(host: Host, text: str) -> None:
    planted(host)
    said = host.prompt(text)
    assert (said.code, said.raw) == (0, b"")
    assert host.lines(1)[0]["outcome"] == "silent"


def test_what_is_private_is_neither_looked_for_nor_kept(host: Host) -> None:
    planted(host)
    assert host.prompt(f"tell me a joke, please <private>{PROMPT}").raw == b""
    assert PLANTED in host.prompt(f"<private>zebra stripes</private> {PROMPT}").context
    host.lines(2)
    with host.mesh() as mesh:
        assert all("zebra" not in str(block) for block in mesh.care.recalls())
    written = b"".join(path.read_bytes() for path in host.store.rglob("*") if path.is_file())
    assert b"zebra" not in written


@pytest.mark.parametrize("through", ["process", "daemon"])
def test_the_fence_of_a_prompt_explains_it(host: Host, through: str) -> None:
    [id_] = planted(host)
    with host.daemon() if through == "daemon" else nullcontext():
        fence = host.prompt().context.partition(">")[0].removeprefix("<")
        end = time.monotonic() + PATIENCE
        while (done := explained(host, fence)).returncode:  # written when the prompt has gone on
            assert time.monotonic() < end, done.stderr
            time.sleep(0.1)
    assert host.lines(1)[0]["through"] == through
    assert [one["memory"]["id"] for one in json.loads(done.stdout)["entered"]] == [id_]
    with host.mesh() as mesh, pytest.raises(NotFound):  # it was the host's session that read
        mesh.explain(fence)


def explained(host: Host, fence: str) -> "subprocess.CompletedProcess[bytes]":
    words = ["memory-mesh", "explain", fence, "--json"]
    code, out, err = fork_server.output_of(
        words, stdin=b"", cwd=host.folder, variables=host.environment
    )
    return subprocess.CompletedProcess(words, code, out, err)


def test_another_project_sees_nothing_of_it(host: Host, tmp_path: Path) -> None:
    planted(host)
    other = tmp_path / "bakery"
    (other / ".git").mkdir(parents=True)
    assert host("UserPromptSubmit", prompt=PROMPT, cwd=str(other)).raw == b""


def test_a_memory_of_the_session_is_seen_in_it_alone(host: Host) -> None:
    with host.mesh(session="s1") as mesh:
        mesh.add(PLANTED)
    assert host.prompt(session="s2").raw == b""
    assert PLANTED in host.prompt(session="s1").context


def test_a_prompt_that_was_seen_is_known_by_its_words(host: Host) -> None:
    host.prompt("Please deploy the shop through staging on Monday")
    session = Session.of(str(host.store), "claude-code", "s1", host.environment)
    end = time.monotonic() + PATIENCE
    while not session.has_seen("deploy the shop through staging"):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert not session.has_seen("deploy the shop through production")


def test_the_host_may_leave_standard_input_open(host: Host) -> None:
    planted(host)
    process = subprocess.Popen(
        [sys.executable, "-m", "memory_mesh.agents.hook.main"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=host.environment,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(host.input("UserPromptSubmit", prompt=PROMPT))
    process.stdin.flush()
    with process.stdin, process.stdout:
        assert PLANTED.encode() in process.stdout.read()
        assert process.wait(PATIENCE) == 0


def test_an_event_by_its_argument_and_another_host(host: Host) -> None:
    planted(host)
    given = json.dumps({"session_id": "x", "cwd": str(host.folder), "prompt": PROMPT})
    done = subprocess.run(
        [sys.executable, "-m", "memory_mesh.agents.hook.main", "--host", "codex",
         "UserPromptSubmit"],
        input=given.encode(), stdout=subprocess.PIPE, env=host.environment, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    assert PLANTED.encode() in done.stdout
    host.lines(1)
    assert Session.of(str(host.store), "codex", "x").given()
    assert not Session.of(str(host.store), "claude-code", "x").given()


def test_no_memory_is_lost_to_a_session_that_never_saw_it(host: Host) -> None:
    """What was not printed was not given."""
    planted(host)
    reader, writer = os.pipe()
    os.close(reader)  # the host has gone
    process = subprocess.run(
        [sys.executable, "-m", "memory_mesh.agents.hook.main"],
        input=host.input("UserPromptSubmit", prompt=PROMPT), stdout=writer, env=host.environment,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    os.close(writer)
    assert process.returncode == 0
    host.runs += 1
    host.lines(1)
    assert PLANTED in host.prompt().context


def test_what_a_prompt_teaches_is_stored_after_it_went_on(host: Host) -> None:
    host.prompt("Remember that the staging database of the shop listens on port 6543.", session="a")
    end = time.monotonic() + PATIENCE
    while "6543" not in host.prompt(session=f"b{host.runs}").context:
        assert time.monotonic() < end
    with host.mesh() as mesh:
        [memory] = mesh.get_all()
    assert memory.source.channel == "hook"
    assert (memory.scope.project, memory.scope.session) == (host.project, None)


def test_a_preference_of_the_person_is_told_once(host: Host) -> None:
    host.prompt("In all my projects I always want tests before code.")
    end = time.monotonic() + PATIENCE
    session = Session.of(str(host.store), "claude-code", "s1")
    while not session.notices():
        assert time.monotonic() < end
        time.sleep(0.01)
    told = host.prompt("do we want tests before code here?")
    assert told.line is not None
    assert told.line == "memory-mesh: stored for all your projects: 1"
    assert told.context == ""  # the conversation has it already
    assert session.notices() == []


@pytest.mark.parametrize("cut", ["\ud83d", "\0"])
def test_half_an_emoji_costs_a_prompt_nothing(host: Host, cut: str) -> None:
    with host.mesh() as mesh:
        mesh.add(PLANTED)
    assert PLANTED in host.prompt(f"{cut} {PROMPT}").context
    host.prompt(f"Remember that the {cut} linter is ruff. Remember that the queue is Kafka.")
    with host.mesh() as mesh:
        end = time.monotonic() + PATIENCE
        while not mesh.search("queue Kafka", min_relevance=0):
            assert time.monotonic() < end
            time.sleep(0.01)
