"""Stores what a session teaches, by rules; by a language model only where the settings say so.

::

    prompt ──────▶ sentences that state something ──▶ the user's word; of the person or the project
    failed tool ─▶ a failure that may teach        ──▶ waits for review, and for its fix
    answer ──────▶ a fix that worked               ──▶ beside the failure it mends
    end ─────────▶ failures with a fix             ──▶ lessons that wait for review
                   prompts and answers             ──▶ a language model's facts, if it may be asked

The hook calls it after the prompt went on, or in the daemon. It may be called twice with one event:
what was stored is then found again.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from memory_mesh.agents.hook.capture.heard import (
    CANDIDATE_TAG,
    MOST,
    Captured,
    CapturedEvent,
    HostSession,
)
from memory_mesh.base.typed import TYPE_CHECKING, Any
from memory_mesh.learn.rules import statements as rules_statements, tool_failures as rules
from memory_mesh.learn.rules.own_words import own_sentences
from memory_mesh.model import (
    Channel,
    InvalidInput,
    Kind,
    Memory,
    NotFound,
    Outcome,
    Receipt,
    Scope,
    Status,
)
from memory_mesh.search.warnings import AGAIN

if TYPE_CHECKING:
    from memory_mesh.sync import MemoryMesh

__all__ = ["Captured", "HostSession", "captured"]

MOST_OF_PROMPT = 12  # memories of one prompt; a longer list of rules is a document to import
CORRECTED = "the user corrected it in the same session"
TAKEN_BACK = "the user took it back in the same session"
UNSURE = "it may hold for the moment only"


def prompted(heard: CapturedEvent, given: Mapping[str, object]) -> Captured:
    """Stores the statements of a prompt; what an earlier one said otherwise is set right."""
    prompt = heard.public(given.get("prompt"))
    found = rules_statements.statements(prompt, MOST_OF_PROMPT, waiting=True)
    sentences = own_sentences(prompt)
    receipts = list(doubted(heard, sentences))
    back = rules_statements.takes_back(prompt)
    if not found and not back:
        return Captured(tuple(receipts))
    stored = heard.stored()
    told = [memory for memory in stored if memory.source.channel is Channel.HOOK]
    earlier = {memory.id: memory.text for memory in told}
    decided = [memory.id for memory in told if memory.kind is Kind.DECISION]
    before = set(earlier)  # what is set right leaves `earlier`
    said, room, for_person = " ".join(sentences), MOST - len(stored), 0
    for statement in found:
        receipt = _kept(heard, statement, found, earlier, said, decided=decided, room=room)
        if receipt is not None:
            room -= receipt.outcome is Outcome.STORED
            for_person += receipt.outcome is not Outcome.QUARANTINED and (
                statement.personal and heard.project is not None
            )
            receipts.append(receipt)
    if back:
        is_done = any(receipt.id in before for receipt in receipts)
        _take_back(heard, None if is_done else rules_statements.taken_back(said, earlier))
    replaced = sum((Counter(receipt.redacted) for receipt in receipts), Counter[str]())
    return Captured(tuple(receipts), for_person, replaced)


def _kept(
    heard: CapturedEvent,
    statement: rules_statements.NotableSentence,
    found: list[rules_statements.NotableSentence],
    earlier: dict[str, str],
    said: str,
    *,
    decided: Sequence[str],
    room: int,
) -> Receipt | None:
    """Stores a statement, or sets an earlier one right; None if it says nothing new."""
    if rules_statements.repeated(statement.text, earlier) is not None:
        return None
    wrong = rules_statements.corrected(statement, found, earlier, said, decided=decided)
    if wrong is not None and not statement.waits:
        del earlier[wrong]
        return Receipt.of(_changed(heard, wrong, statement), Outcome.STORED, CORRECTED)
    if room <= 0:
        return None
    waits = {"quarantine": UNSURE} if statement.waits else {}
    return heard.add(
        Channel.HOOK,
        statement.text,
        statement.kind,
        statement.place,
        personal=statement.personal,
        role="user",
        **waits,
    )


def _changed(
    heard: CapturedEvent, memory_id: str, statement: rules_statements.NotableSentence
) -> Memory:
    kind = statement.kind if statement.kind is Kind.DECISION else Kind.CORRECTION
    for_whom: dict[str, Any] = {"scope": Scope()} if statement.personal else {}  # else as it was
    return heard.view(Channel.HOOK).update(
        memory_id,
        statement.text,
        kind=Kind.PREFERENCE if statement.personal else kind,
        reason=CORRECTED,
        **for_whom,
    )


def _take_back(heard: CapturedEvent, meant: str | None) -> None:
    for id_ in heard.chosen("taken back", [] if meant is None else [meant]):
        with suppress(NotFound):  # the event came before
            heard.view(Channel.HOOK).delete(id_, reason=TAKEN_BACK)


# Stores failed tool calls as candidates for lessons, with the fix if the assistant tells one.
#
# A candidate is a quarantined memory: no reader is given it before a review. At the end of the
# session each one with a fix becomes a lesson, which waits for review as well.


WAITS = "a tool failed in a session; it may teach a lesson once its fix is known"
NOTHING = "the failure was intended, or a slip"
LEARNED = "it became a lesson"


def failed(heard: CapturedEvent, given: Mapping[str, object]) -> Captured:
    """Stores a failed call that may teach something; the same one again counts once."""
    tool_input = given.get("tool_input")
    failure = rules.read_failure(
        str(given.get("tool_name") or ""),
        tool_input if isinstance(tool_input, Mapping) else {},
        heard.of_others(given.get("error")),
    )
    if failure is None or given.get("is_interrupt") is True or heard.session.hides(failure.tried):
        return Captured()
    stored = heard.stored()
    for known in _waiting(stored):
        if known.extra.get("error_pattern") == failure.pattern:
            return Captured(tuple(_unfixed(heard, known)))  # it came again: that was no fix
    if len(stored) >= MOST:
        return Captured()
    receipt = heard.add(
        Channel.TOOL,
        failure.text,
        Kind.LEARNING,
        "failure",
        metadata={
            "status": "failed",
            "error_pattern": failure.pattern,
            "tried": failure.tried,
            "said": failure.said,
        },
        tags=[CANDIDATE_TAG],
        quarantine=WAITS,
    )
    return Captured((receipt,))


def answered(heard: CapturedEvent, given: Mapping[str, object]) -> Captured:
    """Reads the assistant's last words: the fix of a failure, or that it was intended."""
    message = heard.of_others(given.get("last_assistant_message"))
    if not message:
        return Captured()
    waiting = [known for known in _waiting(heard.stored()) if not known.extra.get("fix")]
    if not waiting:
        return Captured()
    if rules.taught_nothing(message):
        _forget(heard, waiting)
        return Captured()
    fix = rules.told_fix(message)
    if not fix:
        return Captured()
    fits = [known.id for known in waiting if known is waiting[0] or rules.fits(fix, known.text)]
    mended = heard.chosen("fixed", fits)
    return Captured(tuple(_fixed(heard, known, fix) for known in waiting if known.id in mended))


