"""OpenCode's events in the words of our hook: what its plugin passes on, as it gets it.

    {"type":"session.idle","properties":{"sessionID":"ses_1"},"last_assistant_message":…}
    {"type":"session.deleted","properties":{"info":{"id":"ses_1","directory":"/work/shop"}}}

A session that is idle has answered, one that is deleted has ended: both are learned from. What the
events do not carry, such as the last answer, the plugin puts beside them. Light.
"""

from memory_mesh.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

EVENTS = {"session.idle": "Stop", "session.deleted": "SessionEnd"}


def translated(given: "Mapping[str, Any]", stated: str | None) -> dict[str, Any]:
    """The input with our names for the event, the session and the folder."""
    found = dict(given)
    named = _text(found.pop("type", None)) or _text(found.get("hook_event_name")) or stated or ""
    properties = _object(found.pop("properties", None))
    info = _object(properties.get("info"))
    session = _text(properties.get("sessionID")) or _text(info.get("id"))
    folder = _text(found.pop("directory", None)) or _text(info.get("directory"))
    found["hook_event_name"] = EVENTS.get(named, named)
    if session:
        found.setdefault("session_id", session)
    if folder:
        found.setdefault("cwd", folder)
    return found


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
