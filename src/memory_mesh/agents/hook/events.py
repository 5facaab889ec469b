"""What a host's event brings: memories for the prompt, or something to learn.

::

    recall    start ──▶ pinned, lessons, newest, most used ──┐
              prompt ─▶ what fits it and was not given yet ──┴─▶ fenced text, visible line, ids
    capture   prompt, answer, failure, end ──▶ capture.captured ──▶ ids of what was stored

The daemon and the hook without a daemon both come here, through `agents.answer`. Memories are read
for the project and the session, and stored for the project: see docs/agents/hooks.md.
"""

import time
from collections.abc import Mapping

from memory_mesh.agents import capturing
from memory_mesh.agents.hook import claude_code, line
from memory_mesh.agents.hook.question import question_of
from memory_mesh.agents.hook.storable import storable
from memory_mesh.agents.sessions import Session
from memory_mesh.formats.private import without_private
from memory_mesh.model import Channel, Scope
from memory_mesh.process import waits
from memory_mesh.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory_mesh.agents.opening import Stores
    from memory_mesh.model.pack import Pack
    from memory_mesh.sync import MemoryMesh

CAPTURE = "capture"
PROMPT_TOKENS = 800  # of memories at one prompt; at a start `injection_max_tokens`
PROMPT_MEMORIES = 8
RECALL_SECONDS = 0.2  # for locks
MOST_WAITING = 100  # of what waits for review that is counted


def on_event(stores: "Stores", request: Mapping[str, Any]) -> dict[str, Any]:
    """Answers one event of a host."""
    given = storable(request["input"])
    request = {**request, "input": given}
    if given.get("part") == CAPTURE:
        return _captured(stores, request)
    until = given.get("until")
    if isinstance(until, float) and time.monotonic() > until:
        return {}  # the hook has ended: what nobody reads is not recorded as read
    with waits.at_most(RECALL_SECONDS):  # nothing that can wait is done before a prompt
        return _recalled(stores, request)


def session_of(request: Mapping[str, Any]) -> Session:
    """The session that the host names; one of its own for an event without a name."""
    named = request["input"].get("session_id")
    known = named if isinstance(named, str) and named else f"unnamed {request['id']}"
    return Session.of(request["store"], request["host"], known, request["environment"])


def _recalled(stores: "Stores", request: Mapping[str, Any]) -> dict[str, Any]:
    given = request["input"]
    mesh = stores.mesh_for(request, channel=Channel.HOOK)
    session = session_of(request)
    pack = _pack(mesh, session, given)
    if pack is None:
        return {}
    said, notices = None, session.notices()
    if not session.line_shown():
        at_start = given.get("event") == claude_code.START
        waiting = len(mesh.awaiting_review(limit=MOST_WAITING)) if at_start else 0
        warned = capturing.warning(request["store"]) if at_start else None
        said = line.visible(pack, waiting=waiting, at_start=at_start, warned=warned)
    return {
        "context": pack.text or None,
        "line": line.with_notices(said, notices),
        "notices": len(notices),
        "fence": pack.fence or None,
        "given": [item.id for item in pack],
        "memories": len(pack),
        "tokens": pack.tokens,
    }


def _pack(mesh: "MemoryMesh", session: Session, given: Mapping[str, Any]) -> "Pack | None":
    """The memories for this event; None if there is nothing to look for."""
    most = mesh.config.injection_max_tokens
    reader = Scope(session=given.get("session_id") or None)
    if given.get("event") == claude_code.START:
        return mesh.context(max_tokens=most, scope=reader)
    question = question_of(str(given.get("prompt") or ""))
    if question is None:
        return None
    return mesh.context(
        question,
        max_tokens=min(PROMPT_TOKENS, most),
        max_memories=PROMPT_MEMORIES,
        exclude=session.given(),
        scope=reader,
    )


def _captured(stores: "Stores", request: Mapping[str, Any]) -> dict[str, Any]:
    """Learns from an event; the request's id keeps it from being stored twice."""
    from memory_mesh.agents.hook.capture import captured  # no recall waits for its rules

    given = request["input"]
    session = session_of(request)
    prompt = given.get("prompt")
    if given.get("event") == claude_code.PROMPT and isinstance(prompt, str):
        session.saw(without_private(prompt))
    mesh = stores.mesh_for(request, channel=Channel.HOOK)
    found = captured(mesh, session, given, key=request["id"])
    ids = [receipt.id for receipt in found.receipts if receipt.id is not None]
    session.record(stored=ids, notice=found.line)
    return {"stored": len(ids)}
