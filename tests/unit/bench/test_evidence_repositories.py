"""The example repositories are the same each time, and their memories are labelled in full."""

import subprocess
from pathlib import Path

import pytest

from bench.evidence_repositories import HALVES, LABELS, Half, make

MEMORIES, COMMITS = 20, 15


@pytest.mark.parametrize("half", HALVES)
def test_a_half_is_the_same_each_time_and_complete(tmp_path: Path, half: Half) -> None:
    cases = make(tmp_path / "a", half)

    assert make(tmp_path / "b", half) == cases  # commits are told by their hash
    for name in HALVES[half]:
        told = ["git", "rev-list", "--count", "--all"]
        made = subprocess.check_output(told, cwd=tmp_path / "a" / name, timeout=60)
        assert int(made) == COMMITS
        assert sum(case.repository == name for case in cases) == MEMORIES
    assert {case.label for case in cases} == set(LABELS)
    assert all(case.new_path for case in cases if case.label == "moved")
