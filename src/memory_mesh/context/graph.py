"""Follow the links between memories, and list what they tell of an entity, under one lens.

A link is followed only if the lens sees both of its memories, so what a reader does not see can
neither be reached nor passed through, and leaves no trace in an answer.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from itertools import groupby, islice

from memory_mesh.base.typed import replace
from memory_mesh.context.packing.choice import words
from memory_mesh.formats.terminal import without_hidden
from memory_mesh.model import Claim, Lens, Link, Memory, Name, NotFound, Resolution, Status
from memory_mesh.model.graph import EntityLine, KnownEntity, Neighbourhood, Reached, Walk
from memory_mesh.model.ports import Snapshot
from memory_mesh.model.query import Compare, Sign
from memory_mesh.rules.trust import is_less_trusted, seen_through
from memory_mesh.search.rank import below_newer
from memory_mesh.search.ranking.newer_first import opposed
from memory_mesh.text import analyzer
from memory_mesh.text.claim_keys import key
from memory_mesh.text.sentences import sentences
from memory_mesh.write.access import Access

MOST_ON_PATHS = 5_000  # memories that the search for a path looks at
MOST_LINKS_ON_PATHS = 100  # links of one memory that it follows, the best ones
MOST_GUESSES = 256  # of what seems to update what, read for one chain
MOST_SHOWN_LINKS = 10_000  # between the memories of a neighbourhood
MOST_COUNTED = 200  # memories outside of a neighbourhood that are counted
_AT_ONCE = 50  # memories whose links are read together
SUPERSEDES, NEWER_THAN = "supersedes", "newer_than"  # not stored: read from what became of memories
NAMING = frozenset(("name", "alias"))  # predicates whose value is another name of the subject
MOST_NAMES = 8  # of one entity
LEAST_READ = 200  # memories for each name: few lines are asked for, and its other names still found
MOST_READ = 2_000  # visible memories that hold the words of a name
LONGEST_LINE = 300  # characters of a text; of a longer one the sentences with the name are shown
_DENIED = "not "  # how a claim begins that denies its value
_TOLD = frozenset((Status.ACTIVE, Status.SUPERSEDED))


def linked(
    snapshot: Snapshot, ids: Sequence[str], lens: Lens, *, most: int
) -> list[tuple[Link, Memory]]:
    """The links of these memories to others that the lens sees, with those others, best first.

    At most `most` links of each memory; one that a caller made counts as a similarity of 1.
    """
    found = list(dict.fromkeys(snapshot.neighbours(ids, lens, most=most)))
    asked = frozenset(ids)
    others = {link: link.target if link.source in asked else link.source for link in found}
    memories = {memory.id: memory for memory in snapshot.get(list(others.values()), lens)}
    shown = [(link, memories[id_]) for link, id_ in others.items() if id_ in memories]
    return sorted(shown, key=lambda pair: -strength(pair[0]))


def strength(link: Link) -> float:
    """How near a link's memories are: its similarity, or 1 for a link that was made on purpose."""
    return 1.0 if link.similarity is None else link.similarity


def traverse(
    access: Access,
    memory_id: str,
    lens: Lens,
    *,
    max_hops: int,
    limit: int,
    types: Sequence[str] = (),
) -> Walk:
    """The memories that links lead to, nearest first, each by the best link of the fewest steps."""
    with access.ledger.read(access.namespace) as snapshot:
        _seen(snapshot, memory_id, lens)
        walk = _walk(snapshot, memory_id, lens, max_hops, types, most=limit + 1)
        found = list(islice(walk, limit + 1))
        memories = _memories(snapshot, [id_ for id_, _, _ in found[:limit]], lens)
    reached = (Reached(memories[id_], hops, link) for id_, hops, link in found[:limit])
    return Walk(reached, cut=len(found) > limit)


