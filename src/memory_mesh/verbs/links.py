"""Link memories to each other."""

from collections.abc import Iterable

from memory_mesh import flows
from memory_mesh.errors import InvalidInput
from memory_mesh.model import Link, Scope
from memory_mesh.model.commit import SIMILAR
from memory_mesh.policy.arguments import check_text
from memory_mesh.view import View

LINK_TYPES = ("related", "follows", "part_of", "depends_on")  # those that a caller may set
_OWN_TYPES = (SIMILAR, "derived_from")  # those that are made by themselves


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

    def links(
        self, memory_id: str, *, types: Iterable[str] = (), scope: Scope | None = None
    ) -> list[Link]:
        """Lists the links from and to a memory, oldest first, similar ones last, at most 1,000.

        A link is listed if both of its memories are visible. Those of type similar are made by
        themselves after a write and have a similarity; `stats().to_link` counts what waits.

        Options:
            types: only links of these types.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        checked = check_text(memory_id, "memory_id")
        wanted = check_link_types(types)
        access = flows.linking.caught_up(self._access())
        return flows.links.links(access, checked, self._lens(scope), wanted)


def check_link_types(types: Iterable[str]) -> tuple[str, ...]:
    """The types as a tuple; InvalidInput if one of them is none."""
    wanted = (types,) if isinstance(types, str) else tuple(types)
    for each in wanted:
        if each not in (*LINK_TYPES, *_OWN_TYPES):
            known = ", ".join((*LINK_TYPES, *_OWN_TYPES))
            raise InvalidInput(f"there is no type {each!r} of links; the types are: {known}")
    return wanted


def _link(source_id: str, target_id: str, type_: str) -> Link:
    if type_ not in LINK_TYPES:
        raise InvalidInput(f"the type of a link is one of: {', '.join(LINK_TYPES)}")
    return Link(check_text(source_id, "source_id"), check_text(target_id, "target_id"), type_)
