"""Claude Code's hooks: what it says on standard input, what it reads on standard output.

    stdin   {"hook_event_name":"UserPromptSubmit","session_id":…,"cwd":…,"prompt":…}
    stdout  {"hookSpecificOutput":{"hookEventName":…,"additionalContext":…},"systemMessage":…}

This module is light: a hook loads it at every prompt.
"""

from memory_mesh.agents import request
from memory_mesh.base.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST = "claude-code"
START, PROMPT = "SessionStart", "UserPromptSubmit"
RECALLS = (START, PROMPT)
CAPTURES = (PROMPT, "Stop", "PreCompact", "SessionEnd", "PostToolUseFailure")
FRESH = ("startup", "clear", "compact")  # sources of a session that has nothing in its prompt
_NAMES = ("session_id", "cwd", "prompt", "source")


def event_of(given: "Mapping[str, Any]", stated: str | None = None) -> str:
    """The event by its own name, or as the command line states it."""
    found = given.get("hook_event_name")
    return found if isinstance(found, str) and found else stated or ""


def recall_of(event: str, given: "Mapping[str, Any]") -> "dict[str, Any] | None":
    """What a recall needs of the input; None if this event recalls nothing.

    At a resume the prompt holds already what was given: a second time would be billed.
    """
    if event not in RECALLS or (event == START and given.get("source", FRESH[0]) not in FRESH):
        return None
    return {name: given[name] for name in _NAMES if isinstance(given.get(name), str)}


def output_of(event: str, answer: "Mapping[str, Any]") -> str:
    """What the host reads, on one line; empty if there is nothing to say."""
    said: dict[str, Any] = {}
    if answer.get("context"):
        said["hookSpecificOutput"] = {
            "hookEventName": event,
            "additionalContext": answer["context"],
        }
    if answer.get("line"):
        said["systemMessage"] = answer["line"]
    return request.dumps(said) if said else ""