def ended(heard: CapturedEvent, _given: Mapping[str, object]) -> Captured:
    """Makes a lesson of each failure whose fix is known; the others stay candidates."""
    receipts = []
    for known in _waiting(heard.stored()):
        fix = known.extra.get("fix")
        if isinstance(fix, str) and fix:
            receipts.append(_learned(heard, known, fix))
    return Captured(tuple(receipts))


def closed(heard: CapturedEvent, given: Mapping[str, object]) -> Captured:
    """Learns at the end of a session, and puts what cites changed code up for review."""
    done = ended(heard, given)
    with suppress(InvalidInput):  # there is no repository
        heard.mesh.review.check(fix=True)
    return done


def doubted(heard: CapturedEvent, sentences: Sequence[str]) -> Iterator[Receipt]:
    """Takes the fix from the last failure if the user says that it was none.

    Failures that the user says were intended are forgotten.
    """
    denied, intended = rules.denies(sentences), rules.taught_nothing(" ".join(sentences))
    waiting = _waiting(heard.stored()) if denied or intended else []
    if intended:
        _forget(heard, [known for known in waiting if not known.extra.get("fix")])
    if denied:
        last = heard.chosen("denied", [known.id for known in waiting if known.extra.get("fix")][:1])
        for known in waiting:
            if known.id in last:
                yield from _unfixed(heard, known)


