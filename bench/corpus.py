"""Texts and queries to measure with: seeded, English-like, the same on every machine.

A text is a few sentences of function words, content words whose frequency follows Zipf's law over
50,000, and now and then an identifier. Texts come in blocks of 1,000, each from its own seed, so
text number n is the same whatever was made before it.

    python -m bench.corpus        write bench/queries.txt anew
"""

import itertools
import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

SEED = 20_260
WORDS = 50_000
BLOCK = 1_000
QUERIES = Path(__file__).parent / "queries.txt"

_SHIFT = 2.7  # Mandelbrot's: the most frequent content word is in every third text
_FUNCTION_SHARE = 0.42  # of all words, as in English prose
_IDENTIFIER_SHARE = 0.03
_LENGTHS = (8, 14, 20, 26, 34, 48, 80)  # words of a text

_SMALL = (
    "the of and to in a is that for it as was with be by on not he his but at are this have from "
    "or had an they which one you were all her she there would their we him been has when who will "
    "no more if out so up said what its about than into them can only other some could these two "
    "may then do first any my now such like our over me even most made after also did many off"
)
_COMMON = (
    "user time project team file error test server work data change day issue code meeting build "
    "name version service request call plan note report week customer page update list problem "
    "system process table key value order release review deploy database client branch function "
    "message number result answer question decision task deadline budget design feature model "
    "memory search token password account email login session cache queue network disk cluster "
    "region backup migration schema index query row column invoice payment price contract office "
    "travel hotel flight train coffee lunch family school garden music book film game doctor "
    "medicine recipe kitchen bicycle holiday birthday weather winter summer morning evening night "
    "january march june friday monday berlin london paris tokyo lisbon prefers moved decided wants "
    "likes needs agreed asked promised reported fixed failed started stopped waits runs uses knows"
)
_STARTS = "b b br c c ch cl d d f f fr g gr h j k l l m m n n p p pr r r s s sh st t t tr v w"
_VOWELS = "a a e e i i o o u u ai ea ee io ou"
_ENDS = "b ck d g l ld m n nd ng nt p r rd rk s sh st t th"
_SUFFIXES = ["", "", "", "", "s", "ed", "er", "ing", "ion", "ly", "ment", "ness", "al", "ous"]
FUNCTION_WORDS = _SMALL.split()
_COMMON_WORDS = _COMMON.split()
_OPEN = 14  # of 34 syllables end in a vowel
_FOLDERS = ("src", "lib", "docs", "tests", "ops")


def texts(first: int, last: int, seed: int = SEED) -> Iterator[str]:
    """Texts number `first` up to and without `last`."""
    for block in range(first // BLOCK, -(-last // BLOCK)):
        start = block * BLOCK
        made = _block(block, seed)
        yield from itertools.islice(made, max(0, first - start), max(0, last - start))


def queries() -> list[str]:
    """The fixed questions of `bench/queries.txt`."""
    return QUERIES.read_text(encoding="utf-8").splitlines()


def vocabulary(seed: int = SEED) -> list[str]:
    """The content words of the texts, from frequent to rare."""
    return _vocabulary(seed)[0]


def known_items(
    numbers: Sequence[int], own: int, foreign: int = 0, seed: int = SEED
) -> Iterator[tuple[str, str]]:
    """For each numbered text a question of some of its words, foreign ones among them, and it."""
    chance = random.Random(f"{seed} known {own} {foreign}")
    vocabulary, weights = _vocabulary(seed)
    for number in numbers:
        text = next(texts(number, number + 1, seed))
        words = sorted({word.strip(".") for word in text.split()})
        words = [word for word in words if word.lower() not in FUNCTION_WORDS]
        if len(words) >= own:
            added = chance.choices(vocabulary, cum_weights=weights, k=foreign)
            yield " ".join([*chance.sample(words, own), *added]), text


def write_queries(count: int = 200, seed: int = SEED) -> None:
    """A quarter common words only, a quarter rarer ones, the rest drawn as in the texts."""
    chance = random.Random(f"{seed} queries")
    vocabulary, weights = _vocabulary(seed)
    asked: dict[str, None] = {}
    while len(asked) < count:
        length = chance.choice((1, 2, 2, 3, 3, 4, 5, 6, 8))
        match len(asked) % 4:
            case 0:
                words = chance.sample(vocabulary[:60], length)
            case 1:
                words = chance.sample(vocabulary[500:20_000], length)
            case _:
                words = chance.choices(vocabulary, cum_weights=weights, k=length)
                words = _with_small_words(chance, words)
        asked[" ".join(words)] = None
    QUERIES.write_text("\n".join(asked) + "\n", encoding="utf-8")


def _with_small_words(chance: random.Random, words: list[str]) -> list[str]:
    """The words as somebody would ask for them."""
    opening = chance.choice(("", "what is the", "how do we", "when did", "where is my", "who"))
    asked = [*opening.split(), *words]
    return [*asked, _identifier(chance)] if chance.random() < 0.1 else asked


def _block(number: int, seed: int) -> Iterator[str]:
    chance = random.Random(f"{seed} block {number}")
    for _ in range(BLOCK):
        words = _words(chance, chance.choice(_LENGTHS), seed)
        sentence = chance.randint(7, 15)
        parts = [words[at : at + sentence] for at in range(0, len(words), sentence)]
        yield " ".join(_sentence(part) for part in parts)


def _sentence(words: list[str]) -> str:
    line = " ".join(words)
    return f"{line[0].upper()}{line[1:]}."


def _words(chance: random.Random, length: int, seed: int) -> list[str]:
    vocabulary, weights = _vocabulary(seed)
    drawn = chance.choices(vocabulary, cum_weights=weights, k=length)
    small = iter(chance.choices(FUNCTION_WORDS, k=length))
    for place in range(length):
        kind = chance.random()
        if kind < _FUNCTION_SHARE:
            drawn[place] = next(small)
        elif kind > 1 - _IDENTIFIER_SHARE:
            drawn[place] = _identifier(chance)
    return drawn


def _identifier(chance: random.Random) -> str:
    one, two = chance.choices(_COMMON_WORDS, k=2)
    return chance.choice(
        (
            f"{one}{two.capitalize()}",
            f"{one}_{two}",
            f"{chance.choice(_FOLDERS)}/{one}/{two}.py",
            f"{one[:3].upper()}-{chance.randint(100, 99_999)}",
            f"v{chance.randint(0, 9)}.{chance.randint(0, 30)}.{chance.randint(0, 30)}",
        )
    )


@cache
def _vocabulary(seed: int) -> tuple[list[str], list[float]]:
    """Content words from frequent to rare, and their cumulated Zipf weights."""
    chance = random.Random(f"{seed} words")
    starts, vowels, ends = _STARTS.split(), _VOWELS.split(), [""] * _OPEN + _ENDS.split()
    words = dict.fromkeys(_COMMON_WORDS)
    while len(words) < WORDS:
        syllables = chance.choices((1, 2, 3), weights=(1, 5, 4))[0]
        body = "".join(
            "".join(map(chance.choice, (starts, vowels, ends))) for _ in range(syllables)
        )
        words[body + chance.choice(_SUFFIXES)] = None
    weights = itertools.accumulate(1 / (rank + _SHIFT) for rank in range(1, WORDS + 1))
    return list(words), list(weights)


if __name__ == "__main__":
    write_queries()
