"""Takes out what the user marked as private, before anything else sees it.

`<private>…</private>` goes with its tags, nested or not; without an end it goes to the end of the
text. This module is light: a hook loads it at every prompt.
"""

_NAME = "private"


def without_private(text: str) -> str:
    """The text without its private parts; each leaves one blank."""
    if "<" not in text or _NAME not in text.lower():
        return text
    import re

    kept, depth, at = [], 0, 0
    for tag in re.finditer(r"<\s*(/?)\s*private\b[^<>]*>?", text, re.IGNORECASE):
        if not depth:
            kept.append(text[at : tag.start()])
        depth = max(0, depth - 1) if tag[1] else depth + 1
        at = tag.end()
    if not depth:
        kept.append(text[at:])
    return " ".join(kept)


def cleaned(value: object) -> object:
    """A JSON value without the private parts of its texts."""
    if isinstance(value, str):
        return without_private(value)
    if isinstance(value, list):
        return [cleaned(one) for one in value]
    if isinstance(value, dict):
        return {name: cleaned(one) for name, one in value.items()}
    return value