def path(
    access: Access,
    source_id: str,
    target_id: str,
    lens: Lens,
    *,
    max_hops: int,
    types: Sequence[str] = (),
) -> tuple[Link, ...] | None:
    """The links of a shortest way from one memory to another, in order; None if there is none.

    It goes from both ends at once and looks at MOST_ON_PATHS memories.
    """
    with access.ledger.read(access.namespace) as snapshot:
        for id_ in (source_id, target_id):
            _seen(snapshot, id_, lens)
        if source_id == target_id:
            return ()
        sides = (_Side(source_id), _Side(target_id))
        for _ in range(max_hops):
            near, far = sorted(sides, key=lambda side: len(side.frontier))
            met = near.grow(snapshot, lens, types, far)
            if met is not None:
                return (*reversed(sides[0].way(met)), *sides[1].way(met))
            if not near.frontier or sum(len(side.by) for side in sides) > MOST_ON_PATHS:
                return None
    return None


def neighbourhood(
    access: Access, memory_id: str, lens: Lens, *, hops: int, limit: int
) -> Neighbourhood:
    """A memory, those that are nearest to it by links, and every link between them."""
    with access.ledger.read(access.namespace) as snapshot:
        center = _seen(snapshot, memory_id, lens)
        walk = _walk(snapshot, memory_id, lens, hops, (), most=limit + MOST_COUNTED)
        reached = [id_ for id_, _, _ in islice(walk, limit - 1)]
        more = sum(1 for _ in islice(walk, MOST_COUNTED))
        memories = _memories(snapshot, reached, lens)
        shown = [memory_id, *reached]
        links = snapshot.links(shown, lens, limit=MOST_SHOWN_LINKS, within=True)
    shown_memories = (center, *(memories[id_] for id_ in reached))
    return Neighbourhood(memory_id, shown_memories, tuple(links), more)


def supersessions(access: Access, memory_id: str, lens: Lens) -> Neighbourhood:
    """What superseded what, and what seems to update what, around one memory, oldest first."""
    from memory_mesh.write.review import chain

    wide = replace(lens, statuses=frozenset(Status) - {Status.DELETED}, any_validity=True)
    replaced = chain(access, lens, memory_id)
    with access.ledger.read(access.namespace) as snapshot:
        guesses = [
            guess
            for guess in snapshot.guesses([memory.id for memory in replaced], MOST_GUESSES)
            if guess.resolution is Resolution.NEWER_THAN
        ]
        ends = [id_ for guess in guesses for id_ in (guess.new, guess.existing)]
        found = _memories(snapshot, [*(memory.id for memory in replaced), *ends], wide)
    if memory_id not in found:
        raise NotFound.of(memory_id)
    links = [
        *(
            Link(memory.successor, memory.id, SUPERSEDES, at=memory.recorded_from)
            for memory in found.values()
            if memory.successor is not None
        ),
        *(Link(guess.new, guess.existing, NEWER_THAN, at=guess.created) for guess in guesses),
    ]
    ordered = sorted(found.values(), key=lambda memory: (memory.created, memory.id))
    shown = tuple(link for link in links if link.source in found and link.target in found)
    return Neighbourhood(memory_id, tuple(ordered), shown)


class _Side:
    """What a path's search reached from one end: of each memory the link it came by."""

    def __init__(self, start: str) -> None:
        self.frontier = [start]
        self.by: dict[str, tuple[str, Link] | None] = {start: None}

    def grow(
        self, snapshot: Snapshot, lens: Lens, types: Sequence[str], other: "_Side"
    ) -> str | None:
        """One more step from every memory of the frontier; the memory where both ends meet."""
        found: list[str] = []
        for link, near, far in _next(
            snapshot, self.frontier, lens, types, self.by, most=MOST_LINKS_ON_PATHS
        ):
            self.by[far] = (near, link)
            if far in other.by:
                return far
            found.append(far)
            if len(self.by) > MOST_ON_PATHS:
                break
        self.frontier = found
        return None

    def way(self, end: str) -> list[Link]:
        """The links from a memory back to this side's start."""
        links: list[Link] = []
        step = self.by[end]
        while step is not None:
            links.append(step[1])
            step = self.by[step[0]]
        return links


