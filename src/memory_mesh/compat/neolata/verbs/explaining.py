"""Ask why a memory is as it is."""

from memory_mesh.compat.neolata.model import GraphSupersession, GraphWhy
from memory_mesh.compat.neolata.verbs.linking import GraphLinking
from memory_mesh.model import Memory
from memory_mesh.model.why import Why


class GraphExplaining(GraphLinking):
    """Methods that explain."""

    def explain_memory(self, memory_id: str, *, as_owner: bool = False) -> GraphWhy:
        """Say why a memory is as it is: the parts of its trust, links, conflicts, provenance.

        Options:
            as_owner: show what is for others, too: every project, agent and session.
        """
        held = self._held(memory_id, as_owner=as_owner)
        why, memory = self._why(held), self._one(held)
        return GraphWhy(
            memory,
            why.sentences,
            why.trust,
            memory.provenance,
            tuple(self._linked(why.links, {memory_id})),
            why.conflicts,
            why,
        )

    def explain_supersession(self, memory_id: str, *, as_owner: bool = False) -> GraphSupersession:
        """Say what superseded what, oldest first, and why each memory gave way.

        Options:
            as_owner: show what is for others, too: every project, agent and session.
        """
        held = self._held(memory_id, as_owner=as_owner)
        why = self._why(held)
        chain = why.chain or (held,)
        return GraphSupersession(
            self._one(held),
            tuple(self._shown(chain)),
            why.rationale,
            why.sentences,
        )

    def _why(self, memory: Memory) -> Why:
        """As a reader of the memory would be told."""
        return self._mesh.explain(memory.id, scope=memory.scope)
