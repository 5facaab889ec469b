"""Forty mistakes of a new user: each answer names the cause and the next step."""

import os
from pathlib import Path

import pytest

from tests.surface import mistakes

LISTED = mistakes.listed()


def test_the_answers_are_those_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # the stores are made by this process, too
    answers = answered(tmp_path)
    made = mistakes.page(LISTED, answers)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        mistakes.PAGE.write_text(made, encoding="utf-8")
    assert made == mistakes.PAGE.read_text(encoding="utf-8")


def answered(folder: Path) -> list[mistakes.Answer]:
    in_python = iter(mistakes.in_python([each for each in LISTED if each.python], folder))
    answers = []
    for number, mistake in enumerate(LISTED, start=100):
        if mistake.python:
            answers.append(next(in_python))
            continue
        home = folder / str(number)
        home.mkdir()
        answers.append(mistakes.typed(mistake, home))
    return answers
