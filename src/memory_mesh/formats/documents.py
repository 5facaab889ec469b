"""Finds the documents that were appended to one Markdown file, in one pass over the text.

A document is frontmatter between `---` lines and a body. The next one begins after a blank line,
`---`, a blank line and frontmatter that names a title. What stands in a code fence separates
nothing. A body that would not be found again by these rules ends with a comment that its
frontmatter names: `bodyEnd: 1f2e3d4c` and `<!-- end of 1f2e3d4c -->`.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace

from memory_mesh.base.lazy_pattern import lazy_pattern

SEPARATOR = "\n\n---\n\n"
END_KEY = "bodyEnd"


@dataclass(frozen=True, slots=True)
class DocumentSpan:
    """Where a document stands in its text: its frontmatter, its body, and all of it."""

    start: int
    stop: int
    head: tuple[int, int] | None  # between the two `---` lines
    body: tuple[int, int]
    unclosed: bool = False  # a `---` line opens frontmatter that no line closes
    marked: bool = False  # the body ends with the comment that the frontmatter names
    unmarked: bool = False  # the frontmatter names an end that is missing


def spans(text: str) -> list[DocumentSpan]:
    """Returns the documents of a text in their order; a text of blanks holds none."""
    if text.startswith("\ufeff"):  # a byte order mark is no part of the first document
        return [_shifted(span, 1) for span in _Lines(text[1:]).documents()]
    return list(_Lines(text).documents())


def open_fences(text: str) -> dict[int, str]:
    """Returns the code fences that no line closes, by the number of their document."""
    if "```" not in text and "~~~" not in text:
        return {}
    fences = _Fences(text)
    found = {
        number: fences.left_open(*span.body)
        for number, span in enumerate(spans(text))
        if not span.marked
    }
    return {number: fence for number, fence in found.items() if fence is not None}


def prose(text: str) -> str:
    """Returns the text without its fenced code."""
    kept, position = [], 0
    for start, end in _Fences(text).closed():
        kept.append(text[position:start])
        position = end
    return "".join((*kept, text[position:]))


def end_line(mark: str) -> str:
    """Returns the comment that ends a body whose frontmatter names this mark."""
    return f"<!-- end of {mark} -->"


def _shifted(span: DocumentSpan, by: int) -> DocumentSpan:
    head = None if span.head is None else (span.head[0] + by, span.head[1] + by)
    body = span.body[0] + by, span.body[1] + by
    return replace(span, start=span.start + by, stop=span.stop + by, head=head, body=body)


class _Lines:
    """The lines of a text that can begin or end a document; each is looked at once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._rules = [(rule.start(), rule.end()) for rule in _rules().finditer(text)]
        self._starts = [start for start, _ in self._rules]
        self._openings = [self._opens(place) for place in range(len(self._rules))]
        self._separators = [self._separates(place) for place in range(len(self._rules))]
        self._ends: dict[str, list[int]] = {}
        for end in _ends().finditer(text):
            self._ends.setdefault(end[1], []).append(end.start())
        self._fences = _Fences(text)

    def documents(self) -> Iterator[DocumentSpan]:
        """Yields one document after another."""
        position, size = 0, len(self._text)
        while position < size:
            found, following = self._document(position)
            if found.head is not None or self._text[found.start : found.stop].strip():
                yield found
            if following is None:
                return
            position = following

    def _document(self, position: int) -> tuple[DocumentSpan, int | None]:
        """The document that begins here, and where the one after it does."""
        begin = self._blank_after(position)
        place = bisect_left(self._starts, begin)
        if not self._opens_here(place, begin):
            return self._bare(position)
        closing = place + 1
        if closing == len(self._rules) or self._separators[closing]:
            found, following = self._bare(begin, after=place + 1)
            return DocumentSpan(found.start, found.stop, None, found.body, unclosed=True), following
        head = (self._rules[place][1], self._starts[closing])
        return self._ended(begin, head, self._rules[closing][1], closing)

    def _ended(
        self, begin: int, head: tuple[int, int], body: int, closing: int
    ) -> tuple[DocumentSpan, int | None]:
        """A document with frontmatter: its body ends at its mark or at the next separator."""
        named = _end_names().search(self._text, *head)
        if named is not None:
            marks = self._ends.get(named[1], [])
            at = bisect_left(marks, body)
            if at < len(marks):
                return self._marked(begin, head, body, marks[at])
        stop, following = self._next(body, closing + 1)
        span = DocumentSpan(begin, stop, head, (min(body, stop), stop), unmarked=named is not None)
        return span, following

    def _marked(
        self, begin: int, head: tuple[int, int], body: int, mark: int
    ) -> tuple[DocumentSpan, int | None]:
        over = self._text.find("\n", mark)
        over = len(self._text) if over < 0 else over + 1
        stop, following = self._next(over, bisect_left(self._starts, over))
        return DocumentSpan(begin, stop, head, (body, mark), marked=True), following

    def _bare(self, position: int, after: int | None = None) -> tuple[DocumentSpan, int | None]:
        """A text without frontmatter, up to the next separator."""
        place = bisect_left(self._starts, position) if after is None else after
        stop, following = self._next(position, place)
        return DocumentSpan(position, stop, None, (position, stop)), following

    def _next(self, position: int, place: int) -> tuple[int, int | None]:
        """Where the text before the next separator ends, and where the document after it begins."""
        while place < len(self._rules):
            fence = self._fences.closed_after(position, self._starts[place])
            if fence is not None:
                position = fence
                place = bisect_left(self._starts, fence, place)
            elif self._separators[place]:
                return self._before(position, self._starts[place]), self._starts[place + 1]
            else:
                place += 1
        return len(self._text), None

    def _before(self, position: int, separator: int) -> int:
        """The end of the text in front of a separator; two line ends belong to the separator."""
        return next(
            (
                separator - len(ends)
                for ends in ("\r\n\r\n", "\n\n")
                if self._text.endswith(ends, position, separator)
            ),
            separator,
        )

    def _opens(self, place: int) -> bool:
        """True when this line and the next rule enclose frontmatter that names a title."""
        if not self._opens_any(place):
            return False
        block = self._block(place)
        return block is not None and _names_title().search(self._text, *block) is not None

    def _opens_here(self, place: int, begin: int) -> bool:
        """True when frontmatter begins at this position; a separator begins none."""
        there = place < len(self._rules) and self._starts[place] == begin
        return there and not self._separators[place] and self._opens_any(place)

    def _opens_any(self, place: int) -> bool:
        """True when a name and a colon follow this line, or nothing up to the next rule."""
        if _names().match(self._text, self._rules[place][1]):
            return True
        block = self._block(place)
        return block is not None and place == 0 and not self._text[slice(*block)].strip()

    def _block(self, place: int) -> tuple[int, int] | None:
        if place + 1 == len(self._rules):
            return None
        return self._rules[place][1], self._starts[place + 1]

    def _separates(self, place: int) -> bool:
        """True for a rule after a blank line that stands directly before frontmatter."""
        if place + 1 == len(self._rules) or not self._openings[place + 1]:
            return False
        start, end = self._rules[place]
        between = self._text[end : self._starts[place + 1]]
        return not between.strip() and self._blank_line_before(start)

    def _blank_line_before(self, start: int) -> bool:
        line = self._text.rfind("\n", 0, max(start - 1, 0)) + 1
        return start == 0 or not self._text[line:start].strip()

    def _blank_after(self, position: int) -> int:
        """The beginning of the first line from here that holds anything."""
        blank = _blank_lines().match(self._text, position)
        return blank.end() if blank else position


