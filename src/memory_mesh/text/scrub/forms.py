"""Detects the form of a text: plain text, Markdown, HTML or document.

A wrong guess must never cost meaning, so `vector<int>`, `2**10`, `- 5 degrees` and `> 3 retries` on
their own are plain text: a text is Markdown or HTML only when its structure says so.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.text.scrub.tokens import Span


class TextForm(StrEnum):
    """The form of a text."""

    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    DOCUMENT = "document"  # made to be read as pages: repeats headers, notices and menus


_DECLARED = {
    "text": TextForm.TEXT, "txt": TextForm.TEXT, "plain": TextForm.TEXT, "code": TextForm.TEXT,
    "markdown": TextForm.MARKDOWN, "md": TextForm.MARKDOWN, "mdx": TextForm.MARKDOWN,
    "html": TextForm.HTML, "htm": TextForm.HTML, "xhtml": TextForm.HTML, "xhtml+xml": TextForm.HTML,
    "document": TextForm.DOCUMENT, "doc": TextForm.DOCUMENT, "docx": TextForm.DOCUMENT,
    "pdf": TextForm.DOCUMENT, "odt": TextForm.DOCUMENT, "rtf": TextForm.DOCUMENT,
    "webpage": TextForm.DOCUMENT,
}  # fmt: skip
_BLOCK_NAMES = (
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer "
    "form h1 h2 h3 h4 h5 h6 head header html li main nav ol p pre section table tbody td tfoot th "
    "thead tr ul"
)
_OTHER_NAMES = (
    "a abbr audio b base bdi bdo br button canvas caption center cite code col colgroup data "
    "datalist del dfn dialog em embed font hr i iframe img input ins kbd label legend link map "
    "mark meta noscript object option output param picture progress q s samp script select small "
    "source span strike strong style sub summary sup svg template textarea time title track u var "
    "video wbr"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_TAGS = _BLOCKS | frozenset(_OTHER_NAMES.split())
_TEMPLATES = ("={", "{{", "{%", "<?", "className=")  # code that makes HTML is code
_PAIRS, _PAIRS_AFTER_TEXT = 2, 3
_BULLETS = 2


def form_of(text: str, declared: str | None = None) -> TextForm:
    """Returns the form declared by type, media type or extension, else the detected one."""
    stated = _DECLARED.get((declared or "").lower().rpartition("/")[2].lstrip("."))
    if stated not in (None, TextForm.DOCUMENT):
        return stated
    text = with_plain_line_ends(text)
    if looks_html(text):
        return TextForm.HTML
    return stated or (TextForm.MARKDOWN if looks_markdown(text) else TextForm.TEXT)


def with_plain_line_ends(text: str) -> str:
    """Converts all line ends to LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def looks_markdown(text: str) -> bool:
    """True if the text has a heading, code fence, table, list, link or bold words."""
    if ("**" in text and _bold().search(text)) or ("](" in text and _link().search(text)):
        return True
    if "\n" not in text:
        return text.startswith("#") and _heading().match(text) is not None
    if _structure().search(text) or _underlined().search(text):
        return True
    bullets = _bullet().finditer(text)
    return sum(1 for _, _ in zip(range(_BULLETS), bullets, strict=False)) == _BULLETS


def looks_html(text: str) -> bool:
    """True if the text is an HTML page or consists of several closed block elements."""
    if "<" not in text or ">" not in text:
        return False
    body = text.lstrip("\ufeff \t\r\n")
    starts = body[0] == "<"
    if not starts and "\n" not in text:
        return False
    if starts and _page().match(body) and _closing().search(body):
        return True
    if any(sign in text for sign in _TEMPLATES) or _component().match(body):
        return False
    found = list(_tags_of(text, _BLOCKS))
    pairs = _balanced(found)
    if starts and body.rstrip().endswith(">") and pairs >= _PAIRS:
        return _tag().match(body) is not None
    opens_a_line = any(
        not text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()].strip() for tag in found
    )
    return pairs >= _PAIRS_AFTER_TEXT and opens_a_line and not _structure().search(text)


def has_markup(text: str) -> bool:
    """True if there is an HTML tag outside code."""
    return "<" in text and next(_tags_of(text, _TAGS), None) is not None


def without_markup(line: str) -> str:
    """Escapes HTML tags outside code with a backslash."""
    if "<" not in line:
        return line
    code = list(code_spans(line))

    def escaped(found: "re.Match[str]") -> str:
        named = found[1].lower() in _TAGS
        return "\\<" if named and not any(a <= found.start() < b for a, b in code) else "<"

    return _tag_start().sub(escaped, line)


