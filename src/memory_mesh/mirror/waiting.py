"""What became of the changes that the mirror proposed: still open, approved, or rejected.

A rejected change leaves the file with words that the store does not want. Then the store's side
counts as the newer one: a push writes its words, and an edit of the document is a disagreement.
"""

from memory_mesh.mirror import mapping
from memory_mesh.mirror.merging import Sides
from memory_mesh.mirror.report import Line
from memory_mesh.mirror.run import OUT_OF_USE, Run
from memory_mesh.mirror.state import HELD, Held
from memory_mesh.model import Proposal

_MOST = 1_000


def look(run: Run) -> None:
    """Finds the documents whose proposed change was decided, so that the push writes them."""
    asked = [held for held in run.state.waiting() if held.status == HELD]
    still_open = {proposal.id for proposal in proposals(run)} if asked else set()
    if len(still_open) == _MOST:  # there may be more, so nothing is known of the others
        return
    decided = [held for held in asked if held.waits not in still_open]
    memories = run.latest_of([held.memory for held in decided])
    for held in decided:
        memory = memories.get(held.memory)
        if memory is None or memory.status in OUT_OF_USE:
            continue
        if mapping.digest_of(memory, run.linked(memory.id, held)) == held.store:
            run.rejected[held.memory] = held.waits or ""
        run.due.append(held.memory)


def refused(run: Run, held: Held) -> bool:
    """True if the document holds a change that was proposed and rejected."""
    return held.waits is not None and run.rejected.get(held.memory) == held.waits


def base(run: Run, held: Held) -> Sides:
    """What both sides last agreed on; after a rejected change the store's side is newer."""
    return Sides(held.doc, None if refused(run, held) else held.store)


def report(run: Run) -> None:
    """Reports the proposals that wait for a decision about a memory of the folder."""
    for proposal in proposals(run):
        held = run.state.of_memory(proposal.memory)
        if held is not None:
            words = f"decide with: memory-mesh review --id {proposal.id}"
            run.report.proposed.append(Line(held.path, held.named, held.memory, words))


def proposals(run: Run) -> list[Proposal]:
    """The proposals that wait for a decision, the newest first."""
    return run.mesh.proposals(limit=_MOST)
