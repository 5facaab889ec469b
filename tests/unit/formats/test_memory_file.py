"""Memory files: what is read, what is written, and that both agree."""

from dataclasses import replace

import pytest

from memory_mesh.formats.memory_file import MemoryFile, append, parse, render, replace_document

AUTH = MemoryFile(
    title="Authentication Module Structure",
    when_to_use=("auth|authentication|login|security", "When implementing security features"),
    tags=("auth", "codebase-structure", "important"),
    importance="high",
    discovered_at="2026-01-23T10:30:00Z",
    discovered_by="planner",
    discovered_in="Task: Implement user authentication",
    body="# Authentication Module Structure\n\nOne-sentence summary.",
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
"""


@pytest.mark.req("R-001-009")
def test_a_document_is_written_as_the_specification_shows_it():
    assert render(AUTH) == AUTH_TEXT
    assert parse(AUTH_TEXT).documents == (AUTH,)
    assert parse(AUTH_TEXT).faults == ()


@pytest.mark.req("R-001-027", "R-001-044", "R-001-045")
def test_an_appended_document_stands_behind_blank_line_rule_and_blank_line():
    second = replace(AUTH, body="changed")
    text = append(AUTH_TEXT, second)
    assert text == AUTH_TEXT + "\n\n---\n\n" + render(second)
    assert parse(text).documents == (AUTH, second)


def test_a_replaced_document_leaves_every_other_byte():
    text = append(append(AUTH_TEXT, AUTH), AUTH)
    first, second, third = parse(text).documents
    changed = replace(second, body="other")
    new = replace_document(text, 1, changed)
    assert new[: second.start] == text[: second.start]
    assert new.endswith(text[second.stop :])
    assert parse(new).documents == (first, changed, third)
