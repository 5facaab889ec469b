"""The documentation stays short: pages and words that a reader is led through are counted."""

from pathlib import Path

import pytest

from tools import docs_count


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "reference").mkdir()
    (tmp_path / "index.md").write_text("three short words\n")
    (tmp_path / "conformance.md").write_text("looked up " * 50_000)
    (tmp_path / "reference/cli.md").write_text("looked up " * 50_000)
    return tmp_path


def test_what_is_looked_up_does_not_count(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert docs_count.main(docs) == 0
    assert "1 pages, 3 words" in capsys.readouterr().out


def test_too_many_words_fail_and_name_the_longest_page(
    docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (docs / "long.md").write_text("word " * docs_count.MOST_WORDS)
    assert docs_count.main(docs) == 1
    assert "long.md 45,000, index.md 3" in capsys.readouterr().err


def test_too_many_pages_fail(docs: Path) -> None:
    for number in range(docs_count.MOST_PAGES):
        (docs / f"{number}.md").write_text("word")
    assert docs_count.main(docs) == 1


def test_the_documentation_is_short_enough() -> None:
    assert docs_count.main() == 0
