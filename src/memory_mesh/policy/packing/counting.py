"""How many tokens a text has at most, where no tokenizer is at hand."""

from memory_mesh.policy.scrub import tokens

NAME = "estimate"


def count(text: str) -> int:
    """The estimate for a text."""
    return tokens.count(text)
