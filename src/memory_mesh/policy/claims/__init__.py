"""Claims (subject, predicate, value): read from plain text or stated by a caller, and compared.

::

    text -> statement -> subject | verb | rest -> Claim(subject, predicate, value)
    new claim, old claim of the same subject and predicate -> SAME | CONFLICT | BESIDE | UNSURE

Every rule looks at words and their order, never at similarity: two sentences that differ in one
"never" are near in meaning and opposite in truth. What no rule is sure of is marked so, and is good
for a question to a person, never for an answer.
"""

from memory_mesh.model import Claim
from memory_mesh.policy.claims.claim import ANYTHING, stated
from memory_mesh.policy.claims.comparison import Relation, compare
from memory_mesh.policy.claims.normal import NORMALIZERS, normalised

__all__ = [
    "NORMALIZERS",
    "Claim",
    "Relation",
    "compare",
    "normalised",
    "predicates_of",
    "read",
    "stated",
]


def read(text: str, *, speaker: str | None = None) -> Claim | None:
    """Reads the claim of one short statement, or None; "I" is the speaker or the user."""
    from memory_mesh.policy.claims import reading

    return reading.read(text, speaker=speaker)


def predicates_of(claim: Claim) -> tuple[str, ...]:
    """Returns the predicates under which an earlier statement of the same may be filed."""
    if claim.replaces != ANYTHING:
        return (claim.predicate,)
    from memory_mesh.policy.claims import changes

    return changes.predicates_of(claim)
