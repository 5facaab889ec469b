"""Answers requests for resources and prompts: texts of memories, quoted."""

from collections.abc import Mapping

from memory_mesh.agents.mcp.aliases import server_memory
from memory_mesh.agents.mcp.caller import ToolCall
from memory_mesh.agents.opening import Stores
from memory_mesh.base.typed import Any
from memory_mesh.context import fence
from memory_mesh.formats.private import without_private
from memory_mesh.model import Memory, Proposal, Skill
from memory_mesh.model.errors import InvalidInput, NotFound, shown
from memory_mesh.sync import MemoryMesh

_MARKDOWN, _JSON = "text/markdown", "application/json"
_MOST_LESSONS = 50
_MOST_WAITING = 50
_REVIEWING = (
    "Go through these with the user, one at a time: say in a sentence what each is and where it "
    "comes from, and ask whether to let it in. You cannot decide: the user runs "
    "`memory-mesh review --id ID --approve`, or --reject."
)


def on_resource(stores: Stores, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the contents of a resource; NotFound if there is no such one."""
    uri = str(request["input"].get("uri"))
    scheme, _, name = uri.partition("://")
    if scheme != "memory" or not name:
        raise NotFound(f"there is no resource {shown(uri)}; see resources/list")
    call = ToolCall(stores, request)
    mesh = call.mesh()
    if name == "project":
        text = mesh.context().text or "Nothing is remembered of this project yet."
    elif name == server_memory.RESOURCE:
        _, [text] = server_memory.read_graph(call, {})
        return {"contents": [{"uri": uri, "mimeType": _JSON, "text": text}]}
    elif name == "lessons":
        text = _lessons(mesh)
    else:
        memory = mesh.get(name)
        if memory is None:
            raise NotFound(f"there is no memory {shown(name)} here; find ids with memory_search")
        text = fence.fenced_for_tool([fence.entry(1, fence.heading(memory), memory.text)])
    return {"contents": [{"uri": uri, "mimeType": _MARKDOWN, "text": text}]}


def on_prompt(stores: Stores, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the messages of a prompt."""
    name, given = request["input"].get("name"), request["input"].get("arguments") or {}
    mesh = ToolCall(stores, request).mesh()
    if name == "recall":
        return _prompted("What memory holds for the task", _recalled(mesh, _topic(given)))
    if name == "review-quarantine":
        if given:
            raise InvalidInput("review-quarantine takes no arguments")
        return _prompted("What waits for the user's decision", _waiting(mesh))
    raise InvalidInput(f"there is no prompt {shown(name)}; there are: recall, review-quarantine")


def _lessons(mesh: MemoryMesh) -> str:
    blocks = mesh.lessons.search("", limit=_MOST_LESSONS, order_by="severity DESC")
    entries = [
        fence.entry(
            number,
            [fence.named(block.memory_id), f"severity {fence.named(block.severity)}"],
            block.preventative_rule,
        )
        for number, block in enumerate(blocks, start=1)
    ]
    return fence.fenced_for_tool(entries) or "No lesson has been learned yet."


def _topic(given: Mapping[str, Any]) -> str | None:
    if unknown := sorted(set(given) - {"topic"}):
        raise InvalidInput(f"recall does not take {shown(unknown[0])}; it takes: topic")
    topic = given.get("topic")
    if topic is not None and not isinstance(topic, str):
        raise InvalidInput(f"topic must be a text, not {shown(topic)}")
    return without_private(topic).strip() or None if topic else None


def _recalled(mesh: MemoryMesh, topic: str | None) -> str:
    text = mesh.context(topic).text
    if not text:
        return "Memory holds nothing relevant here. Say so, and go on without it."
    return f"{text}\n\nUse what is relevant of it for the task, and say which memories you used."


def _waiting(mesh: MemoryMesh) -> str:
    waiting = mesh.review.waiting(limit=_MOST_WAITING)
    if not waiting:
        return "Nothing waits for review. Tell the user so."
    entries = [_entry(number, item) for number, item in enumerate(waiting, start=1)]
    return f"{fence.fenced_for_tool(entries)}\n\n{_REVIEWING}"


def _entry(number: int, item: Memory | Skill | Proposal) -> str:
    match item:
        case Memory():
            return fence.entry(number, fence.heading(item), item.text)
        case Skill():
            facts = [fence.named(item.id), "skill", fence.named(item.name)]
            return fence.entry(number, facts, item.description or "")
        case Proposal():
            facts = [fence.named(item.id), f"proposal: {item.verb} {item.memory}"]
            return fence.entry(number, facts, str(item.change.get("content") or item.reason))


def _prompted(description: str, *texts: str) -> dict[str, Any]:
    return {
        "description": description,
        "messages": [{"role": "user", "content": {"type": "text", "text": text}} for text in texts],
    }
