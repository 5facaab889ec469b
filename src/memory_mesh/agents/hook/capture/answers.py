"""Stores failed tool calls as candidates for lessons, with the fix if the assistant tells one.

A candidate is a quarantined memory: no reader is given it before a review. At the end of the
session each one with a fix becomes a lesson, which waits for review as well.
"""

from collections.abc import Iterator, Mapping, Sequence

from memory_mesh.agents.hook.capture.heard import CANDIDATE_TAG, MOST, Captured, CapturedEvent
from memory_mesh.learn.rules import tool_failures as rules
from memory_mesh.model import Channel, Kind, Memory, Outcome, Receipt, Scope

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
    return Receipt.of(heard.mesh.history(block.memory_id)[-1], Outcome.QUARANTINED, WAITS)


def _failure(known: Memory) -> rules.ToolFailure:
    told = {name: str(known.extra.get(name) or "") for name in ("tried", "said", "error_pattern")}
    return rules.ToolFailure(told["tried"], told["said"], told["error_pattern"])
