"""The receipt of a write: structured fields, and the same in plain sentences. Pure: no I/O.

Whatever a caller stated is either stored or named in a sentence. A sentence about another memory
shows its first words, unless that memory belongs to another agent.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from memory_mesh.base.typed import fields, replace
from memory_mesh.model import (
    Draft,
    Json,
    Memory,
    Outcome,
    Receipt,
    Rival,
    Seen,
    SourceKind,
    Statement,
    Status,
    Wording,
    times,
)
from memory_mesh.rules.privacy_rule import KEEPABLE
from memory_mesh.rules.trust import is_authoritative, lowered, outranks
from memory_mesh.write.rules.merge import Merged

FIRST_WORDS = 60  # characters of another memory that a receipt shows
_NOT_A_LOSS = "empty chunk"  # the scrubber's word for a part without any text
_STATED = tuple(field.name for field in fields(Statement))


def stored(
    receipt: Receipt,
    draft: Draft,
    wording: Wording,
    memory: Memory,
    *,
    named: Iterable[Memory] = (),
    agent: str,
) -> Receipt:
    """The receipt of a new memory for its writer, the `agent`.

    `named` are the memories that it supersedes or contradicts.
    """
    words = {
        other.id: first_words(other.text) if other.scope.agent in {None, agent} else ""
        for other in named
    }
    sentences = [
        *(f"it supersedes {_named(id_, words)}" for id_ in receipt.superseded),
        *(
            f"newer than {_named(id_, words)}; asked about either, this one stands first; both "
            "stay, see: memory-mesh conflicts"
            for id_ in receipt.newer_than
        ),
        *_review_sentences(receipt, memory, words),
        *_limited(draft, memory),
    ]
    return _complete(receipt, wording, draft.notes, sentences, words)


def merged(
    receipt: Receipt,
    draft: Draft,
    wording: Wording,
    into: Memory,
    found: Merged,
    *,
    again: Sequence[Rival] = (),
) -> Receipt:
    """The receipt of a text that is stored already, and of what it added to the stored memory.

    `again` are later memories above which it stands now, because it was said again.
    """
    words = {rival.memory.id: first_words(rival.memory.text) for rival in again}
    sentences = [f"said again: it stands above {_named(id_, words)}" for id_ in words]
    if found.added:
        sentences.append(f"added to it: {', '.join(found.added)}")
    sentences += [
        f"kept {key}={_short(kept)}; given {_short(given)}; use update to change it"
        for key, kept, given in found.kept
    ]
    if found.refused:
        why = f"the stored memory comes from the more trusted {into.source.kind}; use update"
        if not (outranks(into.source, draft.source) or draft.derived_from):
            why = "the user pinned the stored memory or let it in; use propose_update"
        sentences.append(f"not added: {', '.join(found.refused)}, because {why} to add them")
    if found.whose:
        sentences.append(
            f"not added: metadata {', '.join(found.whose)}, because the stored memory is of nobody "
            "in particular; add it with for_user, or use update"
        )
    sentences += not_taken(draft, into, merging=True)
    if found.aside:
        what = ", ".join(found.aside)
        sentences.append(f"what was not taken ({what}) is in the audit block of this write")
    receipt = replace(receipt, merged_into=into.id, added=found.added)
    return _complete(receipt, wording, draft.notes, sentences, words)


def known(receipt: Receipt, draft: Draft, wording: Wording, memory: Memory) -> Receipt:
    """The receipt of what is known already and was not written again."""
    waiting = (memory.id,) if memory.status is Status.QUARANTINED else ()
    receipt = replace(receipt, merged_into=memory.id, for_review=waiting)
    return _complete(receipt, wording, draft.notes, not_taken(draft, memory))


def repeated(draft: Draft, wording: Wording, seen: Seen) -> Receipt:
    """The receipt of the first write with this key, and the memory's status since."""
    reasons = ["this key was used before for the same text"]
    if seen.memory.status is not Status.ACTIVE:
        reasons.append(f"the memory is now {seen.memory.status}")
    receipt = Receipt.of(seen.memory, seen.outcome, *reasons)
    receipt = replace(receipt, content=draft.text, again=True)
    return _complete(receipt, wording, draft.notes, not_taken(draft, seen.memory))


