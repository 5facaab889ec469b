"""The journal: one line for each run, never an error, never too large."""

import os
import stat
import subprocess
import sys
from pathlib import Path

from memory_mesh.agents import journal


def test_a_line_says_what_ran(tmp_path: Path) -> None:
    journal.note(str(tmp_path), "hook", event="SessionStart", ms=12, outcome="silent")
    [line] = journal.read(str(tmp_path))
    assert line.pop("at").endswith("Z")
    assert line == {"what": "hook", "event": "SessionStart", "ms": 12, "outcome": "silent"}


def test_files_and_folders_are_for_their_owner_only(tmp_path: Path) -> None:
    store = tmp_path / "new" / "store"
    journal.note(str(store), "hook")
    file = store / "agents" / "log.jsonl"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(store.stat().st_mode) == 0o700


def test_a_damaged_line_is_left_out(tmp_path: Path) -> None:
    journal.note(str(tmp_path), "hook", n=1)
    file = tmp_path / "agents" / "log.jsonl"
    with file.open("ab") as log:
        log.write(b'{"half\n\xff\xfe\n[1]\nnull\n')
    journal.note(str(tmp_path), "hook", n=2)
    assert [line["n"] for line in journal.read(str(tmp_path))] == [1, 2]


def test_a_journal_above_its_size_is_set_aside_and_still_read(tmp_path: Path) -> None:
    for n in range(3_000):
        journal.note(str(tmp_path), "hook", n=n, reason="x" * 200)
    folder = tmp_path / "agents"
    assert {path.name for path in folder.iterdir()} == {"log.jsonl", "log.1"}
    assert all(path.stat().st_size < journal.MOST_BYTES + 1000 for path in folder.iterdir())
    read = journal.read(str(tmp_path), last=1_000)
    assert [line["n"] for line in read] == list(range(2_000, 3_000))


def test_long_values_are_cut(tmp_path: Path) -> None:
    journal.note(str(tmp_path), "hook", reason="x" * 10_000)
    assert journal.read(str(tmp_path))[0]["reason"] == "x" * 200


def test_nothing_that_is_wrong_raises(tmp_path: Path) -> None:
    (tmp_path / "agents").write_text("a file where the folder belongs")
    journal.note(str(tmp_path), "hook", n=1)
    journal.note(str(tmp_path / "\0"), "hook", n=1)
    journal.note(str(tmp_path), "hook", n=object())
    assert journal.read(str(tmp_path)) == []


def test_a_link_or_a_pipe_in_its_place_is_not_written_to(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    folder.mkdir()
    target = tmp_path / "elsewhere"
    (folder / "log.jsonl").symlink_to(target)
    journal.note(str(tmp_path), "hook")
    assert not target.exists()
    (folder / "log.jsonl").unlink()
    os.mkfifo(folder / "log.jsonl")
    journal.note(str(tmp_path), "hook")  # does not wait for a reader
    assert journal.read(str(tmp_path)) == []


def test_many_processes_lose_no_line(tmp_path: Path) -> None:
    code = (
        "import sys; from memory_mesh.agents import journal\n"
        "for n in range(100): journal.note(sys.argv[1], 'hook', by=int(sys.argv[2]), n=n)"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(by)]) for by in range(6)
    ]
    assert [process.wait(60) for process in running] == [0] * 6
    lines = journal.read(str(tmp_path), last=10_000)
    assert {(line["by"], line["n"]) for line in lines} == {
        (by, n) for by in range(6) for n in range(100)
    }
