"""HTML to Markdown: headings, lists, paragraphs, tables, quotes, links and code stay what they are.

The tree is walked without recursion, so that no nesting is too deep; a `MarkdownPage` collects the
lines.
"""

import re
from collections.abc import Iterator, Mapping

from memory_mesh.base.typed import TYPE_CHECKING, ClassVar, dataclass
from memory_mesh.text.scrub import forms

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_DROPPED = {
    "script": "script", "style": "style", "noscript": "fallback for scripts", "nav": "navigation",
    "template": "template", "iframe": "frame", "svg": "drawing", "canvas": "drawing",
    "object": "object", "embed": "object",
}  # fmt: skip
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = ("ul", "ol", "menu")
_CODE = ("pre", "code", "kbd", "samp", "tt")
_DEEPEST = 8  # deeper items and quotes are not indented further
_BLOCKS = (
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr html legend li main menu ol "
    "option p pre section summary table tbody td tfoot th thead tr ul"
)
_BREAKING = frozenset(_BLOCKS.split())
_ABSOLUTE = ("http://", "https://", "mailto:", "ftp://", "tel:")


def to_markdown(text: str) -> tuple[str, list[str]]:
    """The readable Markdown of a page or a part of one, and what was left out of it."""
    from selectolax.lexbor import LexborHTMLParser

    root = LexborHTMLParser(text).root
    if root is None:
        return "", []
    page, removed = _read(root, _DROPPED)
    if not page:  # a page of nothing but navigation: that is its text, then
        page, removed = _read(root, {tag: name for tag, name in _DROPPED.items() if tag != "nav"})
    return page, removed


def _read(root: "LexborNode", dropped: Mapping[str, str]) -> tuple[str, list[str]]:
    page, removed = MarkdownPage(), list[str]()
    for tag, node in _walk(root, dropped):
        if tag == "-text":
            page.write(node.text_content or "")
        elif tag in dropped:
            removed.append(dropped[tag])
        elif tag.startswith("/"):
            page.close(tag[1:])
        else:
            page.open(tag, node)
    return page.markdown(), removed


