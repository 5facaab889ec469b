"""Hosts' events: what each host says on standard input, and what it reads on standard output.

::

    host's JSON ── translated ──▶ our event ──▶ recall at a start or a prompt, in the host's shape
                                            └─▶ capture, or a lesson from a failure

    stdin   {"hook_event_name":"UserPromptSubmit","session_id":…,"cwd":…,"prompt":…}
    stdout  {"hookSpecificOutput":{"hookEventName":…,"additionalContext":…},"systemMessage":…}

Our words are Claude Code's. This module is light: a hook loads it at every prompt.
"""

from memory_mesh.agents import request
from memory_mesh.base.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST = "claude-code"
START, PROMPT, STOP, END = "SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"
COMPACT, FAILED, RAN = "PreCompact", "PostToolUseFailure", "PostToolUse"
TOOL = "PreToolUse"
RECALLS = (START, PROMPT)
CAPTURES = (PROMPT, STOP, COMPACT, END, FAILED)
FRESH = ("startup", "clear", "compact", "new")  # of a session that has nothing in its prompt
_OURS = {each: each for each in (START, PROMPT, STOP, COMPACT, END)}
EVENTS: "dict[str, dict[str, str]]" = {  # each host's events that we ask for, in our words
    HOST: {**_OURS, FAILED: FAILED, TOOL: TOOL},
    "codex": _OURS,  # what a tool answers comes without its exit code
    "opencode": {**_OURS, FAILED: FAILED, "session.idle": STOP, "session.deleted": END},
    "gemini": {  # its PreCompress comes at every turn, whether anything is compressed or not
        START: START,
        "BeforeAgent": PROMPT,
        "AfterTool": RAN,
        "AfterAgent": STOP,
        END: END,
    },
    "qwen": {**_OURS, FAILED: FAILED, RAN: RAN},
    "copilot": {
        "sessionStart": START,
        "userPromptSubmitted": PROMPT,
        "agentStop": STOP,
        "postToolUse": RAN,
        "postToolUseFailure": FAILED,
        "preCompact": COMPACT,
        "sessionEnd": END,
    },
    "cursor": {
        "sessionStart": START,
        "beforeSubmitPrompt": PROMPT,
        "afterAgentResponse": STOP,
        "postToolUseFailure": FAILED,
        "preCompact": COMPACT,
        "sessionEnd": END,
    },
}
SHELLS = {  # what a host sets for its model's shell, and not for its hooks
    "codex": "CODEX_TOOL_CALL_ID",
    "gemini": "GEMINI_CLI",
    "qwen": "QWEN_CODE",
}
_CONTEXT = {"copilot": "additionalContext", "cursor": "additional_context"}  # and nothing else
_TAKES_NOTHING = (("cursor", PROMPT),)
_SAYS_AGAIN = (("gemini", STOP),)  # the prompt, which was heard before
_FORGETS = (("copilot", "resume"), ("gemini", "resume"))  # what a start gave is gone by then
_NAMES = ("session_id", "cwd", "prompt", "source")
_RENAMED = {
    "sessionId": "session_id",
    "conversation_id": "session_id",
    "toolName": "tool_name",
    "toolArgs": "tool_input",
    "toolResult": "tool_response",
    "prompt_response": "last_assistant_message",
    "text": "last_assistant_message",
    "error_message": "error",
}
_WRITES = frozenset(("content", "new_string", "edits", "new_source"))  # of tools that edit
_PATHS = ("file_path", "notebook_path", "path")
_ANSWERS = ("llmContent", "textResultForLlm")
_CODE = "exit code"
_BEFORE, _AFTER = "<hook_context>", "</hook_context>"  # Gemini CLI puts it before a prompt


