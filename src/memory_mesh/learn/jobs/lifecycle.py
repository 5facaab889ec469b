"""The upkeep of memories: duplicates, contradictions, corroboration, digests, and what has faded.

::

    survey ── pages of memories, links by similarity ──▶ pairs, claims, what is faint
       │
       ▼  in this order, each slice decided once more inside its own transaction
    dedupe ▶ contradictions ▶ corroboration ▶ compress ▶ prune

Stopped after any slice, the next run finds what is left; run twice, it changes nothing. A dry run
decides on what the ledger holds and what it would have written before, and commits nothing. Each
change can be undone: `review.undo` for what gave way to another memory, `restore` for what was
archived, `delete` for a digest. What somebody undid is left alone from then on.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set as AbstractSet
from datetime import datetime, timedelta
from functools import partial

from memory_mesh.base.typed import dataclass, field, replace
from memory_mesh.learn import lessons
from memory_mesh.learn.clusters import components, members, telling_terms
from memory_mesh.learn.episodes import summary
from memory_mesh.learn.jobs.worksite import SLICE, Site, Slice, Slices, sliced
from memory_mesh.learn.rules import retention as rules
from memory_mesh.model import (
    SIMILAR,
    Channel,
    Commit,
    Conflict,
    ConflictPolicy,
    Draft,
    Kind,
    Link,
    Memory,
    Observation,
    Outcome,
    Resolution,
    Rival,
    Scope,
    Source,
    SourceKind,
    Standing,
    Status,
    Wanted,
    times,
)
from memory_mesh.model.job import Due, JobStep
from memory_mesh.model.learning import Reflection
from memory_mesh.rules.trust import is_less_trusted, standing_of, trust_of
from memory_mesh.text import analyzer
from memory_mesh.write import transaction as flows_decide
from memory_mesh.write.audit_entries import Change, change_entry, decided, turned
from memory_mesh.write.change import changed
from memory_mesh.write.prepare import clean, embed
from memory_mesh.write.rules.contradictions import contradicted, keys_of, schema_for

NAME = "consolidate-memories"
RAN = f"job/{NAME}/ran"
PERIOD = timedelta(hours=6)  # at most four times a day
MOST_LINKS = 50_000  # links by similarity that are looked at, those of the newest memories
CLUSTERED = 0.7  # similarity that holds a cluster together
MOST_RIVALS = 64  # memories of one subject and predicate that are compared, the newest
MOST_OF_DIGEST, SENTENCES = 15, 5  # memories of one digest, and sentences of it
DERIVED, RELATED = "derived_from", "related"
_MOST_RECORDS = 100  # conflicts, origins and links of one memory that are looked at
_LIVE = frozenset((Status.ACTIVE, Status.DISPUTED))


@dataclass(frozen=True, slots=True)
class Survey:
    """What a look at all memories found: by id, what each step is to look at."""

    twins: dict[tuple[Scope, frozenset[str]], list[str]] = field(default_factory=dict)
    claims: dict[tuple[str, str, Scope], list[str]] = field(default_factory=dict)
    faint: list[str] = field(default_factory=list)
    heard: dict[str, set[str]] = field(default_factory=dict)  # origins that this run found


def due(site: Site) -> Due:
    """Says whether the upkeep of memories is due: six hours after the last, or the first write."""
    ran = site.states(RAN).get(RAN)
    blocks = site.access.ledger.blocks(site.access.namespace, 0, 1) if ran is None else []
    if ran is None and not blocks:
        return Due(now=False, why="nothing is stored")
    last = blocks[0].entry.at if ran is None else datetime.fromisoformat(ran)
    hours = (site.now - last) // timedelta(hours=1)
    since = "it was made" if ran is not None else "the first write"
    if timedelta() <= site.now - last < PERIOD:
        left = PERIOD // timedelta(hours=1) - hours
        return Due(now=False, why=f"at most four times a day; due in {left} hours")
    return Due(now=True, why=f"{hours} hours since {since}")


def work(site: Site) -> Slices:
    """Makes the steps that are asked for, in the order of the specification."""
    survey = _survey(site)
    wanted = site.lifecycle.steps
    pairs = _pairs(site, survey) if {rules.DEDUPE, rules.CORROBORATION} & {*wanted} else []
    makers: dict[str, Callable[[], Slices]] = {
        rules.DEDUPE: lambda: _each_pair(site, survey, pairs, _merge),
        rules.CONTRADICTIONS: lambda: _contradictions(site, survey),
        rules.CORROBORATION: lambda: _each_pair(site, survey, pairs, _corroborate),
        rules.COMPRESS: lambda: _compress(site),
        rules.PRUNE: lambda: _prune(site, survey),
    }
    for name in rules.STEPS:
        if name in wanted:
            yield from makers[name]()
    if site.only is None and wanted == rules.STEPS:
        ran: dict[str, str | None] = {RAN: times.iso(site.now)}
        site.commit(Wanted(), lambda _: Commit(states=ran), ran)


def _survey(site: Site) -> Survey:
    """Reads the memories of the present, a page at a time, newest first."""
    found, cursor = Survey(), None
    while True:
        with site.access.ledger.read(site.access.namespace) as snapshot:
            page = snapshot.page(replace(site.lens(), statuses=_LIVE), SLICE, cursor)
        for memory in page:
            if site.only is None or site.only(memory.scope):
                _look(site, found, memory)
        site.between()
        if (cursor := page.cursor) is None:
            return found


def _look(site: Site, found: Survey, memory: Memory) -> None:
    if memory.status is Status.ACTIVE and rules.is_plain(memory):
        words = frozenset(analyzer.terms(memory.text))
        found.twins.setdefault((memory.scope, words), []).append(memory.id)
        for key in keys_of(memory):
            found.claims.setdefault(key, []).append(memory.id)
    free = rules.ages(memory) and rules.why_protected(memory) is None
    disputed = memory.status is Status.DISPUTED
    if free and (disputed or rules.strength(memory, site.now) < rules.WEAK):
        found.faint.append(memory.id)


def _pairs(site: Site, survey: Survey) -> list[tuple[str, str]]:
    """Memories that may say the same: of the same words, or of similar meaning."""
    same = (
        (ids[-1], other) for (_, words), ids in survey.twins.items() if words for other in ids[:-1]
    )
    near = ((link.source, link.target) for link in _similar(site, rules.ALIKE))
    return sorted({(min(pair), max(pair)) for pair in (*same, *near)})


def _similar(site: Site, least: float) -> list[Link]:
    """The links by similarity between memories that are active, as a dry run left them too."""
    lens = replace(site.lens(), statuses=frozenset((Status.ACTIVE,)))
    with site.access.ledger.read(site.access.namespace) as snapshot:
        links = snapshot.edges(lens, types=[SIMILAR], least=least, limit=MOST_LINKS)
    gone = {id_ for id_, each in site.drafted.items() if each.status is not Status.ACTIVE}
    return [link for link in links if gone.isdisjoint((link.source, link.target))]


# Pairs: one of two memories that say the same gives way; one that says more confirms the other.


_Pair = Callable[[Site, Survey, Memory, Memory], "JobStep | None"]


def _each_pair(
    site: Site, survey: Survey, pairs: Sequence[tuple[str, str]], settle: _Pair
) -> Slices:
    for start in range(0, len(pairs), SLICE):
        part = pairs[start : start + SLICE]
        found = {each.id: each for each in site.memories([id_ for pair in part for id_ in pair])}
        for ids in part:
            both = [each for id_ in ids if (each := found.get(id_)) and _is_ours(site, each)]
            step = settle(site, survey, *both) if len(both) == len(ids) else None
            if step is not None:
                found |= {each.id: each for each in site.memories(ids)}
                yield [(both[0].scope, step)]
        site.between()


def _is_ours(site: Site, memory: Memory) -> bool:
    """True for an active memory of an audience that this site works for."""
    ours = site.only is None or site.only(memory.scope)
    return ours and memory.status is Status.ACTIVE


def _merge(site: Site, survey: Survey, one: Memory, other: Memory) -> JobStep | None:
    kept, gone = rules.kept_first(one, other, site.now)
    if not rules.are_twins(kept, gone) or _settled(site, kept.id, gone.id):
        return None
    origins, links = _new_origins(site, survey, kept, gone), _other_links(site, gone.id, kept.id)

    def decide(standing: Standing) -> Commit:
        found = _both(standing, kept, gone)
        if found is None or _is_held(found[1], standing):
            return Commit()
        return _merged(site, found, origins, links, standing)

    done = _done(site, Wanted(ids=(kept.id, gone.id)), decide)
    if not done.puts:
        return None
    survey.heard.setdefault(kept.id, set()).update(seen.origin for seen in done.observations)
    return JobStep(rules.DEDUPE, f"{kept.id} says the same", (gone.id,), (kept.id,))


def _merged(
    site: Site,
    pair: tuple[Memory, Memory],
    origins: Sequence[str],
    links: Sequence[Link],
    standing: Standing,
) -> Commit:
    """The one gives way to the other, which gets its tags, links and origins."""
    kept, gone = pair
    commit = _replaced(site, kept, gone, "it says the same", standing)
    if _is_held(kept, standing):
        return commit
    tags = tuple(dict.fromkeys((*kept.tags, *gone.tags)))
    grown = replace(kept, tags=tags, recorded_from=standing.at)
    why = Change("merge", f"{gone.id} says the same")
    more = changed(site.access, standing, kept, grown, why)
    return replace(
        commit,
        puts=(*commit.puts, *more.puts),
        entries=(*commit.entries, *more.entries),
        observations=_observed(kept, gone, origins),
        links=tuple(links),
    )


def _replaced(site: Site, kept: Memory, gone: Memory, why: str, standing: Standing) -> Commit:
    """The one is superseded by the other, on record as a rule's decision."""
    put, entry = flows_decide.superseded(site.access, gone, kept, standing)
    ours, theirs = trust_of(kept, site.now), trust_of(gone, site.now)
    rival = Rival(gone, ours, theirs, why, Resolution.SUPERSEDE)
    record = flows_decide.on_record(site.access, kept, rival, standing)
    return Commit(puts=(put,), entries=(entry,), conflicts=(record,))


