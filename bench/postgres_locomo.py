"""Recall at ten on LoCoMo with the real model: the same turns and questions on both ledgers."""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from bench import meaning
from bench.measure import Figures, Skipped, rounded
from bench.postgres_server import SMALL, Databases
from bench.postgres_stores import on_postgres, on_sqlite
from memory_mesh.evaluation import load_records, records
from memory_mesh.evaluation.records import EvaluationQuestion
from memory_mesh.evaluation.vector_cache import KeptVectors
from memory_mesh.sync import MemoryMesh

_TOP = 10


def locomo_part(databases: Databases, tenants: list[str], data: Path | None) -> Figures:
    """The share of the expected turns among the first ten, on SQLite and on PostgreSQL."""
    folder = data or Path(os.environ.get("MEMORY_MESH_EVAL_DATA", ""))
    if not (folder / "locomo").is_dir():
        raise Skipped("LoCoMo is not here: set MEMORY_MESH_EVAL_DATA")
    found = records.read(folder / "locomo")
    asked = [each for each in found.questions if each.tenant in tenants and each.gold]
    url = databases.login(databases.copy(databases.holding(SMALL)))
    embedder = KeptVectors(meaning.model(), databases.work / "locomo-vectors.db")
    shares: dict[str, list[float]] = {"sqlite": [], "postgres": []}
    for tenant, turns in found.tenants(tenants):
        with ExitStack() as stack:
            files = databases.work / "locomo"
            meshes = {
                "sqlite": on_sqlite(files, embedder, namespace=tenant),
                "postgres": on_postgres(url, databases.work / "keys", embedder, namespace=tenant),
            }
            for name, opening in meshes.items():
                mesh = stack.enter_context(opening)
                held = load_records.store(mesh, turns).memories
                shares[name] += [
                    _share(mesh, each, held) for each in asked if each.tenant == tenant
                ]
    embedder.release()
    recalls = {name: 100 * sum(each) / len(each) for name, each in shares.items()}
    return {
        "questions": len(asked),
        "recall_at_10_sqlite": rounded(recalls["sqlite"]),
        "recall_at_10": rounded(recalls["postgres"]),
        "points_apart": rounded(abs(recalls["sqlite"] - recalls["postgres"])),
    }


def _share(mesh: MemoryMesh, question: EvaluationQuestion, held: Mapping[str, str]) -> float:
    """How much of what a question expects is among its first ten."""
    hits = mesh.search(question.text, limit=_TOP, across=("session",), use_cache=False)
    found = {hit.id for hit in hits}
    return sum(held.get(gold) in found for gold in question.gold) / len(question.gold)
