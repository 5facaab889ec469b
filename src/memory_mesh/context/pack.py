"""Memories for a prompt, under a budget that is never exceeded.

::

    question ── search ──▶ hits above the floor ── one hop ──▶ what is linked to the best of them
      │                                                                       (the same lens)
    no question ──▶ pinned, the profile, lessons, then the project's newest and most used
      ▼
    each as its entry, with its tokens ──▶ choose ──▶ render ──▶ count the text
      │                                                            too many? leave out the last
      ▼
    Pack(text, items, left_out) ── note what entered the prompt     buffered: nothing waits
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.context.fence import harmless
from memory_mesh.context.graph import denies, linked, strength
from memory_mesh.context.packing import choice
from memory_mesh.context.packing.token_budget import (
    FIRST_SHARE,
    PackMember,
    PackRules,
    budget,
    checked,
    entry_shown,
    packed,
)
from memory_mesh.evidence.citations import CodeState
from memory_mesh.formats.terminal import without_hidden
from memory_mesh.model import (
    SIMILAR,
    Explanation,
    Hit,
    Hits,
    Lens,
    Memory,
    Page,
    Query,
    SourceKind,
    WrongKey,
)
from memory_mesh.model.graph import EPISODE
from memory_mesh.model.memory import OF_ROLE, PREFERRED
from memory_mesh.model.pack import (
    Injected,
    Injection,
    LeftOut,
    LeftOutBy,
    Pack,
    PackItem,
    ProfileKind,
    ProfileLine,
    Section,
    StandingProfile,
)
from memory_mesh.model.ports import Snapshot
from memory_mesh.model.query import And, Compare, Filter, Sign
from memory_mesh.rules.trust import OF_THE_USER
from memory_mesh.search.rank import below_newer
from memory_mesh.search.ranking import profiles
from memory_mesh.search.recall import Reranking, find
from memory_mesh.text.claim_keys import key
from memory_mesh.write.access import Access
from memory_mesh.write.audit_entries import use_entry

INJECTED = 10

MOST_PINNED = 50  # and of each source kind for a profile, the newest
LOOKED_AT = 200  # of the newest memories; the most used are found among them

LEAST_HITS, MOST_HITS = 10, 100  # that a search for a pack is asked for
HIT_TOKENS = 10  # of the budget for each hit asked for
EXPANDED = 10  # hits whose links are followed
LINKS_OF_ONE = 3
QUESTION_CHARS = 200  # of a question in the record
PROFILE_TOKENS = 200  # of a profile, unless the caller states another budget
LONGEST_LINE = 240  # characters of a line of a profile
USER, PROJECT = "user", "project"
_TEAM = frozenset(("we", "project"))
_STATED = {kind.value: kind for kind in ProfileKind}  # as a kind of a memory, or as its label
_OF_PROJECT = frozenset((ProfileKind.DECISION, ProfileKind.CONVENTION))
_BY_TRUST = tuple(SourceKind)
_KINDS = tuple(ProfileKind)


@dataclass(frozen=True, slots=True)
class PackRequest:
    """What is asked (None at a session's start), what may be seen, and how to pack it."""

    question: str | None
    lens: Lens
    rules: PackRules


def pack(
    access: Access, asked: PackRequest, *, record: bool = True, reranking: "Reranking | None" = None
) -> Pack:
    """Returns what goes into the prompt, and records it unless told otherwise."""
    if asked.question is not None and asked.question.strip():
        asked, hits = _found(access, asked, reranking)
        hits, given = _not_given(asked.rules, hits)
        hits, below = _above_floor(asked.rules, hits)
        wanted = _with_links(access, asked, _of_hits(asked.rules, hits), below)
        wanted = _new(asked, _with_pinned(access, asked, wanted))
        wanted, gone = _standing_evidence(asked.rules, wanted)
        brought = {one.memory.id for one in wanted}
        below = [one for one in below if one.id not in brought]
        made = packed(asked.rules, wanted, asked.question, _seal(access), [*below, *given, *gone])
        made = replace(made, explanation=_told(hits.explanation, below))
    else:
        asked = replace(asked, question=None)
        wanted, gone = _standing_evidence(asked.rules, _new(asked, at_start(access, asked)))
        made = packed(asked.rules, wanted, None, _seal(access), gone)
    if record and made and access.yamo and asked.lens.as_of is None:
        made = _recorded(access, asked, made)
    return made


def _found(
    access: Access, asked: PackRequest, reranking: "Reranking | None"
) -> tuple[PackRequest, Hits]:
    """One search without a floor: what the floor leaves out is told."""
    rules = asked.rules
    query = Query(
        asked.question or "",
        asked.lens,
        hits_wanted(rules),
        rules.profile,
        weights=dict(rules.weights),
    )
    query, hits = find(access, query, reranking=reranking)
    return replace(asked, question=query.text), hits


def _not_given(rules: PackRules, hits: Hits) -> tuple[Hits, list[LeftOut]]:
    """The hits that the reader does not have yet; the best of them must reach the floor itself."""
    known = [hit for hit in hits if hit.id in rules.exclude]
    if not known:
        return hits, []
    given = [LeftOut(hit.id, LeftOutBy.GIVEN, 0, hit.score) for hit in known]
    return Hits([hit for hit in hits if hit.id not in rules.exclude], hits.explanation), given


def _new(asked: PackRequest, wanted: list[PackMember]) -> list[PackMember]:
    """What the reader does not have yet; a link or a newer statement may have brought it along."""
    return [one for one in wanted if one.memory.id not in asked.rules.exclude]


def _standing_evidence(
    rules: PackRules, wanted: Sequence[PackMember]
) -> tuple[list[PackMember], list[LeftOut]]:
    """What may be told: without what cites code that is gone, and what drifted below the others."""
    kept, drifted, gone = list[PackMember](), list[PackMember](), list[LeftOut]()
    for one in wanted:
        found = None if rules.checks is None else rules.checks(one.memory)
        if found is not None and found.verdict is CodeState.ORPHANED:
            gone.append(LeftOut(one.memory.id, LeftOutBy.ORPHANED, 0, one.score))
        elif found is not None and found.verdict is CodeState.DRIFTED:
            least = min((other.score for other in wanted if other.score is not None), default=None)
            drifted.append(
                replace(
                    one,
                    drifted=found.note,
                    score=None if one.score is None else least,
                    worth=one.worth / 2,
                )
            )
        else:
            kept.append(one)
    return [*kept, *drifted], gone


def _above_floor(rules: PackRules, hits: Hits) -> tuple[Hits, list[LeftOut]]:
    """The hits, if the best reaches the floor and each 0.15 of it, as in `search`; the others.

    An episode stands for its memories and tells nothing itself.
    """
    hits = Hits([hit for hit in hits if hit.memory.label != EPISODE], hits.explanation)
    least = floor(rules, (hit.score for hit in hits))
    below = [
        LeftOut(hit.id, LeftOutBy.RELEVANCE, 0, hit.score) for hit in hits if hit.score < least
    ]
    return Hits([hit for hit in hits if hit.score >= least], hits.explanation), below


def floor(rules: PackRules, scores: Iterable[float]) -> float:
    """The score that a memory needs, as in `search`."""
    return profiles.named(rules.profile).least_score(rules.min_relevance, scores)


def hits_wanted(rules: PackRules) -> int:
    """How many hits the search for a pack is asked for; what is left out takes no place of them."""
    return min(MOST_HITS, max(LEAST_HITS, rules.max_tokens // HIT_TOKENS) + len(rules.exclude))


def _told(explanation: Explanation, below: Sequence[LeftOut]) -> Explanation:
    best = max((one.score for one in below if one.score is not None), default=None)
    return replace(explanation, below=len(below), best_below=best)


def _of_hits(rules: PackRules, hits: Hits) -> list[PackMember]:
    by_margin = profiles.named(rules.profile).weighs and not hits.explanation.reranked
    return [
        PackMember(
            hit.memory,
            _section(rules, hit),
            hit.score,
            value,
            because=_brought_by(hit, hits),
            newer=hit.newer,
            span=hit.span,
            conflict=hit.conflict,
        )
        for hit, value in zip(hits, choice.worths(hits, by_margin=by_margin), strict=True)
    ]


def _section(rules: PackRules, hit: Hit) -> Section:
    memory = hit.memory
    if hit.newer is not None:
        return Section.OLDER
    if memory.pinned:
        return Section.PINNED
    if teaches(rules, memory):
        return Section.LESSON
    return Section.FOUND if hit.parts else Section.NEWER


def teaches(rules: PackRules, memory: Memory) -> bool:
    """True for a lesson that is certain and recent enough to come first."""
    lesson = memory.lesson
    if lesson is None or lesson.confidence < rules.lesson_confidence:
        return False
    return rules.lessons_since is None or memory.created >= rules.lessons_since


def _brought_by(hit: Hit, hits: Sequence[Hit]) -> str | None:
    """The older statement that brought a newer one along, which the search had not found."""
    if hit.parts:
        return None
    return next((other.id for other in hits if other.newer == hit.id), None)


def _with_links(
    access: Access, asked: PackRequest, wanted: list[PackMember], below: Sequence[LeftOut]
) -> list[PackMember]:
    """Adds what is linked to the best hits; of the past as far as the links are still there.

    What the search found below the floor comes in only by a link that somebody made.
    """
    best = {one.memory.id: one for one in wanted[:EXPANDED] if one.section is not Section.OLDER}
    if not best:
        return wanted
    known = {one.memory.id for one in wanted}
    judged = {one.id for one in below}
    least = floor(asked.rules, (one.score or 0.0 for one in wanted))
    found: dict[str, PackMember] = {}
    with access.ledger.read(access.namespace) as snapshot:
        for link, memory in linked(snapshot, list(best), asked.lens, most=LINKS_OF_ONE):
            by = best[link.source if link.source in best else link.target]
            score = (by.score or 0.0) * strength(link)
            if (
                score < least
                or memory.label == EPISODE
                or (link.type == SIMILAR and memory.id in judged)
            ):
                continue
            held = found.get(memory.id)
            if memory.id not in known and (held is None or score > (held.score or 0.0)):
                value = choice.linked(by.worth, link)
                found[memory.id] = PackMember(memory, Section.LINKED, score, value, by.memory.id)
        if not found:
            return wanted
        placed = below_newer(snapshot, asked.lens, [one.memory for one in found.values()])
    return [*wanted, *(one for one in marked(placed, found) if one.memory.id not in known)]


def _with_pinned(access: Access, asked: PackRequest, wanted: list[PackMember]) -> list[PackMember]:
    """Adds what is pinned, whatever the question is; it has a share of the budget and no more."""
    known = {one.memory.id for one in wanted}
    with access.ledger.read(access.namespace) as snapshot:
        pinned = snapshot.page(asked.lens, MOST_PINNED, None, pinned=True)
    return [*wanted, *(PackMember(one, Section.PINNED) for one in pinned if one.id not in known)]


def marked(placed: Sequence[Hit], found: Mapping[str, PackMember]) -> Iterable[PackMember]:
    """What was found, and the newer statements about it; an older statement is marked as such."""
    older = {hit.newer: found[hit.id] for hit in reversed(placed) if hit.id in found}
    for hit in placed:
        one = found.get(hit.id)
        if one is not None and hit.newer is not None:
            yield replace(one, section=Section.OLDER, newer=hit.newer)
        elif one is not None:
            yield replace(one, conflict=hit.conflict)
        elif hit.id in older:
            by = older[hit.id]
            yield replace(by, memory=hit.memory, section=Section.NEWER, because=by.memory.id)


def _seal(access: Access) -> Callable[[str], bytes]:
    """The digest under the store's key; where there is none, reading goes on with a digest."""
    own = access.seal

    def sealed(value: str) -> bytes:
        if own is not None:
            with suppress(WrongKey):
                return own(value)
        from hashlib import sha256

        return sha256(value.encode()).digest()

    return sealed


def _recorded(access: Access, asked: PackRequest, made: Pack) -> Pack:
    """Notes what entered the prompt: written with the next commit, soon, or at close."""
    ids = [item.id for item in made.items]
    question, now = asked.question or "", asked.lens.now
    injection = Injection(
        id=access.ids.draw("inj"),
        at=now,
        reader=asked.lens.scope,
        question=question[:QUESTION_CHARS],
        format=made.format,
        fence=made.fence,
        tokens=made.tokens,
        max_tokens=made.max_tokens,
        memories=tuple(injected(made.items)),
        agent=access.agent,
    )
    entry = use_entry(access, ids, asked.lens, asked=question, use="inject")
    access.ledger.note(access.namespace, entry, injection)
    return replace(made, injection_id=injection.id)


def injected(items: Iterable[PackItem]) -> Iterable[Injected]:
    """What is recorded of each memory."""
    for item in items:
        yield Injected(
            item.id, item.memory.recorded_from, item.section.value, item.tokens, item.score
        )


# What a session starts with when nothing was asked: pinned, profile, lessons, newest, most used.


def at_start(access: Access, asked: "PackRequest") -> list[PackMember]:
    """Candidates in the order in which they are taken, each once."""
    lens, rules = asked.lens, asked.rules
    on_lessons = lens_on_lessons(lens, rules.lesson_confidence, rules.lessons_since)
    with access.ledger.read(access.namespace) as snapshot:
        pinned = snapshot.page(lens, MOST_PINNED, None, pinned=True)
        lessons = snapshot.page(on_lessons, INJECTED, None, worst_first=True)
        newest = snapshot.page(lens, LOOKED_AT, None)
        profiled = [] if lens.as_of is not None else standing(snapshot, lens)
        found = [(memory, Section.PINNED) for memory in pinned]
        found += [(memory, Section.LESSON) for memory in lessons]
        found += [(each.memory, Section.PROFILE) for each in _fitting(rules, profiled)]
        recent = _recent(lens, [one for one in newest if _may_be_listed(one)])
        found += recent[: hits_wanted(rules)]  # more have no room
        once: dict[str, PackMember] = {}
        for memory, section in found:
            once.setdefault(memory.id, PackMember(memory, section))
        placed = below_newer(snapshot, lens, [one.memory for one in once.values()])
    return list(marked(placed, once))


def _fitting(rules: PackRules, profiled: Sequence[ProfileLine]) -> list[ProfileLine]:
    """The profile as far as its share goes, each memory at the price of its entry."""
    shown = {
        each.id: entry_shown(rules, PackMember(each.memory, Section.PROFILE)) for each in profiled
    }
    return fitting(
        profiled,
        min(PROFILE_TOKENS, int(FIRST_SHARE * rules.max_tokens)),
        lambda lines: rules.count("\n".join([shown[each.id] for each in lines])),
    )


def _may_be_listed(memory: Memory) -> bool:
    """Lessons and pinned memories have their place, and an episode is the sum of others."""
    return memory.lesson is None and not memory.pinned and memory.label != EPISODE


def _recent(lens: Lens, newest: list[Memory]) -> list[tuple[Memory, Section]]:
    """The newest and the most used in turns, those of the reader's own project first."""
    names = {lens.scope.project, *lens.scope.names}
    own = [memory for memory in newest if memory.scope.project in names]
    rest = [memory for memory in newest if memory.scope.project not in names]
    return [*_in_turns(own), *_in_turns(rest)]


def _in_turns(newest: list[Memory]) -> Iterator[tuple[Memory, Section]]:
    """Each once. A pack counts as a use of all that it holds, and so does not change the next."""
    used = iter(sorted(newest, key=lambda one: -one.uses))
    listed = set[str]()
    for memory in newest:
        if memory.id not in listed:
            listed.add(memory.id)
            yield memory, Section.RECENT
        often = next((one for one in used if one.id not in listed), None)
        if often is not None:
            listed.add(often.id)
            yield often, Section.USED if often.uses else Section.RECENT


def lens_on_lessons(
    lens: Lens, minimum: float, since: datetime | None, pattern: str | None = None
) -> Lens:
    """The same lens on lessons only: certain enough, and not older than they are kept."""
    tests = (
        Compare("memory_type", Sign.EQUAL, "lesson"),
        Compare("severity", Sign.AT_LEAST, 0),  # only lessons have one: an index of them
        Compare("rule_confidence", Sign.AT_LEAST, minimum),
        None if since is None else Compare("created_at", Sign.AT_LEAST, since),
        None if pattern is None else Compare("lesson_pattern_id", Sign.EQUAL, pattern),
    )
    return _where(lens, *tests)


def _where(lens: Lens, *tests: Filter | None) -> Lens:
    """The same lens on what passes these tests, too."""
    return replace(lens, where=And(tuple(each for each in (*tests, lens.where) if each)))


# The short, stable part of what is known of a user and a project, first at a session's start.
#
# ::
#
#     newest of each source kind, of no session (an index), and what the user has one of
#       ▼                     less what a newer one updates, turns round or says again, and denials
#     pinned ── the user's own words ── others', from the most trusted on
#       ▼                                      in each the kinds in turns, the newest first
#     taken while they fit the budget ──▶ shown by kind
#
# It is made of the sentences as they were stored, at every call: nothing is kept that could be out
# of date, and the same sources give the same text.


def profile(
    access: Access,
    lens: Lens,
    of: str | None,
    max_tokens: int | None,
    count_tokens: Callable[[str], int] | None,
) -> StandingProfile:
    """The lines that fit the budget; with `of` only those of the user or of the project."""
    most = budget(PROFILE_TOKENS if max_tokens is None else max_tokens, None)
    count = checked(count_tokens) if count_tokens else choice.token_bound
    with access.ledger.read(access.namespace) as snapshot:
        found = [line for line in standing(snapshot, lens) if of in {None, line.of}]
    taken = fitting(found, most, lambda lines: count("\n".join(map(str, lines))))
    shown = tuple(sorted(taken, key=lambda line: _KINDS.index(line.kind)))
    text = "\n".join(map(str, shown))
    return StandingProfile(shown, count(text) if text else 0, most, len(found) - len(shown))


def fitting(
    lines: Iterable[ProfileLine], most: int, count: Callable[[Sequence[ProfileLine]], int]
) -> list[ProfileLine]:
    """The lines that fit so many tokens in the order in which they are shown, the first first."""
    taken: list[ProfileLine] = []
    for line in lines:
        tried = sorted((*taken, line), key=lambda each: _KINDS.index(each.kind))
        if count(tried) <= most:
            taken.append(line)
    return taken


def standing(snapshot: Snapshot, lens: Lens) -> list[ProfileLine]:
    """What holds from one session to the next, what matters most first."""
    of_user = _where(lens, Compare("subject", Sign.EQUAL, USER))
    pages = [snapshot.page(lens, MOST_PINNED, None, standing=kind) for kind in SourceKind]
    pages.append(snapshot.page(lens, MOST_PINNED, None, pinned=True))
    pages.append(Page(filter(_has_one_value, snapshot.page(of_user, MOST_PINNED, None))))
    every = {one.id: one for page in pages for one in page}
    hits = {hit.id: hit for hit in below_newer(snapshot, lens, list(every.values()), rivals=False)}
    now = {id_: hits[hits[id_].newer or id_].memory for id_ in every}
    lines = (
        _line(now[id_], _kind(every.get(now[id_].id, one)))
        for id_, one in every.items()
        if now[id_] is one or (now[id_].id not in every and now[id_].scope.session is None)
    )
    found = [line for line in lines if not (line.kind is ProfileKind.ROLE and denies(line.memory))]
    found.sort(key=lambda line: (-max(1, _rank(line)), line.memory.created, line.id), reverse=True)
    told, places = set[object](), dict[tuple[int, ProfileKind], list[ProfileLine]]()
    for line in found:
        if told.isdisjoint(said := _said(line)):
            places.setdefault((_rank(line), line.kind), []).append(line)
        told |= said
    turns = [
        (rank, turn, _KINDS.index(kind), line)
        for (rank, kind), lines in places.items()
        for turn, line in enumerate(lines)
    ]
    return [line for *_, line in sorted(turns, key=lambda turn: turn[:3])][:MOST_PINNED]


def _has_one_value(memory: Memory) -> bool:
    """True for what the user says of themselves that has but one value, in no session's own."""
    claim, is_own = memory.claim, memory.source.kind in OF_THE_USER and memory.scope.session is None
    return is_own and claim is not None and claim.exclusive and claim.certain


def _said(line: ProfileLine) -> set[tuple[str | None, ...]]:
    """What two lines share that say the same, and of which one takes the place of the other.

    A preference is turned round by the same words in another order.
    """
    by, claim = line.memory.speaker, line.memory.claim
    said: set[tuple[str | None, ...]] = {(by, choice.said(line.text))}
    if claim is not None and claim.subject == USER and claim.predicate in PREFERRED:
        said.add((by, claim.predicate, *sorted(key(claim.value).split())))
    elif claim is not None and claim.subject == USER and claim.exclusive:
        said.add((by, claim.predicate, "*"))
    return said


def _rank(line: ProfileLine) -> int:
    """Pinned memories come first, then the user's own words, then others' by their trust.

    Of the user's own words those come last of which no list says that they last.
    """
    memory, claim = line.memory, line.memory.claim
    if memory.pinned or memory.source.kind not in OF_THE_USER:
        return 0 if memory.pinned else 3 + _BY_TRUST.index(memory.source.kind)
    lasts = line.kind is not ProfileKind.ROLE or claim is None or claim.subject != USER
    return 1 if lasts or claim is None or claim.predicate in OF_ROLE else 2


def _line(memory: Memory, kind: ProfileKind) -> ProfileLine:
    in_project = kind is ProfileKind.PINNED and memory.scope.project is not None
    of = PROJECT if in_project or kind in _OF_PROJECT else USER
    text = " ".join(harmless(without_hidden(memory.text)).split())
    cut = text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 1]}\u2026"
    return ProfileLine(memory, kind, of, cut)


def _kind(memory: Memory) -> ProfileKind:
    """The kind as the memory states it, else by what its claim is about.

    Whatever is personal is kept as a preference: who somebody is, their claim says.
    """
    stated, claim = _STATED.get(memory.label or memory.kind.value), memory.claim
    if claim is None or claim.subject not in {USER, *_TEAM}:
        return stated or ProfileKind.PINNED
    if claim.subject == USER and claim.predicate in OF_ROLE and stated is ProfileKind.PREFERENCE:
        stated = None
    if stated is not None or claim.predicate in PREFERRED:
        return stated or ProfileKind.PREFERENCE
    if claim.subject in _TEAM:
        return ProfileKind.CONVENTION
    return ProfileKind.PINNED if memory.pinned and denies(memory) else ProfileKind.ROLE
