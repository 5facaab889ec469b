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

from collections.abc import Mapping, Sequence
from contextlib import suppress

from memory_mesh.agents.hook.capture.answers import answered, doubted, ended, failed
from memory_mesh.agents.hook.capture.heard import MOST, Captured, CapturedEvent, HostSession
from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.learn.rules import statements as rules_statements
from memory_mesh.learn.rules.own_words import own_sentences
from memory_mesh.model import Channel, Kind, Memory, NotFound, Outcome, Receipt, Scope

if TYPE_CHECKING:
    from memory_mesh.sync import MemoryMesh

MOST_OF_PROMPT = 12  # memories of one prompt; a longer list of rules is a document to import
CORRECTED = "the user corrected it in the same session"
TAKEN_BACK = "the user took it back in the same session"


def prompted(heard: CapturedEvent, given: Mapping[str, object]) -> Captured:
    """Stores the statements of a prompt; what an earlier one said otherwise is set right."""
    prompt = heard.public(given.get("prompt"))
    found = rules_statements.statements(prompt, MOST_OF_PROMPT)
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
            for_person += statement.personal and heard.project is not None
            receipts.append(receipt)
    if back:
        is_done = any(receipt.id in before for receipt in receipts)
        _take_back(heard, None if is_done else rules_statements.taken_back(said, earlier))
    return Captured(tuple(receipts), for_person)


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
    if wrong is not None:
        del earlier[wrong]
        return Receipt.of(_changed(heard, wrong, statement), Outcome.STORED, CORRECTED)
    if room <= 0:
        return None
    return heard.add(
        Channel.HOOK,
        statement.text,
        statement.kind,
        statement.place,
        personal=statement.personal,
        role="user",
    )


def _changed(
    heard: CapturedEvent, memory_id: str, statement: rules_statements.NotableSentence
) -> Memory:
    kind = statement.kind if statement.kind is Kind.DECISION else Kind.CORRECTION
    return heard.view(Channel.HOOK).update(
        memory_id,
        statement.text,
        kind=Kind.PREFERENCE if statement.personal else kind,
        scope=Scope() if statement.personal else Scope(project=heard.project),
        reason=CORRECTED,
    )


def _take_back(heard: CapturedEvent, meant: str | None) -> None:
    for id_ in heard.chosen("taken back", [] if meant is None else [meant]):
        with suppress(NotFound):  # the event came before
            heard.view(Channel.HOOK).delete(id_, reason=TAKEN_BACK)


__all__ = ["Captured", "HostSession", "captured"]

_ON = {
    "UserPromptSubmit": prompted,
    "PostToolUseFailure": failed,
    "Stop": answered,
    "PreCompact": ended,
    "SessionEnd": ended,
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
    return Captured((*said.receipts, *done.receipts, *asked), said.for_person + done.for_person)