@dataclass(frozen=True, slots=True)
class _Fence:
    start: int
    end: int
    mark: str
    length: int
    closes: bool  # nothing stands behind it


class _Fences:
    """The code fences of a text, found in one pass."""

    def __init__(self, text: str) -> None:
        self._fences = [
            _Fence(found.start(), found.end(), found[1][0], len(found[1]), not found[2].strip())
            for found in _fence_lines().finditer(text)
            if found[1][0] == "~" or "`" not in found[2]
        ]
        self._starts = [fence.start for fence in self._fences]
        self._longest = self._longest_after()
        self._at = 0

    def closed_after(self, position: int, before: int) -> int | None:
        """The end of the fenced code around `before`; positions only grow from call to call."""
        self._at = max(self._at, bisect_left(self._starts, position, self._at))
        while self._at < len(self._fences) and self._starts[self._at] < before:
            closing = self._closing(self._at)
            if closing is None:
                self._at += 1
                continue
            self._at = closing + 1
            if self._fences[closing].start > before:
                return self._fences[closing].end
        return None

    def left_open(self, start: int, stop: int) -> str | None:
        """The first fence of a body that no line closes, if any."""
        at = bisect_left(self._starts, start)
        while at < len(self._fences) and self._starts[at] < stop:
            closing = self._closing(at)
            if closing is None:
                return self._fences[at].mark * self._fences[at].length
            at = closing + 1
        return None

    def closed(self) -> Iterator[tuple[int, int]]:
        """Yields the beginning and end of all fenced code."""
        at = 0
        while at < len(self._fences):
            closing = self._closing(at)
            if closing is not None:
                yield self._fences[at].start, self._fences[closing].end
            at = at + 1 if closing is None else closing + 1

    def _closing(self, at: int) -> int | None:
        """The place of the line that closes this fence; nothing is searched if there is none."""
        fence = self._fences[at]
        if self._longest[at + 1].get(fence.mark, 0) < fence.length:
            return None
        for place in range(at + 1, len(self._fences)):
            other = self._fences[place]
            if other.closes and other.mark == fence.mark and other.length >= fence.length:
                return place
        return None

    def _longest_after(self) -> list[dict[str, int]]:
        """For every place the longest closing line of each kind that follows."""
        longest: list[dict[str, int]] = [{}]
        for fence in reversed(self._fences):
            last = longest[-1]
            if fence.closes and fence.length > last.get(fence.mark, 0):
                last = {**last, fence.mark: fence.length}
            longest.append(last)
        longest.reverse()
        return longest


_rules = lazy_pattern(r"^---[ \t\r]*(?:\n|\Z)", re.MULTILINE)


# A name and a colon, after blank lines and comments.
_names = lazy_pattern(
    r"""(?:[ \t\r]*\n|\#[^\n]*\n)*+
    (?:\?[ ]|\{|"[^"\n]*"[ \t]*:|'[^'\n]*'[ \t]*:|[^\s\#:`\-*>|!&%@\["'{][^\n:]*:[ \t\r\n])""",
    re.VERBOSE,
)


_names_title = lazy_pattern(
    r"""^(?:title|whenToUse|memoryId|"title"|'title')[ \t]*:""", re.MULTILINE
)


_end_names = lazy_pattern(rf"^{END_KEY}: ([0-9a-f]{{8,64}})[ \t\r]*$", re.MULTILINE)


_ends = lazy_pattern(r"^<!-- end of ([0-9a-f]{8,64}) -->[ \t\r]*$", re.MULTILINE)


_fence_lines = lazy_pattern(r"^ {0,3}(`{3,}+|~{3,}+)([^\n]*)$", re.MULTILINE)


_blank_lines = lazy_pattern(r"(?:[ \t\r]*+\n)*+")
