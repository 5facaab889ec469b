"""Orders hits that seem to update each other: the newer stands above the older.

A guess hides nothing. Of two memories that a rule read as an old and a new statement, the newer
comes above the older, found or not; directly below it if its source is trusted less. Of two
claims that contradict each other for different audiences, `current` says which comes first. Of
two hits in an open conflict that hold the same words of the question, the newer comes first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, permutations, product

from memory_mesh.base.typed import replace
from memory_mesh.model import Channel, Conflict, Hit, Memory
from memory_mesh.rules.trust import (
    dominates,
    is_less_trusted,
    lowest,
    outranks,
    said_by_different,
    sees,
    whose_words,
)
from memory_mesh.search.ranking import updates

LOOKED_AT = 10  # hits among which one may update another
RIVALS = 16  # of one source and audience above which a contradicting memory never stands
_NAMES_PROJECTS = frozenset({Channel.CLI, Channel.HOOK})  # after the current work tree


def place(
    hits: Sequence[Hit],
    guesses: Iterable[Conflict],
    memories: Mapping[str, Memory],
    question: str | None = None,
) -> list[Hit]:
    """Returns the hits with what updates them; `memories` has every memory the reader may see.

    With a question, a hit that likely updates one above it is moved there, too.
    """
    order = _paired(hits, guesses, memories, question)
    for hit in hits:
        order.emit(hit.id, hit.score)
    return order.placed


def above(
    hits: Sequence[Hit],
    guesses: Iterable[Conflict],
    memories: Mapping[str, Memory],
    question: str | None = None,
) -> dict[str, list[str]]:
    """Returns which memories stand above which, by the lower one's id, whatever their scores."""
    return _paired(hits, guesses, memories, question).above


def _paired(
    hits: Sequence[Hit],
    guesses: Iterable[Conflict],
    memories: Mapping[str, Memory],
    question: str | None,
) -> "_Order":
    guesses = list(guesses)
    order = _Order({hit.id: hit for hit in hits}, memories, lifts=question is not None)
    for newer, older in _updates(hits, guesses, memories):
        order.pair(newer, older, guessed=True)
    for upper, lower in _rivals(hits, memories):
        order.put(upper, lower, near=is_less_trusted(lower, upper))
    for each in reversed(guesses):  # of several the newest counts
        if each.resolution is None and each.new in memories and each.existing in memories:
            order.conflicts |= {each.new: each.existing, each.existing: each.new}
    for newer, older in _likely(question, hits, guesses) if question is not None else ():
        if not order.knows(newer, older):
            order.pair(newer, older, guessed=False)
    return order