def recorded(receipt: Receipt, own: str = "") -> tuple[str, ...]:
    """The reasons as block and row keep them: no words of other memories, nor of the `own` text.

    What is erased later must not stand in the reasons of another memory.
    """
    quoted = {f"{id_}: {_quoted(said)}": id_ for id_, said in receipt.words.items()}
    if own:
        quoted[f" {_quoted(first_words(own))}"] = ""
    found = []
    for reason in receipt.reasons:
        for words, name in quoted.items():
            reason = reason.replace(words, name)  # noqa: PLW2901
        found.append(reason)
    return tuple(found)


def not_taken(draft: Draft, memory: Memory, *, merging: bool = False) -> list[str]:
    """Names the fields of the draft that the stored memory does not have.

    A merge has said what became of tags and metadata, and keeps another wording in its block.
    """
    default = Draft(text=draft.text)
    skipped = {"text", "source", *(("tags", "extra") if merging else ())}
    if draft.claim is not None and draft.claim.read:
        skipped.add("claim")  # nobody stated it
    left = [
        "metadata" if name == "extra" else name
        for name in _STATED
        if name not in skipped
        and getattr(draft, name) != getattr(default, name)
        and getattr(draft, name) != getattr(memory, name)
    ]
    if not (merging and is_authoritative(lowered(SourceKind.USER_EXPLICIT, draft.source.channel))):
        left += [  # an observation records what a user's channel says of the source
            f"source_{name}"
            for name in ("agent", "ref")
            if getattr(draft.source, name) not in {None, getattr(memory.source, name)}
        ]
    if draft.source.stated and draft.source.kind is not memory.source.kind:
        left.append("source_kind")
    for name in (times.EXPIRES, "evidence"):
        if draft.extra.get(name) not in (None, memory.extra.get(name)):
            left.append(name)
    found = []
    if draft.text != memory.text:
        wording = f"its wording stays {_quoted(first_words(memory.text))}"
        found.append(wording if merging else f"{wording}; yours was not stored")
    if left:
        found.append(f"not changed: {', '.join(left)}; use update to change the stored memory")
    return found


def redaction(counts: Mapping[str, int]) -> str:
    """The sentence that says what was redacted, and how to keep what is no secret."""
    said = "redacted: " + ", ".join(f"{count} {kind}" for kind, count in counts.items())
    kept = [kind for kind in counts if kind in KEEPABLE]
    if not kept:
        return said
    listed = ", ".join(f'"{kind}"' for kind in kept)
    return (
        f"{said}; to keep {' and '.join(kept)} as written: MEMORY_MESH_KEEP={','.join(kept)}, "
        f"or keep = [{listed}] in the configuration file (memory-mesh config names it)"
    )


def first_words(text: str, most: int = FIRST_WORDS) -> str:
    """The beginning of a text on one line, cut after a word at about so many characters."""
    line = " ".join(text[: 4 * most].split())
    if len(line) <= most:
        return line if len(text) <= 4 * most else f"{line}…"
    return f"{line[: most + 1].rpartition(' ')[0] or line[:most]}…"


def _complete(
    receipt: Receipt,
    wording: Wording,
    notes: Sequence[str],
    sentences: Iterable[str],
    words: Mapping[str, str] | None = None,
) -> Receipt:
    """The receipt with its sentences, and with what happened to the text on its way in."""
    told = [*receipt.reasons, *sentences, *notes]
    if wording.redacted:
        told.append(redaction(wording.redacted))
    left_out = [part for part in wording.left_out if part != _NOT_A_LOSS]
    if left_out:
        told.append(f"left out of the text: {', '.join(dict.fromkeys(left_out))}")
    if wording.pending is not None:
        told.append(f"its vector is missing and is made later: {wording.pending.rstrip('.')}")
    if len(told) == len(receipt.reasons) and not words:
        return receipt
    return replace(
        receipt,
        reasons=tuple(told),
        redacted=wording.redacted,
        vector_pending=wording.pending,
        words={id_: said for id_, said in (words or {}).items() if said},
    )