def _corroborate(site: Site, survey: Survey, one: Memory, other: Memory) -> JobStep | None:
    found = rules.confirmed(one, other)
    if found is None or _settled(site, one.id, other.id):
        return None
    said, longer = found
    origins = _new_origins(site, survey, said, longer)

    def decide(standing: Standing) -> Commit:
        both = _both(standing, said, longer)
        if both is None or _is_held(both[0], standing):
            return Commit()
        change = Change("merge", f"{longer.id} says it too")
        entry = change_entry(site.access, standing, said.id, change, {})
        return Commit(entries=(entry,), observations=_observed(*both, origins))

    if not origins or not _done(site, Wanted(ids=(said.id, longer.id)), decide).observations:
        return None
    survey.heard.setdefault(said.id, set()).update(origins)
    return JobStep(rules.CORROBORATION, f"{longer.id} says it too", (said.id,), (longer.id,))


def _both(standing: Standing, one: Memory, other: Memory) -> tuple[Memory, Memory] | None:
    """Two memories as they stand, if both are active and say what they said."""
    found = [standing.memories.get(each.id) for each in (one, other)]
    now = [each for each in found if each is not None and each.status is Status.ACTIVE]
    return (now[0], now[1]) if [each.text for each in now] == [one.text, other.text] else None


