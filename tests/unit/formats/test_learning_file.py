"""The text of a learning is seed 002's, and reads back as it was written."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.formats import project_memory
from memory_mesh.formats.project_memory import LearningFile

LEARNING = LearningFile(
    "Deploy the shop",
    7,
    86,
    ("kubectl", "git"),
    ("Wait for the rollout [trace-1]", "Tag first [trace-2]"),
    ("Build the image", "Push the image"),
    ("Never deploy on Friday",),
)
TEXT = """\
# Learning: Deploy the shop

## Context
- Observed in 7 executions
- Success rate: 86%
- Common tools: kubectl, git

## Key Insights
1. Wait for the rollout [trace-1]
2. Tag first [trace-2]

## Recommended Approach
1. Build the image
2. Push the image

## Anti-Patterns
- Never deploy on Friday"""
LINES = st.text(
    st.characters(exclude_categories=("C", "Z")) | st.just(" "), min_size=1, max_size=40
).map(lambda text: " ".join(text.split()))
ITEMS = st.lists(
    LINES.filter(lambda line: line and line != project_memory.NOTHING), max_size=4
).map(tuple)
TOOLS = st.lists(st.from_regex(r"\A[a-z][a-z0-9_.-]{0,12}\Z"), max_size=4).map(tuple)


@pytest.mark.req("R-002-050")
@pytest.mark.req("R-002-051")
@pytest.mark.req("R-002-052")
@pytest.mark.req("R-002-053")
@pytest.mark.req("R-002-054")
def test_a_learning_has_the_sections_of_the_specification_in_their_order() -> None:
    assert project_memory.render(LEARNING) == TEXT
    assert project_memory.parse(TEXT) == LEARNING


def test_sections_without_items_say_so() -> None:
    text = project_memory.render(LearningFile("Rare", 2, 0))
    assert text.count(project_memory.NOTHING) == 4
    assert project_memory.parse(text) == LearningFile("Rare", 2, 0)


@given(
    st.builds(
        LearningFile,
        LINES.filter(bool),
        st.integers(0, 10**6),
        st.integers(0, 100),
        TOOLS,
        ITEMS,
        ITEMS,
        ITEMS,
    )
)
def test_what_is_written_is_read_back(learning: LearningFile) -> None:
    assert project_memory.parse(project_memory.render(learning)) == learning


@given(st.text())
def test_any_text_is_read_or_not_and_never_raises(text: str) -> None:
    project_memory.parse(text)
    project_memory.parse(f"# Learning: x\n{text}\nObserved in")


def test_a_text_without_figures_is_no_learning() -> None:
    assert project_memory.parse("# Learning: x\n\n## Context\nnone") is None
    assert project_memory.parse("# Notes\n\n## Context\n- Observed in 2 executions") is None
