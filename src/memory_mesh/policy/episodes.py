"""What an episode says in a few of its own sentences. Pure: no I/O."""

from collections import Counter
from collections.abc import Sequence

from memory_mesh.policy.text import analyze
from memory_mesh.policy.text.sentences import sentences

LONGEST = 300  # characters of one sentence in a summary


def summary(texts: Sequence[str], most: int) -> str:
    """The sentences whose words most of the texts share, at most `most`, in their order.

    A word that a chosen sentence has counts no more for the others.
    """
    said = [
        (sentence, frozenset(analyze.terms(sentence))) for text in texts for sentence in _of(text)
    ]
    told = list(dict.fromkeys(said))
    holding = Counter(term for text in texts for term in frozenset(analyze.terms(text)))
    chosen: list[int] = []
    covered: set[str] = set()
    while len(chosen) < min(most, len(told)):
        worth = {
            place: sum(holding[term] for term in terms - covered) / (4 + len(terms))
            for place, (_, terms) in enumerate(told)
            if place not in chosen
        }
        best = max(worth, key=lambda place: (worth[place], -place))
        if not worth[best]:
            break
        chosen.append(best)
        covered |= told[best][1]
    return " ".join(told[place][0] for place in sorted(chosen))


def _of(text: str) -> list[str]:
    """The sentences of a text, each on one line and cut after a word."""
    found = []
    for sentence in sentences(text):
        line = " ".join(sentence.split())
        if len(line) > LONGEST:
            line = f"{line[:LONGEST].rpartition(' ')[0] or line[:LONGEST]} …"
        if line:
            found.append(line)
    return found
