"""Change the embedding model of a namespace: side by side, compared, with a way back."""

from collections.abc import Callable, Mapping

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.mesh import flows
from memory_mesh.mesh.options import AsOwner, Progress
from memory_mesh.mesh.view import View
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.reembedding import Comparison, ReembedState
from memory_mesh.rules.arguments import check_whole
from memory_mesh.write.access import Access

if TYPE_CHECKING:
    from memory_mesh.model.ports import Embedder

_MOST_QUERIES, _DEEPEST = 500, 1_000


class ReembedVerbs(View):
    """Methods that give a namespace vectors of another model, and let searches use them."""

    def reembed(
        self,
        model: "Embedder | Mapping[str, object] | None" = None,
        *,
        progress: Progress = None,
        between: Callable[[], None] | None = None,
    ) -> ReembedState:
        """Makes vectors of another model for every text; searches use the former one meanwhile.

        May be interrupted at any point and run again, by any process: it makes what is missing.

        Options:
            between: called after each small transaction; it may wait, or raise to stop here.
        """
        access = self._embedding_access()
        if self._opened().ledger.stats(self._config.namespace).seq == 0:
            raise InvalidInput("the namespace is empty: set the model, and texts get its vectors")
        if model is not None:
            models = self._opened().models()
            flows.reembedding.begin(access, models.open(model), models.own_name)
        _, embedder = flows.reembedding.beside(access, flows.model_in_use.stated_in(access))
        done = flows.reembedding.fill(access, embedder, progress, between)
        return flows.reembedding.state(access, done)

    def state(self) -> ReembedState:
        """Returns which model searches use, which is kept beside it, and how far that one is."""
        return flows.reembedding.state(self._access())

    def compare(
        self,
        model: "Embedder | Mapping[str, object] | None" = None,
        *,
        queries: int = 50,
        depth: int = 10,
        as_owner: AsOwner = False,
    ) -> Comparison:
        """Asks this reader's own recent queries of both models; nothing is recorded.

        Options:
            queries: how many of the last distinct queries are asked, at most 500.
            depth: how many hits of each answer are compared.
        """
        most = min(check_whole(queries, "queries", least=1), _MOST_QUERIES)
        deep = min(check_whole(depth, "depth", least=1), _DEEPEST)
        access, many = self._embedding_access(model), most * flows.reembedding.READ_RECORDS
        access.ledger.flush(access.namespace)
        if as_owner:
            records = access.ledger.recalls(access.namespace, many)
        else:
            records = flows.records.recalls(access, self._reader(None), many)
        lens = self._owned(None, as_owner=as_owner)
        return flows.reembedding.compare(access, lens, records, (most, deep))

    def switch(
        self,
        model: "Embedder | Mapping[str, object] | None" = None,
        *,
        progress: Progress = None,
    ) -> ReembedState:
        """Lets searches use the new model; makes first what it lacks, and keeps the old vectors."""
        access = self._embedding_access(model)
        done = flows.reembedding.swap(access, back=False, progress=progress)
        return flows.reembedding.state(access, done)

    def roll_back(
        self,
        model: "Embedder | Mapping[str, object] | None" = None,
        *,
        progress: Progress = None,
    ) -> ReembedState:
        """Lets searches use the former model again; texts that came since are embedded first."""
        access = self._embedding_access(model)
        done = flows.reembedding.swap(access, back=True, progress=progress)
        return flows.reembedding.state(access, done)

    def drop(self) -> ReembedState:
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
