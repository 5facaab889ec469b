"""Markdown read with markdown-it: its blocks as units, and a paragraph without its syntax.

Structure is read first and stripped after. Syntax goes only where it is certainly syntax: `2**10`,
`src/*.py`, `__init__`, `a[i](x)` and `~~never~~` keep theirs, entities and HTML stay as they stand.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from memory_mesh.base.typed import TYPE_CHECKING, replace
from memory_mesh.text.scrub import filtering, forms, html_markdown, tokens

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_CODE_INDENT = ("    ", "\t")

_SYNTAX = frozenset("*_[`\\<!")
_UNESCAPED = frozenset("*_`[]<>#~|")
_BEFORE_MARKUP = frozenset(" \t\n([{\"'-:;,|>@")
_AFTER_NONE = frozenset("/\\_")
_LONG_TEXT_CHARS = (
    2_000  # characters; more are read in parts, so that no paragraph costs more than its share
)

Line = tuple[int, str]
Leaf = tuple[int, int, tokens.Unit]  # first line, the line after the last, and what they say


def blocks(content: str) -> Iterator[tokens.Unit]:
    """The units of a text in order; a line that is in none of them is one of its own."""
    lines = list(tokens.lines_of(content))
    following = 0
    for first, last, unit in _leaves(content, lines):
        yield from _unread(lines, following, first)
        filled = next(
            at for at in range(last, first, -1) if lines[at - 1][1].strip() or at == first + 1
        )
        following = max(following, filled)
        yield replace(unit, start=lines[first][0], stop=_end(lines[filled - 1]))
    yield from _unread(lines, following, len(lines))


def plain(text: str) -> str:
    """A paragraph without its syntax, on one line."""
    if _SYNTAX.isdisjoint(text):
        return filtering.closed_up(filtering.punctuation(text))
    if len(text) > _LONG_TEXT_CHARS:
        return " ".join(
            plain(text[start:stop]) for start, stop in tokens.cut(text, _LONG_TEXT_CHARS // 8)
        )
    found: list[Token] = []
    reader = _reader() if "](" in text else _reader_without_links()
    reader.inline.parse(text, reader, {}, found)
    return filtering.closed_up(_stripped(found))


def part(raw: str) -> str:
    """What a part of a paragraph, item or row says, given as it is written."""
    return plain(re.sub(r"(?m)^[ \t]*(?:>[ \t]?)++(?!\d)", "", raw))


def _leaves(content: str, lines: Sequence[Line]) -> Iterator[Leaf]:
    """The blocks that hold text themselves."""
    front = filtering.front_matter([line for _, line in lines])
    if front:
        inside = "\n".join(line for _, line in lines[1 : front - 1])
        yield 0, front, tokens.Unit(0, 0, inside, code=True)
    body = content[lines[front][0] :] if front < len(lines) else ""
    place = _Place()
    for token in _reader().parse(body):
        place.enter(token)
        if token.map is None:
            continue
        first, last = front + token.map[0], front + token.map[1]
        if token.type == "tr_open":
            yield first, first + 1, tokens.Unit(0, 0, _row(lines[first][1]))
        elif token.type in ("fence", "code_block"):
            yield first, last, tokens.Unit(0, 0, _code(token), code=True)
        elif token.type == "inline" and not place.in_table:
            yield first, last, place.unit(plain(token.content))
        elif token.type == "hr":
            yield first, last, tokens.Unit(0, 0, "")


class _Place:
    """Where in the tree of blocks we are."""

    def __init__(self) -> None:
        self.in_table = False
        self._marker = ""  # of the item that starts here
        self._level = 0  # of the heading
        self._quotes = 0

    def enter(self, token: "Token") -> None:
        kind = token.type
        if kind == "list_item_open":
            self._marker = f"{token.info}." if token.info else token.markup
        elif kind in ("blockquote_open", "blockquote_close"):
            self._quotes += token.nesting
        elif kind in ("table_open", "table_close"):
            self.in_table = kind == "table_open"
        elif kind in ("heading_open", "paragraph_open"):
            self._level = int(token.tag[1]) if kind == "heading_open" else 0
        elif kind in ("fence", "code_block", "list_item_close"):
            self._marker = ""

    def unit(self, text: str) -> tokens.Unit:
        """A heading, or a paragraph with its bullet or number.

        `> 5 retries` may be no quote: it keeps its sign.
        """
        marker, self._marker = self._marker, ""
        if self._level or not text:
            return tokens.Unit(0, 0, text, level=self._level if text else 0)
        if marker:
            return tokens.Unit(0, 0, filtering.bullet(marker, text))
        return tokens.Unit(0, 0, f"> {text}" if self._quotes and text[0].isdigit() else text)


def _unread(lines: Sequence[Line], first: int, last: int) -> Iterator[tokens.Unit]:
    """Lines that the parser passed over: too deeply nested, or the frame of something."""
    for line in lines[first:last]:
        said = filtering.closed_up(filtering.punctuation(line[1]))
        if any(character.isalnum() or character > "\x7f" for character in said):
            yield tokens.Unit(line[0], _end(line), said)


def _end(line: Line) -> int:
    return line[0] + len(line[1])


def _code(token: "Token") -> str:
    """Code as it is written, under what its fence says beyond a language."""
    info = token.info.strip()
    code = token.content.strip("\n")
    if not code.strip():
        return info
    return f"{info}\n{code}" if " " in info else code


def _row(line: str) -> str:
    """The cells of a table's row."""
    cells = re.split(r"(?<!\\)\|", line.strip().lstrip("> \t").strip("|"))
    said = [plain(cell) for cell in cells]
    return " | ".join(said) if any(said) else ""


