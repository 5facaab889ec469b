"""What of a prompt is looked for in memory."""

from memory_mesh.policy.packing.choosing import words

LEAST_WORDS = 3
MOST_CHARS = 2_000  # of a question: half from the prompt's beginning, half from its end


def question_of(prompt: str) -> str | None:
    """The part of a prompt that asks; None if there is too little to look for.

    A word or two ("yes", "go on") fit any memory. A command of the host ("/compact") asks nothing.
    """
    text = prompt.strip()
    if len(text) > MOST_CHARS:
        text = f"{text[: MOST_CHARS // 2]}\n{text[-MOST_CHARS // 2 :]}"
    first, *rest = text.split(None, 1) or [""]
    if _is_command(first):
        text = "".join(rest)
    return text if len(words(text)) >= LEAST_WORDS else None


def _is_command(word: str) -> bool:
    """Whether a word is a command of the host, and no path."""
    return word[:1] == "/" and word[1:2].isalpha() and "/" not in word[1:]
