"""The trace file on docs/traces.md is one; `test_pages_run.py` runs its examples."""

import re
from pathlib import Path

from memory_mesh.formats import trace_file

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/traces.md").read_text(encoding="utf-8")


def test_the_file_of_the_page_is_read_and_written_as_it_stands() -> None:
    (text,) = re.findall(r"(?ms)^```markdown\n(.*?)^```$", PAGE)
    assert trace_file.render(trace_file.parse(text)) == text
