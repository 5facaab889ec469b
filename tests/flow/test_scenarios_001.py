"""What the author of document 001 (rawko's unified memory) would try first, in its own words."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_mesh.compat import rawko
from memory_mesh.formats.memory_file import parse
from memory_mesh.mirror import Mirror
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock, ScriptedLLM
from tests.receipts import id_of

NAMES: Any = rawko
NOW = datetime(2026, 1, 24, 10, 0, tzinfo=UTC)

AUTH_FILE = """---
title: "Authentication Module Structure"
whenToUse:
  - "auth|authentication|login|security"
  - "When implementing security features"
tags: [auth, codebase-structure, important]
importance: high
discoveredAt: 2026-01-23T10:30:00Z
discoveredBy: planner
discoveredIn: "Task: Implement user authentication"
---

# Authentication Module Structure

One-sentence summary.

## Overview

Brief description...

## Key Points

- Point 1
- Point 2

## Code Example

```typescript
// Example pattern...
```
"""
OAUTH_FILE = """---
title: "OAuth2 Integration Was Too Broad"
whenToUse: ["oauth|social.*auth", "considering auth approaches"]
tags: [failures, auth, scope]
importance: high
discoveredAt: 2026-01-23T10:45:00Z
discoveredBy: developer
---

# Why OAuth2 Was Rejected

## What Was Attempted

Considered OAuth2 social login (Google, GitHub).

## Why It Failed

1. Task explicitly requires JWT only
2. OAuth2 adds significant complexity
3. Not mentioned in requirements

## Decision

