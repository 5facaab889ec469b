"""Memory files: Markdown with frontmatter that people read, edit and keep in git.

A file holds one document, or several that were appended one after another. `parse` reads any text
and never raises. `render`, `append` and `replace_document` write; what they do not mean to change
keeps its bytes. docs/memory-files.md describes the format.
"""

from memory_mesh.formats.memory_file_advice import MAX_WORDS, advice, refusal
from memory_mesh.formats.memory_file_reading import (
    IMPORTANCES,
    KEYS,
    Fault,
    MemoryFile,
    ParsedFile,
    heading,
    parse,
)
from memory_mesh.formats.memory_file_writing import (
    addition,
    append,
    cut,
    render,
    replace_document,
    without,
)
from memory_mesh.formats.notes import (
    Observation,
    Relation,
    inline_tags,
    link_target,
    observations,
    relations,
    wiki_links,
)

__all__ = [
    "IMPORTANCES",
    "KEYS",
    "MAX_WORDS",
    "Fault",
    "MemoryFile",
    "Observation",
    "ParsedFile",
    "Relation",
    "addition",
    "advice",
    "append",
    "cut",
    "heading",
    "inline_tags",
    "link_target",
    "observations",
    "parse",
    "refusal",
    "relations",
    "render",
    "replace_document",
    "wiki_links",
    "without",
]
