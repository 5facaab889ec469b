"""The one line of a session that its user sees."""

from memory_mesh.model.pack import LeftOutBy
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.model.pack import Pack

NAME = "memory-mesh"


def visible(pack: "Pack", *, waiting: int, at_start: bool) -> str:
    """Says what entered the prompt, at what price, and what is left to do."""
    below = sum(one.by is LeftOutBy.RELEVANCE for one in pack.left_out)
    if pack:
        said = f"{_counted(len(pack), 'memory', 'memories')}, {pack.tokens} tokens"
    elif at_start:
        said = "no memories for this project yet"
    else:
        said = "no memory fits this prompt"
    parts = [said]
    if below:
        parts.append(f"{below} below the relevance threshold")
    if waiting:
        verb = "waits" if waiting == 1 else "wait"
        parts.append(f"{waiting} {verb} for review")
    return f"{NAME}: {'; '.join(parts)}"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
