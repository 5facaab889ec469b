"""The log of experiences: the format of specification 002, both ways, for any text."""

from datetime import UTC, datetime, timedelta

import pytest
import yaml
from hypothesis import example, given, strategies as st

from memory_mesh.base.typed import replace
from memory_mesh.formats import memory_log
from memory_mesh.model.learning import Experience, FinalOutcome

HOSTILE = [
    "---", "\n---\n", "- a", "key: value", "a: b # c", "# comment", "| not a block", "> folded",
    "'single'", '"double"', "it's", 'say "hi"', "true", "No", "null", "~", "12", "1:30", "2024-01",
    "&anchor", "*alias", "!tag", "%TAG", "@at", "`tick`", "[a, b]", "{a: b}", "?", ": ", " ", "",
    "\n", "\n\n", " \n ", "a\n", "a\n\n", "\na", "  a\nb", "\ta", "a\tb", "a\r\nb", "\r", "\x00",
    "\x1b[2J", "\x85", "\u2028a", "\u2029", "\ufeffa", "\ufffe", "back\\slash", "\\n", "trailing ",
    "experience_id: exp_9", "**experience_id**: exp_9", "- **experience_id**: exp_9", "\U0001f600",
    "a  b", "a\n  b\n c", "</memories>", "x" * 3000, "\u202e", "café", "日本語", "a, b", "(x) + y.",
]  # fmt: skip
AT = datetime(2024, 1, 1, 12, tzinfo=UTC)
ENTRY = Experience(
    number=42,
    project_name="billing",
    primary_goal="Move the invoices to the new store",
    final_outcome=FinalOutcome.RECOVERED,
    components_used=("planner", "developer", "pytest"),
    files_created=3,
    output_summary="All invoices moved, 2 by hand",
    execution_time_ms=12345,
    learnings_or_issues="Batch by day.\nThe first run timed out.\n",
    timestamp=AT,
)
WRITTEN = """---
experience_id: exp_42
project_name: billing
primary_goal: Move the invoices to the new store
final_outcome: success_with_recovery
components_used:
  - planner
  - developer
  - pytest
files_created: 3
output_summary: All invoices moved, 2 by hand
execution_time_ms: 12345
learnings_or_issues: |
  Batch by day.
  The first run timed out.
timestamp: "2024-01-01T12:00:00.000Z"
---
"""
IN_PRACTICE = """# Memory Log

## Experience 7

- **experience_id**: exp_007
- **project_name**: Project_quantum
- **primary_goal**: Write a tutorial
- **final_outcome**: success
- **components_used**:
  - visionary-agent
  - coder
- **files_created**: 3
- **output_summary**: A tutorial
- **execution_time_ms**: 900
- **learnings_or_issues**: It was long.
- **timestamp**: 2024-05-01T10:00:00Z

---

- **Experience ID:** exp_008
- **Final Outcome:** failure
- **Components Used:** [git, "make, all"]
- **Timestamp:** 2024-05-02T12:00:00+02:00
"""
TEXTS = st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from(HOSTILE)
ENTRIES = st.builds(
    Experience,
    number=st.integers(1, 10**12),
    project_name=TEXTS,
    primary_goal=TEXTS,
    final_outcome=st.sampled_from(FinalOutcome),
    components_used=st.lists(TEXTS, max_size=4).map(tuple),
    files_created=st.integers(0, 10**9),
    output_summary=TEXTS,
    execution_time_ms=st.integers(0, 10**12),
    learnings_or_issues=st.lists(TEXTS | st.sampled_from(("---", "", "  a", "\tb"))).map("\n".join),
    timestamp=st.integers(0, 10**12).map(lambda ms: AT + timedelta(milliseconds=ms)),
)


@pytest.mark.req("R-002-026", "R-002-027", "R-002-028", "R-002-029", "R-002-030")
@pytest.mark.req("R-002-031", "R-002-032", "R-002-033")
def test_an_entry_is_written_as_the_specification_has_it():
    assert memory_log.render(ENTRY) == WRITTEN
    assert memory_log.parse(WRITTEN) == memory_log.ParsedLog((ENTRY,), ())


@pytest.mark.req("R-002-033")
@given(st.lists(ENTRIES, max_size=3))
@example([replace(ENTRY, learnings_or_issues=text, primary_goal=text) for text in HOSTILE])
def test_what_was_written_is_read_back(entries):
    text = "".join(memory_log.render_all(entries))
    assert memory_log.parse(text) == memory_log.ParsedLog(tuple(entries), ())


@given(ENTRIES)
def test_every_reader_of_yaml_reads_the_same(entry):
    text = memory_log.render(entry).removeprefix("---\n").removesuffix("---\n")
    found = yaml.safe_load(text)
    assert found["primary_goal"] == entry.primary_goal
    assert found["learnings_or_issues"] == entry.learnings_or_issues
    assert found["components_used"] == list(entry.components_used)
    assert found["files_created"] == entry.files_created
    assert found["experience_id"] == entry.experience_id


def test_a_log_of_bullets_is_read_too():
    first, second = memory_log.parse(IN_PRACTICE).entries
    assert first.experience_id == "exp_7"
    assert first.components_used == ("visionary-agent", "coder")
    assert first.learnings_or_issues == "It was long."
    assert second.final_outcome is FinalOutcome.FAILURE
    assert second.components_used == ("git", "make, all")
    assert second.timestamp == datetime(2024, 5, 2, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("exp_42", "exp_many", "experience_id must be exp_ and a number"),
        ("success_with_recovery", "maybe", "final_outcome must be one of success, failure"),
        ("files_created: 3", "files_created: three", "files_created must be a whole number"),
        ("2024-01-01T12", "yesterday", "timestamp must be an ISO 8601 time"),
    ],
)
def test_a_broken_entry_is_a_fault_with_its_line_and_the_others_are_read(old, new, said):
    log = "# Log\n\n" + WRITTEN.replace(old, new) + "\n" + WRITTEN
    found = memory_log.parse(log)
    assert found.entries == (ENTRY,)
    assert [fault.line for fault in found.faults] == [4]
    assert said in found.faults[0].message


@given(st.text() | st.lists(st.sampled_from([*WRITTEN.split("\n"), *HOSTILE])).map("\n".join))
def test_no_text_raises(text):
    memory_log.parse(text)


def test_a_log_is_read_line_by_line():
    read = []

    def lines():
        for number in range(10**9):
            read.append(number)
            yield from WRITTEN.split("\n")

    reader = memory_log.entries(lines())
    assert [next(reader) for _ in range(3)] == [ENTRY] * 3
    assert len(read) <= 4


def test_line_ends_of_windows_and_a_byte_order_mark_are_read():
    text = "\ufeff" + WRITTEN.replace("\n", "\r\n")
    assert memory_log.parse(text).entries == (ENTRY,)
