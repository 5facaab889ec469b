"""The YAML of a log's entries: plain and quoted texts, lists, block scalars; nothing nested.

Written by hand, so that reading takes linear time on any text, never raises and takes no word for
a boolean, a date or a number. What is written here is valid YAML 1.2 and YAML 1.1.
"""

import re
from collections.abc import Sequence

from memory_mesh.typed import TypeAlias

Value: TypeAlias = "str | tuple[str, ...]"
_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_./()+,' -]*[A-Za-z0-9_/()+.])?\Z")
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_ ]{0,39}?)\s*+:(?:[ \t]++(.*))?\Z")
_BULLET = re.compile(
    r"\s{0,3}(?:[-*]\s++)?\*\*([A-Za-z][A-Za-z0-9_ ]{0,39}?)\s*+:?\*\*\s*+:?\s*+(.*)\Z"
)
_ITEM = re.compile(r"\s*+[-*]\s++(.*)\Z")
_HEADER = re.compile(r"[|>](?:([+-])?([1-9])?|([1-9])([+-])?)\s*+(?:#.*)?\Z")
_UNSEEN = re.compile(  # what YAML does not take as it is, or would break a line at
    r"[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_NAMED = {
    "n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "/": "/", "0": "\0", "a": "\a",
    "b": "\b", "e": "\x1b", "f": "\f", "v": "\v", " ": " ", "N": "\x85", "_": "\xa0",
    "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_INDENT = "  "


def scalar(text: str) -> str:
    """Returns a text as YAML in one line: plain where nobody can misread it, else quoted."""
    if _PLAIN.match(text) and text.lower() not in _WORDS and not re.search(r"\s{2}", text):
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """Returns a text in double quotes, without halves of surrogate pairs: no file can hold them."""
    whole = _SURROGATE.sub("\ufffd", text)
    escaped = "".join(_ESCAPES.get(letter, letter) for letter in whole)
    return '"' + _UNSEEN.sub(_escaped, escaped) + '"'


def block(text: str) -> str:
    """Returns a text as a block scalar from its header on; quoted where YAML allows no block."""
    if not text:
        return "|"
    if not text.strip() or _UNSEEN.search(text) or _SURROGATE.search(text):
        return quoted(text)
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    chomping = ("-", "")[ends] if ends <= 1 else "+"
    indent = "2" if body[0] in " \t\n" else ""
    lines = [_INDENT + line if line else "" for line in body.split("\n")]
    return "\n".join((f"|{indent}{chomping}", *lines, *[""] * (ends - 1)))


def read(lines: Sequence[str]) -> dict[str, Value]:
    """Returns the values of an entry by key; of a key that stands twice the first."""
    values: dict[str, Value] = {}
    at = 0
    while at < len(lines):
        bold = _BULLET.match(lines[at])
        match = bold or _KEY.match(lines[at])
        at += 1
        if match is None:
            continue
        key = match[1].strip().lower().replace(" ", "_")
        end = at
        while end < len(lines) and not _begins(lines[end], bold=bold is not None):
            end += 1
        values.setdefault(key, _value((match[2] or "").strip(), lines[at:end]))
        at = end
    return values


def _begins(line: str, *, bold: bool) -> bool:
    """Whether a line starts the next key: a bold one, or one that is not indented."""
    if bold:
        return _BULLET.match(line) is not None
    return _KEY.match(line) is not None


def _value(said: str, below: Sequence[str]) -> Value:
    if (header := _HEADER.match(said)) is not None:
        return _block(said[0], header, below)
    if said.startswith(('"', "'")):
        return _unquoted(said)
    if said.startswith("[") and said.endswith("]"):
        return tuple(_unquoted(part) for part in _parts(said[1:-1]))
    more = [line for line in below if line.strip() and not line.lstrip().startswith("#")]
    if not said and more and all(_ITEM.match(line) for line in more):
        items = [match[1].strip() for line in more if (match := _ITEM.match(line))]
        return tuple(_unquoted(item) for item in items)
    said = re.split(r"\s#", said, maxsplit=1)[0].rstrip()
    return " ".join([said, *(line.strip() for line in more)]).strip()


def _block(style: str, header: re.Match[str], below: Sequence[str]) -> str:
    """The text of a block scalar, by its indentation and what it says about its last lines."""
    chomping, stated = header[1] or header[4] or "", header[2] or header[3]
    first = next((line for line in below if line.strip(" ")), "")
    indent = int(stated) if stated else len(first) - len(first.lstrip(" "))
    lines = [line[indent:] if line.strip(" ") or len(line) > indent else "" for line in below]
    body = lines
    while body and not body[-1]:
        body = body[:-1]
    text = "\n".join(body) if style == "|" else _folded(body)
    if chomping == "+":
        return text + "\n" * (len(lines) - len(body) + bool(body))
    return text + "\n" if body and not chomping else text


def _folded(lines: Sequence[str]) -> str:
    """Lines of a folded block: a single line end is a space, a blank line ends a paragraph."""
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            paragraphs[-1].append(line.strip())
        else:
            paragraphs.append([])
    return "\n".join(" ".join(paragraph) for paragraph in paragraphs)


def _parts(inner: str) -> list[str]:
    """The items of a list in brackets, apart at commas outside of quotes."""
    parts = re.findall(r'\s*("(?:\\.|[^"\\])*"|\'(?:\'\'|[^\'])*\'|[^,]+)\s*(?:,|\Z)', inner)
    return [part.strip() for part in parts if part.strip()]


def _unquoted(said: str) -> str:
    if said.startswith('"'):
        end = re.match(r'"((?:\\.|[^"\\])*)', said, re.DOTALL)
        return _ESCAPE.sub(_unescaped, end[1]) if end else said
    if said.startswith("'"):
        end = re.match(r"'((?:''|[^'])*)", said)
        return end[1].replace("''", "'") if end else said
    return re.split(r"\s#", said, maxsplit=1)[0].rstrip()


def _escaped(match: re.Match[str]) -> str:
    point = ord(match[0])
    if point <= 0xFF:  # noqa: PLR2004 - two hexadecimal digits
        return f"\\x{point:02x}"
    return f"\\u{point:04x}"


def _unescaped(match: re.Match[str]) -> str:
    if match[4] is not None:
        return _NAMED.get(match[4], match[0])
    point = int(match[1] or match[2] or match[3], 16)
    return chr(point) if point <= 0x10FFFF else "\ufffd"  # noqa: PLR2004 - the last code point
