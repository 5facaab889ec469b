"""Trace files: the seed's format exactly, and every trace comes back as it was written."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from memory_mesh.formats import trace_file
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.trace import Step, Trace, TraceStatus

AT = datetime(2024, 1, 1, 12, tzinfo=UTC)
TRACE = Trace(
    "Original user request",
    duration_ms=12345,
    tools_used=("tool_name_1", "tool_name_2"),
    files_created=("path/to/file1.py", "path/to/file2.md"),
    plan="execution plan details",
    steps=(Step("read the log"), Step("fix the bug", "failure")),
    results="key outcomes and metrics",
    learnings=("what worked", "what to improve"),
    timestamp=AT,
    trace_id="trace-1704110400000-0a1b2c",
)
FILE = """\
---
trace_id: trace-1704110400000-0a1b2c
timestamp: "2024-01-01T12:00:00.000Z"
goal: "Original user request"
status: success
duration_ms: 12345
tools_used:
  - tool_name_1
  - tool_name_2
files_created:
  - path/to/file1.py
  - path/to/file2.md
---

# Execution Trace: Original user request

## Plan
execution plan details

## Steps Executed
1. read the log - success
2. fix the bug - failure

## Results
key outcomes and metrics

## Learnings
- what worked
- what to improve
"""


@pytest.mark.req("R-002-012")
@pytest.mark.req("R-002-014")
@pytest.mark.req("R-002-015")
@pytest.mark.req("R-002-016")
@pytest.mark.req("R-002-017")
@pytest.mark.req("R-002-018")
@pytest.mark.req("R-002-019")
@pytest.mark.req("R-002-020")
@pytest.mark.req("R-002-021")
@pytest.mark.req("R-002-022")
@pytest.mark.req("R-002-023")
@pytest.mark.req("R-002-024")
def test_a_trace_file_is_the_format_of_the_seed() -> None:
    assert trace_file.render(TRACE) == FILE
    assert trace_file.parse(FILE) == TRACE


HOSTILE = (
    "", " ", "\n", "\r\n", "a\rb", "\ta", "a\n\n", '"', '""', '"x"', '"\\u00', "'", "- a", "-",
    "---", "\\---", "\n---\n", "---\ntrace_id: trace-1-a", "## Plan", "x\n## Plan\ny",
    "x\n\\## Results\ny",
    "## Steps Executed \t\nz", "##  Plan", "# Execution Trace: other", "a - b", "a - b - success",
    " - ", "- - -", "1. one", "1) one\n2) two", "  indented", "a\n  b", "yes", "no", "null", "~",
    "true", "0x1f", "12:30:00", "2024-01-01", "1e3", ".inf", "&a *b", "!!python/object:os.system x",
    "{a: b}", "[1, 2]", "key: value", "# comment", "%TAG", "@x", "`x`", "| block", "> fold",
    "```\n## Plan\n---\n```", "\x00", "\x07\x1b[31m", "\x7f\x85\x9f", "\u2028\u2029", "\ufeff",
    "\ufffe\uffff", "🙂 \U0010ffff", "日本語 - 成功", "\u202eabc", "a" * 5000, "\\", "\\n",
    "\\u0041",
    "…\u00a0", "\u00a0", "\v\f", "<script>", "[[wiki]]", "</memories>", "success", "a\\", '\\"',
)  # fmt: skip


@pytest.mark.req("R-002-025")
@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_string_comes_back_from_every_place(text: str) -> None:
    trace = _everywhere(text)
    assert trace_file.parse(trace_file.render(trace)) == trace
    assert trace_file.parse_all(trace_file.render_all([trace, TRACE, trace])) == [
        trace,
        TRACE,
        trace,
    ]


TEXT = st.text(st.characters(codec="utf-8")) | st.sampled_from(HOSTILE)
LINES = st.lists(TEXT, max_size=4).map(tuple)
TRACES = st.builds(
    Trace,
    TEXT,
    st.sampled_from(TraceStatus),
    st.integers(0, 2**53),
    tools_used=LINES,
    files_created=LINES,
    plan=TEXT,
    steps=st.lists(st.builds(Step, TEXT, TEXT), max_size=4).map(tuple),
    results=TEXT,
    learnings=LINES,
    timestamp=st.none() | st.integers(0, 10**12).map(lambda ms: AT + timedelta(milliseconds=ms)),
    trace_id=TEXT,
    follows=LINES,
    part_of=LINES,
    depends_on=LINES,
)


@pytest.mark.req("R-002-025")
@given(st.lists(TRACES, min_size=1, max_size=3))
def test_any_traces_come_back_from_one_file(traces: list[Trace]) -> None:
    assert trace_file.parse_all(trace_file.render_all(traces)) == traces


def test_a_file_written_by_hand_is_read_with_what_it_says() -> None:
    text = (
        "---\r\ngoal: Ship it\r\nstatus: failure\r\ntools_used: [make, 7]\r\n---\r\n\r\n"
        "# Execution Trace: Ship it\r\n\r\n## Learnings\r\n\r\n* two\r\n  lines\r\n\r\n"
        "and a line\r\n"
    )
    found = trace_file.parse(text)
    assert (found.goal, found.status, found.trace_id) == ("Ship it", TraceStatus.FAILURE, "")
    assert found.tools_used == ("make", "7")
    assert found.learnings == ("two\nlines", "and a line")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "begin with a line ---"),
        ("# Execution Trace: x", "begin with a line ---"),
        ("---\ngoal: x\n", "closing line"),
        ("---\nstatus: success\n---\n", "has no goal"),
        ("---\ngoal: x\nstatus: done\n---\n", "success or failure"),
        ("---\ngoal: x\nstatus: success\nduration_ms: -1\n---\n", "whole number"),
        ("---\ngoal: x\nstatus: success\ntimestamp: soon\n---\n", "2026-01-01T12:00:00.000Z"),
        ("---\ngoal: x\nstatus: success\ntools_used: {a: b}\n---\n", "list of texts"),
        ("---\ngoal: [x]\nstatus: success\n---\n", "must be text"),
        ("---\ngoal: &a x\nstatus: success\n---\n", "anchor or alias"),
    ],
)
def test_a_file_that_is_no_trace_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        trace_file.parse(text)


def _everywhere(text: str) -> Trace:
    return Trace(
        text,
        TraceStatus.FAILURE,
        tools_used=(text, "x"),
        files_created=(text,),
        plan=text,
        steps=(Step(text, text), Step(text), Step("x", text), Step(text, "")),
        results=text,
        learnings=(text, "x", text),
        timestamp=AT,
        trace_id=text,
        follows=(text,),
    )
