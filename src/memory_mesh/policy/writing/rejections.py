"""What tombstones are made of: the words and the claim that a person rejected, as they look."""

from collections.abc import Sequence

from memory_mesh.model import Statement
from memory_mesh.policy.writing import recited
from memory_mesh.policy.writing.persons import asked_for, rejected_for


def sealed_values(said: Statement) -> list[str]:
    """Returns what the tombstones of a rejected memory are made of."""
    return _of_persons(said, rejected_for(said))


def asked_values(said: Statement) -> list[str]:
    """Returns what the tombstones are made of that keep a statement out."""
    return _of_persons(said, asked_for(said))


def _of_persons(said: Statement, marks: Sequence[str]) -> list[str]:
    """Returns the words and the claim of a statement, each with every mark.

    They stand there as they look, and as versions before migration 10 took them.
    """
    found: dict[str, None] = {}
    for fingerprint in (recited.fingerprint, recited.fingerprint_before):
        found[f"text:{fingerprint(said.text).hex()}:{said.scope}"] = None
        if said.claim is not None:
            claim = said.claim
            value = fingerprint(claim.value).hex()
            found[f"claim:{claim.subject}:{claim.predicate}:{value}:{said.scope}"] = None
    return [value + mark for value in found for mark in marks]
