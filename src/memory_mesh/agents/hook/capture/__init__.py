"""Stores what a session teaches, by rules and without a language model.

::

    prompt ──────▶ sentences that state something ──▶ the user's word; of the person or the project
    failed tool ─▶ a failure that may teach        ──▶ waits for review, and for its fix
    answer ──────▶ a fix that worked               ──▶ beside the failure it mends
    end ─────────▶ failures with a fix             ──▶ lessons that wait for review

The hook calls it after the prompt went on, or in the daemon. It may be called twice with one event:
what was stored is then found again.
"""

from collections.abc import Mapping

from memory_mesh.agents.hook.capture.answers import answered, ended, failed
from memory_mesh.agents.hook.capture.heard import Captured, CapturedEvent, HostSession
from memory_mesh.agents.hook.capture.prompts import prompted
from memory_mesh.base.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.sync import MemoryMesh

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
    act = _ON.get(str(input.get("event") or ""))
    if act is None:
        return Captured()
    heard = CapturedEvent(mesh, session, key)
    if act is prompted or not input.get("prompt"):
        return act(heard, input)
    said = prompted(heard, input)  # a host without an event of its own for prompts
    done = act(heard, input)
    return Captured((*said.receipts, *done.receipts), said.for_person + done.for_person)
