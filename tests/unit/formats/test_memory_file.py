"""Memory files: what is read, what is written, and that both agree."""

from dataclasses import replace

import pytest

from memory_mesh.formats.memory_file import (
    MemoryFile,
    advice,
    append,
    parse,
    refusal,
    render,
    replace_document,
)
from memory_mesh.model.errors import InvalidInput

AUTH = MemoryFile(
    title="Authentication Module Structure",
    when_to_use=("auth|authentication|login|security", "When implementing security features"),
    tags=("auth", "codebase-structure", "important"),
    importance="high",
    discovered_at="2026-01-23T10:30:00Z",
    discovered_by="planner",
    discovered_in="Task: Implement user authentication",
    body=(
        "# Authentication Module Structure\n\nOne-sentence summary.\n\n## Overview\n\n"
        "Brief description...\n\n## Key Points\n\n- Point 1\n- Point 2\n\n## Code Example\n\n"
        "```typescript\n// Example pattern...\n```"
    ),
)
AUTH_TEXT = """\
---
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
STRUCTURE = """\
---
title: "Project File Organization"
whenToUse:
  - "exploring|navigate|find.*file"
  - "When understanding project structure"
tags: [structure, codebase, important]
importance: critical
discoveredAt: 2026-01-23T10:30:00Z
discoveredBy: planner
---

# Project File Organization

## Directory Layout

```
├── src/
│   ├── api/          # HTTP endpoints
│   ├── auth/         # Authentication (JWT-based)
│   ├── models/       # Data types
│   └── services/     # Business logic
├── tests/
└── package.json
```

## Key Locations

- **API routes**: src/api/routes/
- **Authentication**: src/auth/
- **Database models**: src/models/
"""
FAILURE = """\
---
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
PATTERN = """\
---
title: "Express Middleware Pattern"
whenToUse: ["middleware|interceptor", "writing Express handlers"]
tags: [patterns, conventions, express]
importance: high
discoveredAt: 2026-01-23T10:40:00Z
discoveredBy: developer
---

# Express Middleware Pattern

All middleware follows this pattern:

```typescript
export function middlewareName(req, res, next) {
  try {
    if (!valid(req)) {
      return res.status(401).json({ error: "Unauthorized" });
    }
    req.user = extractUser(req);
    next();
  } catch (error) {
    res.status(500).json({ error: error.message });
  }
}
```

## Key Points

1. Always wrap in try/catch
2. Return 401 on auth failure
3. Pass user via `req.user`
4. Always call `next()` on success
"""


def only(text: str, **options: str) -> MemoryFile:
    """The one document of a text that has no faults."""
    read = parse(text, **options)
    assert read.faults == ()
    (document,) = read.documents
    return document


@pytest.mark.req("R-001-009", "R-001-010")
def test_a_document_is_written_as_the_specification_shows_it():
    assert render(AUTH) == AUTH_TEXT
    assert only(AUTH_TEXT) == AUTH
    assert [hint for hint in advice(AUTH) if "words" not in hint] == []


@pytest.mark.req("R-001-080")
@pytest.mark.parametrize("text", [STRUCTURE, FAILURE, PATTERN])
def test_the_three_examples_of_the_specification_are_read_and_kept(text):
    document = only(text)
    assert document.body.startswith("# ")
    assert text.rstrip("\n").endswith(document.body)
    assert document.raw == text
    assert only(render(document)) == document
    nested = replace(document, body=f"# Example\n\n````markdown\n{text}````\n\nThe end.")
    assert only(render(nested)) == nested


@pytest.mark.req("R-001-081", "R-001-082")
def test_the_failure_example_has_its_triggers_from_an_inline_list_and_its_tag():
    document = only(FAILURE)
    assert document.when_to_use == ("oauth|social.*auth", "considering auth approaches")
    assert document.tags == ("failures", "auth", "scope")


