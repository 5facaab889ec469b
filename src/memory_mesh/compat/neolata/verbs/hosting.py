"""What the host may want to know of writes: events, and whether a storage has them."""

from memory_mesh.compat.neolata.graph_view import GraphView
from memory_mesh.compat.neolata.hooks import Handler
from memory_mesh.compat.neolata.model import HookState


class GraphHosting(GraphView):
    """Methods for events and storage."""

    def on(self, event: str, handler: Handler) -> None:
        """Call a function with each event of one sort: store, supersede, quarantine or archive.

        It is called after the write, in a thread of its own and in the order of the events. A
        write never waits for it, and its errors reach nobody: `hook_states` counts them.
        """
        self._hooks.on(event, handler)

    def off(self, event: str, handler: Handler) -> bool:
        """Call a function no more; False if it was not called for this event."""
        return self._hooks.off(event, handler)

    def hook_states(self) -> list[HookState]:
        """Say how many events each hook was told, how many failed, and how many wait."""
        return self._hooks.states()

    def wait_for_hooks(self, seconds: float = 10.0) -> bool:
        """Wait until every hook has heard everything; False if that takes longer."""
        return self._hooks.drain(seconds)

    def save(self) -> None:
        """Save what the storage failed to save; without a storage everything is on disk."""
        if self._keeper is not None:
            self._keeper.save_rest()
