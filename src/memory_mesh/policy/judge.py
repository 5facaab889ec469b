"""The verdict on a draft, given what the ledger holds at the moment of decision. Pure and total."""

from memory_mesh.errors import IdempotencyConflict
from memory_mesh.model import Draft, Keep, Memory, Merge, Refuse, Repeat, Rivals, Verdict, Wording

MAX_CHARACTERS = 100_000  # RFC-0011's implementation cuts off here


def judge(draft: Draft, wording: Wording, rivals: Rivals) -> Verdict:
    """Keep, merge into a twin, repeat an earlier answer, or refuse with a reason."""
    seen = rivals.keys.get(draft.key) if draft.key is not None else None
    if seen is not None:
        if (seen.hash, seen.memory.scope) != (wording.hash, draft.scope):
            raise IdempotencyConflict
        return Repeat(seen)
    if not draft.text.strip():
        return Refuse("the text is empty")
    if len(draft.text) > MAX_CHARACTERS:
        return Refuse(f"the text has {len(draft.text)} characters, at most {MAX_CHARACTERS} fit")
    known = rivals.twins.get((wording.hash, draft.scope), ())
    twin = next((memory for memory in known if _true_together(memory, draft)), None)
    if twin is not None and not draft.allow_duplicate:
        return Merge(twin)
    return Keep()


def _true_together(memory: Memory, draft: Draft) -> bool:
    """What holds at other times says something else: merging would make a true text vanish."""
    span = (draft.valid_from, draft.valid_until)
    return (memory.valid_from, memory.valid_until) == span
