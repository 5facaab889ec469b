"""Many real-looking vectors out of fewer real ones, by noise fitted to the distances of neighbours.

A new vector leaves a real one at an angle that one of its ten nearest neighbours has, in a
direction that leads from some other vector to a neighbour of that one. So both how close vectors
lie and where to are as among the real ones.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.vectors_report import say

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NEIGHBOURS = 10
_BLOCK = 1_024
_TWIN = 0.999  # a cosine above: the same text but for a comma, no neighbour


def extended(real: "NDArray[np.float32]", count: int, cache: Path) -> "NDArray[np.float32]":
    """The real vectors and as many made ones as `count` wants, kept in the cache."""
    if count <= len(real):
        return real[np.random.default_rng(1).permutation(len(real))[:count]]
    kept = cache / f"extended-{len(real)}-{count}.npy"
    if not kept.exists():
        say(f"extending {len(real)} vectors to {count}")
        np.save(kept, np.concatenate([real, _made(real, count - len(real), cache)]))
    whole: NDArray[np.float32] = np.load(kept)
    return whole


def _made(real: "NDArray[np.float32]", count: int, cache: Path) -> "NDArray[np.float32]":
    chance = np.random.default_rng(2)
    neighbours, cosines = _neighbours(real, cache)
    made = np.empty((count, real.shape[1]), np.float32)
    for start in range(0, count, _BLOCK):
        size = min(_BLOCK, count - start)
        origins, others = chance.integers(len(real), size=(2, size))
        which = chance.integers(_NEIGHBOURS, size=(2, size))
        origin = real[origins]
        towards = real[neighbours[others, which[0]]] - real[others]
        towards += 0.1 * chance.normal(size=towards.shape) / np.sqrt(real.shape[1])  # none is zero
        towards -= (towards * origin).sum(axis=1, keepdims=True) * origin
        towards /= np.linalg.norm(towards, axis=1, keepdims=True)
        cosine = cosines[origins, which[1]][:, None]
        made[start : start + size] = cosine * origin + np.sqrt(1 - cosine**2) * towards
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def _neighbours(
    real: "NDArray[np.float32]", cache: Path
) -> tuple["NDArray[np.int64]", "NDArray[np.float32]"]:
    """The ten nearest of every vector, twins left out, and their cosines."""
    kept = cache / f"neighbours-{len(real)}.npz"
    if kept.exists():
        with np.load(kept) as loaded:
            return loaded["numbers"], loaded["cosines"]
    numbers = np.empty((len(real), _NEIGHBOURS), np.int64)
    cosines = np.empty((len(real), _NEIGHBOURS), np.float32)
    for start in range(0, len(real), _BLOCK):
        block = real[start : start + _BLOCK] @ real.T
        block[block > _TWIN] = -1
        best = np.argpartition(block, -_NEIGHBOURS, axis=1)[:, -_NEIGHBOURS:]
        numbers[start : start + _BLOCK] = best
        cosines[start : start + _BLOCK] = np.take_along_axis(block, best, axis=1)
    np.savez(kept, numbers=numbers, cosines=cosines)
    return numbers, cosines
