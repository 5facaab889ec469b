"""A plain line goes past the stages of the scrubber: the result must be that of the stages."""

import random
from pathlib import Path

import pytest

from bench import corpus
from memory_mesh.privacy import NamespaceRedactor
from memory_mesh.text import scrub
from memory_mesh.text.scrub import TextForm
from memory_mesh.text.scrub.tokens import annotated, validated

ROOT = Path(__file__).parents[4]
WORDS = """
    a The word C++ C# foo. 1,000 x_y getUserName src/a/b.py # ## ** **b** [a](b) ]( <b> < > ` `x`
    - * Müller ’ … 中文 한국 ana@example.com user's ... !? ) ( ' :// \\ -- --- === | 10.0.0.1
"""
BLANKS = ("\n", "\n\n", "\r\n", "\t", "  ", "\x1c", "\x85", "\u2028", "\u3000", "\u00ad", "\ufeff")
PIECES = (*WORDS.split(), *BLANKS, "\u200b", "+49 170 1234567")


def texts() -> list[str]:
    """Random texts of such pieces, texts of the benchmark, and lines of our own documents."""
    chance = random.Random(20_260)
    made = [
        chance.choice(("", " ")).join(chance.choices(PIECES, k=chance.randint(1, 8)))
        for _ in range(1_500)
    ]
    lines = [
        line
        for path in sorted((ROOT / "docs").glob("*.md"))[:20]
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return [*made, *corpus.texts(0, 100), *lines[::5], " padded ", "", " ", "\n"]


@pytest.mark.parametrize("form", [None, TextForm.TEXT, TextForm.MARKDOWN])
@pytest.mark.parametrize("settings", [scrub.IN_MESH, scrub.STANDALONE])
def test_a_plain_line_is_what_the_stages_make_of_it(form, settings):
    redact = NamespaceRedactor(b"k" * 32, "default").text
    plain = 0
    for text in texts():
        plain += bool(scrub._plain_line(redact(text)))
        assert scrub.scrub(text, settings, form=form, redact=redact) == by_stages(
            text, settings, form, redact
        )
    assert plain > 1_000


def by_stages(
    text: str, settings: scrub.ScrubSettings, form: TextForm | None, redact: scrub.Redact
) -> scrub.Scrubbed:
    """What `scrub` returns for a text that goes through every stage."""
    hide, removed = scrub._once(redact), list[str]()
    content = scrub._cleaned(hide(text), settings, form, removed)
    content, pieces = scrub._hidden(content, settings, form, hide)
    chunks, refused = validated(annotated(pieces), settings)
    return scrub.Scrubbed(content, chunks, (*removed, *refused))
