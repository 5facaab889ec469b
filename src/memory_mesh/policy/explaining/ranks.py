"""Says why a memory stands where it stands among the hits."""

from collections.abc import Mapping, Sequence

from memory_mesh.model import Memory
from memory_mesh.model.why import Rank
from memory_mesh.policy.ranking.features import NAMES

_NAMED = 3  # shares on each side that a sentence names
_SMALL = 0.005  # a share below that is not worth a word
PHRASES: Mapping[str, str] = {
    "keyword": "its words with those said before it, beside the best candidate",
    "keyword_own": "its words, beside the best candidate",
    "keyword_share": "its words",
    "keyword_share_before": "its words with those said before it",
    "covered": "how much of the question it holds",
    "covered_before": "how much of the question it holds with what was said before it",
    "covered_around": "how much of the question it holds with what was said around it",
    "covered_passage": "how much of the question one passage of it holds",
    "covered_section": "how much of the question one section of it holds",
    "guessed": "words that were found by a guessed spelling",
    "pairs": "words that stand together as in the question",
    "exact": "identifiers and quoted words of the question",
    "cosine": "its meaning",
    "cosine_mixed": "its meaning with what was said around it",
    "nearest": "its meaning, beside the nearest candidate",
    "nearest_mixed": "its meaning with what was said around it, beside the nearest candidate",
    "meaning": "its meaning, between the farthest and the nearest candidate",
    "speaker": "that the question names who said it",
    "other_speaker": "that the question names somebody else",
    "role": "whether the user or an assistant said it",
    "dated": "its date, which the question names",
    "in_period": "the time that the question names",
    "time_words": "words of time",
    "session": "how good the rest of its session is",
    "line_covered_passage": "how much of the question one passage of it holds, once more",
    "line_cosine_mixed": "its meaning with what was said around it, once more",
    "usefulness": "votes on how useful it was",
    "below_nearest": "that only a guessed spelling found it",
    "below_trusted": "that a more trusted memory answers as well",
    "rrf_keyword": "its place in the list by words",
    "rrf_vector": "its place in the list by meaning",
    "relevance": "its similarity",
    "confidence": "its trust",
    "recency": "how new it is",
    "importance": "its importance",
    "similarity": "its similarity",
    "type_weight": "the weight of its type",
    "decay_factor": "the time since it was used",
    "feedback_score": "votes on how useful it was",
    "intent_boost": "that the question asks for its type",
    "title": "words of the task in its title",
    "specialty": "tags of the agent's work",
    "discoverer": "that the same agent discovered it",
    "most": "that there are at most 100 points",
    "trigger": "a trigger that the question meets",
    "older": "an older statement below it, whose place it took",
}


def in_answer(memory: Memory, rank: Rank, hits: int, newer: str | None) -> tuple[str, ...]:
    """The sentences for a memory that is among the hits."""
    sentences = [f"{memory.id} is hit {rank.place} of {hits}, with a score of {rank.score:.2f}."]
    sentences += weighed(rank)
    if newer is not None:
        sentences.append(f"It seems to be updated by {newer}, which stands above it.")
    return tuple(sentences)


def weighed(rank: Rank) -> list[str]:
    """Names the largest shares for and against a candidate, and what lifted its score.

    A feature that a candidate does not have has a share, too: it could have had it. Those are told
    together.
    """
    largest = sorted(rank.shares.items(), key=lambda share: (-abs(share[1]), share[0]))
    held = [each for each in largest if _held(each[0], rank) and abs(each[1]) >= _SMALL]
    speaks = _listed([(name, share) for name, share in held if share > 0])
    against = _listed([(name, share) for name, share in held if share < 0])
    missing = sum(share for name, share in largest if not _held(name, rank))
    sentences = [f"For it: {speaks}."] if speaks else []
    sentences += [f"Against it: {against}."] if against else []
    if abs(missing) >= _SMALL:
        sentences.append(f"What it could have and has not: {missing:+.2f} together.")
    sentences += [
        f"{PHRASES[name][0].upper()}{PHRASES[name][1:]} lifts its score by {lift:.2f}."
        for name, lift in rank.lifts.items()
    ]
    return sentences


def _held(name: str, rank: Rank) -> bool:
    """True if a share is not of a feature that is 0 here."""
    return name not in NAMES or name in rank.features


def _listed(shares: Sequence[tuple[str, float]]) -> str:
    return "; ".join(f"{PHRASES.get(name, name)} ({share:+.2f})" for name, share in shares[:_NAMED])
