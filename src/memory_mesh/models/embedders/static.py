"""The static embedder: one stored vector per token, no model to run, no download (extra `local`).

::

    texts -> lower case -> tokens -> windows -> weighted mean of the token vectors
          -> length 1 -> bytes, in the order of the texts

The wheel `wordllama` contains the vectors and the tokenizer as data; its code is never imported.
numpy, safetensors and tokenizers are imported and the files are read at the first `embed`.
"""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memory_mesh.base.installed import install_command
from memory_mesh.base.typed import TYPE_CHECKING, Any, dataclass
from memory_mesh.model import EmbeddingError, Space
from memory_mesh.models.embedders import windows
from memory_mesh.models.model_files import STATIC, StaticFiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RECIPE = 1  # part of the space: raise it with every change to what a text's vector is
MAX_TOKENS = 128  # a mean of more tokens means less (docs/decisions/0034-static-embeddings.md)
RARE = 1e-3  # a token of this frequency counts half, a rarer one more
_WEIGHTS = "embedding.weight"
_UNKNOWN = 0  # stands for a text without tokens
_FIRST_WORD = 259  # smaller numbers are special tokens and single bytes


class StaticEmbedder(windows.LocalEmbedder):
    """The static vectors."""

    def __init__(self, files: StaticFiles) -> None:
        super().__init__(files.folder, lambda: _load(files), lambda: _trouble(files))


@dataclass(frozen=True, slots=True)
class _Model:
    """A vector and a weight for each token, and the tokenizer."""

    tokenizer: Any
    rows: "NDArray[np.float16]"
    weights: "NDArray[np.float32]"
    space: Space

    def windows(self, text: str) -> list[list[int]]:
        """The token numbers of each window of the text in lower case."""
        text = windows.encodable(text).lower()
        found = self.tokenizer.encode(text, add_special_tokens=False)
        if len(found) <= self.space.max_tokens:
            return [found.ids or [_UNKNOWN]]
        cuts = windows.cut(text, found.offsets, self.space.max_tokens)
        return [found.ids[start:end] for start, end in cuts]

    def run(self, cut: Sequence[Sequence[int]]) -> list[bytes]:
        """One vector for each window, in order.

        Rows are added one after another, so that a vector does not depend on the batch or on the
        library behind numpy's matrix product.
        """
        import numpy as np

        if not cut:
            return []
        summed = [
            (self.rows[ids].astype(np.float32) * self.weights[ids, None]).sum(axis=0)
            for ids in map(np.asarray, cut)
        ]
        return windows.packed(np.stack(summed))


def token_weights(size: int, rare: float = RARE) -> "NDArray[np.float32]":
    """The weight of each token: small for frequent ones, whose vectors say little.

    A tokenizer numbers its pieces from frequent to rare, so the number gives the rank, and Zipf's
    law the frequency. Single bytes and special tokens have no rank and count fully.
    """
    import numpy as np

    rank = np.arange(size) - (_FIRST_WORD - 1.0)
    rank[:_FIRST_WORD] = size
    frequency = 1 / (rank * np.log(size))
    weights: NDArray[np.float32] = (rare / (rare + frequency)).astype(np.float32)
    return weights


def _load(files: StaticFiles) -> _Model:
    from safetensors.numpy import load
    from tokenizers import Tokenizer

    stored, spelling = files.weights.read_bytes(), files.tokenizer.read_bytes()
    rows = load(stored)[_WEIGHTS]
    tokenizer = Tokenizer.from_str(spelling.decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    checksum = zlib.crc32(spelling, zlib.crc32(stored))  # tells releases apart; SHA-256 takes 90 ms
    space = Space(
        provider="static",
        model=STATIC,
        revision=f"{checksum:08x}-{RECIPE}",
        dimension=int(rows.shape[1]),
        max_tokens=MAX_TOKENS,
    )
    return _Model(tokenizer, rows, token_weights(len(rows)), space)


@contextmanager
def _trouble(files: StaticFiles) -> Iterator[None]:
    """Say whatever goes wrong in the libraries as one error."""
    try:
        yield
    except EmbeddingError:
        raise
    except Exception as error:  # tokenizers and safetensors raise nothing narrower
        raise EmbeddingError(
            f"the static embedder cannot use {files.folder}: {error}. Install it "
            f"anew: {install_command('local', again=True)}"
        ) from error