def _is_held(memory: Memory, standing: Standing) -> bool:
    return rules.why_protected(memory, standing.history(memory.id)) is not None


def _settled(site: Site, one: str, other: str) -> bool:
    """True if a decision on these two is on record, of a rule or of a person."""
    with site.access.ledger.read(site.access.namespace) as snapshot:
        found = snapshot.conflicts(_MOST_RECORDS, pending=False, memory=one)
        found += snapshot.conflicts(_MOST_RECORDS, pending=False, existing=one)
    return any({each.new, each.existing} == {one, other} and not each.is_guess for each in found)


def _new_origins(site: Site, survey: Survey, kept: Memory, other: Memory) -> list[str]:
    """Who said the other memory, and not this one."""
    with site.access.ledger.read(site.access.namespace) as snapshot:
        own, said = (
            [
                *(each.origin for each in snapshot.observations(one.id, _MOST_RECORDS)),
                *sorted(survey.heard.get(one.id, ())),
            ]
            for one in (kept, other)
        )
    return [origin for origin in dict.fromkeys(said) if origin not in own]


def _other_links(site: Site, gone: str, kept: str) -> list[Link]:
    """The links that somebody made from or to a memory, as links of another one."""
    with site.access.ledger.read(site.access.namespace) as snapshot:
        found = snapshot.links([gone], None, [RELATED], _MOST_RECORDS)
    return [
        Link(kept, link.target, RELATED)
        if link.source == gone
        else Link(link.source, kept, RELATED)
        for link in found
        if kept not in (link.source, link.target)
    ]


