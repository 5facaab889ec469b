"""A content as its units, each with the section that it belongs to.

Plain text is a row of paragraphs; Markdown is read by `markdown`, which loads its parser then.
"""

from collections.abc import Iterator

from memory_mesh.fastdataclass import replace
from memory_mesh.policy.scrub import forms, normalising
from memory_mesh.policy.scrub.parts import Section, Unit, lines_of


def units_of(content: str) -> list[Unit]:
    """Everything a content says, in order; together the units hold every line with meaning."""
    content = content.replace("\r", " ")  # as long as before, and a line end for no one
    if not forms.looks_markdown(content):
        return list(_paragraphs(content))
    from memory_mesh.policy.scrub import markdown

    return list(_with_sections(markdown.blocks(content)))


def _with_sections(units: Iterator[Unit]) -> Iterator[Unit]:
    path: Section = ()
    levels: list[int] = []
    for unit in units:
        if unit.level:
            while levels and levels[-1] >= unit.level:
                levels.pop()
            path = (*path[: len(levels)], unit.text)
            levels.append(unit.level)
        yield replace(unit, section=path)


def _paragraphs(content: str) -> Iterator[Unit]:
    """What stands between blank lines."""
    start = stop = -1
    for at, line in [*lines_of(content), (len(content), "")]:
        if line.strip():
            start, stop = (at if start < 0 else start), at + len(line)
        elif start >= 0:
            yield Unit(start, stop, normalising.prose(content[start:stop]))
            start = -1
