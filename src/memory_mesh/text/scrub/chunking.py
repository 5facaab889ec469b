"""Stage 4, chunking: packs units into pieces within the limits.

A heading opens a new piece, code stays whole as long as it fits under the hard limit, and what is
too long on its own is cut where a paragraph, a line, a sentence or a word ends, in that order.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from memory_mesh.base.typed import replace
from memory_mesh.text.scrub import filtering, forms, markdown, tokens
from memory_mesh.text.scrub.tokens import Piece, ScrubSettings, Section, Unit, lines_of

_LEAST_CUT = 32  # tokens


def pieces_of(content: str, settings: ScrubSettings) -> list[Piece]:
    """Returns the pieces of a content in order, with every unit that has text."""
    if not content.strip():
        return []
    content = content.replace("\r", " ")  # of a text that was never cleaned
    if not forms.looks_markdown(content):
        text = filtering.prose(content)
        if tokens.count(text) <= settings.max_tokens:
            return [Piece(0, len(content), text)]
    units = [unit for unit in units_of(content) if unit.text.strip()]
    groups = _packed(_small_enough(content, units, settings), settings)
    return [_piece(group) for group in _joined(groups, settings)]


def _small_enough(content: str, units: Iterable[Unit], settings: ScrubSettings) -> Iterator[Unit]:
    """Splits units that are over the limit; the first leaves room for its headings."""
    above = 0
    for unit in units:
        cost = tokens.count(unit.text)
        room = max(settings.max_tokens - above, settings.max_tokens // 2)
        if cost <= (settings.hard_max_tokens if unit.code else room):
            yield unit
        else:
            yield from _parts(content, unit, room)
        above = above + cost if unit.level else 0


def _parts(content: str, unit: Unit, limit: int) -> Iterator[Unit]:
    raw, read = content[unit.start : unit.stop], _reader(content, unit)
    for start, stop in tokens.cut(raw, limit):
        text = read(raw[start:stop])
        part = replace(unit, start=unit.start + start, stop=unit.start + stop, text=text)
        if tokens.count(text) > limit > _LEAST_CUT:  # a joined word may cost more than its parts
            yield from _parts(content, part, limit // 2)
        elif text.strip():
            yield part


def _reader(content: str, unit: Unit) -> Callable[[str], str]:
    """Returns the function that converts a part of the unit to plain text."""
    if unit.code:
        return _without_fences
    return filtering.prose if not forms.looks_markdown(content) else markdown.part


def _without_fences(code: str) -> str:
    return re.sub(
        r"\A[ \t>]*(?:`{3,}|~{3,})[^\n]*\n?|\n?^[ \t>]*(?:`{3,}|~{3,})[ \t]*\Z",
        "",
        code,
        flags=re.MULTILINE,
    )


def _packed(units: Iterable[Unit], settings: ScrubSettings) -> Iterator[list[Unit]]:
    """Groups units up to the limit; a heading starts a new group if the last is long enough."""
    group: list[Unit] = []
    spent = 0
    for unit in units:
        cost = tokens.count(unit.text)
        only_headings = all(one.level for one in group)
        limit = settings.hard_max_tokens if unit.code and only_headings else settings.max_tokens
        opens = unit.level > 0 and not only_headings and spent >= settings.min_tokens
        if group and (opens or spent + cost > limit):
            yield group
            group, spent = [], 0
        group.append(unit)
        spent += cost
    if group:
        yield group


def _joined(groups: Iterable[list[Unit]], settings: ScrubSettings) -> list[list[Unit]]:
    """Joins groups below the minimum with a neighbour."""
    found: list[list[Unit]] = []
    for group in groups:
        short = found and min(_cost(found[-1]), _cost(group)) < settings.min_tokens
        if short and _cost(found[-1]) + _cost(group) <= settings.hard_max_tokens:
            found[-1] = [*found[-1], *group]
        else:
            found.append(group)
    return found


def _cost(group: Sequence[Unit]) -> int:
    return sum(tokens.count(unit.text) for unit in group)


def _piece(group: Sequence[Unit]) -> Piece:
    text = "\n".join(unit.text for unit in group)
    body = [unit.section for unit in group if not unit.level]
    section = _common(body) if body else group[-1].section
    return Piece(group[0].start, group[-1].stop, text, section)


def _common(sections: Sequence[Section]) -> Section:
    """Returns the common section path."""
    first, last = min(sections), max(sections)
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[:same]


# A content as its units, each with the section that it belongs to.
#
# Plain text is a row of paragraphs; Markdown is read by `markdown`, which loads its parser then.


def units_of(content: str) -> list[Unit]:
    """Everything a content says, in order; together the units hold every line with meaning."""
    content = content.replace("\r", " ")  # as long as before, and a line end for no one
    if not forms.looks_markdown(content):
        return list(_paragraphs(content))
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
            yield Unit(start, stop, filtering.prose(content[start:stop]))
            start = -1