def _observed(memory: Memory, other: Memory, origins: Sequence[str]) -> tuple[Observation, ...]:
    digest, why = hashlib.sha256(other.text.encode()).digest(), (f"{other.id} says it too",)
    return tuple(
        Observation(memory.id, digest, Outcome.MERGED, origin, reasons=why) for origin in origins
    )


# Contradictions: claims that stand beside each other and that no record tells of.


def _contradictions(site: Site, survey: Survey) -> Slices:
    """Decides on memories of one subject and predicate, the newest first, as `store` would.

    What contradicts what is read first: nothing is written where nothing does. Two memories that
    the last run has seen together are not compared again.
    """
    since = site.states(RAN).get(RAN, "")
    for key, ids in survey.claims.items():
        if not ids[1:]:
            continue
        wanted = Wanted(ids=tuple(ids[:MOST_RIVALS]), claims=(key,))
        with site.access.ledger.read(site.access.namespace) as snapshot:
            standing = snapshot.standing(wanted)
        for newer in wanted.ids:
            older = {old.id for old in _contradicted(newer, standing, since)}
            settled = {old for old in older if _settled(site, newer, old)}
            if older == settled:
                continue
            done = _done(site, wanted, partial(_judged, site, newer, settled, since))
            if done.conflicts:
                yield [(key[2], _told(record, done)) for record in done.conflicts]


def _contradicted(id_: str, standing: Standing, since: str) -> list[Memory]:
    """The older active memories that one contradicts, where one of the two changed since then."""
    live = {each.id: each for each in standing.memories.values() if each.status is Status.ACTIVE}
    new = [each for each in live.values() if times.iso(each.recorded_from) >= since]
    newer = live.get(id_)
    if newer is None or newer.claim is None:
        return []
    others = tuple(live.values() if newer in new else new)
    scene = replace(standing, claims=dict.fromkeys(keys_of(newer), others))
    found = {each.id: each for each in contradicted(newer, scene)}.values()
    return [old for old in found if (old.created, old.id) <= (newer.created, newer.id)]


def _judged(site: Site, id_: str, settled: set[str], since: str, standing: Standing) -> Commit:
    """What becomes of a memory and of the older ones that it contradicts."""
    newer, commit = standing.memories.get(id_), Commit()
    if newer is None or newer.claim is None:
        return commit
    policy = schema_for(newer.claim, standing).conflict_policy
    for old in _contradicted(id_, standing, since):
        if old.id in settled:
            continue
        part = _rivalry(site, newer, old, standing, may=policy is ConflictPolicy.SUPERSEDE)
        commit = Commit(
            puts=(*commit.puts, *part.puts),
            entries=(*commit.entries, *part.entries),
            conflicts=(*commit.conflicts, *part.conflicts),
        )
        if any(put.memory.id == id_ for put in part.puts):
            break  # it waits for review, and changes nothing else
    return commit


def _rivalry(site: Site, newer: Memory, old: Memory, standing: Standing, *, may: bool) -> Commit:
    """The older gives way, or the newer waits for review; what is protected does neither."""
    if may and not is_less_trusted(newer, old) and not _is_held(old, standing):
        return _replaced(site, newer, old, "it contradicts it and is newer", standing)
    ours, theirs = trust_of(newer, site.now), trust_of(old, site.now)
    rival = Rival(old, ours, theirs, "both were active when upkeep compared them")
    record = flows_decide.on_record(site.access, newer, rival, standing)
    why = Change("review", f"it contradicts {old.id}")
    if _is_held(newer, standing):
        entry = change_entry(site.access, standing, newer.id, why, {})
        return Commit(entries=(entry,), conflicts=(record,))
    waits = turned(newer, Status.QUARANTINED, standing)
    return replace(decided(site.access, standing, [(waits, why)]), conflicts=(record,))


