"""What a call of an OpenAI-compatible client asks, with memories put in, and what it answers.

Both interfaces are read by the names of their fields, so no version of any client is needed here.
Nothing that a caller handed in is changed: lists are copied.
"""

from collections.abc import Iterator, Mapping, Sequence

from memory_mesh.fastdataclass import dataclass
from memory_mesh.formats.private import split_private, without_private
from memory_mesh.typed import Any

_TEXT_PARTS = {"text", "input_text"}
_HEAD = {"system", "developer"}
QUESTION, START = "question", "start"


@dataclass(frozen=True, slots=True)
class Api:
    """One of the two interfaces: where its messages are, and the role that instructs."""

    messages: str  # the argument that holds them
    role: str


CHAT = Api("messages", "system")
RESPONSES = Api("input", "developer")


def repeatable(messages: object) -> object:
    """The messages, or a list of them if they could be read only once."""
    return list(messages) if isinstance(messages, Iterator) else messages


def question(api: Api, call: Mapping[str, Any]) -> str:
    """The text of the last message of the user, without what is marked private."""
    said = _said(api, call)
    return without_private(said[-1]).strip() if said else ""


def says_private(api: Api, call: Mapping[str, Any]) -> bool:
    """True if any message of the user has a private part: an answer may repeat it."""
    return any(split_private(text)[1].strip() for text in _said(api, call))


def _said(api: Api, call: Mapping[str, Any]) -> list[str]:
    """The messages of the user, oldest first."""
    given = call.get(api.messages)
    if isinstance(given, str):
        return [given]
    messages = [message for message in _listed(given) if _field(message, "role") == "user"]
    return [_text(_field(message, "content")) for message in messages]


def with_memories(api: Api, call: Mapping[str, Any], memories: str, place: str) -> dict[str, Any]:
    """The call with a message of memories before the question, or at the start.

    Before the question is the default: what stands above it stays the same from turn to turn, and
    the provider's prompt cache keeps its value.
    """
    given = call[api.messages]
    listed = [{"role": "user", "content": given}] if isinstance(given, str) else _listed(given)
    roles = [_field(message, "role") for message in listed]
    at = len(roles) - 1 - roles[::-1].index("user")
    if place == START:
        at = next((n for n, role in enumerate(roles) if role not in _HEAD), at)
    role = "developer" if "developer" in roles else api.role
    message = {"role": role, "content": memories}
    return {**call, api.messages: [*listed[:at], message, *listed[at:]]}


def answer(response: object) -> str:
    """The text of an answer; empty if it only calls tools."""
    text = getattr(response, "output_text", None)
    if isinstance(text, str):
        return text
    choices = _listed(getattr(response, "choices", None))
    content = getattr(getattr(choices[0], "message", None), "content", None) if choices else None
    return content if isinstance(content, str) else ""


def piece(event: object) -> str:
    """The text that one event of a stream adds to the answer."""
    if getattr(event, "type", None) == "response.output_text.delta":
        delta = getattr(event, "delta", None)
    else:
        choices = _listed(getattr(event, "choices", None))
        delta = getattr(getattr(choices[0], "delta", None), "content", None) if choices else None
    return delta if isinstance(delta, str) else ""


def _text(content: object) -> str:
    """The text of a message: a text, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = [part for part in _listed(content) if _field(part, "type") in _TEXT_PARTS]
    return "\n".join(str(_field(part, "text") or "") for part in parts)


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
