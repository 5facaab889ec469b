"""Search by meaning: a real embedder, and an index that holds every text."""

from collections.abc import Iterator

from memory_mesh.agents.doctor.finding import Case, Finding, counted, ok, unseen, warning
from memory_mesh.agents.doctor.store import is_broken
from memory_mesh.model.health import Health

_GET = (
    "pip install 'memory-mesh[local]' (works at once), or pip install 'memory-mesh[onnx]' and "
    "memory-mesh models pull; offline: memory-mesh models install FOLDER"
)
_SERVICES = frozenset({"openai", "ollama", "cohere"})
_ANOTHER_IN_USE = "memory-mesh reembed rollback"  # in what a search says that lacks the model
_UPKEEP = "memory-mesh upkeep (it makes what is missing; search finds less until then)"


def embedder(case: Case) -> Iterator[Finding]:
    """Whether texts become vectors, and by which model."""
    if case.config.embedder == "none":
        said = "switched off by the setting embedder: search goes by words only"
        yield ok(
            "embedder", said, "to search by meaning, take the setting out (MEMORY_MESH_EMBEDDER)"
        )
        return
    if is_broken(case.health["store"]):
        yield unseen("embedder", "store")
        return
    found = case.meaning
    seen = found.get("embedder") or found["store"]
    if seen.health is not Health.HEALTHY:
        yield warning(
            "embedder", f"{seen.detail}{_meanwhile(seen.detail)}", _fix(case, seen.detail)
        )
    elif "vectors" not in found:
        yield warning("embedder", "no model is installed: search goes by words only", _GET)
    else:
        yield ok("embedder", f"loads, gives vectors and {seen.detail}")


def index(case: Case) -> Iterator[Finding]:
    """Whether every text has its keyword terms and, with an embedder, its vector."""
    old = case.mesh.stats().to_reindex
    vectors = case.meaning.get("vectors")
    said = [f"{counted(old, 'text')} with keyword terms of an earlier version"] if old else []
    if vectors is not None and vectors.health is not Health.HEALTHY:
        said.append(vectors.detail.partition(";")[0])
    if said:
        yield warning("index", "; ".join(said), _UPKEEP)
    elif vectors is None:
        yield ok("index", "every text has its keyword terms; there are no vectors to wait for")
    else:
        yield ok("index", "every text has its keyword terms and its vector")


def _fix(case: Case, detail: str) -> str:
    """What to do about a model that does not answer, by the setting that names it."""
    if _ANOTHER_IN_USE in detail:
        return (
            "install the model in use here: memory-mesh models install FOLDER --name NAME; which "
            "one it is, and how to go back to the former: memory-mesh reembed"
        )
    if "needs onnxruntime" in detail:
        return "pip install 'memory-mesh[onnx]'"
    if case.config.embedder in _SERVICES:
        return "mend what it says; or use a model of this machine: MEMORY_MESH_EMBEDDER=local"
    if case.config.model_dir is not None:
        return (
            "set MEMORY_MESH_MODEL_DIR to a folder with a model, or take it out and run: "
            "memory-mesh models pull (offline: memory-mesh models install FOLDER)"
        )
    return _GET


def _meanwhile(detail: str) -> str:
    """How a search goes on, where what was seen does not say it."""
    said = any(words in detail for words in ("by keyword", "answered by", _ANOTHER_IN_USE))
    return "" if said else "; search goes by words meanwhile"
