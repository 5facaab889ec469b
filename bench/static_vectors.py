"""The static embedder: what each choice in it is worth, and how fast it is.

    python -m bench.static_vectors --data SETS      into results/benchmarks/static-vectors.json

Ranks by the cosine alone, on the dev halves of LoCoMo and PrecisionMemBench (where SETS come from:
docs/reference/evaluation.md). Sessions of LoCoMo, as one text each, stand for long texts. If
MEMORY_MESH_MODEL_DIR names a model, its figures stand beside.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import report
from memory_mesh.models.embedders import static, windows
from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.models.model_files import find_static

OUTPUT = Path(__file__).parent.parent / "results/benchmarks/static-vectors.json"
LOCOMO_DEV = {"conv-26", "conv-30", "conv-41", "conv-42"}
WINDOWS = (32, 64, 128, 256, 512)
_RUNS = 5

Matrix = NDArray[np.float32]
Row = dict[str, Any]
Figures = dict[str, Any]


class Variant:
    """The embedder's vectors, made in another way."""

    def __init__(
        self,
        *,
        lower: bool = True,
        special: bool = False,
        rare: float | None = static.RARE,
        centred: bool = False,
    ) -> None:
        files = find_static()
        if files is None:
            raise SystemExit("install the extra: pip install '.[local]'")
        model = static._load(files)  # noqa: SLF001  # measures its parts
        self.tokenizer, self.rows = model.tokenizer, model.rows.astype(np.float32)
        self.weights = (
            static.token_weights(len(self.rows), rare) if rare else np.ones(len(self.rows))
        )
        self._lower, self._special = lower, special
        self._centre = self.rows.mean(axis=0) if centred else np.zeros(self.rows.shape[1])

    def encode(self, text: str) -> Any:  # noqa: ANN401  # untyped library
        """The tokens of a text."""
        text = text.lower() if self._lower else text
        return self.tokenizer.encode(text, add_special_tokens=self._special)

    def vector(self, ids: Sequence[int]) -> Matrix:
        """The vector of a window."""
        mean = np.average(self.rows[ids], axis=0, weights=self.weights[ids]) - self._centre
        found: Matrix = (mean / np.linalg.norm(mean)).astype(np.float32)
        return found

    def __call__(self, texts: Iterable[str]) -> Matrix:
        """One vector for each text, whatever its length."""
        return np.stack([self.vector(self.encode(text).ids) for text in texts])


VARIANTS: dict[str, Callable[[], Callable[[Iterable[str]], Matrix]]] = {
    "plain mean": lambda: Variant(lower=False, rare=None),
    "plain mean with <s>": lambda: Variant(lower=False, rare=None, special=True),
    "lower case": lambda: Variant(rare=None),
    "lower case, mean of all tokens removed": lambda: Variant(rare=None, centred=True),
    "weighted, 1e-3": lambda: Variant(lower=False),
    "lower case, weighted, 1e-2": lambda: Variant(rare=1e-2),
    "lower case, weighted, 1e-3 (chosen)": Variant,
    "lower case, weighted, 1e-4": lambda: Variant(rare=1e-4),
    "lower case, weighted, 1e-3, mean of all tokens removed": lambda: Variant(centred=True),
}


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, prog="bench.static_vectors")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    sets = {"locomo": locomo(options.data), "precisionmembench": precise(options.data)}
    folder = os.environ.get("MEMORY_MESH_MODEL_DIR")
    variants = dict(VARIANTS)
    if folder:
        variants[Path(folder).name] = partial(of_model, Path(folder))
    figures: Figures = {
        **report.stamp(),
        "questions": {name: len(questions) for name, (_, questions) in sets.items()},
        "variants": {
            name: {set_: ranked(make(), *found) for set_, found in sets.items()}
            for name, make in variants.items()
        },
        "windows": {size: sessions(Variant(), size, *sets["locomo"]) for size in WINDOWS},
        "speed": speed([row["text"] for row in sets["locomo"][0]][:1000], folder),
    }
    text = json.dumps(figures, indent=2)
    options.output.write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


def locomo(data: Path) -> tuple[list[Row], list[Row]]:
    """Turns and questions of the four conversations."""
    corpus, questions = (
        [row for row in _rows(data / "locomo" / name) if row["tenant"] in LOCOMO_DEV]
        for name in ("corpus.jsonl", "queries.jsonl")
    )
    return corpus, [row for row in questions if row["gold"]]


