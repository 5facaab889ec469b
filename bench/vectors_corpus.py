"""Real vectors to measure with: texts of retrieval sets, embedded once and kept by content hash.

A folder of sets has `<set>/corpus.jsonl` and `<set>/queries.jsonl`, a `text` in every line. Nothing
of them is kept but vectors, in the cache folder. A run that was stopped goes on where it was.

    nice -n 10 python -m bench.vectors_corpus --data DATA --model MODEL --cache CACHE
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.vectors_report import say

if TYPE_CHECKING:
    from numpy.typing import NDArray

SETS = ("locomo", "beam100k", "realmem", "mab_conflict")
DIMENSION = 384
MAX_TOKENS = 256
_SHARD = 2_048  # texts a file: what an interruption can cost
_BATCH = 32


def texts(data: Path, file: str) -> list[str]:
    """The distinct texts of one file of every set, in order; `file` is corpus or queries."""
    found: dict[str, None] = {}
    for name in SETS:
        with (data / name / f"{file}.jsonl").open(encoding="utf-8") as lines:
            found.update((json.loads(line)["text"], None) for line in lines)
    found.pop("", None)
    return list(found)


def sample(found: list[str], count: int | None) -> list[str]:
    """Some of the texts, drawn at random and always the same, or all."""
    if count is None:
        return found
    return [found[place] for place in np.random.default_rng(7).permutation(len(found))[:count]]


def embed(wanted: Sequence[str], model: Path, cache: Path, threads: int = 1) -> None:
    """Add to the cache what it has not yet."""
    have = {key for keys in sorted(cache.glob("*.keys")) for key in keys.read_text().split()}
    missing = [text for text in wanted if content_key(text) not in have]
    if not missing:
        return
    make = _Model(model, threads)
    missing.sort(key=len)  # texts of like length share a batch: less padding
    start = time.perf_counter()
    for at in range(0, len(missing), _SHARD):
        part = missing[at : at + _SHARD]
        vectors = np.concatenate(list(make.vectors(part)))
        keys = [content_key(text) for text in part]
        name = f"{sha256(''.join(keys).encode()).hexdigest()[:16]}"
        np.save(cache / f"{name}.npy", vectors)
        (cache / f"{name}.keys").write_text("\n".join(keys))  # last: it makes the shard count
        rate = (at + len(part)) / (time.perf_counter() - start)
        say(f"{at + len(part)} of {len(missing)} texts, {rate:.0f} a second")


def load(wanted: Sequence[str], cache: Path) -> "NDArray[np.float32]":
    """The vectors of these texts, in order; every one must be in the cache."""
    known: dict[str, NDArray[np.float32]] = {}
    for keys in sorted(cache.glob("*.keys")):
        known |= zip(keys.read_text().split(), np.load(keys.with_suffix(".npy")), strict=True)
    return np.stack([known[content_key(text)] for text in wanted])


def content_key(text: str) -> str:
    """What a vector is kept under."""
    return sha256(text.encode()).hexdigest()


class _Model:
    """all-MiniLM-L6-v2 as its card says: mean over the tokens, then length 1."""

    def __init__(self, folder: Path, threads: int) -> None:
        import onnxruntime  # type: ignore[import-untyped]  # it has no stubs
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options)
        self._inputs = {put.name for put in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()

    def vectors(self, wanted: Sequence[str]) -> Iterator["NDArray[np.float32]"]:
        for at in range(0, len(wanted), _BATCH):
            coded = self._tokenizer.encode_batch(list(wanted[at : at + _BATCH]))
            ids = np.array([text.ids for text in coded], dtype=np.int64)
            mask = np.array([text.attention_mask for text in coded], dtype=np.int64)
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": 0 * ids}
            tokens: Any = self._session.run(
                None, {name: value for name, value in given.items() if name in self._inputs}
            )[0]
            summed = (tokens * mask[..., None]).sum(axis=1)
            yield (summed / np.linalg.norm(summed, axis=1, keepdims=True)).astype(np.float32)


def main() -> None:
    """Embed both files of every set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--texts", type=int, help="so many stored texts, drawn at random")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    for file in ("queries", "corpus"):
        found = sample(texts(options.data, file), options.texts if file == "corpus" else None)
        say(f"{file}: {len(found)} distinct texts")
        embed(found, options.model, options.cache, options.threads)


if __name__ == "__main__":
    main()
