"""THE write path, one story per verb, batch first.

::

    Draft ── redact, scrub, embed ──▶ Wording (hash, terms, vectors)   slow work, before any lock
                        │
      ledger.commit(wanted, decide)                             lock, one transaction
                        │  standing: twins, keys, the memories named by id
                        ▼
                     judge ──▶ Keep | Known | Merge | Repeat | Refuse      (transaction.py)
                        ▼
                     Commit(puts, observations, links, conflicts, entries) ──▶ Receipt

A change of a memory (update, pin, delete, restore) is the same story with one memory as its rival.
Every write leaves a block, and every draft gets a receipt with its reasons.
"""

from collections.abc import Callable, Iterator, Sequence

from memory_mesh.base.typed import TypeAlias, replace
from memory_mesh.model import (
    Commit,
    Draft,
    IdempotencyConflict,
    Keep,
    Merge,
    Receipt,
    Standing,
    Wanted,
    Wording,
)
from memory_mesh.rules.arguments import WRITE_SLICE
from memory_mesh.write import transaction as flows_decide
from memory_mesh.write.access import Access
from memory_mesh.write.prepare import Clean, Worded, clean, embed
from memory_mesh.write.rules.judge import judge
from memory_mesh.write.rules.merge import is_news

Decide: TypeAlias = Callable[[Access, Sequence[Worded], Standing], Commit]


def remember(
    access: Access,
    drafts: Sequence[Draft],
    progress: Callable[[int], None] | None = None,
    *,
    decide: Decide = flows_decide.decide,
    named: Sequence[str] = (),
) -> list[Receipt]:
    """Stores the drafts in slices, one transaction each; returns one receipt per draft.

    A caller's own `decide` may add to the commit; it finds the memories `named` in the standing.
    """
    receipts: list[Receipt] = []
    for part in _slices(drafts):
        receipts += _remember_slice(access, part, decide, tuple(named))
        if progress is not None:
            progress(len(receipts))
    return receipts


def remember_each(
    access: Access, drafts: Sequence[Draft], progress: Callable[[int], None] | None = None
) -> list[Receipt]:
    """Stores the drafts as `remember`; one whose key belongs to another content is refused."""
    return remember(access, drafts, progress, decide=flows_decide.decide_each)


def _remember_slice(
    access: Access, drafts: Sequence[Draft], decide: Decide, named: tuple[str, ...]
) -> tuple[Receipt, ...]:
    cleaned = [clean(access, draft) for draft in drafts]
    wanted = flows_decide.wanted([(draft, wording) for draft, wording, _ in cleaned])
    if named:
        wanted = replace(wanted, ids=(*wanted.ids, *named))
    worded = embed(access, cleaned, news=_news(access, cleaned, wanted))
    return access.ledger.commit(
        access.namespace, wanted, lambda standing: decide(access, worded, standing)
    ).receipts


def _news(access: Access, cleaned: Sequence[Clean], wanted: Wanted) -> list[bool]:
    """Says which drafts need a vector: those that are not stored yet."""
    if access.embedder is None:
        return [False] * len(cleaned)
    with access.ledger.read(access.namespace) as snapshot:
        standing = snapshot.standing(wanted)  # it asks the snapshot for more
        return [_is_news(draft, wording, standing) for draft, wording, _ in cleaned]


def _is_news(draft: Draft, wording: Wording, standing: Standing) -> bool:
    """True for a new text, and for a stored one that is written anew."""
    try:
        verdict = judge(draft, wording, standing)
    except IdempotencyConflict:  # the transaction says what becomes of it
        return False
    match verdict:
        case Keep():
            return True
        case Merge(into):
            return is_news(into, draft, standing)
        case _:
            return False


def _slices(drafts: Sequence[Draft]) -> Iterator[Sequence[Draft]]:
    yield from (drafts[start : start + WRITE_SLICE] for start in range(0, len(drafts), WRITE_SLICE))
