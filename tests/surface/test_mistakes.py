"""Forty mistakes of a new user: each answer names the cause and the next step."""

import os
import re

import pytest

from tests.surface import mistakes

LISTED = mistakes.listed()
# The mistake is noticed and hinted at, but what was typed is a valid command or call.
VALID = {
    "The name of a file instead of its text",
    "A typo in the name of a filter's field",
    "A threshold that nothing reaches",
    "The folder of the store misspelled",
    "A user who has no memories",
}
# What tells the next step: a command, an option, what is allowed, or what was meant.
NEXT = re.compile(
    r"memory-mesh |[Dd]id you mean|--[a-z]|must be|pip install|Use |use |write |Open a new|awaited|"
    r"for_user|give |Give |split it|Retry|MEMORY_MESH_"
)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[mistakes.Answer]:
    folder = tmp_path_factory.mktemp("mistakes")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOME", str(folder))  # the stores are made by this process, too
        in_python = iter(mistakes.in_python([each for each in LISTED if each.python], folder))
        found = []
        for number, mistake in enumerate(LISTED, start=100):
            if mistake.python:
                found.append(next(in_python))
                continue
            home = folder / str(number)
            home.mkdir()
            found.append(mistakes.typed(mistake, home))
    return found


def test_the_golden_file_and_the_page_show_the_answers(answers: list[mistakes.Answer]) -> None:
    made = {
        mistakes.GOLDEN: mistakes.page(LISTED, answers),
        mistakes.PAGE: mistakes.examples(LISTED, answers),
    }
    for path, text in made.items():
        if os.environ.get("UPDATE_GOLDEN") == "1":
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")
    assert {each.title for each in LISTED} >= mistakes.EXAMPLES


def test_every_answer_names_a_next_step_and_none_is_a_traceback(
    answers: list[mistakes.Answer],
) -> None:
    assert len(LISTED) == 40
    for mistake, answer in zip(LISTED, answers, strict=True):
        assert NEXT.search(answer.text), mistake.title
        assert "Traceback" not in answer.text, mistake.title
        assert "bug in memory-mesh" not in answer.text, mistake.title
        if mistake.type:
            failed = answer.code in {1, 2}
        else:
            failed = (
                re.match(r"(memory_mesh\.model\.errors\.\w+|TypeError): ", answer.text) is not None
            )
        assert failed is (mistake.title not in VALID), mistake.title
