"""The word that opens and closes the memories in a prompt, as people copy it from there."""

NAME = "memories"
WORD_DIGITS = 12  # 48 bits
_HEXADECIMAL = frozenset("0123456789abcdef")


def fence_word(text: str) -> str | None:
    """The word in a fence such as `<memories-5f0c1b9a77d2>`, or alone; None if it is none."""
    word = text.strip().strip("</>").removeprefix(f"{NAME}-").lower()
    return word if len(word) == WORD_DIGITS and _HEXADECIMAL.issuperset(word) else None