def _waiting(stored: Sequence[Memory]) -> list[Memory]:
    """The candidates of the session, the newest first."""
    return [memory for memory in stored if CANDIDATE_TAG in memory.tags]


def _forget(heard: CapturedEvent, waiting: Sequence[Memory]) -> None:
    for known in waiting:
        heard.view(Channel.TOOL).delete(known.id, reason=NOTHING)


def _fixed(heard: CapturedEvent, known: Memory, fix: str) -> Receipt:
    failure = _failure(known)
    changed = heard.view(Channel.TOOL).update(
        known.id,
        f"{failure.text}\nThe assistant's fix: {fix}",
        {"fix": fix},
        merge=True,
        reason="the assistant told of a fix that worked",
    )
    return Receipt.of(changed, Outcome.QUARANTINED, WAITS)


def _unfixed(heard: CapturedEvent, known: Memory) -> Iterator[Receipt]:
    if known.extra.get("fix"):
        failure = _failure(known)
        changed = heard.view(Channel.TOOL).update(
            known.id,
            failure.text,
            {"fix": ""},
            merge=True,
            reason="the fix did not hold",
        )
        yield Receipt.of(changed, Outcome.QUARANTINED, WAITS)


def _learned(heard: CapturedEvent, known: Memory, fix: str) -> Receipt:
    lesson = rules.lesson_of(_failure(known), fix, heard.project)
    view = heard.view(Channel.ASSISTANT)
    block = view.distill_lesson(lesson, scope=Scope(project=heard.project))
    heard.view(Channel.TOOL).delete(known.id, reason=LEARNED)
    if not block.is_new and block.status is Status.QUARANTINED:
        again = {AGAIN: True}  # two sessions say so: it may warn before anybody has reviewed it
        view.update(block.memory_id, None, again, merge=True, reason="it was learned again")
    return Receipt.of(heard.mesh.history(block.memory_id)[-1], Outcome.QUARANTINED, WAITS)


def _failure(known: Memory) -> rules.ToolFailure:
    told = {name: str(known.extra.get(name) or "") for name in ("tried", "said", "error_pattern")}
    return rules.ToolFailure(told["tried"], told["said"], told["error_pattern"])


_ON = {
    "UserPromptSubmit": prompted,
    "PostToolUseFailure": failed,
    "Stop": answered,
    "PreCompact": ended,
    "SessionEnd": closed,
}


def captured(
    mesh: "MemoryMesh",
    session: HostSession,
    input: Mapping[str, object],  # noqa: A002 - the word of the request
    *,
    key: str | None = None,
) -> Captured:
    """Stores what one event of a host's session teaches; the key makes a second call harmless."""
    event = str(input.get("event") or "")
    act = _ON.get(event)
    if act is None:
        return Captured()
    heard = CapturedEvent(mesh, session, key)
    said = Captured()
    if act is not prompted and input.get("prompt"):  # a host without an event for prompts
        said = prompted(heard, input)
    done = act(heard, input)
    asked = () if act is failed else heard.ask_model(event, input)
    told = done if act is prompted else said
    return Captured((*said.receipts, *done.receipts, *asked), told.for_person, told.replaced)
