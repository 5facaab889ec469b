"""The examples of docs/reference/memory-files.md are what the page says."""

import re
from pathlib import Path

from memory_mesh.formats.memory_file import MAX_WORDS, parse, render

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/reference/memory-files.md").read_text(encoding="utf-8")
FILES = re.findall(r"^```markdown\n(.*?)^```\n", PAGE, re.MULTILINE | re.DOTALL)


def test_the_file_on_the_page_is_read_without_fault_and_written_the_same():
    read = parse(FILES[0])
    assert read.faults == ()
    assert render(read.documents[0]) == FILES[0]


def test_the_file_of_two_documents_holds_two():
    read = parse(FILES[1])
    assert [document.title for document in read.documents] == ["Deploy window"] * 2
    assert read.faults == ()


def test_the_example_in_python_runs_and_shows_what_its_comments_say():
    (code,) = re.findall(r"^```python\n(.*?)^```\n", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    shown = re.findall(r"^(read\.\S+) +# (\S.*?)(?:   .*)?$", code, re.MULTILINE)
    assert [eval(value, names) for value, _ in shown] == [eval(said) for _, said in shown]
    assert len(shown) == 2


def test_the_limits_on_the_page_are_those_of_the_code():
    assert f"more than {MAX_WORDS:,} words" in PAGE
