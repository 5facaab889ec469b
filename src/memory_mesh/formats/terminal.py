r"""What may be shown on a terminal: printable characters, spaces and line ends, nothing that acts.

Stored text comes from anywhere, and an escape sequence in it could move the cursor, rename the
window or hide words. Whatever is not plainly visible is shown as its code: `\x1b`, `\u202e`.
"""

_TAB = "    "
_JOINERS = frozenset("\u200c\u200d")  # emoji families, Persian, Indic scripts
# Counted as printable, yet drawn as nothing: they hide text or split words that look whole.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_SELECTORS = ("\ufe00", "\ufe0d")  # variation selectors can smuggle bytes; emoji need the last two
_LINE_ENDS = dict.fromkeys(map(ord, "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), "\n")
_MORE_SELECTORS = ("\U000e0100", "\U000e01ef")


def safe_text(text: str, *, keep_newlines: bool = True) -> str:
    """Returns the text with control characters made visible; idempotent."""
    text = text.replace("\r\n", "\n").replace("\t", _TAB)
    if not keep_newlines:
        text = text.replace("\n", " ")
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    shown: list[str] = []
    before = ""
    for char in text:
        shown.append(char if char == "\n" or _joins(char, before) else _visible(char))
        before = char
    return "".join(shown)


def without_hidden(text: str) -> str:
    """Returns the text without what is not plainly visible; any line end is a newline.

    A prompt takes it: a code in the place of each hidden character would still say what was hidden.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    text = text.replace("\t", _TAB).replace("\r\n", "\n").translate(_LINE_ENDS)
    shown: list[str] = []
    before = ""
    for char in text:
        if char == "\n" or _joins(char, before) or (char.isprintable() and not _hides(char)):
            shown.append(char)
        elif char.isspace():
            shown.append(" ")
        before = char
    return "".join(shown)


def _joins(char: str, before: str) -> bool:
    """True for a joiner after a non-ASCII letter or an emoji, where scripts need it."""
    return char in _JOINERS and not before.isascii() and before.isprintable()


def _visible(char: str) -> str:
    """Returns the character, a plain space for any space, or the code of an invisible one."""
    if char.isprintable() and not _hides(char):
        return char
    if char.isspace() and char > "\x9f" and char not in "\u2028\u2029":
        return " "
    code = ord(char)
    if code <= 0xFF:  # noqa: PLR2004 - the widths of Python's own escapes
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004


def _hides(char: str) -> bool:
    """True for characters that are printable by category but invisible."""
    return (
        char in _INVISIBLE
        or _SELECTORS[0] <= char <= _SELECTORS[1]
        or _MORE_SELECTORS[0] <= char <= _MORE_SELECTORS[1]
    )
