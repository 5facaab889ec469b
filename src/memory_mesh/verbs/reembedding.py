"""Change the embedding model of a namespace: side by side, compared, with a way back."""

from collections.abc import Callable, Mapping

from memory_mesh import flows
from memory_mesh.errors import InvalidInput
from memory_mesh.flows.access import Access
from memory_mesh.model.reembedding import Comparison, ReembedState
from memory_mesh.policy.arguments import check_whole
from memory_mesh.policy.audience import AUDIENCE
from memory_mesh.typed import TYPE_CHECKING
from memory_mesh.view import View

if TYPE_CHECKING:
    from memory_mesh.ports import Embedder


class ReembedVerbs(View):
    """Methods that give a namespace vectors of another model, and let searches use them."""

    def reembed(
        self,
        model: "Embedder | Mapping[str, object] | None" = None,
        *,
        progress: Callable[[int], None] | None = None,
        between: Callable[[], None] | None = None,
    ) -> ReembedState:
        """Makes vectors of another model for every text; searches use the former one meanwhile.

        May be interrupted at any point and run again, by any process: it makes what is missing.

        Options:
            model: an embedder, or settings such as `{"embedder_model": "bge-small-en"}`; the one
                that was begun by default.
            progress: called with the number of texts embedded so far.
            between: called after each small transaction; it may wait, or raise to stop here.
        """
        access = self._embedding_access()
        if self._opened().ledger.stats(self._config.namespace).seq == 0:
            raise InvalidInput("the namespace is empty: set the model, and texts get its vectors")
        if model is not None:
            models = self._opened().models()
            flows.reembedding.begin(access, models.open(model), models.own_name)
        _, embedder = flows.reembedding.beside(access, flows.space_in_use.stated_in(access))
        done = flows.reembedding.fill(access, embedder, progress, between)
        return flows.reembedding.state(access, done)

    def reembed_state(self) -> ReembedState:
        """Returns which model searches use, which is kept beside it, and how far that one is."""
        return flows.reembedding.state(self._access())

    def compare_models(
        self,
        model: "Embedder | Mapping[str, object] | None" = None,
        *,
        queries: int = 50,
        depth: int = 10,
    ) -> Comparison:
        """Asks the namespace's own recent queries of both models; nothing is recorded.

        Options:
            model: the model beside, where this process cannot find it by its name.
            queries: how many of the last distinct queries are asked, at most 1,000.
            depth: how many hits of each answer are compared.
        """
        most = check_whole(queries, "queries", least=1)
        deep = check_whole(depth, "depth", least=1)
        access = self._embedding_access(model)
        lens = self._lens(None, across=AUDIENCE)
        return flows.reembedding.compare(access, lens, min(most, 1_000), min(deep, 1_000))

    def switch_model(
        self,
        model: "Embedder | Mapping[str, object] | None" = None,
        *,
        progress: Callable[[int], None] | None = None,
    ) -> ReembedState:
        """Lets searches use the new model; makes first what it lacks, and keeps the old vectors.

        Options:
            model: the model beside, where this process cannot find it by its name.
            progress: called with the number of texts embedded so far.
        """
        access = self._embedding_access(model)
        done = flows.reembedding.swap(access, back=False, progress=progress)
        return flows.reembedding.state(access, done)

    def roll_back_model(
        self,
        model: "Embedder | Mapping[str, object] | None" = None,
        *,
        progress: Callable[[int], None] | None = None,
    ) -> ReembedState:
        """Lets searches use the former model again; texts that came since are embedded first.

        Options:
            model: the former model, where this process cannot find it by its name.
            progress: called with the number of texts embedded so far.
        """
        access = self._embedding_access(model)
        done = flows.reembedding.swap(access, back=True, progress=progress)
        return flows.reembedding.state(access, done)

    def drop_model(self) -> ReembedState:
        """Deletes the vectors beside those in use; after that there is no way back to them."""
        access = self._access()
        flows.reembedding.drop(access)
        return flows.reembedding.state(access)

    def _embedding_access(self, model: "Embedder | Mapping[str, object] | None" = None) -> Access:
        """The access; a model that is given can be found from now on."""
        access = self._access()
        if model is not None:
            self._opened().models().open(model)
        return access