def _stripped(found: Sequence["Token"]) -> str:
    """The text of inline tokens; of a link the address too."""
    said: list[str] = []
    opened: list[tuple[int, Token]] = []
    for at, token in enumerate(found):
        kind = token.type
        if kind == "text":
            said.append(filtering.punctuation(token.content))
        elif kind == "text_special":
            said.append(token.content if token.content in _UNESCAPED else token.markup)
        elif kind in ("softbreak", "hardbreak"):
            said.append(" ")
        elif kind == "image":
            said.append(_image(token))
        elif kind.endswith("_open"):
            opened.append((len(said), token))
        elif kind.endswith("_close") and opened:
            following = found[at + 1].content[:1] if at + 1 < len(found) else ""
            _close(said, *opened.pop(), following)
        else:
            said.append(token.content)
    return "".join(said)


def _close(said: list[str], start: int, opener: "Token", following: str) -> None:
    """Leave out emphasis and make a link readable; put back signs that are no markup."""
    inside = "".join(said[start:])
    before = next((part[-1] for part in reversed(said[:start]) if part), "")
    address = str(opener.attrs.get("href", ""))
    certain = _is_markup(before, following)
    if opener.type == "link_open":
        if opener.markup == "autolink" or (certain and _is_told(address, inside)):
            return
        if certain:
            said.append(f" ({address})")
        else:
            said.insert(start, "[")
            said.append(f"]({address})")
    elif not certain or (opener.markup[0] == "_" and re.fullmatch(r"\w+", inside, re.ASCII)):
        said.insert(start, opener.markup)
        said.append(opener.markup)


def _is_markup(before: str, following: str) -> bool:
    opens = not before or before in _BEFORE_MARKUP or not before.isascii()
    goes_on = following.isascii() and (following.isalnum() or following in _AFTER_NONE)
    return opens and not (following and goes_on)


def _is_told(address: str, text: str) -> bool:
    """The address adds nothing to the text."""
    return not address or address in text or address.startswith(("#", "data:"))


def _image(token: "Token") -> str:
    address = str(token.attrs.get("src", ""))
    said = _stripped(token.children or ())
    return said if _is_told(address, said) else f"{said} ({address})"


@cache
def _reader() -> "MarkdownIt":
    """Blocks only; `inline.parse` is called for one paragraph at a time."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.disable(["inline", "text_join", "reference", "entity", "html_block", "html_inline"])
    reader.normalizeLink = _as_written  # type: ignore[assignment,method-assign]  # the way it is meant to be set
    reader.normalizeLinkText = _as_written  # type: ignore[assignment,method-assign]  # likewise
    return reader


@cache
def _reader_without_links() -> "MarkdownIt":
    """Brackets that cannot be links are not tried as such: that is what makes parsers slow."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False})
    return reader.disable(["text_join", "entity", "html_inline", "link", "image"])


def _as_written(address: str) -> str:
    return address


# Stage 1, structural cleaning: HTML becomes Markdown, line ends and stray blanks are tidied.
#
# What stays is what a person reads, code byte for byte. Stripping Markdown syntax, the other half
# of the stage, happens where the plain text of a unit is read (`outline`): it is embedded, never
# stored.


def cleaned(text: str, form: forms.TextForm) -> tuple[str, list[str]]:
    """The text as readable Markdown, and what was taken out of it."""
    text = forms.with_plain_line_ends(text)
    removed: list[str] = []
    if form is forms.TextForm.HTML and forms.has_markup(text):
        text, removed = html_markdown.to_markdown(text)
    if "\n" not in text:
        return text.strip(), removed
    return _tidied(text, closed_up=form in (forms.TextForm.HTML, forms.TextForm.DOCUMENT)), removed


def _tidied(text: str, *, closed_up: bool) -> str:
    """Without blanks at the ends of lines and blank lines around; closed up, never two of them."""
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        lines.pop(0)
    if len(lines) <= 1:
        return "".join(lines).strip()
    kept: list[str] = []
    for line, in_code in zip(lines, forms.fenced(lines), strict=True):
        if in_code:
            kept.append(line)
        elif not line.strip():
            if not (closed_up and kept and not kept[-1]):
                kept.append("")
        else:
            kept.append(line if line.startswith(_CODE_INDENT) else line.rstrip(" \t"))
    return "\n".join(kept)
