"""The local embedder: an ONNX model in a folder, no network, no key.

::

    texts -> tokens -> windows -> batches of similar length -> session.run
          -> mean over the attention mask -> length 1 -> bytes, in the order of the texts

numpy, onnxruntime and tokenizers are imported and the model is read at the first `embed`.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from memory_mesh.base.installed import install_command
from memory_mesh.base.typed import TYPE_CHECKING, Any, dataclass
from memory_mesh.model import EmbeddingError, MeshError, Space
from memory_mesh.models import model_files
from memory_mesh.models.embedders import windows
from memory_mesh.platform import forks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_TOKENS = 256  # of long texts the first hit is right for 0.41 of questions; at 512 for 0.25
_BATCH_TOKENS = 1024  # more is no faster, and its memory stays with the process
_TOKEN_VECTORS = ("last_hidden_state", "token_embeddings")


class OnnxEmbedder(windows.LocalEmbedder):
    """One model folder."""

    def __init__(self, folder: Path, *, threads: int = 0, max_tokens: int | None = None) -> None:
        super().__init__(
            folder, lambda: _load(folder, threads, max_tokens), lambda: _trouble(folder)
        )

    def after_fork(self) -> None:
        """A child loads the model anew."""
        if self._model is not None:
            forks.bury([self._model])  # destroying it would wait for threads that are not here
        super().after_fork()


@dataclass(frozen=True, slots=True)
class _Model:
    """A session, its tokenizer, and what frames a window."""

    session: Any
    tokenizer: Any
    space: Space
    inputs: frozenset[str]
    output: str
    head: tuple[int, ...]
    tail: tuple[int, ...]

    def windows(self, text: str) -> list[list[int]]:
        """The token numbers of each window, framed as the model wants them."""
        found = self.tokenizer.encode(windows.encodable(text), add_special_tokens=False)
        limit = self.space.max_tokens - len(self.head) - len(self.tail)
        if len(found) <= limit:
            return [[*self.head, *found.ids, *self.tail]]
        cuts = windows.cut(text, found.offsets, limit)
        return [[*self.head, *found.ids[start:end], *self.tail] for start, end in cuts]

    def run(self, framed: Sequence[Sequence[int]]) -> list[bytes]:
        """One vector for each window, in order."""
        results: list[bytes] = [b""] * len(framed)
        for batch in _batches([len(window) for window in framed]):
            pooled = self._pooled([framed[position] for position in batch])
            for position, vector in zip(batch, windows.packed(pooled), strict=True):
                results[position] = vector
        return results

    def _pooled(self, batch: Sequence[Sequence[int]]) -> "NDArray[np.float32]":
        import numpy as np

        lengths = np.array([len(window) for window in batch])
        mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
        ids = np.zeros_like(mask)  # what stands where the mask is 0 does not matter
        for row, window in zip(ids, batch, strict=True):
            row[: len(window)] = window
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
        feed = {name: value for name, value in feed.items() if name in self.inputs}
        (tokens,) = self.session.run([self.output], feed)
        shares = (mask / lengths[:, None]).astype(np.float32)
        pooled: NDArray[np.float32] = np.matmul(shares[:, None, :], tokens)[:, 0, :]
        return pooled


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Positions in batches of similar length, so that little is computed for padding."""
    found = list[list[int]]()
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        full = not found or lengths[position] * (len(found[-1]) + 1) > _BATCH_TOKENS
        if full or lengths[position] > 2 * lengths[found[-1][0]]:
            found.append([])
        found[-1].append(position)
    return found


def _load(folder: Path, threads: int, max_tokens: int | None) -> _Model:
    from tokenizers import Tokenizer

    runtime = onnxruntime()

    manifest = model_files.opened(folder)
    tokenizer = Tokenizer.from_file(str(folder / model_files.TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    head, tail = _frame(tokenizer)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors only: a warning would land on the user's terminal
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = runtime.InferenceSession(
        str(folder / model_files.MODEL), options, providers=["CPUExecutionProvider"]
    )
    outputs = {output.name: output for output in session.get_outputs()}
    output = next((name for name in _TOKEN_VECTORS if name in outputs), next(iter(outputs)))
    space = Space(
        provider="local",
        model=manifest.name,
        revision=manifest.revision,
        dimension=int(outputs[output].shape[-1]),
        max_tokens=max_tokens or manifest.max_tokens or MAX_TOKENS,
    )
    inputs = frozenset(wanted.name for wanted in session.get_inputs())
    return _Model(session, tokenizer, space, inputs, output, head, tail)


def _frame(tokenizer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:  # noqa: ANN401  # untyped library
    """The special tokens before and after a text."""
    bare = tokenizer.encode("a", add_special_tokens=False).ids
    framed = tokenizer.encode("a").ids
    start = next(at for at in range(len(framed)) if framed[at : at + len(bare)] == bare)
    return tuple(framed[:start]), tuple(framed[start + len(bare) :])


@contextmanager
def _trouble(folder: Path) -> Iterator[None]:
    """Say whatever goes wrong in the libraries as one error."""
    try:
        yield
    except EmbeddingError:
        raise
    except MeshError as error:
        raise EmbeddingError(str(error)) from None
    except ImportError as error:
        raise EmbeddingError(
            f"the model in {folder} needs {error.name or 'a library'}, which cannot be loaded "
            f"here: {install_command('onnx')}"
        ) from error
    except Exception as error:  # tokenizers and onnxruntime raise nothing narrower
        raise EmbeddingError(
            f"the model in {folder} does not work: {error}. Fetch it anew: memory-mesh models pull"
        ) from error


# onnxruntime as we want it: silent towards the network.
#
# Since 1.29 its wheels for Linux and macOS report their use to Microsoft and leave a device id in
# the
# user's home, unless ORT_DISABLE_TELEMETRY is set before the first import.


def onnxruntime() -> ModuleType:
    """The library, with its reporting switched off; always imported through here."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime as library  # type: ignore[import-untyped]  # ships no types

    library.disable_telemetry_events()  # Windows, and where somebody else imported it first
    found: ModuleType = library
    return found
