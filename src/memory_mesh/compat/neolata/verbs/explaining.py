"""Ask why a memory is as it is."""

from memory_mesh.compat.neolata.model import GraphSupersession, GraphWhy
from memory_mesh.compat.neolata.verbs.linking import GraphLinking
from memory_mesh.model.why import Why


class GraphExplaining(GraphLinking):
    """Methods that explain."""

    def explain_memory(self, memory_id: str) -> GraphWhy:
        """Say why a memory is as it is: the parts of its trust, links, conflicts, provenance."""
        why = self._why(memory_id)
        memory = self._one(self._held(memory_id))
        return GraphWhy(
            memory,
            why.sentences,
            why.trust,
            memory.provenance,
            tuple(self._linked(why.links, {memory_id})),
            why.conflicts,
            why,
        )

    def explain_supersession(self, memory_id: str) -> GraphSupersession:
        """Say what superseded what, oldest first, and why each memory gave way."""
        why = self._why(memory_id)
        chain = why.chain or (self._held(memory_id),)
        return GraphSupersession(
            self._one(self._held(memory_id)),
            tuple(self._shown(chain)),
            why.rationale,
            why.sentences,
        )

    def _why(self, memory_id: str) -> Why:
        """As a reader of the memory would be told."""
        return self._mesh.explain(memory_id, scope=self._held(memory_id).scope)