Stick with JWT-based authentication.
"""


def memory(title: str, when: str | list[str], **changes: object) -> dict[str, Any]:
    """A memory as the extraction of the document returns it."""
    content = changes.pop("content", f"# {title}\n\nWhat is known of it.")
    frontmatter = {
        "title": title,
        "whenToUse": when,
        "tags": [],
        "importance": "medium",
        "discoveredAt": "2026-01-10T12:00:00Z",
        "discoveredBy": "planner",
    }
    return {
        "shouldCreateMemory": True,
        "memoryTitle": title,
        "frontmatter": frontmatter | changes,
        "content": content,
        "reasoning": "worth remembering",
    }


def task(text: str, agent: str = "") -> rawko.MatchContext:
    """What an agent is about to do."""
    return rawko.MatchContext(task=text, agent_name=agent)


def test_the_file_of_the_document_is_read_with_every_key() -> None:
    """File Structure: "Markdown with YAML frontmatter"."""
    read = parse(AUTH_FILE, name="auth-module-structure")
    assert read.faults == ()
    (document,) = read.documents
    assert document.title == "Authentication Module Structure"
    assert document.when_to_use == (
        "auth|authentication|login|security",
        "When implementing security features",
    )
    assert document.tags == ("auth", "codebase-structure", "important")
    assert (document.importance, document.discovered_by) == ("high", "planner")
    assert document.discovered_at == "2026-01-23T10:30:00Z"
    assert document.discovered_in == "Task: Implement user authentication"
    assert "// Example pattern..." in document.body


def test_an_update_is_appended_and_the_first_text_stays(tmp_path: Path) -> None:
    """Content Guidelines: "Append with `---` separator, never overwrite"."""
    first = memory("Database Schema", "schema|migration", content="Orders have a total.")
    second = memory("Database Schema", "schema|migration", content="Totals are in cents now.")
    path = NAMES.appendMemory(first, folder=tmp_path)
    assert NAMES.appendMemory(second, folder=tmp_path) == path
    text = path.read_text()
    assert text.index("Orders have a total.") < text.index("Totals are in cents now.")
    assert len(parse(text).documents) == 2


@pytest.mark.parametrize(
    ("pattern", "matches", "does_not"),
    [
        ("auth|login|security", "add login page", "add user page"),
        ("implement.*auth", "implement authentication", "auth module"),
        ("When implementing security", "security features task", "database task"),
    ],
)
def test_the_examples_of_pattern_matching_hold(pattern: str, matches: str, does_not: str) -> None:
    """Pattern Matching, Examples: "| Pattern | Matches | Doesn't Match |"."""
    assert NAMES.matchPattern(pattern, matches)
    assert not NAMES.matchPattern(pattern, does_not)


def test_alternatives_may_hold_a_wildcard_as_in_the_first_example() -> None:
    """Example 1: "exploring|navigate|find.*file"."""
    when = ["exploring|navigate|find.*file", "When understanding project structure"]
    for text in ("Find the config file", "exploring the repo", "understanding project structure"):
        assert NAMES.matchWhenToUse(when, task(text))
    assert not NAMES.matchWhenToUse(when, task("Raise the price of tea"))


def test_an_array_of_patterns_is_an_or(mesh: MemoryMesh) -> None:
    """Frontmatter Schema: "Arrays (OR logic): ["auth|login", "implementing security"]"."""
    id_ = id_of(
        mesh.add(
            "Sessions are signed with the key of the month",
            {"title": "Session keys", "whenToUse": ["auth|login", "implementing security"]},
        )
    )
    for text in ("Repair the login form", "Implementing security headers"):
        assert [each.id for each in mesh.find_relevant_memories(text)] == [id_]
    assert mesh.find_relevant_memories("Paint the fence") == []


def test_points_of_importance_recency_words_specialty_and_discoverer_add_up() -> None:
    """Scoring Algorithm: "Importance: high 25 … Recency < 24h 10 … Same discoverer 10"."""
    told = memory(
        "Login page structure",
        "login",
        importance="high",
        tags=["structure", "planning"],
        discoveredAt="2026-01-23T12:00:00Z",
    )
    points = NAMES.scoreRelevance(told, task("rework the login page", "planner"), now=NOW)
    assert points == 25 + 10 + 2 * 5 + 2 * 5 + 10


@pytest.mark.parametrize(
    ("age", "points"),
    [
        (timedelta(hours=23), 10),
        (timedelta(hours=25), 5),
        (timedelta(hours=71), 5),
        (timedelta(hours=73), 0),
    ],
)
def test_a_recent_discovery_gets_points_by_its_age(age: timedelta, points: int) -> None:
    """Scoring Algorithm: "Recency < 24h | 10", "Recency < 72h | 5"."""
    found = (NOW - age).strftime("%Y-%m-%dT%H:%M:%SZ")
    told = memory("Queue", "queue", importance="low", discoveredAt=found, discoveredBy="tester")
    assert NAMES.scoreRelevance(told, task("drain it", "developer"), now=NOW) == 5 + points


def test_importance_decides_between_memories_that_match_alike() -> None:
    """Scoring Algorithm: "Importance: critical | 30 | Always include if relevant"."""
    levels = ["low", "critical", "medium", "high"]
    told = [memory(f"About {each} things", "deploy", importance=each) for each in levels]
    found = NAMES.findRelevantMemories(told, task("deploy the site"))
    order = [each["frontmatter"]["importance"] for each in found]
    assert order == ["critical", "high", "medium", "low"]


def test_at_most_five_memories_are_injected_unless_the_agent_says_so() -> None:
    """Relevance Matching: "const maxMemories = options.maxMemories ?? 5"."""
    told = [memory(f"Build note {n}", "build") for n in range(9)]
    context = task("speed up the build")
    assert len(NAMES.findRelevantMemories(told, context)) == 5
    assert len(NAMES.findRelevantMemories(told, context, max_memories=2)) == 2
    assert len(NAMES.findRelevantMemories(told, context, max_memories=20)) == 9


def test_the_prompt_is_formatted_as_the_document_has_it() -> None:
    """Prompt Formatting: "## Background Knowledge from Previous Runs"."""
    told = memory("Express Middleware Pattern", "middleware", importance="high", content="Wrap it.")
    assert NAMES.formatMemoriesForPrompt([told]) == (
        "## Background Knowledge from Previous Runs\n\n"
        "### Express Middleware Pattern\n"
        "*Importance: HIGH*\n"
        "*Discovered by: planner*\n\n"
        "Wrap it.\n\n"
    )
    assert NAMES.formatMemoriesForPrompt([]) == ""


def test_a_long_memory_is_cut_to_500_characters_in_the_prompt() -> None:
    """Prompt Formatting: "truncate(memory.content, 500)"."""
    told = memory("Long", "long", content="Words and more words. " * 60)
    body = NAMES.formatMemoriesForPrompt([told]).split("*Discovered by: planner*\n\n")[1]
    assert len(body.rstrip("\n")) <= 503
    assert body.startswith("Words and more words.")


def test_an_agent_states_how_many_and_how_important(tmp_path: Path, clock: FrozenClock) -> None:
    """Agent Configuration: "maxInjected: 5" and "minImportance: "medium""."""
    rules = {"developer": {"maxInjected": 2, "minImportance": "medium"}}
    with MemoryMesh(db_dir=tmp_path, clock=clock, settings={"injection": rules}) as mesh:
        for level in ("low", "medium", "high", "critical"):
            mesh.add(
                f"The {level} thing about the parser",
                {"title": f"{level} parser note", "whenToUse": "parser", "importance": level},
                role="user",
            )
        prompt = mesh.build_agent_prompt("developer", task="parser", prompt="You write Go.")
        other = mesh.build_agent_prompt("planner", task="parser")
    assert prompt.startswith("You write Go.")
    assert "critical parser note" in prompt
    assert "high parser note" in prompt
    assert "medium parser note" not in prompt
    assert "low parser note" not in prompt
    assert "low parser note" in other


def test_what_a_discovery_says_is_extracted_with_reason_and_frontmatter() -> None:
    """What to Extract: "Errors and their causes", "Key constraints or limitations"."""
    output = (
        "The import failed because the export has no header. "
        "The importer accepts files of 10 MB at most."
    )
    answer = (
        '{"facts": [{"text": "The importer accepts files of 10 MB at most.", '
        '"quote": "The importer accepts files of 10 MB at most.", "role": "assistant", '
        '"category": "constraint", "importance": 0.8}]}'
    )
    found = NAMES.extractMemory(
        {
            "agent": "developer",
            "task": "Repair the import of customers",
            "agentOutput": output,
            "result": "failure",
            "error": "missing header",
            "existingMemories": [],
        },
        ScriptedLLM([answer]),
    )
    assert found.should_create_memory
    assert found.reasoning
    assert found.frontmatter["discoveredBy"] == "developer"
    assert found.frontmatter["importance"] in {"low", "medium", "high", "critical"}
    assert found.frontmatter["title"] == found.memory_title
    assert found.frontmatter["whenToUse"]
    assert "10 MB" in str(found.content)


def test_debugging_steps_and_command_output_are_not_worth_a_memory() -> None:
    """What to Extract, NO: "Temporary debugging steps", "Command output or logs"."""
    found = NAMES.extractMemory(
        {
            "agent": "developer",
            "task": "Find out why the page is slow",
            "agentOutput": (
                "Added a print to the loop, ran it again.\n\n"
                "```\n$ make test\n12 passed in 0.41s\n```\n\nRemoved the print."
            ),
            "result": "success",
            "existingMemories": [],
        },
        ScriptedLLM(['{"facts": []}']),
    )
    assert not found.should_create_memory
    assert found.reasoning
    assert found.content is None


def test_a_duplicate_of_an_existing_memory_is_skipped() -> None:
    """What to Extract, NO: "Duplicates of existing memories"."""
    known = "The importer accepts files of 10 MB at most."
    answer = (
        f'{{"facts": [{{"text": "{known}", "quote": "{known}", "role": "assistant", '
        '"category": "constraint", "importance": 0.8}]}'
    )
    found = NAMES.extractMemory(
        {
            "agent": "developer",
            "task": "Import",
            "agentOutput": f"As before: {known}",
            "result": "success",
            "existingMemories": [memory("Limit of the importer", "import", content=known)],
        },
        ScriptedLLM([answer]),
    )
    assert not found.should_create_memory


def test_what_one_agent_learned_reaches_the_next_agent(tmp_path: Path, clock: FrozenClock) -> None:
    """Memory System Overview: "Next Agent Receives Memories"."""
    said = "All API handlers of this repository return problem+json on errors."
    answer = (
        f'{{"facts": [{{"text": "{said}", "quote": "{said}", "role": "assistant", '
        '"category": "convention", "importance": 0.9, "tags": ["api"]}]}'
    )
    with MemoryMesh(db_dir=tmp_path, clock=clock, custom_llm=ScriptedLLM([answer])) as mesh:
        saved = NAMES.extractAndSaveMemory(
            mesh,
            {
                "agent": "planner",
                "task": "Map the API handlers",
                "agentOutput": said,
                "result": "success",
            },
        )
        assert saved.should_create_memory
    with MemoryMesh(db_dir=tmp_path, clock=clock) as later:
        prompt = later.build_agent_prompt("developer", task="Add an API handler for refunds")
    assert "## Background Knowledge from Previous Runs" in prompt
    assert "problem+json" in prompt


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("JWT Implementation Pattern", "jwt-implementation-pattern.md"),
        ("OAuth2: too broad?", "oauth2-too-broad.md"),
        ("Project   structure", "project-structure.md"),
    ],
)
def test_a_file_is_named_in_kebab_case(tmp_path: Path, title: str, name: str) -> None:
    """Content Guidelines: "Naming | `kebab-case-descriptive-name.md`"."""
    assert NAMES.appendMemory(memory(title, "x"), folder=tmp_path).name == name


def test_the_failure_of_the_document_warns_whoever_considers_oauth(
    tmp_path: Path, clock: FrozenClock
) -> None:
    """Example 2: "Why OAuth2 Was Rejected … Stick with JWT-based authentication."."""
    folder = tmp_path / ".rawko" / "memories"
    folder.mkdir(parents=True)
    (folder / "oauth-too-broad.md").write_text(OAUTH_FILE)
    (folder / "auth-module-structure.md").write_text(AUTH_FILE)
    with MemoryMesh(db_dir=tmp_path / "store", project="rawko", clock=clock) as mesh:
        Mirror(mesh, folder).init()
        prompt = mesh.build_agent_prompt("developer", task="Add social login by OAuth")
        nothing = mesh.build_agent_prompt("developer", task="Translate the invoice to French")
    assert "### OAuth2 Integration Was Too Broad" in prompt
    assert "*Discovered by: developer" in prompt
    assert "Task explicitly requires JWT only" in prompt
    assert nothing == ""


def test_one_broken_file_does_not_keep_the_others_from_being_read(
    tmp_path: Path, clock: FrozenClock
) -> None:
    """Memory Injection, Flow: "Load all memory frontmatter"."""
    folder = tmp_path / "memories"
    folder.mkdir()
    (folder / "broken.md").write_text("---\ntitle: [unclosed\nwhenToUse: auth\n---\n\nText.\n")
    (folder / "auth-module-structure.md").write_text(AUTH_FILE)
    with MemoryMesh(db_dir=tmp_path / "store", project="rawko", clock=clock) as mesh:
        report = Mirror(mesh, folder).init()
        found = mesh.find_relevant_memories("implement authentication")
    assert [each.title for each in found] == ["Authentication Module Structure"]
    assert len(report.added) == 1
    assert (folder / "broken.md").read_text().startswith("---\ntitle: [unclosed")


def test_a_new_run_starts_without_the_state_of_the_former_one(
    tmp_path: Path, clock: FrozenClock
) -> None:
    """Core Principles: "No Session State - Each task run is independent (no context rot)"."""
    with MemoryMesh(db_dir=tmp_path, clock=clock) as run_one:
        run_one.add("Vite builds the admin pages", {"whenToUse": "vite|admin pages"})
        run_one.build_agent_prompt("developer", task="Build the admin pages with vite")
    with MemoryMesh(db_dir=tmp_path, clock=clock) as run_two:
        assert run_two.build_agent_prompt("developer", task="Write the release notes") == ""
        assert "Vite builds" in run_two.build_agent_prompt("developer", task="Update vite")


def test_the_newest_discovery_of_a_title_is_what_the_agent_is_told(
    tmp_path: Path, clock: FrozenClock
) -> None:
    """Drawbacks: "Stale memories - Old memories may describe outdated code"."""
    folder = tmp_path / ".rawko" / "memories"
    NAMES.appendMemory(memory("Port of the API", "port", content="It is 3000."), folder=folder)
    newer = memory("Port of the API", "port", content="It is 8080 since January.")
    newer["frontmatter"]["discoveredAt"] = "2026-01-20T12:00:00Z"
    NAMES.appendMemory(newer, folder=folder)
    with MemoryMesh(db_dir=tmp_path / "store", project="rawko", clock=clock) as mesh:
        Mirror(mesh, folder).init()
        prompt = mesh.build_agent_prompt("developer", task="Open the port of the API")
    assert "It is 8080 since January." in prompt
    assert "It is 3000." not in prompt


def test_feedback_decides_what_is_no_longer_injected(mesh: MemoryMesh) -> None:
    """Unresolved Questions: "How to learn which memories are actually useful (feedback loop)?"."""
    useful = id_of(mesh.add("Use make lint", {"title": "Lint", "whenToUse": "lint"}))
    useless = id_of(mesh.add("Lint is fun", {"title": "Fun", "whenToUse": "lint"}))
    prompt = mesh.build_agent_prompt("developer", task="lint the code")
    assert "Use make lint" in prompt
    assert "Lint is fun" in prompt
    for _ in range(3):
        mesh.rate(useless, helpful=False)
    mesh.rate(useful, helpful=True)
    prompt = mesh.build_agent_prompt("developer", task="lint the code")
    assert "Use make lint" in prompt
    assert "Lint is fun" not in prompt


def test_what_was_extracted_is_appended_as_it_is_and_called_up(tmp_path: Path) -> None:
    """Writing Memories: "async function appendMemory(memory: MemoryExtractionOutput)"."""
    said = "The repository keeps its database models in src/models, one class for each file."
    answer = (
        f'{{"facts": [{{"text": "{said}", "quote": "{said}", "role": "assistant", '
        '"category": "fact", "importance": 0.7, "tags": ["models", "database"]}]}'
    )
    found = NAMES.extractMemory(
        {
            "agent": "planner",
            "task": "Map the database models",
            "agentOutput": said,
            "result": "success",
            "existingMemories": [],
        },
        ScriptedLLM([answer]),
    )
    path = NAMES.appendMemory(found, folder=tmp_path)
    (document,) = parse(path.read_text()).documents
    assert document.title == found.memory_title
    assert said in document.body
    assert path.name == NAMES.slugify(document.title) + ".md"
    called = NAMES.findRelevantMemories([found], task("Add a column to the database", "developer"))
    assert called == [found]


def test_an_invented_memory_is_discarded() -> None:
    """Drawbacks: "Hallucination risk - LLM might extract invalid memories"."""
    answer = (
        '{"facts": [{"text": "The API is written in Rust.", "quote": "the API is in Rust", '
        '"role": "assistant", "category": "fact", "importance": 0.9}]}'
    )
    found = NAMES.extractMemory(
        {
            "agent": "planner",
            "task": "Look at the API",
            "agentOutput": "The API has nine routes and no tests.",
            "result": "success",
            "existingMemories": [],
        },
        ScriptedLLM([answer]),
    )
    assert not found.should_create_memory
    assert "Rust" not in str(found.content)
