"""The conformance page tells the truth about what the tests show."""

import pytest

from tools import conformance

REQUIREMENTS = r"""
| id | seed  | requirement | kind |
| --- | --- | --- | --- |
| R-000-001 | 000 1 | A memory is `one\|two`. | must |
| R-000-002 | 000 1 | An id is short. | format |
| R-000-003 | 000 1 | A hash covers the text. | must |
| R-001-001 | 001 1 | A file is Markdown. | must |
| R-001-002 | 001 1 | How long is a file? | open question |
| R-001-003 | 001 1 | How short is a file? | open question |
"""

OPEN = """
[[open]]
rows = "R-001-001"
reason = "files come later"

[[open]]
rows = "R-001-003"
reason = "files come later"
"""
CASES_IN_A_TABLE = """
@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.req("A")), 2])
def test_x(n): ...
"""
TESTS = """
import pytest

@pytest.mark.req("R-000-001", "R-000-002")
def test_both(): ...

@pytest.mark.req("R-001-002")
def test_length(): ...
"""


@pytest.fixture
def root(tmp_path):
    """A small project with four requirements, one of them overruled, and two questions."""
    texts = {
        "docs/spec/requirements.md": REQUIREMENTS,
        "docs/spec/overruled.toml": '[R-000-003]\nrecord = "docs/decisions/1.md"\nruling = "no"\n',
        "docs/spec/open.toml": OPEN,
        "docs/decisions/1.md": "why",
        "tests/test_a.py": TESTS,
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(root, monkeypatch):
    """Run the tool in that project; its exit code."""

    def run(*arguments):
        monkeypatch.setattr(conformance, "ROOT", root)
        monkeypatch.setattr("sys.argv", ["conformance.py", *arguments])
        return conformance.main()

    return run


def marks(source):
    return sorted(conformance.find_marks("import pytest\n" + source, "t.py"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('@pytest.mark.req("A", "B")\ndef test_x(): ...', [("A", "test_x"), ("B", "test_x")]),
        ('@pytest.mark.req("A")\n@pytest.mark.slow\nasync def test_x(): ...', [("A", "test_x")]),
        ('@pytest.mark.req("A")\ndef helper(): ...', []),
        ('@pytest.mark.req("A")\nclass TestX:\n  def test_y(self): ...', [("A", "TestX::test_y")]),
        (
            'class LedgerContract:\n  @pytest.mark.req("A")\n  def test_y(self): ...',
            [("A", "LedgerContract::test_y")],
        ),
        (
            'class X:\n  pytestmark = [pytest.mark.req("A")]\n  def test_y(self): ...',
            [("A", "X::test_y")],
        ),
        ('@pytest.mark.req("A")\nclass Machine(Base):\n  def rule(self): ...', [("A", "Machine")]),
        ('pytestmark = pytest.mark.req("A")\ndef test_x(): ...', [("A", "test_x")]),
        (
            CASES_IN_A_TABLE,
            [("A", "test_x")],
        ),
        ('CASES = [pytest.param(1, marks=pytest.mark.req("A"))]', [("A", None)]),
        ('@pytest.mark.skip\n@pytest.mark.req("A")\ndef test_x(): ...', []),
        ('@pytest.mark.xfail(reason="b")\n@pytest.mark.req("A")\ndef test_x(): ...', []),
    ],
)
def test_marks_are_found_wherever_pytest_takes_them(source, expected):
    assert marks(source) == [(row, f"t.py::{test}" if test else "t.py") for row, test in expected]


def test_a_mark_that_cannot_be_read_is_refused():
    with pytest.raises(conformance.UnreadableMark, match=r"t\.py::test_x"):
        marks("ROW = 'A'\n@pytest.mark.req(ROW)\ndef test_x(): ...")


def test_each_row_is_shown_overruled_or_open_with_its_reason(root, run):
    assert run() == 0
    page = (root / "docs/conformance.md").read_text(encoding="utf-8")
    assert r"| R-000-001 | A memory is `one\|two`. | shown | `tests/test_a.py::test_both` |" in page
    assert "| R-000-003 | A hash covers the text. | overruled | [1](decisions/1.md): no |" in page
    assert "| R-001-001 | A file is Markdown. | open | files come later |" in page
    assert run("--check") == 0


@pytest.mark.parametrize("row", ["R-000-002", "R-000-003"])
def test_a_row_that_is_not_open_has_no_reason_to_be_open(root, run, capsys, row):
    assert run() == 0
    entry = f'[[open]]\nrows = "R-000-002..{row}"\nreason = "ids are missing"\n'
    (root / "docs/spec/open.toml").write_text(OPEN + entry, encoding="utf-8")
    assert run("--check") == 1
    assert f"docs/spec/open.toml: {row} is not open" in capsys.readouterr().err


def test_questions_of_the_specification_are_counted_apart(root, run, capsys):
    assert run() == 0
    assert "2 shown, 1 answered questions, 1 overruled, 2 open" in capsys.readouterr().out
    page = (root / "docs/conformance.md").read_text(encoding="utf-8")
    assert "| specification | rows | shown | answered questions | overruled | open |" in page
    assert "| **all** | 6 | 2 | 1 | 1 | 2 |" in page
    assert "| R-001-002 | How long is a file? | answered | `tests/test_a.py::test_length` |" in page
    assert "| R-001-003 | How short is a file? | open | files come later |" in page


def test_a_row_that_was_shown_cannot_be_lost_unnoticed(root, run, capsys):
    run()
    (root / "tests/test_a.py").write_text(TESTS.replace(', "R-000-002"', ""), encoding="utf-8")
    assert run("--check") == 1
    assert run() == 1
    assert "R-000-002 was shown by a test and is no longer" in capsys.readouterr().err
    assert run("--drop", "R-000-002") == 0
    assert run("--check") == 0
    (root / "tests/test_a.py").write_text(TESTS.replace("R-001-002", "R-000-002"), encoding="utf-8")
    assert run("--check") == 1
    assert "R-001-002 was shown by a test and is no longer" in capsys.readouterr().err


def test_an_out_of_date_page_fails_the_check(root, run, capsys):
    run()
    (root / "tests/test_b.py").write_text(TESTS, encoding="utf-8")
    assert run("--check") == 1
    assert "out of date" in capsys.readouterr().err


def test_a_mark_of_an_unknown_row_fails(root, run, capsys):
    (root / "tests/test_a.py").write_text(TESTS.replace("001", "999"), encoding="utf-8")
    assert run() == 1
    assert (
        "tests/test_a.py::test_both: there is no requirement R-000-999" in capsys.readouterr().err
    )


def test_an_overruled_row_needs_its_decision_record(root, run, capsys):
    (root / "docs/decisions/1.md").unlink()
    assert run() == 1
    assert "R-000-003 has no decision record" in capsys.readouterr().err


def test_a_later_reason_wins_inside_a_range():
    ids = ["R-000-001", "R-000-002", "R-000-003"]
    entries = [
        {"rows": "R-000-001..R-000-003", "reason": "later"},
        {"rows": "R-000-002", "reason": "skills"},
    ]
    assert list(conformance.spread(entries, ids).values()) == ["later", "skills", "later"]


def test_a_long_requirement_is_cut_between_words_and_outside_code():
    cut = conformance._shorten("word " * 10 + "`" + "code " * 30 + "`")
    assert cut.endswith("` …")
    assert cut.count("`") == 2
    assert len(cut) < conformance.SENTENCE_LENGTH + 5