def fenced(lines: Sequence[str]) -> list[bool]:
    """Returns which lines belong to a code fence, including its delimiters."""
    inside, fence = list[bool](), ""
    for line in lines:
        found = _fence().match(line)
        if fence:
            inside.append(True)
            mark = line.lstrip(" \t>").rstrip()
            if mark.startswith(fence) and not mark.strip(fence[0]):
                fence = ""
        else:
            fence = found[1] if found and not (found[1][0] == "`" and "`" in found[2]) else ""
            inside.append(bool(fence))
    return inside


def code_spans(text: str) -> Iterator[Span]:
    """Returns the spans between equal runs of backticks."""
    runs = [found.span() for found in _ticks().finditer(text)]
    later: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[index][1] - runs[index][0], []).append(index)
    free = 0
    for index, (start, stop) in enumerate(runs):
        same = later[stop - start]
        same.pop()  # this run itself
        if index >= free and same:
            free = same[-1] + 1
            yield start, runs[same[-1]][1]


def _tags_of(text: str, names: frozenset[str]) -> Iterator["re.Match[str]"]:
    """Returns every tag with these names outside code."""
    hidden = _code(text) if "`" in text or "~~~" in text else []
    at = 0
    for tag in _tag().finditer(text):
        while at < len(hidden) and hidden[at][1] <= tag.start():
            at += 1
        covered = at < len(hidden) and hidden[at][0] <= tag.start()
        if tag[2].lower() in names and not covered:
            yield tag


def _code(text: str) -> list[Span]:
    """Returns the spans of code: fences and backticks within a line."""
    found, start = list[Span](), 0
    lines = text.split("\n")
    for line, inside in zip(lines, fenced(lines), strict=True):
        if inside:
            found.append((start, start + len(line)))
        elif "`" in line:
            found += ((start + one, start + other) for one, other in code_spans(line))
        start += len(line) + 1
    return found


def _balanced(tags: Sequence["re.Match[str]"]) -> int:
    """Counts the tags that are closed."""
    opened = Counter(tag[2].lower() for tag in tags if not tag[1])
    return (opened & Counter(tag[2].lower() for tag in tags if tag[1])).total()


_tag = lazy_pattern(r"(?<!\\)<(/?)([A-Za-z][A-Za-z0-9]*)(?:[\s/][^<>]*)?>")


_tag_start = lazy_pattern(r"(?<!\\)<(?=/?([A-Za-z][A-Za-z0-9]*)(?:[\s/>]|$))")


_page = lazy_pattern(r"(?i)(?:<\?xml[^<>]*>\s*)?<(?:!doctype\s+html|html|head|body)[\s>]")


# The start of a source file that contains HTML.
_component = lazy_pattern(r"(?i)<(?:template|script|style)[\s>]")


_closing = lazy_pattern(
    r"(?i)(?<!\\)</(?:html|head|body|title|div|p|h[1-6]|ul|ol|table|main|section)\s*>\s*(?:<|$)"
)


_bold = lazy_pattern(r"(?<![\w*/\\])\*\*(?=[^\s*])[^*\n]{0,400}(?<=[^\s*])\*\*(?![\w*/])")


_link = lazy_pattern(r"(?:(?<![\w\]\\])!|(?<![\w\]\\!]))\[[^\[\]\n]{1,400}\]\([^()\s]{1,2000}\)")


_heading = lazy_pattern(r" {0,3}#{1,6}[ \t]+\S")


# A fence, a heading or the second row of a table.
_structure = lazy_pattern(
    r"^[ \t]*(?:```|~~~)|(?:\A|\n[ \t]*\n|^#[^\n]*\n) {0,3}#{1,6}[ \t]+\S"
    r"|^[ \t]*(?:\|[ \t]*)?:?-{3,}:?[ \t]*\|[-:| \t]*$",
    re.MULTILINE,
)


_underlined = lazy_pattern(r"(?:\A|\n[ \t]*\n) {0,3}\w[^\n]*\n(?:=+|-{2,})[ \t]*(?:\n|\Z)")


_bullet = lazy_pattern(r"^ {0,3}[-*+][ \t]+\S", re.MULTILINE)


_fence = lazy_pattern(r"[ \t]*(?:>[ \t]?)*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)?(`{3,}|~{3,})(.*)")


_ticks = lazy_pattern("`+")
