"""How far something is, and how long the rest takes."""

import pytest

from memory_mesh.cli import progress


@pytest.mark.parametrize(
    ("done", "total", "seconds", "told"),
    [
        (300, None, 9.0, "300 files …"),
        (0, 1_200, 9.0, "0 of 1,200 files, 0 %"),
        (300, 1_200, 1.0, "300 of 1,200 files, 25 %"),
        (300, 1_200, 3.0, "300 of 1,200 files, 25 %, about 9 s left"),
        (1, 1_200, 6.0, "1 of 1,200 files, 0 %, about 2 h 0 min left"),
        (1_200, 1_200, 9.0, "1,200 of 1,200 files, 100 %"),
        (13, 12, 9.0, "13 files …"),
    ],
)
def test_a_line_has_the_total_and_the_rest(
    done: int, total: int | None, seconds: float, told: str
) -> None:
    assert progress.line("files", done, total, seconds) == told


@pytest.mark.parametrize(
    ("line", "seconds", "told"),
    [
        ("2 of 4: default", 30.0, ", about 2 min left"),
        ("2 of 4: default, 50 %", 30.0, ", about 50 s left"),
        ("1 of 4: default", 30.0, ""),
        ("2 of 4: default", 1.0, ""),
        ("", 30.0, ""),
    ],
)
def test_a_line_of_a_backup_gets_the_rest(line: str, seconds: float, told: str) -> None:
    assert progress.remaining(line, seconds) == told
