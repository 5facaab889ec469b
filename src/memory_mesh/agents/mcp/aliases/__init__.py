"""Sets of tools with the names and shapes of other memory servers, over the same store."""

from collections.abc import Callable, Mapping

from memory_mesh.agents.mcp.caller import ToolCall
from memory_mesh.agents.mcp.schemas import Schema
from memory_mesh.base.typed import Any, TypeAlias, dataclass
from memory_mesh.model.errors import InvalidInput, shown

Tool: TypeAlias = Callable[[ToolCall, Mapping[str, Any]], tuple[dict[str, Any], str | list[str]]]
SETS = ("server-memory", "lane")


@dataclass(frozen=True, slots=True)
class ToolSet:
    """The tools that a server offers, what answers each, and the one that finds ids."""

    tools: tuple[Schema, ...]
    answers: Mapping[str, Tool]
    finder: str

    def schema(self, name: str) -> Schema:
        """The tool of this name; InvalidInput if there is none."""
        for each in self.tools:
            if each["name"] == name:
                return each
        raise InvalidInput(f"there is no tool {name[:80]!r}; there are: {', '.join(self.answers)}")


def set_named(name: object) -> ToolSet:
    """The alias set of this name."""
    if name == "server-memory":
        from memory_mesh.agents.mcp.aliases import server_memory as found
    elif name == "lane":
        from memory_mesh.agents.mcp.aliases import lane as found  # type: ignore[no-redef]
    else:
        raise InvalidInput(f"there is no alias set {shown(name)}; there are: {', '.join(SETS)}")
    return ToolSet(found.TOOLS, found.ANSWERS, found.FINDER)
