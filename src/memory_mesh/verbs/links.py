"""Link memories to each other."""

from memory_mesh import flows
from memory_mesh.errors import InvalidInput
from memory_mesh.model import Link, Scope
from memory_mesh.policy.arguments import check_text
from memory_mesh.view import View

LINK_TYPES = ("related", "follows", "part_of", "depends_on")  # those that a caller may set


class LinkVerbs(View):
    """Methods that link memories."""

    def link(
        self,
        source_id: str,
        target_id: str,
        *,
        type: str = "related",
        reason: str = "linked by the caller",
        scope: Scope | None = None,
    ) -> Link:
        """Links one memory to another.

        Options:
            type: related, follows, part_of or depends_on.
            reason: the reason, stored in the audit block.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        said = check_text(reason, "reason")
        wanted = _link(source_id, target_id, type)
        return flows.links.link(self._access(), wanted, self._reader(scope), said)

    def unlink(
        self,
        source_id: str,
        target_id: str,
        *,
        type: str = "related",
        reason: str = "unlinked by the caller",
        scope: Scope | None = None,
    ) -> bool:
        """Removes a link; returns False if there was none.

        Options:
            type: related, follows, part_of or depends_on.
            reason: the reason, stored in the audit block.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        said = check_text(reason, "reason")
        wanted = _link(source_id, target_id, type)
        return flows.links.unlink(self._access(), wanted, self._reader(scope), said)

    def links(self, memory_id: str, *, scope: Scope | None = None) -> list[Link]:
        """Lists the links from and to a memory, oldest first.

        A link is listed if both of its memories are visible.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
        """
        checked = check_text(memory_id, "memory_id")
        return flows.links.links(self._access(), checked, self._lens(scope))


def _link(source_id: str, target_id: str, type_: str) -> Link:
    if type_ not in LINK_TYPES:
        raise InvalidInput(f"the type of a link is one of: {', '.join(LINK_TYPES)}")
    return Link(check_text(source_id, "source_id"), check_text(target_id, "target_id"), type_)
