"""The tools that write: store, forget and feedback."""

from collections.abc import Mapping

from memory_mesh.agents.mcp.calling import ToolCall
from memory_mesh.errors import InvalidInput, NotAllowed, NotFound
from memory_mesh.formats import tool_text
from memory_mesh.model import Channel, Outcome, Proposal, Receipt, Scope, Status
from memory_mesh.policy.writing.trust import ceiling
from memory_mesh.typed import Any

_DETAILS = ("kind", "tags", "importance", "occurred_at", "valid_until")
_DECIDES = "The user decides: ask them to run `memory-mesh review --id {0} --approve`, or --reject."
_CORRECTED = "corrected by the agent"


def store(call: ToolCall, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Stores a text; in the user's name if it stands in a prompt of theirs."""
    content = given["content"]
    channel = call.channel_of(content)
    details = {name: given[name] for name in _DETAILS if name in given}
    if "replaces" in given:
        return _replaced(call, channel, given, details)
    if given.get("scope") == "everywhere":
        details["scope"] = Scope()
    receipt = call.mesh(channel).add(content, key=call.key, **details)
    if receipt.outcome is Outcome.REFUSED:
        raise InvalidInput(f"nothing was stored: {'; '.join(receipt.reasons)}")
    call.stored(receipt.id)
    return _stored(receipt, channel)


def forget(call: ToolCall, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Deletes a memory, or proposes to if it is the user's own word."""
    mesh, id_ = call.mesh(), given["id"]
    outcome, proposal = "deleted", None
    try:
        proposal = mesh.delete(id_, reason=given.get("reason", "forgotten by the agent"))
    except NotFound:
        if mesh.get(id_, include=[Status.DELETED]) is None:
            raise
        outcome = "already_deleted"
    name = tool_text.named(id_)
    said, after = (
        f"{name} is deleted.",
        "The user can bring it back for 30 days: memory-mesh restore",
    )
    if proposal is not None:
        outcome, said, after = "proposed", f"{name} stays for now.", _waits(proposal)
    answer = {
        "outcome": outcome,
        "id": name,
        "proposal_id": None if proposal is None else proposal.id,
        "next": after,
    }
    return answer, f"{said} {after}"


def feedback(call: ToolCall, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Counts a vote."""
    memory = call.mesh().rate(given["id"], helpful=given["helpful"])
    answer = {
        "id": memory.id,
        "helpful": memory.helpful,
        "unhelpful": memory.harmful,
        "usefulness": memory.usefulness,
    }
    votes = f"{memory.helpful} for and {memory.harmful} against it"
    return answer, f"Counted: {votes}; usefulness {memory.usefulness:.2f}."


def _stored(receipt: Receipt, channel: Channel) -> tuple[dict[str, Any], str]:
    after = ""
    if receipt.outcome is Outcome.QUARANTINED:
        after = _DECIDES.format(receipt.id)
    elif receipt.for_review:
        after = "Something now waits for the user's decision: `memory-mesh review` lists it."
    answer: dict[str, Any] = {
        "outcome": receipt.outcome.value,
        "id": receipt.id,
        "proposal_id": None,
        "trust": ceiling(channel).value,
        "reasons": [tool_text.said(reason) for reason in receipt.reasons],
        "superseded": list(receipt.superseded),
        "newer_than": list(receipt.newer_than),
        "for_review": list(receipt.for_review),
        "redacted": dict(receipt.redacted),
        "next": after,
    }
    said = {
        Outcome.STORED: "Remembered as",
        Outcome.MERGED: "Already known; merged with",
        Outcome.QUARANTINED: "Kept for review as",
    }[receipt.outcome]
    why = [reason for reason in answer["reasons"] if reason != receipt.outcome.value]
    lines = [f"{said} {receipt.id} (trust: {answer['trust']}).", *why, after]
    return answer, "\n".join(line for line in lines if line)


def _replaced(
    call: ToolCall, channel: Channel, given: Mapping[str, Any], details: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """Changes a memory, or proposes to if it is the user's own word and this text is not."""
    if "scope" in given:
        raise InvalidInput("a text that replaces another keeps its scope: leave scope out")
    mesh, id_, content = call.mesh(channel), given["replaces"], given["content"]
    proposal = None
    try:
        mesh.update(id_, content, reason=_CORRECTED, **details)
    except NotAllowed:
        proposal = mesh.propose_update(id_, content, reason=_CORRECTED, **details)
    name = tool_text.named(id_)
    after = "" if proposal is None else _waits(proposal)
    answer: dict[str, Any] = {
        "outcome": "changed" if proposal is None else "proposed",
        "id": name,
        "proposal_id": None if proposal is None else proposal.id,
        "trust": ceiling(channel).value,
        "reasons": [],
        "next": after,
    }
    said = "says this from now on." if proposal is None else "stays as it is for now."
    return answer, f"{name} {said} {after}".rstrip()


def _waits(proposal: Proposal) -> str:
    """What became of a proposal: it waits, or was decided already."""
    if proposal.pending:
        return f"It is the user's own word. {_DECIDES.format(proposal.id)}"
    return "The user was asked before and said no. Do not ask again."