@pytest.mark.req(
    "R-001-011", "R-001-012", "R-001-016", "R-001-017", "R-001-018", "R-001-019", "R-001-020",
    "R-001-021", "R-001-022",
)  # fmt: skip
def test_every_key_of_the_format_is_a_field():
    document = only(
        '---\ntitle: A title\nwhenToUse: "auth|login"\ntags: [a, b]\nimportance: critical\n'
        "discoveredAt: 2026-01-23T10:30:00Z\ndiscoveredBy: planner\ndiscoveredIn: Task 7\n"
        "source: src/auth.py\nrelatedMemories: [jwt-pattern.md, oauth.md]\nmemoryId: mem_1\n---\n"
    )
    assert document == MemoryFile(
        title="A title",
        when_to_use=("auth|login",),
        tags=("a", "b"),
        importance="critical",
        discovered_at="2026-01-23T10:30:00Z",
        discovered_by="planner",
        discovered_in="Task 7",
        source="src/auth.py",
        related=("jwt-pattern.md", "oauth.md"),
        memory_id="mem_1",
    )
    assert only(render(document)) == document


@pytest.mark.req("R-001-017", "R-001-018")
def test_what_is_not_of_the_format_is_a_fault_with_its_line():
    read = parse("---\ntitle: x\nimportance: urgent\ndiscoveredAt: soon\ntags: {a: 1}\n---\n")
    assert [(fault.line, fault.message.split(";")[0]) for fault in read.faults] == [
        (5, "`tags` must be text or a list of texts"),
        (3, "`importance` is 'urgent'"),
        (4, "`discoveredAt` is 'soon'"),
    ]
    assert read.documents[0].importance == "medium"
    assert read.documents[0].readable
    with pytest.raises(InvalidInput, match="low, medium"):
        render(replace(AUTH, importance="urgent"))


@pytest.mark.req("R-001-027", "R-001-044", "R-001-045")
def test_an_appended_document_stands_behind_blank_line_rule_and_blank_line():
    second = replace(AUTH, body="changed")
    text = append(AUTH_TEXT, second)
    assert text == AUTH_TEXT + "\n\n---\n\n" + render(second)
    assert parse(text).documents == (AUTH, second)
    assert append("", AUTH) == AUTH_TEXT
    third = append(text, only(FAILURE))
    assert third.startswith(text)
    assert parse(third).documents == (AUTH, second, only(FAILURE))


@pytest.mark.req("R-001-045")
def test_rules_tables_and_code_in_a_body_separate_nothing():
    body = (
        "one\n\n---\n\ntwo\n\n---\n---\n\nHeading\n---\n\n| a | b |\n|---|---|\n\n"
        "```\n\n---\n\n---\ntitle: in code\n---\n```\n\n---\n\nkey: value\n\n---\n\nend"
    )
    document = replace(AUTH, body=body)
    text = render(document)
    assert "bodyEnd" not in text
    assert parse(append(text, AUTH)).documents == (document, AUTH)


@pytest.mark.req("R-001-045")
def test_a_body_that_holds_a_whole_document_ends_with_its_own_mark():
    body = "see:\n\n---\n\n---\ntitle: not a document\n---\n\ninner"
    document = replace(AUTH, body=body)
    text = append(render(document), AUTH)
    assert parse(text).documents == (document, AUTH)
    assert "bodyEnd: " in text
    edited = text.replace("inner", "inner, edited by hand")
    assert parse(edited).documents == (replace(document, body=f"{body}, edited by hand"), AUTH)
    missing = text.replace("<!-- end of", "<!-- no end of")
    assert "the body may be cut" in parse(missing).faults[0].message


def test_a_replaced_document_leaves_every_other_byte():
    text = append(append(AUTH_TEXT, AUTH), AUTH)
    first, second, third = parse(text).documents
    changed = replace(second, body="other")
    new = replace_document(text, 1, changed)
    assert new[: second.start] == text[: second.start]
    assert new.endswith(text[second.stop :])
    assert parse(new).documents == (first, changed, third)
    assert replace_document(text, 1, second) == text
    with pytest.raises(InvalidInput, match="no number 3"):
        replace_document(text, 3, changed)


NOTE = """\
---
# my own comment
aliases:
    - Login
tags: 'auth, web'   # two
cssclass: wide
created: 2026-01-05
---


# Login flow

How people log in.

"""


def test_a_changed_key_leaves_the_lines_of_all_others():
    note = only(NOTE)
    changed = replace(note, tags=("auth",), more={**note.more, "cssclass": "narrow", "new": 1})
    assert replace_document(NOTE, 0, changed) == NOTE.replace(
        "tags: 'auth, web'   # two", "tags: [auth]"
    ).replace("cssclass: wide", "cssclass: narrow").replace(
        "created: 2026-01-05\n", "created: 2026-01-05\nnew: 1\n"
    )
    without = replace(note, more={k: v for k, v in note.more.items() if k != "aliases"})
    assert replace_document(NOTE, 0, without) == NOTE.replace("aliases:\n    - Login\n", "")


