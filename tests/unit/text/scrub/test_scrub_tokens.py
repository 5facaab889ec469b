"""The estimate of tokens is never below what a real tokenizer counts in texts that people write."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from memory_mesh.text.scrub.tokens import count, cut

HERE = Path(__file__)
ROOT = HERE.parents[3]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("I am a cat", 4),
        ("word", 2),
        ("deployment", 4),
        ("8080", 2),
        ("a+b", 3),
        ("不要", 3),
        ("部署好", 5),
        ("لا", 3),
        ("금지", 5),
        ("A" * 40, 20),
        ("  one \n two ", 2),
    ],
)
def test_what_a_text_costs(text, tokens):
    assert count(text) == tokens


def samples():
    for path in [*ROOT.glob("docs/decisions/*.md"), *ROOT.glob("src/memory_mesh/rules/*.py")]:
        text = path.read_text(encoding="utf-8")
        yield from (text[at : at + 1_500] for at in range(0, len(text), 1_500))
    for line in HERE.with_name("facts.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)["text"]


def test_the_estimate_errs_high_against_the_tokenizer_of_the_model(model_folder):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    texts = list(samples())
    real = [
        len(found.ids) for found in tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    ]
    guessed = [count(text) for text in texts]
    missing = [
        (tokens - guess, text) for text, guess, tokens in zip(texts, guessed, real, strict=True)
    ]
    assert [text for low, text in missing if low > (1 if len(text) < 80 else 0)] == []
    assert sum(guessed) < 1.5 * sum(real)  # high, but not absurdly so


TEXTS = st.text(alphabet="ab1 \n.部。ش👍\u200d\u0301<", max_size=400)


@given(TEXTS, st.integers(8, 40))
def test_cutting_keeps_everything_but_blanks_within_the_limit(text, limit):
    spans = list(cut(text, limit))
    assert all(count(text[start:stop]) <= limit for start, stop in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert "".join("".join(text[a:b] for a, b in spans).split()) == "".join(text.split())


@given(TEXTS, TEXTS)
def test_two_texts_cost_no_more_together_than_apart(one, other):
    assert count(f"{one}\n{other}") <= count(one) + count(other)