class _Order:
    """Which memory stands above which, and the hits placed so far."""

    def __init__(
        self, hits: Mapping[str, Hit], memories: Mapping[str, Memory], *, lifts: bool
    ) -> None:
        self.placed: list[Hit] = []
        self._hits, self._memories, self._lifts = hits, memories, lifts
        self.above: dict[str, list[str]] = {}
        self.conflicts: dict[str, str] = {}  # open ones: by a memory's id the other one's
        self._below: dict[str, list[str]] = {}
        self._newer: dict[str, str] = {}
        self._seen: set[str] = set()
        self._begun: set[str] = set()  # and not placed yet

    def pair(self, newer: Memory, older: Memory, *, guessed: bool) -> None:
        """Takes note of one pair; `newer` goes above unless it is trusted less."""
        own, theirs = whose_words(newer.source), whose_words(older.source)
        lower_words = own is not theirs and lowest((own, theirs)) is own
        weaker = lower_words or is_less_trusted(newer, older)
        upper, lower = (older, newer) if weaker else (newer, older)
        self.put(upper, lower, near=weaker)
        if guessed and not weaker:
            self._newer.setdefault(older.id, newer.id)

    def put(self, upper: Memory, lower: Memory, *, near: bool) -> None:
        """Takes note of which stands above; `near`: the lower one follows it directly."""
        self.above.setdefault(lower.id, []).append(upper.id)
        if near:
            self._below.setdefault(upper.id, []).append(lower.id)

    def knows(self, one: Memory, other: Memory) -> bool:
        """True if the two are in an order already."""
        return other.id in self.above.get(one.id, ()) or one.id in self.above.get(other.id, ())

    def emit(self, memory_id: str, score: float) -> None:
        """Places a memory once, behind what stands above it, before what stands below it.

        What is to follow several memories waits for the last of them.
        """
        if memory_id in self._seen:
            return
        self._seen.add(memory_id)
        self._begun.add(memory_id)
        for upper in self.above.get(memory_id, ()):
            self.emit(upper, score)
        self.placed.append(self._hit(memory_id, score))
        self._begun.discard(memory_id)
        for lower in self._below.get(memory_id, ()):
            if lower not in self._seen and self._begun.isdisjoint(_reached(lower, self.above)):
                self.emit(lower, score)

    def _hit(self, memory_id: str, score: float) -> Hit:
        hit = self._hits.get(memory_id)
        if hit is None:
            hit = Hit(self._memories[memory_id], score, {})
        best = max(hit.score, score) if self._lifts else hit.score
        newer, conflict = self._newer.get(memory_id), self.conflicts.get(memory_id)
        if (best, newer, conflict) == (hit.score, hit.newer, hit.conflict):
            return hit
        return replace(hit, score=best, newer=newer, conflict=conflict)


def _updates(
    hits: Sequence[Hit], guesses: Iterable[Conflict], memories: Mapping[str, Memory]
) -> list[tuple[Memory, Memory]]:
    """Returns pairs, newer and older: of each hit the newest statement, and hits among them."""
    after: dict[str, list[str]] = {}
    found: list[tuple[Memory, Memory]] = []
    for guess in guesses:
        if guess.resolution is not None:
            after.setdefault(guess.existing, []).append(guess.new)
        elif guess.by_rule and guess.new in memories and guess.existing in memories:
            found.append((memories[guess.new], memories[guess.existing]))
    shown = {hit.id for hit in hits}
    for hit in hits:
        later = [id_ for id_ in _reached(hit.id, after) if id_ in memories]
        newest = [id_ for id_ in later if memories.keys().isdisjoint(_reached(id_, after))]
        wanted = dict.fromkeys((*newest, *(id_ for id_ in later if id_ in shown)))
        found += [(memories[id_], hit.memory) for id_ in wanted]
    return found


