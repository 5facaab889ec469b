"""`init --backfill`: a project's past becomes candidates, and the user decides on each."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_mesh.agents.hosts import backfill
from memory_mesh.model import Channel, Status
from memory_mesh.sync import MemoryMesh
from tests import fork_server

SAID = "public ids are ulids, never expose the serial id."


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user whose repository has a past with two hosts."""
    shop = tmp_path / "home" / "shop"
    (shop / "src").mkdir(parents=True)
    (shop / "AGENTS.md").write_text(
        "# Shop\n\n- Run the tests with `make check` before each commit.\n- Tests\n\n"
        "```\n- This line is an example of a list.\n```\n"
        "The API key is sk-live-9f8e7d6c5b4a39281706.\n"
    )
    (shop / ".cursor/rules").mkdir(parents=True)
    (shop / ".cursor/rules/money.mdc").write_text("Money is always integer cents in the shop.\n")
    claude = tmp_path / "home/.claude/projects" / str(shop).translate({47: 45, 95: 45})
    user = {"type": "user", "timestamp": "2026-03-01T10:00:00.000Z"}
    _write(
        claude / "aaaa.jsonl",
        {"type": "summary", "summary": "user"},
        {**user, "message": {"role": "user", "content": f"add a test for it. {SAID} thanks"}},
        {**user, "isMeta": True, "message": {"role": "user", "content": "we always use tabs."}},
        {
            **user,
            "message": {
                "role": "user",
                "content": [
                    {"type": "tool_result", "content": "we always deploy on fridays."},
                    {"type": "text", "text": "why is the build slow?"},
                ],
            },
        },
    )
    codex = tmp_path / "home/.codex/sessions/2026/04/01"
    for name, folder in (("here", shop / "src"), ("elsewhere", tmp_path / "other")):
        said = SAID if name == "here" else "we always ship on mondays."
        _write(
            codex / f"rollout-{name}.jsonl",
            {"type": "session_meta", "payload": {"id": name, "cwd": str(folder)}},
            {
                "timestamp": "2026-04-01T10:00:00.000Z",
                "type": "event_msg",
                "payload": {"type": "user_message", "message": said},
            },
            {
                "timestamp": "2026-04-01T10:00:00.000Z",
                "type": "event_msg",
                "payload": {
                    "type": "item_completed",
                    "item": {"type": "UserMessage", "content": [{"type": "text", "text": said}]},
                },
            },
        )
    git = ["git", "-C", str(shop), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([*git, "init", "-q"], check=True)
    message = "Stop the flicker\n\nWe decided to render the cart on the server."
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", message], check=True)
    return tmp_path / "home"


def _write(path: Path, *lines: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"type":"user"\n')


@pytest.fixture
def mesh(tmp_path: Path) -> Iterator[MemoryMesh]:
    with MemoryMesh(db_dir=tmp_path / "store", project="shop", channel=Channel.FILE) as opened:
        yield opened


def found(home: Path) -> list[backfill.PastStatement]:
    return backfill.candidates(backfill.past({"HOME": str(home)}, home / "shop/src"))


def test_the_past_of_this_repository_is_read_and_of_no_other(home: Path) -> None:
    texts = {one.text: one for one in found(home)}
    assert set(texts) == {
        SAID,
        "Run the tests with `make check` before each commit.",
        "Money is always integer cents in the shop.",
        "We decided to render the cart on the server.",
    }
    assert next(iter(texts)) == SAID  # it stands in two places
    assert (texts[SAID].places, texts[SAID].quote.source) == (2, "Codex")  # the newest
    assert texts["Money is always integer cents in the shop."].quote.where == (
        ".cursor/rules/money.mdc:1"
    )


def test_candidates_wait_and_a_second_run_goes_on_where_the_first_one_ended(
    home: Path, mesh: MemoryMesh
) -> None:
    assert backfill.put_into_review(mesh, found(home), most=3) == 3
    assert not mesh.get_all()
    assert backfill.put_into_review(mesh, found(home), most=3) == 1
    assert backfill.put_into_review(mesh, found(home), most=3) == 0
    first, *_ = stack = backfill.waiting(mesh)
    assert (len(stack), first.text) == (4, SAID)
    assert SAID in str(first.extra["quote"])


def test_each_is_decided_by_a_word_and_what_was_refused_does_not_come_back(
    home: Path, mesh: MemoryMesh
) -> None:
    backfill.put_into_review(mesh, found(home))
    said: list[str] = []
    answers = iter(["y", "n", "edit", "Run `make check` first.", "later"])
    user = mesh.view(channel=Channel.CLI)
    done = backfill.decide(user, backfill.waiting(mesh), lambda _: next(answers), said.append)
    assert done == {"yes": 1, "no": 1, "edited": 1, "later": 1}
    assert any("Codex: session rollout-here, and in 1 more" in line for line in said)
    assert {SAID, "Run `make check` first."} == {one.text for one in mesh.get_all()}
    assert len(backfill.waiting(mesh)) == 1
    assert backfill.put_into_review(mesh, found(home)) == 0
    assert mesh.search("public ids")[0].memory.status is Status.ACTIVE


def test_the_command_shows_counts_and_samples_first_and_writes_nothing_unasked(home: Path) -> None:
    def ran(*words: str) -> tuple[int, str]:
        code, out, err = fork_server.output_of(
            ["memory-mesh", "init", "--backfill", *words],
            stdin=b"",
            cwd=home / "shop",
            variables={
                "HOME": str(home),
                "PATH": os.environ["PATH"],
                "MEMORY_MESH_EMBEDDER": "none",
                "MEMORY_MESH_OWN_NAMES": "off",
                "MEMORY_MESH_DAEMON": "0",
            },
            program="memory-mesh",
        )
        return code, (out + err).decode()

    code, shown = ran("--dry-run")
    assert code == 0
    assert "Codex: 2 texts, 1 candidates." in shown
    assert SAID in shown
    assert "Nothing was written." in shown
    assert "nobody can be asked here" in ran()[1]
    assert "4 new, 4 wait for review." in ran("--yes")[1]
    assert "0 new, 4 wait for review." in ran("--yes")[1]
