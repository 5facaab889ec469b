"""Text to vectors: a local model, static vectors, HTTP services, and the chain of them.

Nothing heavy is imported here: each engine's own module is loaded when it is chosen, and the model
when something is embedded.
"""

from collections.abc import Callable, Mapping

from memory_mesh.base.typed import TYPE_CHECKING, Protocol
from memory_mesh.model.errors import InvalidInput, MissingExtra
from memory_mesh.model.ports import Clock, Embedder
from memory_mesh.models import model_files
from memory_mesh.platform import extras

if TYPE_CHECKING:
    from memory_mesh.models.embedders.chain import Chain

LOCAL, STATIC, FASTEMBED, NONE = "local", "static", "fastembed", "none"
SERVICES = ("openai", "ollama", "cohere")


class EmbedderSettings(model_files.ModelSettings, Protocol):
    """The settings that decide how texts are embedded."""

    @property
    def embedder_base_url(self) -> str | None:
        """Where the service is, when not at its usual address."""

    @property
    def embedder_api_key(self) -> str | None:
        """The key that the service wants."""

    @property
    def embedder_dimension(self) -> int | None:
        """How long its vectors are to be."""

    @property
    def embedder_threads(self) -> int:
        """Threads of the local model; 0 leaves it to onnxruntime."""


def embedder_of(settings: EmbedderSettings, clock: Clock, *, alone: bool = False) -> "Chain | None":
    """The chosen embedder, then the local one; None when there is none, and nothing is loaded.

    The local one is the installed model, else the static vectors of the extra `local`, which also
    answer where nothing can run the model. With `alone`, nothing answers for the chosen one.
    """
    primary = settings.embedder or LOCAL
    if primary not in _MAKERS:
        raise InvalidInput(
            f"there is no embedder {primary!r}; there are: {', '.join(sorted(_MAKERS))}"
        )
    found = dict[str, Embedder]()
    alone = alone or primary in {NONE, STATIC}  # static vectors cannot be down
    for provider in [primary] if alone else dict.fromkeys([primary, LOCAL]):
        found |= _MAKERS[provider](settings)
    if not alone and not extras.is_installed("onnxruntime"):  # it may be another environment's
        found |= _static_vectors()
    if not found:
        return None
    from memory_mesh.models.embedders.chain import Chain

    return Chain(found, clock)


def need_numpy(purpose: str) -> None:
    """Raises MissingExtra where vectors cannot be compared; says so before one is computed."""
    extras.need("numpy", extra="api", purpose=purpose)


def _local(settings: EmbedderSettings) -> dict[str, Embedder]:
    folder = model_files.find_model(settings)
    if folder is None:
        return _static_vectors()
    from memory_mesh.models.embedders.onnx import OnnxEmbedder

    return {f"local {folder.name}": OnnxEmbedder(folder, threads=settings.embedder_threads)}


def _static(_: EmbedderSettings) -> dict[str, Embedder]:
    found = _static_vectors()
    if not found:
        raise MissingExtra.of("local", "the embedder 'static'")
    return found


def _static_vectors() -> dict[str, Embedder]:
    files = model_files.find_static()
    if files is None:
        return {}
    from memory_mesh.models.embedders.static import StaticEmbedder

    return {f"static {model_files.STATIC}": StaticEmbedder(files)}


def _service(settings: EmbedderSettings) -> dict[str, Embedder]:
    from memory_mesh.models.embedders.services import WIRES, HttpEmbedder

    provider = settings.embedder or ""
    need_numpy(f"the embedder {provider!r}")
    model = settings.embedder_model or WIRES[provider].model
    embedder = HttpEmbedder(
        provider,
        model=model,
        base_url=settings.embedder_base_url,
        api_key=settings.embedder_api_key,
        dimension=settings.embedder_dimension,
    )
    return {f"{provider} {model}": embedder}


def _fastembed(settings: EmbedderSettings) -> dict[str, Embedder]:
    from memory_mesh.models.embedders.fastembed import FastembedEmbedder

    if settings.embedder_model is None:
        raise InvalidInput("the embedder 'fastembed' needs a model: set MEMORY_MESH_EMBEDDER_MODEL")
    embedder = FastembedEmbedder(
        settings.embedder_model,
        folder=settings.model_dir,
        cache=settings.models_dir / ".fastembed",
        threads=settings.embedder_threads,
    )
    return {f"fastembed {settings.embedder_model}": embedder}


_MAKERS: Mapping[str, Callable[[EmbedderSettings], dict[str, Embedder]]] = {
    LOCAL: _local,
    STATIC: _static,
    FASTEMBED: _fastembed,
    NONE: lambda _: {},
    **dict.fromkeys(SERVICES, _service),
}
