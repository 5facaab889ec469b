"""The documented list of rules is the list of rules."""

import pytest

from memory_mesh.privacy import OPTIONAL, RULES
from tools.privacy_report import DOCUMENT, with_table


@pytest.mark.req("R-000-191")
def test_the_table_in_the_documentation_is_what_the_rules_say():
    document = DOCUMENT.read_text(encoding="utf-8")
    assert with_table(document) == document, "run: python tools/privacy_report.py --table"
    for rule in RULES:
        assert f"| {rule.name} | `[{rule.label}_…]` | {rule.why} |" in document


def test_the_table_states_a_form_or_an_example_for_every_rule():
    rows = [line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if "_…]" in line]
    assert len(rows) == len(RULES) + len(OPTIONAL)
    assert all(len(row.split("|")[-2].strip()) > 4 for row in rows)
