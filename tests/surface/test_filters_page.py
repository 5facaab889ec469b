"""docs/reference/filters.md names every field and operator; `test_pages_run.py` runs it."""

import re
from pathlib import Path

from memory_mesh.rules.filter_fields import ALIASES, FIELDS
from memory_mesh.rules.filters import JOINS, OPERATORS

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/reference/filters.md").read_text(encoding="utf-8")


def test_every_field_and_operator_is_on_the_page() -> None:
    names = set(re.findall(r"`([^`\n]+)`", re.sub(r"(?ms)^```.*?^```$", "", PAGE)))
    assert names >= {*FIELDS, *ALIASES}
    assert all(word in PAGE for word in (*OPERATORS, *JOINS))
