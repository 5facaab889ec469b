"""What the ledger will hold once the drafts judged so far are written."""

from collections.abc import Sequence

from memory_mesh.fastdataclass import replace
from memory_mesh.model import (
    Commit,
    Conflict,
    Draft,
    Memory,
    Seen,
    Standing,
    Status,
    Wording,
)


class Scene:
    """The standing that later drafts of a slice are judged against."""

    def __init__(self, standing: Standing) -> None:
        self._twins, self._keys = dict(standing.twins), dict(standing.keys)
        self._lessons, self._claims = dict(standing.lessons), dict(standing.claims)
        self._memories, self._echoes = dict(standing.memories), dict(standing.echoes)
        self._stored, self._made = standing.guessed, list[Conflict]()
        self.standing: Standing = replace(
            standing,
            twins=self._twins,
            keys=self._keys,
            lessons=self._lessons,
            claims=self._claims,
            memories=self._memories,
            echoes=self._echoes,
            guessed=self._guessed,
        )

    def _guessed(self, ids: Sequence[str]) -> list[Conflict]:
        """The guesses on record, and those of the drafts judged so far."""
        asked, found = frozenset(ids), self._stored(ids) if self._stored is not None else ()
        made = [each for each in self._made if each.is_guess and asked & {each.new, each.existing}]
        # Of a pair that changed places, the last guess counts.
        return list(
            {frozenset((each.new, each.existing)): each for each in (*found, *made)}.values()
        )

    def take(self, draft: Draft, wording: Wording, part: Commit, settled: Memory | None) -> None:
        """One more draft is settled."""
        self._made += part.conflicts
        for put in part.puts:
            if put.memory.status is not Status.ACTIVE:
                self._forget(put.memory)
        if settled is None:
            return
        if part.relinked:  # it has another text now
            self._forget(settled)
        if draft.key is not None:
            self._keys[draft.key] = Seen(wording.hash, part.receipts[0].outcome, settled)
        self._memories[settled.id] = settled
        if settled.lesson is not None and part.puts:
            self._lessons[settled.lesson.pattern_id, draft.scope] = (settled,)
        if not part.puts:
            return
        key = (wording.hash, draft.scope)
        others = (twin for twin in self._twins.get(key, ()) if twin.id != settled.id)
        self._twins[key] = (*others, settled)
        if settled.status is not Status.ACTIVE:
            return
        self._echoes[wording.echo] = (*self._echoes.get(wording.echo, ()), settled)
        if settled.claim is not None:
            about = (settled.claim.subject, settled.claim.predicate, draft.scope)
            rivals = (rival for rival in self._claims.get(about, ()) if rival.id != settled.id)
            self._claims[about] = (settled, *rivals)

    def _forget(self, gone: Memory) -> None:
        """Removes a memory that is no longer active from the comparisons."""
        for known in (self._twins, self._claims, self._echoes):
            for key, memories in list(known.items()):
                if any(memory.id == gone.id for memory in memories):
                    left = tuple(memory for memory in memories if memory.id != gone.id)
                    known[key] = left  # type: ignore[index]  # one of three kinds of key
