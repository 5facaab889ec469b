"""docs/explain.md lists every gate; `test_pages_run.py` runs its examples."""

import re
from pathlib import Path

from memory_mesh.model.why import Gate

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explain.md"


def test_every_gate_is_on_the_page_in_its_order() -> None:
    listed = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert listed == list(Gate)