def _walk(root: "LexborNode", dropped: Mapping[str, str]) -> Iterator[tuple[str, "LexborNode"]]:
    """Every element when it opens and (with a slash) when it closes, and every text between."""
    waiting = [(root, False)]
    while waiting:
        node, closes = waiting.pop()
        tag = node.tag or ""
        if closes:
            yield f"/{tag}", node
        elif tag == "-text" or tag in dropped:
            yield tag, node
        elif not tag.startswith(("-", "!", "_")):
            yield tag, node
            waiting.append((node, True))
            waiting.extend((child, False) for child in reversed(list(node.iter(include_text=True))))


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that stand together."""

    text: str
    depth: int  # in how many lists
    starts_item: bool
    continues: bool  # the table before it


class MarkdownPage:
    """The Markdown of a page while it is read."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._line: list[str] = []  # of the block that is being read
        self._open: list[tuple[int, str]] = []  # where links and exponents start in it
        self._margins: list[str] = []  # what stands before each line, from the outside in
        self._markers: dict[int, str] = {}  # instead of a margin, once
        self._deeper = 0  # items and quotes that are not indented any more
        self._counters: list[int] = []  # of the lists we are in; 0 for one with bullets
        self._row: list[str] | None = None
        self._first_row = False
        self._code: list[str] | None = None
        self._preformatted = False
        self._title: list[str] | None = None
        self._heading = ""  # the page's title, where it has no heading of its own

    def markdown(self) -> str:
        """Everything read so far."""
        self._end_block()
        parts = [self._heading] if self._heading else []
        depth = 0
        for block in self._blocks:
            joined = block.starts_item and depth and block.depth
            parts += [] if not parts else ["\n" if joined or block.continues else "\n\n"]
            parts.append(block.text)
            depth = block.depth
        return "".join(parts)

    def write(self, text: str) -> None:
        """Text between two tags."""
        if self._title is not None:
            self._title.append(text)
        elif self._code is not None:
            self._code.append(text)
        else:
            self._line.append(text.replace("\n", " "))

    def open(self, tag: str, node: "LexborNode") -> None:
        """An element starts."""
        if tag in _BREAKING:
            self._end_block()
        if tag in _CODE:
            self._code = self._code or []
            self._preformatted |= tag == "pre"
        elif tag in _LISTS:
            self._counters.append(_first_number(node) if tag == "ol" else 0)
        elif tag == "a":
            self._open.append((len(self._line), str(node.attributes.get("href") or "").strip()))
        elif tag == "sup":
            self._open.append((len(self._line), ""))
        elif tag == "img":
            self.write(str(node.attributes.get("alt") or ""))
        elif tag in self._OPENERS:
            self._OPENERS[tag](self)

    def close(self, tag: str) -> None:
        """An element ends."""
        if tag in _HEADINGS:
            self._end_block(heading=_HEADINGS[tag])
        elif tag in _BREAKING and tag != "tr":
            self._end_block()
        if tag in _LISTS and self._counters:
            self._counters.pop()
        elif tag in self._CLOSERS:
            self._CLOSERS[tag](self)

    def _open_title(self) -> None:
        self._title = []

    def _close_title(self) -> None:
        title = _closed_up("".join(self._title or ()))
        self._title = None
        self._heading = self._heading or (f"# {_safe(title)}" if title else "")

    def _open_item(self) -> None:
        number = self._counters[-1] if self._counters else 0
        marker = f"{number}. " if number else "- "
        if number:
            self._counters[-1] += 1
        self._indent(" " * len(marker), marker)

    def _open_quote(self) -> None:
        self._indent("> ", "> ")

    def _close_margin(self) -> None:
        if self._deeper:
            self._deeper -= 1
        elif self._margins:
            self._margins.pop()
            self._markers.pop(len(self._margins), None)

    def _open_table(self) -> None:
        self._end_row()  # a table in a cell: the page is laid out with tables
        self._row, self._first_row = None, True

    def _open_row(self) -> None:
        self._end_row()
        self._end_block()
        self._row = []

    def _close_cell(self) -> None:
        if self._row is not None:
            self._row.append(_safe(_closed_up("".join(self._line))).replace("|", "\\|"))
            self._line.clear()
            self._open.clear()

    def _close_row(self) -> None:
        self._end_row()
        self._row = None

    def _break_line(self) -> None:
        (self._line if self._code is None else self._code).append("\n")

    def _mark_deleted(self) -> None:
        self.write("~~")

    def _mark_quoted(self) -> None:
        self.write('"')

    def _close_link(self) -> None:
        start, address = self._open.pop() if self._open else (len(self._line), "")
        text = _closed_up("".join(self._line[start:]))
        fits = address.startswith(_ABSOLUTE) and not re.search(r"[\s()<>]", address)
        if fits and text and text != address and not set(text) & set("[]`"):
            lead = " " if "".join(self._line[start:])[:1].isspace() else ""
            self._line[start:] = [f"{lead}[{text}]({address})"]

    def _close_exponent(self) -> None:
        start, _ = self._open.pop() if self._open else (len(self._line), "")
        if re.fullmatch(r"[-+\u2212]?(?:\d+|[a-z])", "".join(self._line[start:])):
            self._line.insert(start, "^")  # 10^6, not 106

    def _close_code(self) -> None:
        if self._preformatted or self._code is None:
            return  # the fence is made when the outer element ends
        code, self._code = _closed_up("".join(self._code)), None
        ticks, room = _longer("`", code), " " if code[:1] == "`" or code[-1:] == "`" else ""
        self._line.append(f"{ticks}{room}{code}{room}{ticks}" if code else "")

    def _close_preformatted(self) -> None:
        code = "".join(self._code or ()).strip("\n")
        self._preformatted = False
        if self._row is not None:
            self._close_code()
            return
        self._code = None
        if code.strip():
            fence = _longer("```", code)
            self._add([fence, *code.split("\n"), fence])

    def _indent(self, margin: str, marker: str) -> None:
        if len(self._margins) == _DEEPEST:
            self._deeper += 1
            return
        self._markers[len(self._margins)] = marker
        self._margins.append(margin)

    def _end_row(self) -> None:
        row = [
            *(self._row or ()),
            *filter(None, [_closed_up("".join(self._line))] if self._row else ()),
        ]
        if not any(row):
            return
        self._line.clear()
        lines = [f"| {' | '.join(row)} |"]
        if self._first_row:
            lines.append("|" + " --- |" * len(row))
        self._add(lines, continues=not self._first_row)
        self._row, self._first_row = [], False

    def _end_block(self, heading: int = 0) -> None:
        """What was written becomes a paragraph, a heading or an item."""
        if self._code is not None:
            if self._code and self._code[-1][-1:] != "\n":
                self._code.append("\n")
            return
        if self._row is not None:
            self._line.append(" ")  # a paragraph in a cell
            return
        lines = [_safe(line) for line in map(_closed_up, "".join(self._line).split("\n")) if line]
        self._line.clear()
        self._open.clear()
        if heading and lines:
            self._heading = "" if heading == 1 else self._heading
            lines = [f"{'#' * heading} {' '.join(lines)}"]
        if lines:
            self._add(lines)

    def _add(self, lines: list[str], *, continues: bool = False) -> None:
        margin = "".join(self._margins)
        first = "".join(self._markers.get(at, margin) for at, margin in enumerate(self._margins))
        text = "\n".join([first + lines[0], *(margin + line for line in lines[1:])])
        block = _Block(
            text, depth=len(self._counters), starts_item=bool(self._markers), continues=continues
        )
        self._blocks.append(block)
        self._markers.clear()

    _OPENERS: ClassVar = {
        "title": _open_title, "li": _open_item, "blockquote": _open_quote,
        "table": _open_table, "tr": _open_row, "br": _break_line,
        "del": _mark_deleted, "s": _mark_deleted, "strike": _mark_deleted,
        "q": _mark_quoted,
    }  # fmt: skip
    _CLOSERS: ClassVar = {
        "title": _close_title, "li": _close_margin, "blockquote": _close_margin,
        "td": _close_cell, "th": _close_cell, "tr": _close_row, "table": _close_row,
        "a": _close_link, "sup": _close_exponent, "pre": _close_preformatted,
        "code": _close_code, "kbd": _close_code, "samp": _close_code, "tt": _close_code,
        "del": _mark_deleted, "s": _mark_deleted, "strike": _mark_deleted,
        "q": _mark_quoted,
    }  # fmt: skip


def _closed_up(text: str) -> str:
    return " ".join(text.split())


def _first_number(node: "LexborNode") -> int:
    start = str(node.attributes.get("start") or "")
    return int(start) if re.fullmatch(r"[1-9][0-9]{0,8}", start) else 1


def _longer(fence: str, code: str) -> str:
    """A fence that does not occur in the code."""
    while fence in code:
        fence += fence[0]
    return fence


def _safe(line: str) -> str:
    """A line of text that does not read as a tag or as a code fence."""
    line = forms.without_markup(line)
    return f"\\{line}" if line.startswith(("```", "~~~")) else line