def _walk(
    snapshot: Snapshot, start: str, lens: Lens, max_hops: int, types: Sequence[str], *, most: int
) -> Iterator[tuple[str, int, Link]]:
    """The memories that links lead to, step by step: id, steps, the link that led there."""
    known: dict[str, None] = {start: None}
    frontier = [start]
    for hops in range(1, max_hops + 1):
        found: list[str] = []
        for link, _, far in _next(snapshot, frontier, lens, types, known, most=most):
            known[far] = None
            found.append(far)
            yield far, hops, link
        frontier = found
        if not frontier:
            return


def _next(
    snapshot: Snapshot,
    frontier: Sequence[str],
    lens: Lens,
    types: Sequence[str],
    known: Iterable[str],
    *,
    most: int,
) -> Iterator[tuple[Link, str, str]]:
    """The links from these memories to memories that are not known: link, from where, to where.

    Memories that become known on the way are not reached again.
    """
    for start in range(0, len(frontier), _AT_ONCE):
        part = frontier[start : start + _AT_ONCE]
        held = frozenset(part)
        here = list(known)
        reached = set(here)
        for link in snapshot.neighbours(part, lens, most=most, types=types, besides=here):
            near, far = link.source, link.target
            if near not in held:
                near, far = far, near
            if far not in reached:
                reached.add(far)
                yield link, near, far


def _seen(snapshot: Snapshot, memory_id: str, lens: Lens) -> Memory:
    """The memory, or NotFound if the lens does not see it, whether it exists or not."""
    found = snapshot.get([memory_id], lens)
    if not found:
        raise NotFound.of(memory_id)
    return found[0]


def _memories(snapshot: Snapshot, ids: Sequence[str], lens: Lens) -> dict[str, Memory]:
    return {memory.id: memory for memory in snapshot.get(ids, lens)}


# What is known of an entity over time: whom or what claims are about, by all its names.
#
# ::
#
#     name ──▶ claims of the subject          (an index)
#          └─▶ memories that say the name     (the words of texts, newest first)
#       ▼
#     its other names ── a claim says `name` or `alias` ──▶ the same for each
#                     └─ all longer names are of one: "Alice", "Alice Smith"
#       ▼
#     each memory and its earlier wordings ── since when, until when ──▶ oldest first
#
# Everything is read under one lens, names as well: what a reader does not see neither adds a line
# nor makes a name ambiguous.


def entity(access: Access, name: str, lens: Lens, limit: int) -> KnownEntity:
    """The newest `limit` lines about an entity, oldest first."""
    asked, wide = key(name) or name, replace(lens, statuses=_TOLD, any_validity=True)
    with access.ledger.read(access.namespace) as snapshot:
        told = cache(partial(_Told, snapshot, wide, max(limit, LEAST_READ) + 1))
        meant, others = _names(told, asked)
        found = {one.id: one for each in meant for one in told(each)}
        own = [one for one in found.values() if not _is_of_others(one, meant, others)]
        newest = sorted(own, key=lambda one: (_begin(one), one.id))[-limit - 1 :]
        lines = sorted(_entity_lines(snapshot, lens, newest, meant), key=lambda line: line.since)
    return KnownEntity(
        " ".join(name.split()),
        tuple(said for each, said in meant.items() if each != asked),
        tuple(sorted(others.values())),
        tuple(lines[-limit:]),
        len(lines) > limit or any(told(each).cut for each in meant),
    )