def _told(record: Conflict, done: Commit) -> JobStep:
    if record.resolution is Resolution.SUPERSEDE:
        ids, about = [record.existing], f"replaced by {record.new}"
    elif any(put.memory.id == record.new for put in done.puts):
        ids, about = [record.new], f"waits for review: it contradicts {record.existing}"
    else:
        ids, about = [], f"a conflict to review: {record.new} against {record.existing}"
    return JobStep(rules.CONTRADICTIONS, about, tuple(ids), (record.new, record.existing))


# Digests: what a cluster of memories says in a few of its sentences, or in a model's words.


def _compress(site: Site) -> Slices:
    """Makes a digest of each large cluster that has none; the memories stay and are linked."""
    left = site.lifecycle.max_digests
    for part in _clusters(site):
        if not left:
            return
        made = _digest(site, part)
        left -= len(made)
        if made:
            yield made


def _clusters(site: Site) -> Iterator[list[Memory]]:
    """The memories of clusters, largest first, of one audience and rank, in parts."""
    least = max(2, site.lifecycle.min_cluster)
    for group in sorted(components(_similar(site, CLUSTERED)), key=len, reverse=True):
        kept = [each for each in site.memories(members(group)) if _may_be_told(site, each)]
        told = _digested(site, [each.id for each in kept])
        alike: dict[object, list[Memory]] = {}
        for each in sorted(kept, key=lambda memory: (memory.created, memory.id)):
            if each.id not in told:
                alike.setdefault((each.scope, standing_of(each.source)), []).append(each)
        for found in alike.values():
            for start in range(0, len(found), MOST_OF_DIGEST):
                part = found[start : start + MOST_OF_DIGEST]
                if len(part) >= least:
                    yield part


def _may_be_told(site: Site, memory: Memory) -> bool:
    """True for a statement that nobody touched for a while; unasked, for one that may fade.

    A commit may be later than the clock says, so without a while to wait the time is not asked.
    """
    life = site.lifecycle
    idle = not life.untouched or site.now - rules.touched(memory) >= life.untouched
    free = life.asked or rules.why_protected(memory) is None
    return _is_ours(site, memory) and rules.is_plain(memory) and idle and free


def _digested(site: Site, ids: Sequence[str]) -> set[str]:
    """Those of the memories that a digest was made of, whatever became of it."""
    with site.access.ledger.read(site.access.namespace) as snapshot:
        links = snapshot.links(ids, None, [DERIVED], MOST_LINKS)
        makers = snapshot.get(list({link.source for link in links}), site.lens())
    digests = {memory.id for memory in makers if memory.kind is Kind.DIGEST}
    return {link.target for link in links if link.source in digests}


def _digest(site: Site, sources: Sequence[Memory]) -> Slice:
    label = ", ".join(telling_terms([[memory.text for memory in sources]])[0])
    about, ids = f"{label}: {len(sources)} memories", tuple(memory.id for memory in sources)
    step = JobStep(rules.COMPRESS, about, (), ids)
    if site.dry_run:
        return [(sources[0].scope, step)]
    access = replace(site.access, read_claims=False)
    worded = embed(access, [clean(access, _draft(site, label, sources))], news=[True])
    wanted = flows_decide.wanted(worded)

    def decide(standing: Standing) -> Commit:
        now = [standing.memories.get(id_) for id_ in ids]
        live = [each for each in now if each is not None and each.status is Status.ACTIVE]
        if [each.text for each in live] != [each.text for each in sources]:
            return Commit()
        made = flows_decide.decide(access, worded, standing)
        return _archived(site, made, live, standing) if site.lifecycle.archive_originals else made

    made = [each.id for each in _done(site, wanted, decide).receipts if each.id is not None]
    return [(sources[0].scope, replace(step, ids=(id_,))) for id_ in made]