def test_a_changed_body_leaves_the_frontmatter_and_the_blank_lines():
    changed = replace(only(NOTE), body="# Login flow\n\nBy token.")
    assert replace_document(NOTE, 0, changed) == NOTE.replace("How people log in.", "By token.")
    windows = "\ufeff" + NOTE.replace("\n", "\r\n")
    assert replace_document(windows, 0, changed) == windows.replace(
        "How people log in.", "By token."
    )


def test_a_changed_heading_of_a_note_without_a_title_keeps_the_title_that_was_meant():
    changed = replace(only(NOTE), title="Login flow", body="# Sign-in\n\nText.")
    assert only(replace_document(NOTE, 0, changed)) == changed


def test_a_plain_note_is_a_document_with_a_title_of_its_heading_or_name():
    assert only("# A *note* #\n\ntext\n") == MemoryFile("A *note*", body="# A *note* #\n\ntext")
    assert only("# C#\n").title == "C#"
    assert only("just text", name="shopping list").title == "shopping list"
    assert only("```\n# no heading\n```\ntext", name="n").title == "n"
    assert only("---\ntags: x\n---\n## Second level\n", name="n").title == "Second level"
    assert only("just text").title == "Untitled"
    assert parse("").documents == parse(" \n\n").documents == parse("\ufeff").documents == ()
    changed = replace(only("just text\n", name="n"), body="other text")
    assert replace_document("just text\n", 0, changed, name="n") == "other text\n"


def test_keys_of_others_are_kept_in_their_order_with_their_values():
    text = (
        "---\nzeta: yes\ntitle: Coffee\ntype: note\npermalink: notes/coffee\nalpha: 007\n"
        "count: 3\nratio: 0.5\ndone: true\nwhen: 2026-01-05\nat: 12:30:45\nnested: {a: [1, x]}\n"
        "none:\nlong: |\n  one\n  two\nfolded: >-\n  one\n  two\n---\n"
    )
    document = only(text)
    assert list(document.more.items()) == [
        ("zeta", "yes"), ("type", "note"), ("permalink", "notes/coffee"), ("alpha", "007"),
        ("count", 3), ("ratio", 0.5), ("done", True), ("when", "2026-01-05"), ("at", "12:30:45"),
        ("nested", {"a": [1, "x"]}), ("none", None), ("long", "one\ntwo\n"), ("folded", "one two"),
    ]  # fmt: skip
    assert list(only(render(document)).more.items()) == list(document.more.items())
    with pytest.raises(InvalidInput, match="field of its own"):
        render(replace(document, more={"title": "x"}))


@pytest.mark.parametrize(
    ("written", "tags"),
    [
        ("[a, b]", ("a", "b")),
        ("a, b", ("a", "b")),
        ("'#a #b/c'", ("a", "b/c")),
        ("\n  - 2024\n  - 1.10\n  - yes", ("2024", "1.10", "yes")),
        ("", ()),
        ("[]", ()),
    ],
)
def test_tags_are_read_as_note_taking_programs_write_them(written, tags):
    assert only(f"---\ntitle: x\ntags: {written}\n---\n").tags == tags


def test_related_memories_may_be_links():
    document = only("---\ntitle: x\nrelatedMemories:\n  - [[Login]]\n  - '[[OAuth]]'\n---\n")
    assert document.related == ("Login", "[[OAuth]]")


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("---\ntitle: [\n---\nbody", 3, "not read"),
        ("---\ntitle: x\na: &b 1\n---\nbody", 3, "anchor"),
        ("---\ntitle: !!python/object:os.system x\n---\nbody", 2, "tag"),
        ("---\ntitle: x\nno end", 1, "not closed"),
        ("---\ntitle: x\na: " + "[" * 60 + "]" * 60 + "\n---\n", 3, "deep"),
    ],
)
def test_frontmatter_that_cannot_be_read_says_where_and_is_not_taken(text, line, why):
    read = parse(text, name="n")
    assert [(fault.line, why in fault.message) for fault in read.faults] == [(line, True)]
    assert not read.documents[0].readable
    assert read.documents[0].raw == text