def _reached(start: str, after: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yields everything that updates a memory or stands above it, directly or through others."""
    found = {start}
    waiting = [start]
    while waiting:
        for id_ in after.get(waiting.pop(), ()):
            if id_ not in found:
                found.add(id_)
                waiting.append(id_)
                yield id_


def _likely(
    question: str, hits: Sequence[Hit], guesses: Iterable[Conflict]
) -> list[tuple[Memory, Memory]]:
    """Returns pairs of the first hits, newer and older, of which the newer is an update.

    Of two in an open conflict, it is enough that they hold the same words of the question.
    """
    pairs = [
        (below, above)
        for above, below in combinations(hits[:LOOKED_AT], 2)
        if _is_later(below.memory, above.memory)
    ]
    waiting = {frozenset((each.new, each.existing)) for each in guesses if each.pending}
    if not pairs:
        return []
    asked = updates.asked(question)
    counted = {
        hit.id: updates.answer(asked, hit.content, hit.parts)
        for hit in {hit.id: hit for pair in pairs for hit in pair}.values()
    }
    return [
        (below.memory, above.memory)
        for below, above in pairs
        if updates.likely(asked, counted[above.id], counted[below.id])
        or (
            frozenset((above.id, below.id)) in waiting
            and counted[above.id].held & asked.terms == counted[below.id].held & asked.terms
        )
    ]


def _is_later(one: Memory, other: Memory) -> bool:
    """True if one may update the other: it is newer, no less useful, of the same audience."""
    if one.scope != other.scope or said_by_different(one, other):
        return False
    return one.usefulness >= other.usefulness and _after(one, other)  # by vote


def _after(one: Memory, other: Memory) -> bool:
    """True if one is newer: it happened later, or it was stored later."""
    if one.occurred_at is not None and other.occurred_at is not None:
        return one.occurred_at > other.occurred_at
    return one.created > other.created


def current(narrow: Memory, wide: Memory) -> tuple[Memory, Memory]:
    """Returns two claims that contradict each other, the current one first.

    The narrower audience comes first, unless its trust is lower. The command line names a project
    by itself, and a library call may name none: of the same user's two words the newer is first.
    """
    if is_less_trusted(narrow, wide):
        return wide, narrow
    if _project_by_itself(narrow, wide) and not dominates(narrow.source, wide.source):
        return (wide, narrow) if _after(wide, narrow) else (narrow, wide)
    return narrow, wide


def _project_by_itself(narrow: Memory, wide: Memory) -> bool:
    """True if the audiences differ by a project alone, which nobody chose for the narrower one."""
    one, other = narrow.scope, wide.scope
    alike = (one.agent, one.session) == (other.agent, other.session)
    own = _NAMES_PROJECTS
    return alike and narrow.source.channel in own and wide.source.channel not in own


def _rivals(hits: Sequence[Hit], memories: Mapping[str, Memory]) -> list[tuple[Memory, Memory]]:
    """Returns pairs that contradict each other by a claim, the current one first.

    A memory that is no hit is only brought along to stand above one that is trusted less.
    """
    shown = {hit.id for hit in hits}
    about: dict[tuple[str, str], dict[str, Memory]] = {}
    for memory in (*(hit.memory for hit in hits), *memories.values()):
        if (claim := memory.claim) is not None:
            about.setdefault((claim.subject, claim.predicate), {})[memory.id] = memory
    found = [
        current(one, other)
        for group in about.values()
        if len(group) > 1
        for one, other in _competing(list(group.values()))
        if not said_by_different(one, other) and opposed(one, other)
    ]
    return [
        (upper, lower)
        for upper, lower in found
        if lower.id in shown and (upper.id in shown or outranks(upper.source, lower.source))
    ]


def _competing(group: Sequence[Memory]) -> Iterator[tuple[Memory, Memory]]:
    """Yields pairs of which one is to stand above: each with the first few of another kind.

    Hits come first, so that they are the best; all pairs of a thousand would take minutes.
    """
    alike: dict[tuple[object, ...], list[Memory]] = {}
    for memory in group:
        source = memory.source
        kind = (memory.scope, source.kind, source.channel, source.stated)
        alike.setdefault(kind, []).append(memory)
    for ours, theirs in permutations(alike.values(), 2):
        if _compete(ours[0], theirs[0]):
            yield from product(ours, theirs[:RIVALS])
            yield from product(ours[:RIVALS], theirs[RIVALS:])


def _compete(one: Memory, other: Memory) -> bool:
    """True if one is for a narrower audience, or neither is and one is trusted less."""
    within, around = sees(one.scope, other.scope), sees(other.scope, one.scope)
    return within if within is not around else outranks(other.source, one.source)


def opposed(one: Memory, other: Memory) -> bool:
    """True if what two memories claim cannot both hold."""
    if one.claim is None or other.claim is None:
        return False
    from memory_mesh.write.claims import ClaimRelation, compare  # few hits are rivals
    from memory_mesh.write.rules.contradictions import as_compared

    ours = as_compared(one.claim, one.source, other.source)
    theirs = as_compared(other.claim, other.source, one.source)
    found = compare(ours, theirs)
    unsure = dominates(one.source, other.source) or dominates(other.source, one.source)
    return found is ClaimRelation.CONFLICT or (found is ClaimRelation.UNSURE and unsure)