def _archived(site: Site, made: Commit, sources: Sequence[Memory], standing: Standing) -> Commit:
    """The digest, and its sources in the archive where nothing protects them."""
    why = Change("archive", f"{made.receipts[0].id} says it in fewer words")
    free = [each for each in sources if not _is_held(each, standing)]
    gone = decided(
        site.access, standing, [(turned(each, Status.ARCHIVED, standing), why) for each in free]
    )
    return replace(made, puts=(*made.puts, *gone.puts), entries=(*made.entries, *gone.entries))


def _draft(site: Site, label: str, sources: Sequence[Memory]) -> Draft:
    """The digest as a draft: no wider, no longer valid and trusted no more than its sources."""
    text, source, method = "", Source(SourceKind.SYSTEM, agent=site.access.agent), "extractive"
    if site.lifecycle.llm is not None:
        asked = Reflection(
            topic=label,
            count=len(sources),
            prompt=lessons.prompt_for(label, sources),
            context=tuple(sources),
        )
        told = lessons.by_model(asked, site.lifecycle.llm, None)
        text = told.text if told.by_llm else ""
    if text:
        source = Source(SourceKind.INFERENCE, Channel.ASSISTANT, agent=site.access.agent)
        method = "llm"
    ends = [memory.valid_until for memory in sources if memory.valid_until is not None]
    return Draft(
        text=text or summary([_ended(memory.text) for memory in sources], SENTENCES),
        scope=sources[0].scope,
        source=source,
        kind=Kind.DIGEST,
        label=Kind.DIGEST.value,
        tags=tuple(dict.fromkeys(tag for memory in sources for tag in memory.tags))[:SENTENCES],
        valid_until=min(ends, default=None),
        extra={"topic": label, "method": method},
        derived_from=tuple(memory.id for memory in sources),
        allow_duplicate=True,
    )


def _ended(text: str) -> str:
    """The text with a full stop, so that its sentences stay apart."""
    return text if text.rstrip()[-1:] in {".", "!", "?"} else f"{text.rstrip()}."


# What has faded goes to the archive.


def _prune(site: Site, survey: Survey) -> Slices:
    """Archives what is weak, a slice in a transaction."""
    for ids in sliced(survey.faint):
        with site.access.ledger.read(site.access.namespace) as snapshot:
            links = Counter(
                end
                for link in snapshot.links(ids, None, [SIMILAR, RELATED], MOST_LINKS)
                for end in (link.source, link.target)
            )
            guesses = snapshot.guesses(ids, MOST_LINKS)
        newer = {each.existing for each in guesses if each.resolution is Resolution.NEWER_THAN}
        decide = partial(_faded, site, links, newer)
        done = _done(site, Wanted(ids=tuple(ids)), decide)
        if done.puts:
            yield [
                (put.memory.scope, JobStep(rules.PRUNE, put.reasons[0], (put.memory.id,)))
                for put in done.puts
            ]


def _faded(
    site: Site, links: Mapping[str, int], newer: AbstractSet[str], standing: Standing
) -> Commit:
    found: list[tuple[Memory, Change]] = []
    for memory in standing.memories.values():
        if memory.status not in _LIVE or _is_held(memory, standing):
            continue
        why = rules.fading(
            memory,
            links.get(memory.id, 0),
            newer=memory.id in newer,
            asked=site.lifecycle.asked,
            now=site.now,
        )
        if why is not None:
            found.append((turned(memory, Status.ARCHIVED, standing), Change("archive", why)))
    return decided(site.access, standing, found)


def _done(site: Site, wanted: Wanted, decide: Callable[[Standing], Commit]) -> Commit:
    """Commits a decision; a dry run keeps what it would have written, for the steps after it."""
    if not site.dry_run:
        return site.access.ledger.commit(site.access.namespace, wanted, decide)
    with site.access.ledger.read(site.access.namespace) as snapshot:
        now = replace(snapshot.standing(wanted), at=site.now)
        drafted = {id_: site.drafted[id_] for id_ in wanted.ids if id_ in site.drafted}
        commit = decide(replace(now, memories={**now.memories, **drafted}))
    site.drafted.update({put.memory.id: put.memory for put in commit.puts})
    return commit
