"""Claims (subject, predicate, value): read from plain text or stated by a caller, and compared.

::

    text -> statement -> subject | verb | rest -> Claim(subject, predicate, value)
    new claim, old claim of the same subject and predicate -> SAME | CONFLICT | BESIDE | UNSURE

Every rule looks at words and their order, never at similarity: two sentences that differ in one
"never" are near in meaning and opposite in truth. What no rule is sure of is marked so, and is good
for a question to a person, never for an answer.
"""

from functools import lru_cache

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.model import Claim
from memory_mesh.text.claim_keys import ANYTHING, key, keyed, stated
from memory_mesh.write.claims.comparison import NORMALIZERS, ClaimRelation, compare, normalised

if TYPE_CHECKING:
    from memory_mesh.write.claims.sentences import Voice

__all__ = [
    "NORMALIZERS",
    "USER",
    "Claim",
    "ClaimRelation",
    "compare",
    "keyed",
    "normalised",
    "predicates_of",
    "read",
    "stated",
]

USER = "user"  # the subject of what the user says as "I"


def read(text: str, *, speaker: str | None = USER, we: bool = True) -> Claim | None:
    """Reads the claim of one short statement, or None.

    "I" is the speaker; without one, a text that says "I" makes no claim, nor one that says "we"
    where that is not the user's team.
    """
    from memory_mesh.write.claims import reader

    return reader.read(text, _voice(speaker, we=we))


@lru_cache(maxsize=64)
def _voice(speaker: str | None, *, we: bool) -> "Voice":
    """Who says "I" and "we" in the texts of a speaker."""
    from memory_mesh.write.claims.sentences import WE, Voice

    return Voice(key(speaker or ""), WE if we else "")


def predicates_of(claim: Claim) -> tuple[str, ...]:
    """Returns the predicates under which an earlier statement of the same may be filed."""
    if claim.replaces != ANYTHING:
        return (claim.predicate,)
    from memory_mesh.write.claims import changes

    return changes.predicates_of(claim)
