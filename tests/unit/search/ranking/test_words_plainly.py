"""The word columns, compared with the same sums worked out text by text and term by term."""

from hypothesis import given, strategies as st

from memory_mesh.model import Matches, Placed
from memory_mesh.search.ranking import words
from memory_mesh.search.ranking.words import GENTLE, GUARD, K1, MAX_TERMS, USUAL_TERMS, B, weight
from memory_mesh.text.question import Reading

WORDS = [f"w{number}" for number in range(14)]
PHRASE = "w1 w2"
SHARES = st.sampled_from((0.4, 0.6, 0.7, 1.0))
TEXTS = st.lists(
    st.lists(st.sampled_from([*WORDS, *("filler " * 30).split()]), max_size=120).map(" ".join),
    min_size=1,
    max_size=8,
)
FORMS = st.dictionaries(
    st.sampled_from(WORDS),
    st.lists(st.tuples(st.sampled_from([*WORDS, PHRASE]), SHARES), min_size=1, max_size=3).map(
        tuple
    ),
    max_size=3,
)


@given(texts=TEXTS, terms=st.lists(st.sampled_from(WORDS), unique=True, max_size=14), forms=FORMS,
       chance=st.randoms(use_true_random=False))  # fmt: skip
def test_the_columns_are_those_worked_out_for_every_text_and_term(texts, terms, forms, chance):
    places = range(-1, len(texts))
    before, after = ([chance.choice(places) for _ in texts] for _ in range(2))
    rows = [Placed(at, text, "s", None, None, 0.0, 1.0) for at, text in enumerate(texts)]
    reading = Reading(
        "", tuple(terms), forms={term: forms[term] for term in terms if term in forms}
    )
    matches = Matches(postings=dict.fromkeys(terms, 2), rows=9)
    found = words.by_words(reading, matches, rows, before, after)
    assert found == found | plainly(reading, matches, texts, before, after)


def plainly(reading, matches, texts, before, after):
    """BM25 and coverage: every text is asked for every term."""
    padded = [f" {text} " for text in texts]
    lengths = [text.count(" ") - 1 for text in padded]
    near = [b if b >= 0 and lengths[b] <= GUARD else -1 for b in before]
    joined = [length + (lengths[b] if b >= 0 else 0) for length, b in zip(lengths, near)]  # noqa: B905
    average = sum(joined) / len(texts) or 1.0
    names = ("own", "joined", "covered", "before", "around", "guessed")
    sums = {name: [0.0] * len(texts) for name in names}
    whole = 0.0
    for term in reading.terms:
        value = weight(term, matches.postings[term], matches.rows)
        whole, gain = whole + value, value * (K1 + 1)
        counted = [counts(text, term, reading.forms.get(term, ())) for text in padded]
        held = [own for own, _ in counted]
        for at, (own, guess) in enumerate(counted):
            earlier = held[before[at]] if before[at] >= 0 else 0
            later = held[after[at]] if after[at] >= 0 else 0
            both = own + (earlier if near[at] >= 0 else 0)
            norm = K1 * (1 - GENTLE + GENTLE * (min(lengths[at], MAX_TERMS) / USUAL_TERMS))
            joined_norm = K1 * (1 - B + B * joined[at] / average)
            sums["own"][at] += gain * own / (own + norm)
            sums["joined"][at] += gain * both / (both + joined_norm)
            sums["covered"][at] += value * min(own, 1)
            sums["before"][at] += value * min(max(own, earlier), 1)
            sums["around"][at] += value * min(max(own, earlier) or later, 1)
            sums["guessed"][at] += value * min(guess, 1)
    whole = whole or 1.0
    top = {name: max(sums[name]) or 1.0 for name in ("own", "joined")}
    return {
        "keyword": [score / top["joined"] for score in sums["joined"]],
        "keyword_own": [score / top["own"] for score in sums["own"]],
        "covered": [share / whole for share in sums["covered"]],
        "covered_before": [share / whole for share in sums["before"]],
        "covered_around": [share / whole for share in sums["around"]],
        "guessed": [share / whole for share in sums["guessed"]],
        "covered_passage": closest(reading, matches, padded, sums["covered"], whole, words.PASSAGE),
    }


def counts(text, term, forms):
    """How often a text holds a term, and what of that is only a guess."""
    sure = text.count(f" {term} ") + sum(
        share * text.count(f" {form} ") for form, share in forms if share >= 1
    )
    doubtful = sum(share * text.count(f" {form} ") for form, share in forms if share < 1)
    return sure + doubtful, 0.0 if sure else doubtful


def closest(reading, matches, texts, covered, whole, length):  # noqa: PLR0917
    """The best window of each text, by the same sliding sum for every text."""
    found = [share / whole for share in covered]
    for at, text in enumerate(texts):
        if len(text) > length and covered[at]:
            places = [
                (place, number, weight(term, matches.postings[term], matches.rows) * share)
                for number, term in enumerate(reading.terms)
                for form, share in ((term, 1.0), *reading.forms.get(term, ()))
                for place in all_places(text, f" {form} ")
            ]
            found[at] = words._within(sorted(places), length) / whole
    return found


def all_places(text, wanted):
    place = text.find(wanted)
    while place >= 0:
        yield place
        place = text.find(wanted, place + len(wanted) - 1)
