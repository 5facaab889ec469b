"""The one line of a session that its user sees."""

from collections.abc import Sequence

from memory_mesh.model.pack import LeftOutBy
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.model.pack import Pack

NAME = "memory-mesh"


def visible(pack: "Pack", *, waiting: int, at_start: bool, warned: str | None = None) -> str | None:
    """Says what entered the prompt, at what price, and what is left to do.

    None at a prompt that memory has nothing to say to.
    """
    below = sum(one.by is LeftOutBy.RELEVANCE for one in pack.left_out)
    if pack:
        said = f"{_counted(len(pack), 'memory', 'memories')}, {pack.tokens} tokens"
    elif at_start:
        said = "no memories for this project yet"
    elif not below:
        return None
    else:
        said = "no memory fits this prompt"
    parts = [said]
    if below:
        parts.append(f"{below} below the relevance threshold")
    if waiting:
        verb = "waits" if waiting == 1 else "wait"
        parts.append(f"{waiting} {verb} for review")
    if warned:
        parts.append(warned)
    return f"{NAME}: {'; '.join(parts)}"


def with_notices(said: str | None, notices: Sequence[str]) -> str | None:
    """The line with what the user should know of earlier captures; None if there is nothing."""
    parts = [*([said] if said else []), *(f"{NAME}: {one}" for one in dict.fromkeys(notices))]
    return "\n".join(parts) or None


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
