"""Scores skills for a question."""

from collections.abc import Sequence

from memory_mesh.model import Candidate, SkillHit

KEYWORD, VECTOR = 0.7, 0.3  # RFC-0011 section 5.3
FIELD_WEIGHTS = (3, 2, 1, 1)  # name, intent, tags, description


def score(candidate: Candidate, terms: Sequence[str]) -> SkillHit:
    """Returns 0.7 of the keyword score plus 0.3 of the intent's similarity."""
    keyword = keyword_score(candidate.terms, terms)
    vector = max(0.0, min(1.0, candidate.cosine)) if candidate.cosine is not None else 0.0
    total = KEYWORD * keyword + VECTOR * vector
    return SkillHit(candidate.skill, total, {"keyword": keyword, "vector": vector})


def keyword_score(fields: Sequence[str], terms: Sequence[str]) -> float:
    """Returns the weighted share (3, 2, 1, 1) of the question's terms in the fields, 0 to 1.

    A word found in a skill's name outweighs one found in its description; all words in all fields
    would be 1, and a field that is empty cannot be expected to hold any.
    """
    wanted = set(terms)
    weighed = zip(FIELD_WEIGHTS, fields, strict=True)
    filled = [(weight, set(field.split())) for weight, field in weighed if field]
    if not wanted or not filled:
        return 0.0
    held = sum(weight * len(wanted & words) / len(wanted) for weight, words in filled)
    return held / sum(weight for weight, _ in filled)
