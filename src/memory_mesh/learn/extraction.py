"""Facts out of a conversation, by rules or by a language model, stored as memories.

::

    turns ── redact ──▶ without a model: rules ──────────────────────────────────┐
                │                                                                ▼
                └──▶ batches ──▶ waiting (a small value each, before any call)   facts
                                    │                                            ▲ │
                                    └──▶ metered call ──▶ answer ── read, check ─┘ │
                                              │               │                    ▼
                     no answer, late, above the limit;    unreadable      known already? else
                     the batch waits on, with the reason                  remember_each, batch gone

A batch leaves the queue only after its facts are stored. Killed in between, its facts are found
again, known by then. What a model found has at most the trust of an inference, on the channel
`extraction`; what rules found is the writer's own sentence, on the channel of the view.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from memory_mesh.base.typed import Any, dataclass, replace
from memory_mesh.learn.model_calls import MeteredLLM
from memory_mesh.learn.rules import extraction as rules_extraction
from memory_mesh.learn.rules.capture import near_twin
from memory_mesh.model import (
    Channel,
    Commit,
    Draft,
    Json,
    Lens,
    Query,
    Scope,
    Standing,
    Wanted,
    times,
)
from memory_mesh.model.errors import InvalidInput, LLMError, shown
from memory_mesh.model.learning import ExtractedFact, Extraction, ExtractionRules, Turn
from memory_mesh.rules.arguments import MAX_TRIGGER_CHARS
from memory_mesh.rules.trust import said_by_different
from memory_mesh.search.recall import find
from memory_mesh.write.access import Access
from memory_mesh.write.add import remember_each
from memory_mesh.write.prepare import redact, redact_statement
from memory_mesh.write.rules.drafts import draft_of
from memory_mesh.write.rules.receipts import first_words

PROMPT = "extract-2"  # the file in prompts/, which a stored fact names
WAITING = "extract/"
MOST_TRIES = 5  # of a batch; after that it is tried only when somebody asks for it
BATCH_CHARS = 12_000  # of the sentences that one prompt shows
_LEASE = timedelta(minutes=10)  # that a batch belongs to the process that asks about it
_COMPARED = 5  # memories that a fact is held against
_REASON_CHARS = 300
_SHOWN_CHARS = 60  # of the first message of a batch that waits
_TITLE = 60  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionSite:
    """Where and as whom a conversation is read: the view, its audience, the time."""

    access: Access
    lens: Lens
    scope: Scope
    channel: Channel
    now: datetime
    rules: ExtractionRules


def by_rules(site: ExtractionSite, turns: Sequence[Turn], *, store: bool) -> Extraction:
    """Finds facts without a model; stores those that are not known."""
    held = rules_extraction.conversation(_redacted(site, turns), site.now)
    found, dropped = rules_extraction.detected(held, site.rules.roles)
    least = site.rules.min_importance
    facts = [fact for fact in found if fact.importance >= least]
    below = f"its importance is below {least:g}"
    dropped += [(fact.text, below) for fact in found if fact not in facts]
    done = _kept(site, facts, site.channel, store=store)
    return _with_waiting(site, replace(done, dropped=(*dropped, *done.dropped)))


def by_model(
    site: ExtractionSite,
    turns: Sequence[Turn],
    llm: MeteredLLM,
    *,
    store: bool,
    max_tokens: int | None,
) -> Extraction:
    """Asks a model for facts; what it could not be asked about waits.

    What waits for this audience is tried too; without turns, also what failed often.
    """
    done = Extraction(by_llm=True)
    batches = list(_batches(_redacted(site, turns)))
    if not store:
        for batch in batches:
            done = _joined(done, _asked(site, _record(site, batch), llm, max_tokens, store=False))
        return _told(site, done, llm)
    own = _queue(site, batches)
    most = None if not turns else MOST_TRIES
    late = [name for name, record in _queued(site) if most is None or record["tries"] < most]
    for name in dict.fromkeys((*own, *late)):
        record = _claimed(site, name)
        if record is None:
            continue
        result = _asked(site, record, llm, max_tokens, store=True)
        done = _joined(done, result)
        if result.failure is None:
            _set(site, name, None)
            continue
        failed = {"why": result.failure, "tries": record["tries"] + 1, "until": ""}
        _set(site, name, record | failed)
        if not result.calls:  # no answer can be had at present
            break
    return _told(site, done, llm)


def ask(
    complete: Callable[..., str],
    held: rules_extraction.Conversation,
    rules: ExtractionRules,
    max_tokens: int | None = None,
) -> tuple[list[ExtractedFact], list[rules_extraction.Dropped]]:
    """Asks a model; raises LLMError without an answer, UnreadableAnswer for one that is no list."""
    template = (Path(__file__).parents[1] / "prompts" / f"{PROMPT}.md").read_text(encoding="utf-8")
    asked = rules_extraction.prompt(template, held, rules.roles)
    return rules_extraction.read_answer(complete(asked, max_tokens=max_tokens), held, rules)


def queue(site: ExtractionSite, turn: Turn, name: str, key: str | None) -> int:
    """Adds a turn to those of a session that a model is asked about later; says how many wait.

    What comes again with the same key is added once.
    """
    (said,) = _redacted(site, [turn])
    beginning = f"{WAITING}{name}/"
    with site.access.ledger.read(site.access.namespace) as snapshot:
        names = sorted(snapshot.states(beginning))
    last = names[-1] if names else f"{beginning}0000"
    new = f"{beginning}{len(names):04d}"

    def decide(standing: Standing) -> Commit:
        record = json.loads(standing.states.get(last, "null"))
        if record is not None and key is not None and key in record["keys"]:
            return Commit()
        full = record is not None and (
            record["until"] > times.iso(site.now)
            or sum(len(each["text"]) for each in record["turns"]) > BATCH_CHARS
        )
        fresh = _record(site, (0, [said]))
        if record is not None and not full:
            fresh = record | {"turns": [*record["turns"], *fresh["turns"]]}
        fresh["keys"] = [*fresh["keys"], *([] if key is None else [key])]
        return Commit(states={new if full else last: json.dumps(fresh)})

    site.access.ledger.commit(site.access.namespace, Wanted(states=(last,)), decide)
    return _with_waiting(site, Extraction()).waiting


def discard(site: ExtractionSite, batch: str) -> Extraction:
    """Throws away one batch that waits; `dropped` has how each of its messages begins."""
    name = f"{WAITING}{batch}"
    record = _claimed(site, name) if name in dict(_queued(site)) else None
    if record is None:
        raise InvalidInput(f"there is no batch {shown(batch)} that waits, or it is asked about now")
    _set(site, name, None)
    gone = tuple((turn["text"][:_SHOWN_CHARS], "discarded") for turn in record["turns"])
    return _with_waiting(site, Extraction(dropped=gone))


def _asked(
    site: ExtractionSite,
    record: Mapping[str, Any],
    llm: MeteredLLM,
    max_tokens: int | None,
    *,
    store: bool,
) -> Extraction:
    """Asks about one batch; a failure is told, and `calls` is empty if no answer came."""
    turns = [Turn(**turn) for turn in record["turns"]]
    rules = replace(site.rules, **record["rules"])
    held = rules_extraction.conversation(turns, site.now)
    if not any(rules_extraction.ROLES[one.turn.role] in rules.roles for one in held.spoken):
        return Extraction(dropped=(("", "nobody of these roles wrote anything himself"),))
    before = len(llm.calls)
    try:
        facts, dropped = ask(llm.complete_facts, held, rules, max_tokens)
    except (LLMError, rules_extraction.UnreadableAnswer) as error:
        calls = () if isinstance(error, LLMError) else tuple(llm.calls[before:])
        return Extraction(failure=redact(site.access, str(error))[:_REASON_CHARS], calls=calls)
    calls = tuple(llm.calls[before:])
    facts = [replace(fact, turn=fact.turn + record["first"]) for fact in facts]
    done = _kept(replace(site, rules=rules), facts, Channel.EXTRACTION, store=store)
    return replace(done, dropped=(*dropped, *done.dropped), calls=calls)


def _kept(
    site: ExtractionSite, facts: Sequence[ExtractedFact], channel: Channel, *, store: bool
) -> Extraction:
    """The facts that no memory says yet, stored if they are to be."""
    fresh: list[tuple[ExtractedFact, Draft]] = []
    dropped: list[rules_extraction.Dropped] = []
    for fact in facts:
        draft = _draft(site, fact, channel)
        twin = _twin(site, draft)
        if twin is None and any(near_twin(fact.text, other.text) for other, _ in fresh):
            twin = "another fact of this conversation"
        if twin is None:
            fresh.append((fact, draft))
        else:
            dropped.append((fact.text, f"it says no more than {twin}"))
    kept, drafts = [fact for fact, _ in fresh], [draft for _, draft in fresh]
    if kept and site.rules.with_triggers:
        drafts = [replace(draft, triggers=(trigger_of(kept),)) for draft in drafts]
    receipts = remember_each(site.access, drafts) if store and drafts else []
    return Extraction(facts=tuple(kept), receipts=tuple(receipts), dropped=tuple(dropped))


def title_of(facts: Sequence[ExtractedFact]) -> str:
    """The beginning of the first fact on one line, cut after a word."""
    return first_words(facts[0].text, _TITLE).rstrip(".…")


def trigger_of(facts: Sequence[ExtractedFact]) -> str:
    """A pattern that calls the facts up: any of their tags, or the title if they have none."""
    tags = "|".join(dict.fromkeys(tag for fact in facts for tag in fact.tags)) or title_of(facts)
    most = MAX_TRIGGER_CHARS
    return tags if len(tags) <= most else tags[: most + 1].rpartition("|")[0]


def _draft(site: ExtractionSite, fact: ExtractedFact, channel: Channel) -> Draft:
    rules = site.rules
    finder = PROMPT if channel is Channel.EXTRACTION else "rules"
    said: dict[str, Json] = {"quote": fact.quote, "turn": fact.turn, "by": finder}
    said |= {"span": list(fact.span)} if fact.span else {}
    said |= {"subject": fact.subject} if fact.subject else {}
    details: dict[str, object] = {
        "kind": fact.kind, "importance": fact.importance, "scope": site.scope,
        "role": fact.role, "speaker": fact.speaker, "tags": (*rules.tags, *fact.tags),
        "valid_from": fact.valid_from, "valid_until": fact.valid_until,
        "source_ref": rules.ref, "source_agent": rules.agent,
    }  # fmt: skip
    given = {name: value for name, value in details.items() if value is not None}
    metadata = {**rules.metadata, "extraction": said}
    draft = draft_of(fact.text, metadata, given, agent_id=site.access.agent, channel=channel)
    return replace(draft, quarantine=rules.quarantine)


def _twin(site: ExtractionSite, draft: Draft) -> str | None:
    """A memory that the fact adds nothing to; the search for it is not recorded."""
    said = redact_statement(site.access, draft)
    question = Query(said.text, site.lens, _COMPARED, keyword_only=True)
    _, hits = find(site.access, question, use_cache=False)
    known = (hit.memory for hit in hits if not said_by_different(said, hit.memory))
    return next((one.id for one in known if near_twin(said.text, one.text)), None)


# The queue: one small value for each batch that a model was not yet asked about.


def _batches(turns: Sequence[Turn]) -> Iterator[tuple[int, list[Turn]]]:
    """Neighbouring turns that fit into one prompt, with the number of the first."""
    batch: list[Turn] = []
    first = size = 0
    for number, turn in enumerate(turns):
        for part in _parts(turn):
            chars = sum(one.chars for one in rules_extraction.own_turns([part]))
            if batch and size + chars > BATCH_CHARS:
                yield first, batch
                batch, size = [], 0
            first = first if batch else number
            batch.append(part)
            size += chars
    if batch:
        yield first, batch


def _parts(turn: Turn) -> Iterator[Turn]:
    """A turn as it is; of one too long for a prompt what its writer wrote, in parts."""
    own = rules_extraction.own_turns([turn])
    if not own or own[0].chars <= BATCH_CHARS:
        yield turn
        return
    part: list[str] = []
    for sentence in own[0].sentences:
        if part and sum(map(len, part)) + len(sentence) > BATCH_CHARS:
            yield replace(turn, text="\n".join(part))
            part = []
        part.append(sentence)
    yield replace(turn, text="\n".join(part))


def _record(site: ExtractionSite, batch: tuple[int, Sequence[Turn]]) -> dict[str, Any]:
    first, turns = batch
    rules = site.rules
    return {
        "turns": [{"role": t.role, "text": t.text, "speaker": t.speaker} for t in turns],
        "first": first, "keys": [], "scope": list(site.scope.parts), "tries": 0, "until": "",
        "why": "no model was asked yet",
        "rules": {
            "roles": rules.roles, "min_importance": rules.min_importance, "ref": rules.ref,
            "agent": rules.agent, "tags": rules.tags, "metadata": dict(rules.metadata),
            "with_triggers": rules.with_triggers, "quarantine": rules.quarantine,
        },
    }  # fmt: skip


def _queue(site: ExtractionSite, batches: Sequence[tuple[int, Sequence[Turn]]]) -> list[str]:
    """Puts batches into the queue; returns their names."""
    records = {
        f"{WAITING}{site.access.ids.draw('batch')}": json.dumps(_record(site, batch))
        for batch in batches
    }
    if records:
        site.access.ledger.commit(
            site.access.namespace, Wanted(), lambda _: Commit(states=dict(records))
        )
    return list(records)


def _queued(site: ExtractionSite) -> list[tuple[str, dict[str, Any]]]:
    """What waits for this audience, oldest first."""
    with site.access.ledger.read(site.access.namespace) as snapshot:
        found = {name: json.loads(value) for name, value in snapshot.states(WAITING).items()}
    own = list(site.scope.parts)
    return [(name, record) for name, record in found.items() if record["scope"] == own]


def _claimed(site: ExtractionSite, name: str) -> dict[str, Any] | None:
    """A batch that nobody else asks about meanwhile, or None."""
    claimed: list[dict[str, Any]] = []

    def decide(standing: Standing) -> Commit:
        claimed.clear()
        record = json.loads(standing.states.get(name, "null"))
        if record is None or record["until"] > times.iso(site.now):
            return Commit()
        claimed.append(record)
        until = {"until": times.iso(site.now + _LEASE)}
        return Commit(states={name: json.dumps(record | until)})

    site.access.ledger.commit(site.access.namespace, Wanted(states=(name,)), decide)
    return claimed[0] if claimed else None


def _set(site: ExtractionSite, name: str, record: Mapping[str, Any] | None) -> None:
    value = None if record is None else json.dumps(record)
    site.access.ledger.commit(
        site.access.namespace, Wanted(), lambda _: Commit(states={name: value})
    )


def _with_waiting(site: ExtractionSite, done: Extraction) -> Extraction:
    """The result with what waits: how many messages, and each batch with its first words."""
    found = _queued(site)
    told = (
        (
            name.removeprefix(WAITING),
            f"{record['why']}: {record['turns'][0]['text'][:_SHOWN_CHARS]}",
        )
        for name, record in found
    )
    count = sum(len(record["turns"]) for _, record in found)
    return replace(done, waiting=count, batches=tuple(told))


def _told(site: ExtractionSite, done: Extraction, llm: MeteredLLM) -> Extraction:
    done = replace(done, calls=tuple(llm.calls), tokens_today=llm.tokens_today())
    return _with_waiting(site, done)


def _joined(one: Extraction, other: Extraction) -> Extraction:
    return replace(
        one,
        facts=(*one.facts, *other.facts),
        receipts=(*one.receipts, *other.receipts),
        dropped=(*one.dropped, *other.dropped),
        failure=other.failure or one.failure,
    )


def _redacted(site: ExtractionSite, turns: Sequence[Turn]) -> list[Turn]:
    """The turns as they may be stored and shown to a model."""
    access = site.access
    return [
        replace(turn, text=redact(access, turn.text), speaker=redact(access, turn.speaker))
        for turn in turns
    ]
