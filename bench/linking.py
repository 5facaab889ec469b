"""What it costs to link memories to the most similar ones: adds with and without, then the links.

    python -m bench.linking --out results/benchmarks            100,000 memories
    python -m bench.linking --memories 20000 --rounds 50     a quick look

Two copies of one store take the same texts, one with `link_similar` and one without, with the local
model (MEMORY_MESH_MODEL_DIR). The stored vectors lie around those of real texts, so that a new text
has neighbours to be linked to. No write waits for its links; a slice of them is timed on its own.
"""

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench import corpus, measure, report
from bench.measure import Figures, say
from memory_mesh.model import Embedding, Space
from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.sync import MemoryMesh
from memory_mesh.write import similar_links

MEMORIES, ROUNDS = 100_000, 200
_REAL = 500  # texts whose vectors the stored ones lie around
_NOISE = 0.035  # per dimension: cosines of about 0.8 to the text that a vector lies around
_STEP = 8_192


class Planted:
    """Gives texts vectors around those of real texts, in the space of the real model."""

    def __init__(self, real: OnnxEmbedder) -> None:
        texts = list(corpus.texts(0, _REAL))
        found = [real.embed(texts[start : start + 64]) for start in range(0, _REAL, 64)]
        self._space: Space = found[0].space
        flat = b"".join(each[0] for part in found for each in part.vectors)
        self._centers = np.frombuffer(flat, np.float32).reshape(_REAL, -1)
        self._chance = np.random.default_rng(14)
        self._made = 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """One vector for each text."""
        del query
        places = np.arange(self._made, self._made + len(texts)) % _REAL
        self._made += len(texts)
        noise = self._chance.normal(scale=_NOISE, size=(len(texts), self._centers.shape[1]))
        made = (self._centers[places] + noise).astype(np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        return Embedding(self._space, tuple((row.tobytes(),) for row in made))

    def close(self) -> None:
        """Nothing to release."""


def main() -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, help="the folder that linking.json is written to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        figures = measured(Path(work), options.memories, options.rounds)
    text = json.dumps(report.stamp() | figures, indent=2)
    say(text)
    if options.out is not None:
        (options.out / "similar_links.json").write_text(f"{text}\n", encoding="utf-8")


def measured(work: Path, memories: int, rounds: int) -> Figures:
    """Adds with and without links on two copies of one store, and what upkeep makes of them."""
    real = OnnxEmbedder(Path(os.environ["MEMORY_MESH_MODEL_DIR"]))
    _load(work / "with", memories, Planted(real))
    shutil.copytree(work / "with", work / "without")
    texts = list(corpus.texts(memories, memories + rounds + 1))
    with (
        MemoryMesh(db_dir=work / "with", custom_embedder=real) as linked,
        MemoryMesh(
            db_dir=work / "without", custom_embedder=real, settings={"link_similar": False}
        ) as plain,
    ):
        first = measure.seconds(lambda: linked.add(texts[0]))
        first_plain = measure.seconds(lambda: plain.add(texts[0]))
        ours, bare = measure.alternate(
            rounds,
            lambda number: linked.add(texts[number + 1]),
            lambda number: plain.add(texts[number + 1]),
        )
        at_once = list(corpus.texts(memories + rounds + 1, memories + rounds + 129))
        many = measure.seconds(lambda: linked.add_many(at_once))
        many_plain = measure.seconds(lambda: plain.add_many(at_once))
        one_slice = measure.seconds(lambda: _one_slice(linked))
    return {
        "memories": memories,
        "adds": rounds,
        "add_p50_ms": measure.median_ms(ours.wall),
        "add_without_p50_ms": measure.median_ms(bare.wall),
        "add_over_without": measure.ratio_of_medians(ours.wall, bare.wall),
        "add_cpu_p50_ms": measure.median_ms(ours.cpu),
        "add_cpu_without_p50_ms": measure.median_ms(bare.cpu),
        "add_p99_ms": measure.percentile_ms(ours.wall, 0.99),
        "add_without_p99_ms": measure.percentile_ms(bare.wall, 0.99),
        "first_add_ms": measure.rounded(first * 1e3),
        "first_add_without_ms": measure.rounded(first_plain * 1e3),
        "batch_of_128_over_without": measure.rounded(many / many_plain),
        "upkeep_ms_per_memory": measure.rounded(one_slice * 1e3 / similar_links.SLICE),
    }


def _load(folder: Path, memories: int, embedder: Planted) -> None:
    with MemoryMesh(
        db_dir=folder, custom_embedder=embedder, settings={"link_similar": False}
    ) as mesh:
        for start in range(0, memories, _STEP):
            mesh.add_many(list(corpus.texts(start, min(memories, start + _STEP))))
            say(f"  {min(memories, start + _STEP):,} of {memories:,} memories")


def _one_slice(mesh: MemoryMesh) -> None:
    space = mesh.stats().spaces[0].space
    similar_links._link_slice(mesh._access(), space)  # noqa: SLF001  # upkeep would do them all


if __name__ == "__main__":
    main()
