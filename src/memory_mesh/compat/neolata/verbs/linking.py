"""Follow links: between memories, in walks, in clusters; and replace what is outdated."""

from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.compat.neolata import translate
from memory_mesh.compat.neolata.model import GraphCluster, GraphLink, GraphMemory, GraphStep
from memory_mesh.compat.neolata.verbs.storing import GraphStoring
from memory_mesh.model import Link, Receipt, Status
from memory_mesh.policy.arguments import check_limit


class GraphLinking(GraphStoring):
    """Methods that follow links; a walk shows what a reader of its first memory sees."""

    def links(self, memory_id: str, *, as_owner: bool = False) -> list[GraphLink]:
        """All links of a memory, oldest first, each with the memory at its other end.

        Options:
            as_owner: show what is for others, too: every project, agent and session.
        """
        reader = self._reader(memory_id, as_owner=as_owner)
        return self._linked(self._mesh.links(memory_id, scope=reader), {memory_id})

    def traverse(
        self,
        start_id: str,
        max_hops: int = 2,
        *,
        types: Iterable[str] = (),
        as_owner: bool = False,
    ) -> list[GraphStep]:
        """Walk from a memory along links, and say what is reached, nearest first, at most 100.

        Active memories are reached, and those of the status that the first one has.

        Options:
            types: only links of these types, such as similar or related.
            as_owner: show what is for others, too: every project, agent and session.
        """
        start = self._held(start_id, as_owner=as_owner)
        walk = self._mesh.traverse(
            start_id, max_hops=max_hops, types=types, include={start.status}, scope=start.scope
        )
        shown = self._shown([step.memory for step in walk])
        return [
            GraphStep(memory, step.hops, _link(step.link, memory))
            for memory, step in zip(shown, walk, strict=True)
        ]

    def path(
        self,
        source_id: str,
        target_id: str,
        *,
        types: Iterable[str] = (),
        as_owner: bool = False,
    ) -> list[GraphLink] | None:
        """The links of a shortest way between two memories; None if there is none.

        Options:
            types: only links of these types, such as similar or related.
            as_owner: show what is for others, too: every project, agent and session.
        """
        source = self._held(source_id, as_owner=as_owner)
        target = self._held(target_id, as_owner=as_owner)
        found = self._mesh.path(
            source_id,
            target_id,
            types=types,
            include={source.status, target.status},
            scope=source.scope,
        )
        return None if found is None else self._on_the_way(source_id, found)

    def clusters(
        self, min_size: int = 2, *, agent: str | None = None, as_owner: bool = False
    ) -> list[GraphCluster]:
        """Groups of memories that links hold together, largest first, named by telling words.

        Options:
            agent: only memories that this agent sees; by default those of all agents.
            as_owner: show what is for others, too: every project, agent and session.
        """
        lens = self._view(agent, None, {Status.ACTIVE}, as_owner=as_owner)
        found = [
            GraphCluster(each.label, each.terms, each.ids)
            for each in self._mesh._clusters(lens, check_limit(min_size, "min_size"))
        ]
        return found if self._keeper is None else self._keeper.labelled(found)

    def evolve(
        self,
        agent: str,
        text: str,
        *,
        category: str | None = None,
        importance: float | str = translate.IMPORTANCE,
        tags: Iterable[str] = (),
        provenance: Mapping[str, object] | None = None,
    ) -> Receipt:
        """Store a newer statement, and supersede the agent's memory on the same subject.

        If that one is trusted more, both stay and are linked. The receipt says which.

        Options:
            category: the sort of memory, such as fact or decision.
            importance: 0 to 1, or low, medium, high or critical.
            tags: words to group it by.
            provenance: where it comes from: a mapping with source and sourceId.
        """
        name = translate.agent_name(agent)
        options = translate.StoreOptions(
            category=category, importance=importance, tags=tags, provenance=provenance
        )
        draft = self._stated(name, text, options)
        self._load(name)
        receipt = self._mesh._evolve(draft)
        self._stored(name, [receipt])
        return receipt

    def _linked(self, links: Sequence[Link], ends: set[str]) -> list[GraphLink]:
        """The links, which a reader of one end sees, each with the memory at the other end."""
        others = [link.target if link.source in ends else link.source for link in links]
        found = self._shown(self._found(list(dict.fromkeys(others)), as_owner=True))
        shown = {memory.id: memory for memory in found}
        return [
            _link(link, shown[other])
            for link, other in zip(links, others, strict=True)
            if other in shown
        ]

    def _on_the_way(self, start: str, links: Sequence[Link]) -> list[GraphLink]:
        """The links of a path, each with the memory that it leads to."""
        way, here = list[GraphLink](), start
        for link in links:
            way += self._linked([link], {here})
            here = link.target if link.source == here else link.source
        return way


def _link(link: Link, memory: GraphMemory) -> GraphLink:
    return GraphLink(link.source, link.target, link.type, link.similarity, link.at, memory)