def test_a_key_that_stands_twice_is_a_fault():
    read = parse("---\ntitle: one\ntitle: two\n---\n")
    assert "twice" in read.faults[0].message
    assert read.documents[0].title == "two"


def test_a_document_that_is_never_closed_does_not_hide_the_next_one():
    read = parse("---\ntitle: A\n\n---\n\n---\ntitle: B\n---\n\nb\n")
    assert [document.title for document in read.documents] == ["Untitled", "B"]
    assert [document.readable for document in read.documents] == [False, True]
    assert read.faults[0].document == 0


def test_a_document_behind_an_open_fence_is_kept_apart():
    text = "---\ntitle: A\n---\n\n```\ncode"
    added = replace(AUTH, body="```\nother code\n```")
    new = append(text, added)
    assert new.startswith(text + "\n```\n\n---\n\n")
    assert parse(new).documents[1:] == (added,)
    two = "---\ntitle: A\n---\n\n```\n\n---\n\n---\ntitle: B\n---\n\nb\n"
    with pytest.raises(InvalidInput, match="no end"):
        append(two, added)
    with pytest.raises(InvalidInput, match="no end"):
        replace_document(two, 1, added)


@pytest.mark.parametrize(
    "first", ["---\ntitle: A\n---\n\n", "---\ntitle: A\n---\n\na\n \n", "\n\na\n\t\n"]
)
def test_a_document_directly_above_a_separator_can_be_replaced(first):
    text = f"{first}---\n\n{AUTH_TEXT}"
    assert len(parse(text).documents) == 2
    new = replace(AUTH, title="new", body="new")
    assert parse(replace_document(text, 0, new)).documents == (new, AUTH)


def test_a_document_does_not_end_another_one_that_misses_its_end():
    text = "---\ntitle: A\nbodyEnd: 01234567\n---\n\na\n"
    with pytest.raises(InvalidInput, match="no end"):
        append(text, replace(AUTH, body="<!-- end of 01234567 -->"))
    assert parse(append(text, AUTH)).documents[1] == AUTH


def test_a_text_that_no_file_can_hold_is_refused():
    with pytest.raises(InvalidInput, match="surrogate"):
        render(replace(AUTH, body="\ud800"))
    assert parse("---\ntitle: \ud800\n---\n\ud800").documents


@pytest.mark.req("R-001-024")
def test_more_than_two_thousand_words_are_refused():
    assert refusal(replace(AUTH, body="word " * 2_000)) is None
    assert "2,001 words" in (refusal(replace(AUTH, body="word " * 2_001)) or "")


@pytest.mark.req("R-001-023")
def test_the_ideal_length_is_advice():
    def said(words: int) -> bool:
        return any("200 to 500" in hint for hint in advice(replace(AUTH, body="word " * words)))

    assert [said(199), said(200), said(500), said(501)] == [True, False, False, True]


@pytest.mark.req("R-001-010", "R-001-025")
@pytest.mark.parametrize(
    ("body", "missing"),
    [
        ("text", {"heading", "sections", "list", "code example"}),
        ("# T\n\n## Overview\n\n- a\n\n```\nx\n```", {"summary"}),
        ("# T\n\nSummary.\n\n## Overview\n\n- a", {"code example"}),
        ("# T\n\nSummary.\n\n## Overview\n\n```\nx\n```", {"list"}),
        ("# T\n\nSummary.\n\n1. a\n\n```\nx\n```", {"sections"}),
    ],
)
def test_a_body_without_its_parts_gets_advice(body, missing):
    hints = advice(replace(AUTH, body=body))
    parts = {"heading", "summary", "sections", "list", "code example"}
    assert {part for part in parts for hint in hints if f"it has no {part}:" in hint} == missing


@pytest.mark.req("R-001-011", "R-001-012", "R-001-016", "R-001-018", "R-001-019")
def test_a_required_key_that_is_missing_gets_advice():
    hints = " ".join(advice(only("text")))
    for key in ("title", "whenToUse", "tags", "discoveredAt", "discoveredBy"):
        assert f"`{key}`" in hints
    assert not any("write `" in hint for hint in advice(AUTH))