def precise(data: Path) -> tuple[list[Row], list[Row]]:
    """Beliefs, and the first half of the questions of each category."""
    by_category: dict[str, list[Row]] = {}
    for row in _rows(data / "precisionmembench" / "queries.jsonl"):
        by_category.setdefault(row["category"], []).append(row)
    half = [row for rows in by_category.values() for row in rows[: len(rows) // 2]]
    corpus = _rows(data / "precisionmembench" / "corpus.jsonl")
    return corpus, [row for row in half if row["gold"]]


def of_model(folder: Path) -> Callable[[Iterable[str]], Matrix]:
    """The vectors of a model, the first window of each text."""
    model = OnnxEmbedder(folder)

    def vectors(texts: Iterable[str]) -> Matrix:
        found = model.embed(list(texts)).vectors
        return np.stack([np.frombuffer(parts[0], "<f4") for parts in found])

    return vectors


def ranked(
    variant: Callable[[Iterable[str]], Matrix], corpus: Sequence[Row], questions: Sequence[Row]
) -> Figures:
    """R@1 and R@10 of the texts of one tenant, ordered by cosine."""
    texts, asked = (variant(row["text"] for row in rows) for rows in (corpus, questions))
    tenants = np.array([row["tenant"] for row in corpus])
    ids = np.array([row["id"] for row in corpus])
    first, ten = [], []
    for question, vector in zip(questions, asked, strict=True):
        mine = tenants == question["tenant"]
        order = ids[mine][np.argsort(-(texts[mine] @ vector), kind="stable")[:10]].tolist()
        gold = set(question["gold"])
        first.append(order[0] in gold)
        ten.append(len(gold & set(order)) / min(len(gold), 10))
    return {"R@1": round(float(np.mean(first)), 3), "R@10": round(float(np.mean(ten)), 3)}


def sessions(
    variant: Variant, size: int, corpus: Sequence[Row], questions: Sequence[Row]
) -> Figures:
    """How often the session with the answer is first, each as good as its best window."""
    turns: dict[tuple[str, str], list[str]] = {}
    for row in corpus:
        turns.setdefault((row["tenant"], row["session"]), []).append(row["text"])
    parts = dict[tuple[str, str], Matrix]()
    for place, texts in turns.items():
        text = "\n".join(texts).lower()
        found = variant.encode(text)
        cuts = windows.cut(text, found.offsets, size)
        parts[place] = np.stack([variant.vector(found.ids[start:end]) for start, end in cuts])
    session_of = {row["id"]: row["session"] for row in corpus}
    hits = 0
    for question, vector in zip(questions, variant(row["text"] for row in questions), strict=True):
        mine = {
            at[1]: float((rows @ vector).max())
            for at, rows in parts.items()
            if at[0] == question["tenant"]
        }
        hits += max(mine, key=mine.__getitem__) in {
            session_of.get(turn) for turn in question["gold"]
        }
    return {"R@1": round(hits / len(questions), 3), "vectors": sum(map(len, parts.values()))}


def speed(texts: Sequence[str], folder: str | None) -> Figures:
    """CPU seconds of loading in a new process, and of a thousand texts after that."""
    found: Figures = {"characters_per_text": round(sum(map(len, texts)) / len(texts))}
    found["static"] = _cpu_seconds(_STATIC, texts, _RUNS)
    if folder:
        found[Path(folder).name] = _cpu_seconds(_ONNX.format(folder=folder), texts, 1)
    return found


_STATIC = """
from memory_mesh.models.embedders.static import StaticEmbedder
from memory_mesh.models.model_files import find_static
embedder = StaticEmbedder(find_static())
"""
_ONNX = """
from pathlib import Path
from memory_mesh.models.embedders.onnx import OnnxEmbedder
embedder = OnnxEmbedder(Path({folder!r}))
"""
_TIMED = """
import json, sys, time
texts = json.load(sys.stdin)
start = time.process_time()
embedder.embed(["load"])
loaded = time.process_time()
embedder.embed(texts)
print(json.dumps([loaded - start, time.process_time() - loaded]))
"""


def _cpu_seconds(making: str, texts: Sequence[str], runs: int) -> Figures:
    """The least of some runs, each a new process."""
    command, stdin = [sys.executable, "-c", making + _TIMED], json.dumps(texts)
    found = [
        json.loads(
            subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout
        )
        for _ in range(runs)
    ]
    load, thousand = map(min, zip(*found, strict=True))
    return {"cpu_s_load": round(load, 2), "cpu_s_1000_texts": round(thousand, 2)}


def _rows(file: Path) -> list[Row]:
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    sys.exit(main())
