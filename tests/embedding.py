"""The real model for tests, and servers that speak as the providers do with its vectors."""

import json
import os
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest

from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.models.model_files import StaticFiles, find_static
from tests.servers import Reply, Request


def model_folder() -> Path:
    """The folder of all-MiniLM-L6-v2; a test that needs it fails without it."""
    stated = os.environ.get("MEMORY_MESH_MODEL_DIR")
    if not stated or not (Path(stated) / "model.onnx").is_file():
        pytest.fail(
            "this test needs the real model: run `memory-mesh models pull`, then set "
            "MEMORY_MESH_MODEL_DIR to the folder that it names"
        )
    return Path(stated)


def static_files() -> StaticFiles:
    """The files of the static embedder; a test that needs them fails without them."""
    files = find_static()
    if files is None:
        pytest.fail("this test needs the extra `local`: just setup")
    return files


@cache
def real_embedder() -> OnnxEmbedder:
    """One loaded model for all tests of a process; reads windows of 512 tokens."""
    return OnnxEmbedder(model_folder(), threads=1, max_tokens=512)


def real_vectors(texts: Sequence[str]) -> list[list[float]]:
    return [list(array("f", windows[0])) for windows in real_embedder().embed(texts).vectors]


def provider(name: str) -> Callable[[Request], Reply]:
    """A server's answers in the wire format of a provider."""

    def answer(request: Request) -> Reply:
        asked = json.loads(request.body)
        if request.path != PATHS[name]:
            return Reply(status=404)
        texts = asked["texts"] if name == "cohere" else asked["input"]
        assert all(texts), "a service refuses an empty text"
        return Reply(json.dumps(shaped(name, real_vectors(texts))).encode())

    return answer


def shaped(name: str, vectors: Sequence[Sequence[float]]) -> object:
    """Vectors as the provider sends them; OpenAI's in any order."""
    if name == "openai":
        rows = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
        return {"object": "list", "data": rows[::-1]}
    if name == "ollama":
        return {"model": "all-minilm", "embeddings": vectors}
    return {"id": "1", "embeddings": {"float": vectors}}


PATHS = {"openai": "/v1/embeddings", "ollama": "/api/embed", "cohere": "/v2/embed"}
BASES = {"openai": "/v1", "ollama": "", "cohere": ""}
