"""Says what is wrong with a pattern, and how it is read."""

from memory_mesh.model.trigger import Form
from memory_mesh.policy.triggers import patterns, regex, words

_SHORT = 3  # letters: a shorter alternative stands inside many words
_FORMS = {
    Form.PLAIN: "text that contains",
    Form.WILDCARD: "text that meets the wildcard",
    Form.REGEX: "text that meets the regular expression",
}


def check(pattern: str) -> tuple[str, ...]:
    """Returns what is wrong with a pattern, in sentences that say what to do; empty if nothing."""
    parts = patterns.read(pattern)
    if not parts:
        return ("The pattern is empty: write words, alternatives such as auth|login, or a regex.",)
    said = []
    if len(pattern) > patterns.MAX_CHARS:
        said.append(f"Only the first {patterns.MAX_CHARS} characters of the pattern are read.")
    if len(parts) == patterns.MAX_PARTS:
        said.append(f"Only the first {patterns.MAX_PARTS} alternatives are read.")
    elif len(parts) < len(patterns.split(patterns.lowered(pattern[: patterns.MAX_CHARS]))):
        said.append("An alternative is empty and is ignored: remove the extra |.")
    return (*said, *(message for part in parts for message in _about(part)))


def describe(pattern: str) -> tuple[str, ...]:
    """Returns how each alternative of a pattern is read."""
    return tuple(_described(part) for part in patterns.read(pattern))


def _about(part: patterns.Part) -> list[str]:
    if part.source is not None:
        fault = regex.fault(part.source)
        if fault is not None:
            return [f"{part.text!r} is read as plain text: as a regular expression, {fault}."]
        if regex.meets_everything(part.source):
            return [
                (
                    f"{part.text!r} meets every task: it calls up nothing but critical memories. "
                    "Name what the task must contain."
                )
            ]
        return []
    if len(part.text) < _SHORT and part.text.isascii() and part.form is Form.PLAIN:
        return [
            f"{part.text!r} is found inside many words. For the word alone write \\b{part.text}\\b."
        ]
    if part.form is Form.WORDS and words.is_general(part.text):
        return [f"{part.text!r} has only words that any task may have: name the subject."]
    return []


def _described(part: patterns.Part) -> str:
    if part.source is not None and regex.fault(part.source) is not None:
        return f"{_FORMS[Form.PLAIN]} {part.text!r}"
    if part.form is Form.WORDS:
        return f"text with these words, or more than half of them: {', '.join(part.keys)}"
    return f"{_FORMS[part.form]} {part.text!r}"