def translated(
    given: "Mapping[str, Any]", stated: str | None = None, host: str = HOST
) -> dict[str, Any]:
    """The input in our words; `said_event` is the event in the host's."""
    found = dict(given)
    said = _text(found.get("hook_event_name"))
    if host != HOST:
        said = _text(found.pop("type", None)) or said
        _rename(found)
    said = said or stated or ""
    event = EVENTS.get(host, {}).get(said, said)
    if event == RAN and (error := _error(found.get("tool_response"))):
        event, found["error"] = FAILED, error
    if (host, event) in _SAYS_AGAIN:
        found.pop("prompt", None)
    prompt = _text(found.get("prompt"))
    if prompt.startswith(_BEFORE):
        found["prompt"] = prompt.partition(_AFTER)[2].strip()
    return {**found, "hook_event_name": event, "said_event": said}


def recall_of(event: str, given: "Mapping[str, Any]", host: str = HOST) -> "dict[str, Any] | None":
    """What a recall needs of the input; None if this event recalls nothing.

    At a resume the prompt holds already what was given: a second time would be billed. What a host
    has no place for is not looked for.
    """
    if event == TOOL:
        return _action_of(given)
    if event not in RECALLS or (host, event) in _TAKES_NOTHING:
        return None
    source = given.get("source", FRESH[0])
    if event == START and source not in FRESH and (host, source) not in _FORGETS:
        return None
    return {name: given[name] for name in _NAMES if isinstance(given.get(name), str)}


def _action_of(given: "Mapping[str, Any]") -> "dict[str, Any] | None":
    """The command or the file of a tool that is about to run; None of one that changes nothing."""
    asked = _mapping(given.get("tool_input"))
    command, file = _text(asked.get("command")), ""
    if not command and not _WRITES.isdisjoint(asked):
        file = next((path for name in _PATHS if (path := _text(asked.get(name)))), "")
    if not command and not file:
        return None
    known = {name: given[name] for name in _NAMES if isinstance(given.get(name), str)}
    return {**known, "command": command, "file": file}


def output_of(event: str, answer: "Mapping[str, Any]", host: str = HOST) -> str:
    """What the host reads, on one line; empty if there is nothing to say. It names the event."""
    said: dict[str, Any] = {}
    if answer.get("hold"):
        held = {"permissionDecision": "deny", "permissionDecisionReason": answer["hold"]}
        said["hookSpecificOutput"] = {"hookEventName": event, **held}
    context = answer.get("context")
    if context and host in _CONTEXT:
        said[_CONTEXT[host]] = context
    elif context:
        said["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": context}
    if answer.get("line") and host not in _CONTEXT:
        said["systemMessage"] = answer["line"]
    return request.dumps(said) if said else ""


def _rename(found: dict[str, Any]) -> None:
    """Gives the fields our names; OpenCode has some of them deeper, Cursor a list of folders."""
    properties = _mapping(found.pop("properties", None))
    info = _mapping(properties.get("info"))
    roots = found.get("workspace_roots")
    known = {
        "session_id": _text(properties.get("sessionID")) or _text(info.get("id")),
        "cwd": _text(found.pop("directory", None)) or _text(info.get("directory")),
    }
    if isinstance(roots, list) and roots:
        known["cwd"] = known["cwd"] or _text(roots[0])
    for theirs, ours in _RENAMED.items():
        known[ours] = known.get(ours) or found.pop(theirs, "")
    for name, value in known.items():
        if value:
            found.setdefault(name, value)


def _error(answer: object) -> str:
    """What a tool said that ended with an exit code other than 0; else nothing.

    The hosts tell the code in words, after the output: `Exit Code: 3`, `exit code 3>`.
    """
    told = _mapping(answer)
    said = _text(answer) or next((_text(told[name]) for name in _ANSWERS if name in told), "")
    at = said.lower().rfind(_CODE)
    code = said[at + len(_CODE) :].lstrip(": ")[:1]
    if at < 0 or code == "0" or not code.isdigit():
        return ""
    output = said[:at].rpartition("\n")[0]
    return (output.partition("Output:")[2] or output).replace("\nError: (none)", "").strip()


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