def _review_sentences(receipt: Receipt, memory: Memory, words: Mapping[str, str]) -> list[str]:
    """What waits for a decision now, and the command that decides."""
    open_ = [id_ for id_ in receipt.for_review if id_ != memory.id]
    done = (*receipt.superseded, *receipt.newer_than)
    against = ", ".join(_named(id_, words) for id_ in words if id_ not in done)
    found = []
    if memory.status is Status.QUARANTINED:
        found.append(f"it waits for review: memory-mesh review --id {memory.id}")
    if against:
        found.append(f"it contradicts {against}")
    if open_ and memory.status is not Status.QUARANTINED:
        found.append(f"the contradiction waits for a decision: memory-mesh conflicts ({open_[0]})")
    return found


def _limited(draft: Draft, memory: Memory) -> list[str]:
    """What the draft asked for and its source may not give, and when it is not shown yet."""
    found = []
    if draft.importance is not None and memory.importance != draft.importance:
        found.append(
            f"importance {draft.importance:g} was lowered to {memory.importance:g}, the most that "
            f"{memory.source.kind} may give"
        )
    if draft.pinned and not memory.pinned:
        found.append(f"not pinned: only the user can pin a memory, not {memory.source.kind}")
    if memory.source.kind is not draft.source.kind:
        found.append(f"it is trusted as {memory.source.kind}, like a memory that it was made from")
    now: datetime = memory.recorded_from
    if memory.valid_until is not None and memory.valid_until <= now:
        when = times.iso(memory.valid_until)
        found.append(f"it was true until {when}: only a read with valid_at before that shows it")
    if memory.valid_from is not None and memory.valid_from > now:
        found.append(f"reads show it from {times.iso(memory.valid_from)} on, when it becomes true")
    return found


def _named(id_: str, words: Mapping[str, str]) -> str:
    return f"{id_}: {_quoted(words[id_])}" if words.get(id_) else id_


def _quoted(words: str) -> str:
    return f"'{words}'"


def _short(value: object) -> str:
    return first_words(str(value))


# Counts what the receipts of many writes say, for the summary of a command.


class ReceiptCounts:
    """How many writes were merged, superseded another, wait for review, were redacted."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter(merged=0, superseded=0, for_review=0, no_vector=0)
        self._redacted: Counter[str] = Counter()
        self._why: str | None = None

    def count(self, receipt: Receipt) -> None:
        """Counts one receipt."""
        self._counts["merged"] += receipt.outcome is Outcome.MERGED
        self._counts["superseded"] += len(receipt.superseded)
        self._counts["for_review"] += len(receipt.for_review)
        self._redacted.update(receipt.redacted)
        if receipt.vector_pending is not None:
            self._counts["no_vector"] += 1
            self._why = receipt.vector_pending

    def plain(self) -> dict[str, Json]:
        """The counts as JSON values."""
        return {**self._counts, "redacted": dict(sorted(self._redacted.items()))}

    def sentences(self) -> list[str]:
        """The counts in words; nothing is said of what did not happen."""
        words = {
            "merged": "merged with a memory that was stored before",
            "superseded": "stored memories superseded",
            "for_review": "wait for review: memory-mesh review, memory-mesh conflicts",
            "no_vector": f"wait for a vector: {self._why}",
        }
        counts = self._counts
        found = [f"{counts[name]} {said}" for name, said in words.items() if counts[name]]
        if self._redacted:
            found.append(redaction(dict(sorted(self._redacted.items()))))
        return found
