"""Seals on rejected values: made under the key in use, asked for under every key of the store.

A rotation changes the digest of a value and the placeholders within it. So a statement is asked for
as each older key would have redacted it, and each form of it under each key.
"""

import shlex
from collections.abc import Iterator, Sequence

from memory_mesh.base.typed import Any, TypeVar, replace
from memory_mesh.model import Channel, Scope, Statement
from memory_mesh.rules.arguments import user_of
from memory_mesh.rules.trust import asked_for, rejected_for
from memory_mesh.text import recited
from memory_mesh.write.access import Access, Seal

Said = TypeVar("Said", bound=Statement)
REJECTED = "the same value was rejected in review"
ERASED = "the user erased these words; only the user lets them in again: "


def sealed(access: Access, said: Statement, why: str) -> tuple[tuple[bytes, str], ...]:
    """Returns keyed digests of the rejected text and claim, so that they are refused later."""
    if access.seal is None:
        return ()
    return tuple((access.seal(value), why) for value in sealed_values(said))


def forgiveness(access: Access, said: Statement) -> tuple[bytes, ...]:
    """Returns every digest under which a statement may have been rejected."""
    if access.seal is None:
        return ()
    seal = access.seal
    values = [value for form in _forms(seal, said) for value in sealed_values(form)]
    return tuple(digest for value in values for digest in seal.under_each(value))


def keeping_out(access: Access, said: Statement) -> Iterator[bytes]:
    """Returns every digest that keeps a statement out, the likely ones first."""
    seal = access.seal
    if seal is not None:
        for form in _forms(seal, said):
            for value in asked_values(form):
                yield from seal.under_each(value)


def erased(access: Access, said: Statement) -> tuple[bytes, ...]:
    """Returns every digest under which the words of a statement may have been erased."""
    seal = access.seal
    if seal is None:
        return ()
    texts = dict.fromkeys((said.text, *seal.former(said.text)))
    return tuple(digest for text in texts for digest in seal.under_each(erased_value(text)))


def erased_reason(namespace: str, said: Statement) -> str:
    """Why erased words stay out, and the command that lets them in: of a file all at once."""
    user, ref = user_of(namespace), said.source.ref
    command = "memory-mesh erase" + ("" if user is None else f" --user {shlex.quote(user)}")
    if said.source.channel is Channel.IMPORT and ref:
        return f"{ERASED}{command} --source {shlex.quote(ref)} --unforget"
    return f"{ERASED}{command} --unforget TEXT, or unforget(text)"


def erased_value(text: str) -> str:
    """Returns what the tombstone of an erased text is made of: its words, whoever says them."""
    return f"erased:{recited.wording(text) or text.strip()}"


def _forms(seal: Seal, said: Said) -> Iterator[Said]:
    """The statement, and as each older key would have redacted it where that is another text."""
    yield said
    for number in range(len(seal.former(said.text))):
        older = _older(seal, said, number)
        if older != said:
            yield older


def _older(seal: Seal, said: Said, number: int) -> Said:
    """The statement under one older key, in all that a tombstone is made of."""

    def former(text: str | None) -> str | None:
        return text and seal.former(text)[number]

    changed: dict[str, Any] = {
        "text": former(said.text),
        "speaker": former(said.speaker),
        "scope": Scope(*map(former, said.scope.parts), names=said.scope.names),
        "extra": {
            name: former(value) if isinstance(value, str) else value
            for name, value in said.extra.items()
        },
    }
    if (claim := said.claim) is not None:
        names = ("subject", "predicate", "value")
        older: dict[str, Any] = {name: former(getattr(claim, name)) for name in names}
        changed["claim"] = replace(claim, **older)
    return replace(said, **changed)


# What tombstones are made of: the words and the claim that a person rejected, as they look.


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
