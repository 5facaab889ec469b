"""The local embedder: when it loads, what it needs, and that it lives through forks and damage."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memory_mesh.model.errors import EmbeddingError
from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.testing.embedder_contract import closeness
from tests.embedding import model_folder

HEAVY = ("numpy", "onnxruntime", "tokenizers", "ssl")


def run(code: str, **variables: str) -> str:
    """What a fresh interpreter prints; HOME is an empty folder of the caller's."""
    environment = {"PATH": os.environ["PATH"], "MEMORY_MESH_MODEL_DIR": str(model_folder())}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment | variables,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


OPEN = """
import os, sys
from pathlib import Path
from memory_mesh.models.embedders.onnx import OnnxEmbedder
embedder = OnnxEmbedder(Path(os.environ["MEMORY_MESH_MODEL_DIR"]), threads=2)
"""


@pytest.mark.req("R-000-198", "R-000-251")
def test_nothing_is_loaded_before_the_first_embed(tmp_path):
    heavy = f"print(*[name for name in {HEAVY} if name in sys.modules])"
    first = run(f"{OPEN}\n{heavy}", HOME=str(tmp_path))
    then = run(f"{OPEN}\nembedder.embed(['a']); {heavy}", HOME=str(tmp_path))
    assert first == ""
    assert then == "numpy onnxruntime tokenizers"


@pytest.mark.req("R-000-198", "R-000-251")
def test_constructing_a_mesh_with_a_model_loads_nothing(tmp_path):
    code = f"""
import sys
from memory_mesh.platform.ids import SystemClock
from memory_mesh.config import load
from memory_mesh.models.embedders import embedder_of
from memory_mesh.sync import MemoryMesh
with MemoryMesh() as mesh:
    assert embedder_of(mesh.config, SystemClock()) is not None
    print(*[name for name in {HEAVY} if name in sys.modules])
"""
    assert run(code, HOME=str(tmp_path)) == ""


def test_the_runtime_reports_to_nobody(tmp_path):
    """onnxruntime would start an uploader and leave a device id in the home folder."""
    code = f"{OPEN}\nembedder.embed(['a'])\nprint(os.environ['ORT_DISABLE_TELEMETRY'])"
    assert run(code, HOME=str(tmp_path)) == "1"
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("child", ["embedder.embed(['a'])", "pass"])
def test_a_forked_child_embeds_and_leaves_in_peace(tmp_path, child):
    code = f"""{OPEN}
embedder.embed(["a"])
if os.fork() == 0:
    {child}
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.wait()[1]))
embedder.embed(["a"])
"""
    assert run(code, HOME=str(tmp_path)) == "7"


def test_padding_and_neighbours_do_not_matter():
    embedder = OnnxEmbedder(model_folder())
    texts = [("word " * (number % 60 + 1)).strip() for number in range(90)]
    together = embedder.embed(texts).vectors
    for position in (0, 17, 59, 89):
        ((alone,),) = embedder.embed([texts[position]]).vectors
        assert closeness(alone, together[position][0]) > 0.99999


def test_no_window_is_longer_than_the_space_says():
    embedder = OnnxEmbedder(model_folder(), max_tokens=32)
    embedder.embed(["a"])
    model = embedder._model
    assert model is not None
    framed = model.windows("An endless tale of ships and harbours, told twice. " * 30)
    assert len(framed) > 5
    assert max(map(len, framed)) <= 32
    assert {(window[0], window[-1]) for window in framed} == {(101, 102)}  # [CLS] and [SEP]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A model folder that may be harmed; the model itself is linked."""
    for file in model_folder().iterdir():
        if file.name == "model.onnx":
            (tmp_path / file.name).symlink_to(file)
        else:
            shutil.copyfile(file, tmp_path / file.name)
    return tmp_path


def test_a_folder_without_its_files_is_said_with_the_remedy(tmp_path):
    with pytest.raises(EmbeddingError, match=r"lacks model.onnx and tokenizer.json.*models pull"):
        OnnxEmbedder(tmp_path).embed(["a"])


def test_a_file_that_is_not_what_the_manifest_says_is_refused(copied):
    files = {"model.onnx": "0" * 64, "tokenizer.json": "0" * 64}
    (copied / "manifest.json").write_text(json.dumps({"name": "m", "files": files}))
    with pytest.raises(EmbeddingError, match=r"model.onnx is damaged"):
        OnnxEmbedder(copied).embed(["a"])


@pytest.mark.parametrize("content", ["", "[]", '{"name": 3}', '{"name": "m", "files": {}}'])
def test_a_manifest_that_is_none_is_refused(copied, content):
    (copied / "manifest.json").write_text(content)
    with pytest.raises(EmbeddingError, match="is no manifest"):
        OnnxEmbedder(copied).embed(["a"])


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_a_broken_model_is_an_embedding_error(copied, file):
    (copied / file).unlink()
    (copied / file).write_bytes(b"\x08\x01 broken")
    with pytest.raises(EmbeddingError, match="does not work"):
        OnnxEmbedder(copied).embed(["a"])


def test_a_closed_embedder_can_be_used_again():
    embedder = OnnxEmbedder(model_folder())
    before = embedder.embed(["a"])
    embedder.close()
    assert embedder.embed(["a"]) == before
