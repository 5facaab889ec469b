"""Rerankers: a cross-encoder through fastembed, or a service with a /rerank route.

A reranker reads the question together with each of the best hits and puts them in a new order
(flows/reranking.py). `policy/ranking/rerank.py` is something else: the formulas of two profiles.

Nothing heavy is imported here: the module of the chosen reranker is loaded when it is chosen, and
a model when something is ranked.
"""

from pathlib import Path

from memory_mesh.errors import InvalidInput
from memory_mesh.ports import Reranker
from memory_mesh.typed import Protocol

FASTEMBED, NONE = "fastembed", "none"
SERVICES = ("cohere", "jina", "tei", "http")


class Settings(Protocol):
    """The settings that decide what orders the best hits anew."""

    @property
    def reranker(self) -> str | None:
        """Which one; None for none."""

    @property
    def reranker_model(self) -> str | None:
        """The name of its model, or for fastembed a folder."""

    @property
    def reranker_api_key(self) -> str | None:
        """The key that the service wants."""

    @property
    def reranker_base_url(self) -> str | None:
        """Where the service is."""

    @property
    def reranker_timeout(self) -> float:
        """Seconds that one request may take."""

    @property
    def models_dir(self) -> Path:
        """The folder of local models."""

    @property
    def embedder_threads(self) -> int:
        """Threads of a local model; 0 leaves it to onnxruntime."""


def reranker_of(settings: Settings) -> Reranker | None:
    """The reranker that the settings name; None for none. Nothing is loaded or asked yet."""
    name = settings.reranker or NONE
    if name == NONE:
        return None
    if name == FASTEMBED:
        return _fastembed(settings)
    if name not in SERVICES:
        known = ", ".join(sorted((*SERVICES, FASTEMBED, NONE)))
        raise InvalidInput(f"there is no reranker {name!r}; there are: {known}")
    from memory_mesh.engines.rerankers.services import HttpReranker

    return HttpReranker(
        name,
        model=settings.reranker_model,
        base_url=settings.reranker_base_url,
        api_key=settings.reranker_api_key,
        seconds=settings.reranker_timeout,
    )


def _fastembed(settings: Settings) -> Reranker:
    from memory_mesh.engines.rerankers.fastembed import FastembedReranker

    if settings.reranker_model is None:
        raise InvalidInput(
            "the reranker 'fastembed' needs a model, by name or as a folder: "
            "set MEMORY_MESH_RERANKER_MODEL"
        )
    return FastembedReranker(
        settings.reranker_model,
        cache=settings.models_dir / ".fastembed",
        threads=settings.embedder_threads,
    )