class _Told(list[Memory]):
    """The newest memories whose claim is about a name, and those that say it; `cut` if not all."""

    def __init__(self, snapshot: Snapshot, lens: Lens, most: int, name: str) -> None:
        self.cut = False
        about = replace(lens, where=Compare("subject", Sign.EQUAL, name))
        claims = snapshot.page(about, most, None)
        saying = list(islice(self._saying(snapshot, lens, name), most))
        super().__init__((*claims, *saying))
        self.cut = self.cut or most in {len(claims), len(saying)}

    def _saying(self, snapshot: Snapshot, lens: Lens, name: str) -> Iterator[Memory]:
        terms, keywords, read = tuple(analyzer.terms(name)), snapshot.keywords(lens), 0
        holding = keywords.holding(Name(terms)) if terms else iter(())
        while read < MOST_READ and (texts := list(islice(holding, _AT_ONCE))):
            versions = sorted((version for _, version in keywords.versions(texts)), reverse=True)
            memories = snapshot.load(versions, lens)
            yield from (memories[one] for one in versions if _says(memories[one].text, name))
            read += len(versions)
        self.cut = read >= MOST_READ


def _names(
    told: Callable[[str], list[Memory]], asked: str
) -> tuple[dict[str, str], dict[str, str]]:
    """All names of what was asked for, and those of others that it may mean; as written."""
    start, alike = {asked: _written(asked, told(asked))}, _alike(told(asked), asked)
    meant = _joined(told, start | dict(islice(alike.items(), 1)))
    if not alike.keys() <= meant.keys():  # they are not all of one
        meant = _joined(told, start)
    short = {name.partition(" ")[0]: said for name, said in meant.items() if _is_name(said)}
    meant |= {
        name: said.split()[0]
        for name, said in short.items()
        if _alike(told(name), name).keys() <= meant.keys()
    }
    meant = _joined(told, meant)
    others = {name: said for each in meant for name, said in _alike(told(each), each).items()}
    return meant, {name: said for name, said in others.items() if name not in meant}


def _joined(told: Callable[[str], list[Memory]], names: dict[str, str]) -> dict[str, str]:
    """These names, and those that claims give to the same: a name of two joins neither."""
    found = dict(names)
    for name in names:
        owners = _owners(told(name), name)
        found = _stated(told(name), name) | (owners if len(owners) == 1 else {}) | found
    more = [name for name in found if name not in names][: max(0, MOST_NAMES - len(names))]
    return _joined(told, names | {name: found[name] for name in more}) if more else names


def _says(text: str, name: str) -> bool:
    """True if a text holds the words of a name, one behind the other."""
    return f" {' '.join(words(name))} " in f" {' '.join(words(text))} "


def _naming(told: Iterable[Memory]) -> list[tuple[Claim, Memory]]:
    """The claims that say what something is called, as far as they hold."""
    return [
        (claim, one)
        for one in told
        if (claim := one.claim) is not None
        and claim.predicate in NAMING
        and one.status is Status.ACTIVE
        and not denies(one)
    ]


def denies(memory: Memory) -> bool:
    """True if the claim of a memory says what is not so."""
    return memory.claim is not None and memory.claim.value.startswith(_DENIED)


def _stated(told: Iterable[Memory], name: str) -> dict[str, str]:
    """The other names that an entity is said to have."""
    return {key(one.value): one.value for one, _ in _naming(told) if one.subject == name}


def _owners(told: Iterable[Memory], name: str) -> dict[str, str]:
    """Whom this is said to be a name of."""
    return {
        claim.subject: _written(claim.subject, [one])
        for claim, one in _naming(told)
        if key(claim.value) == name != claim.subject
    }


def _alike(told: Sequence[Memory], name: str) -> dict[str, str]:
    """The names that this one may stand for."""
    return _owners(told, name) | _longer(told, name)


def _longer(told: Sequence[Memory], name: str) -> dict[str, str]:
    """The longest names that begin with this one: every word of them has a capital in a text."""
    said = [(one.claim.subject, one) for one in told if one.claim is not None]
    said += [(key(claim.value), one) for claim, one in _naming(told)]
    found = {
        other: written
        for other, one in said
        if other.startswith(f"{name} ") and _is_name(written := _written(other, [one]))
    }
    return {
        other: written
        for other, written in found.items()
        if not any(longer.startswith(f"{other} ") for longer in found)
    }


def _is_name(said: str) -> bool:
    """True if every word begins with a capital: of other phrases the beginning means another."""
    return all(word[:1].isupper() for word in said.split())


def _written(name: str, told: Iterable[Memory]) -> str:
    """A name as the first text spells it that says it; else its key."""
    found = ((one.text, one.text.casefold().find(name)) for one in told)
    return next((text[at : at + len(name)] for text, at in found if at >= 0), name)


def _is_of_others(memory: Memory, meant: Collection[str], others: Collection[str]) -> bool:
    """True for a memory that tells of somebody else whom the name may mean."""
    return (memory.claim is None or memory.claim.subject not in meant) and any(
        _says(memory.text, other) or (memory.claim is not None and memory.claim.subject == other)
        for other in others
    )


# Since when and until when a memory, or an earlier wording of it, holds.


def _entity_lines(
    snapshot: Snapshot, lens: Lens, told: Sequence[Memory], meant: Mapping[str, str]
) -> Iterator[EntityLine]:
    active = [one for one in told if one.status is Status.ACTIVE]
    placed = {hit.id: hit for hit in below_newer(snapshot, lens, active, rivals=False)}
    for memory in told:
        newer = placed[memory.id].newer if memory.id in placed else None
        ended = _end(memory, placed[newer].memory if newer else None, active, meant)
        for said, since, until in _wordings(snapshot, lens, memory):
            ends = [each for each in (until, ended, said.valid_until) if each is not None]
            yield EntityLine(
                memory.id,
                _told_of(said.text, meant),
                since,
                min(ends, default=None),
                until is None
                and ended is None
                and (said.valid_from or lens.now) <= lens.now
                and (said.valid_until is None or said.valid_until > lens.now),
                said.source,
            )


def _end(
    memory: Memory, newer: Memory | None, told: Iterable[Memory], meant: Mapping[str, str]
) -> datetime | None:
    """When a later statement took its place: the first that updates it or contradicts it.

    A new name updates a name and nothing else. What nothing updates, another claim by the same name
    does not end: both may hold.
    """
    claim, ends = memory.claim, [] if newer is None else [newer]
    if claim is not None:
        if claim.predicate not in NAMING:
            ends = [one for one in ends if one.claim is None or one.claim.predicate not in NAMING]
        ends += (
            one
            for one in told
            if (other := one.claim) is not None
            and {claim.subject, other.subject} <= meant.keys()
            and (newer is not None or other.subject != claim.subject)
            and other.predicate == claim.predicate
            and _begin(one) > _begin(memory)
            and opposed(one, memory)
            and not is_less_trusted(one, memory)
        )
    return min(map(_begin, ends), default=None)


def _begin(memory: Memory) -> datetime:
    return memory.valid_from or memory.occurred_at or memory.created


def _wordings(
    snapshot: Snapshot, lens: Lens, memory: Memory
) -> Iterator[tuple[Memory, datetime, datetime | None]]:
    """What a memory said, one text after the other, each with its time."""
    is_first = memory.recorded_from == memory.created
    versions = [
        each
        for each in ([memory] if is_first else snapshot.history(memory.id))
        if each.status in _TOLD and seen_through(lens, each.scope)
    ]
    wordings = [list(same) for _, same in groupby(versions, key=lambda each: each.text)]
    starts = [same[0].recorded_from for same in wordings]
    for place, same in enumerate(wordings):
        last = same[-1]
        since = max(_begin(last), starts[place]) if place else _begin(last)
        over = (
            each.recorded_from for each in same if each.status is last.status is Status.SUPERSEDED
        )
        yield last, since, next(iter((*starts[place + 1 :], *over)), None)


def _told_of(text: str, meant: Mapping[str, str]) -> str:
    """The text on one line; of a long one the sentences that say the name."""
    if len(text) > LONGEST_LINE:
        said = " … ".join(one for one in sentences(text) if any(_says(one, name) for name in meant))
        text = (said or text)[:LONGEST_LINE]
    return " ".join(without_hidden(text).split())
