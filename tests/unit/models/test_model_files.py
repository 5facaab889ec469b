"""Model folders: installed whole or not at all, fetched only when asked, checked always."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from memory_mesh.cli import main
from memory_mesh.config import load
from memory_mesh.model.errors import ModelError, NetworkError
from memory_mesh.models import model_files
from tests.embedding import model_folder
from tests.servers import Reply, ranged, serve

CONTENT = {
    "onnx/model.onnx": bytes(range(256)) * 4000,
    "tokenizer.json": b'{"version": "1.0"}',
    "config.json": b"{}",
}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


KNOWN = {
    "tiny": model_files.ModelSource(
        "someone/tiny",
        "abc123",
        128,
        tuple(
            model_files.Remote(path, path.rpartition("/")[2], len(content), sha256(content))
            for path, content in CONTENT.items()
        ),
    )
}
SERVED = {f"/someone/tiny/resolve/abc123/{path}": content for path, content in CONTENT.items()}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    folder.mkdir()
    for path, content in CONTENT.items():
        (folder / path.rpartition("/")[2]).write_bytes(content)
    (folder / "README.md").write_text("not needed")
    return folder


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path / "models"


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.name != ".lock")


def test_a_folder_is_installed_with_its_checksums(source, here):
    seen = dict[str, tuple[int, int | None]]()
    folder = model_files.install(
        source, here, progress=lambda name, done, total: seen.update({name: (done, total)})
    )
    assert folder == here / "tiny"
    assert files(here) == ["tiny"]
    assert files(folder) == ["config.json", "manifest.json", "model.onnx", "tokenizer.json"]
    assert model_files.opened(folder).revision == sha256(CONTENT["onnx/model.onnx"])[:12]
    assert seen["model.onnx"] == (1_024_000, 1_024_000)
    assert [model.name for model in model_files.installed(here)] == ["tiny"]


def test_installing_again_replaces(source, here):
    model_files.install(source, here)
    (source / "model.onnx").write_bytes(b"another")
    model_files.install(source, here)
    assert (here / "tiny" / "model.onnx").read_bytes() == b"another"
    assert files(here) == ["tiny"]


@pytest.mark.parametrize("stop", ["model.onnx", "config.json"])
def test_an_interrupted_installation_leaves_what_was_there(source, here, stop):
    model_files.install(source, here)
    (source / "model.onnx").write_bytes(b"another")

    def interrupt(name: str, _done: int, _total: int | None) -> None:
        if name == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model_files.install(source, here, progress=interrupt)
    assert files(here) == ["tiny"]
    assert model_files.opened(here / "tiny").revision == sha256(CONTENT["onnx/model.onnx"])[:12]


def test_what_a_killed_installation_left_is_no_model_and_no_hindrance(source, here):
    (here / ".tiny.copying").mkdir(parents=True)
    (here / ".tiny.copying" / "model.onnx").write_bytes(b"half")
    assert model_files.installed(here) == []
    model_files.install(source, here)
    assert files(here) == ["tiny"]


def test_only_one_installs_at_a_time(source, here):
    def second(*_: object) -> None:
        with pytest.raises(ModelError, match="another process"):
            model_files.install(source, here)

    model_files.install(source, here, progress=second)


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_folder_that_is_no_model_is_refused(source, here, missing):
    (source / missing).unlink()
    with pytest.raises(ModelError, match=f"lacks {missing}"):
        model_files.install(source, here)


def test_a_model_that_pools_otherwise_is_refused(source, here):
    (source / "1_Pooling").mkdir()
    pooling = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (source / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    with pytest.raises(ModelError, match="fastembed"):
        model_files.install(source, here)


@pytest.mark.parametrize("name", ["../evil", "a/b", ".hidden", ""])
def test_a_name_is_a_plain_word(source, here, name):
    if name:
        with pytest.raises(ModelError, match="name"):
            model_files.install(source, here, name=name)
    else:
        assert model_files.install(source, here, name=name).name == "tiny"


def test_the_window_comes_from_the_model_where_it_says_so(source, here):
    (source / "sentence_bert_config.json").write_text('{"max_seq_length": 99}')
    assert model_files.opened(model_files.install(source, here)).max_tokens == 99


def test_a_model_is_pulled_and_checked(here):
    seen = list[str]()
    with serve(ranged(SERVED)) as server:
        folder = model_files.pull(
            "tiny", here, base_url=server.url, known=KNOWN,
            progress=lambda name, done, total: seen.append(f"{name} {done}/{total}"),
        )  # fmt: skip
    assert files(folder) == ["config.json", "manifest.json", "model.onnx", "tokenizer.json"]
    assert model_files.opened(folder).max_tokens == 128
    assert "model.onnx 1024000/1024000" in seen
    assert files(here) == ["tiny"]


def test_a_broken_pull_goes_on_where_it_broke(here):
    with (
        serve(ranged(SERVED, broken_after=400_000)) as server,
        pytest.raises(KeyboardInterrupt),
    ):
        model_files.pull("tiny", here, base_url=server.url, known=KNOWN, progress=_stop_at(300_000))
    assert model_files.installed(here) == []
    fetched = (here / ".tiny.pulling" / "model.onnx").stat().st_size
    assert fetched > 0
    with serve(ranged(SERVED)) as server:
        model_files.pull("tiny", here, base_url=server.url, known=KNOWN)
    assert server.requests[0].headers["Range"] == f"bytes={fetched}-"
    assert [model.name for model in model_files.installed(here)] == ["tiny"]


def _stop_at(size: int) -> model_files.Progress:
    def progress(_name: str, done: int, _total: int | None) -> None:
        if done >= size:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize(
    ("harm", "error"),
    [(b"!" * 1_024_000, ModelError), (b"short", ModelError), (b"!" * 1_024_001, NetworkError)],
)
def test_another_file_than_the_known_one_is_not_installed(here, harm, error):
    spoiled = SERVED | {"/someone/tiny/resolve/abc123/onnx/model.onnx": harm}
    with serve(ranged(spoiled)) as server, pytest.raises(error, match=r"another checksum|longer"):
        model_files.pull("tiny", here, base_url=server.url, known=KNOWN)
    assert model_files.installed(here) == []
    with serve(ranged(SERVED)) as server:
        model_files.pull("tiny", here, base_url=server.url, known=KNOWN)
    assert [model.name for model in model_files.installed(here)] == ["tiny"]


def test_what_an_earlier_pull_left_spoiled_is_fetched_anew(here):
    (here / ".tiny.pulling").mkdir(parents=True)
    (here / ".tiny.pulling" / "model.onnx").write_bytes(b"?" * 1_024_000)
    with serve(ranged(SERVED)) as server:
        model_files.pull("tiny", here, base_url=server.url, known=KNOWN)


def test_a_hub_that_is_down_leaves_nothing_half(here):
    with serve(lambda _: Reply(status=404)) as server, pytest.raises(NetworkError, match="404"):
        model_files.pull("tiny", here, base_url=server.url, known=KNOWN)
    assert model_files.installed(here) == []


def test_an_unknown_model_is_said_with_those_known(here):
    with pytest.raises(ModelError, match=r"all-MiniLM-L6-v2.*models install FOLDER"):
        model_files.pull("gpt", here)


@pytest.mark.req("R-000-197")
def test_the_known_default_is_pinned_by_revision_and_checksum():
    default = model_files.KNOWN[model_files.DEFAULT]
    assert len(default.revision) == 40
    assert {file.name for file in default.files} >= {"model.onnx", "tokenizer.json"}
    assert all(len(file.sha256) == 64 for file in default.files)
    real = {file.name: file.sha256 for file in default.files}["tokenizer.json"]
    assert real == model_files.digest(model_folder() / "tokenizer.json")


def test_the_stated_folder_wins_over_the_installed_one(source, tmp_path):
    variables = {"HOME": str(tmp_path)}
    config = load(environment=variables)
    assert model_files.find_model(config) is None
    folder = model_files.install(source, config.models_dir, name=model_files.DEFAULT)
    assert model_files.find_model(config) == folder
    stated = load(environment=variables | {"MEMORY_MESH_MODEL_DIR": str(source)})
    assert model_files.find_model(stated) == source
    assert model_files.find_model(load({"embedder_model": "tiny"}, variables)) is None


def test_the_command_installs_lists_and_says_what_is_wrong(source, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MEMORY_MESH_MODELS_DIR", str(tmp_path / "here"))
    assert main.run(["models", "list"]) == 0
    shown = capsys.readouterr().out
    assert "download it: memory-mesh models pull all-MiniLM-L6-v2" in shown
    assert "Embedder in use: none; search uses keywords" in shown
    assert main.run(["models", "install", str(source)]) == 0
    assert capsys.readouterr().out == f"tiny is installed in {tmp_path / 'here' / 'tiny'}\n"
    assert main.run(["models", "list", "--json"]) == 0
    listed = {model["name"]: model for model in json.loads(capsys.readouterr().out)["items"]}
    assert listed["tiny"]["installed"] is True
    assert listed["all-MiniLM-L6-v2"]["installed"] is False
    assert main.run(["models", "install"]) == 2
    assert main.run(["models", "pull", "nothing"]) == 1
    assert main.run(["models", "install", str(tmp_path / "nowhere")]) == 1
    assert "lacks model.onnx" in capsys.readouterr().err


def test_the_command_says_which_model_is_in_use(source, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("MEMORY_MESH_EMBEDDER")
    monkeypatch.delenv("MEMORY_MESH_MODEL_DIR", raising=False)
    monkeypatch.setenv("MEMORY_MESH_MODELS_DIR", str(tmp_path))

    def in_use() -> list[str]:
        assert main.run(["models", "list", "--json"]) == 0
        return [
            each["name"] for each in json.loads(capsys.readouterr().out)["items"] if each["in_use"]
        ]

    assert in_use() == ["l2_supercat_256"]
    model_files.install(source, tmp_path, name=model_files.DEFAULT)
    assert in_use() == ["all-MiniLM-L6-v2"]
    monkeypatch.setenv("MEMORY_MESH_EMBEDDER", "static")
    assert in_use() == ["l2_supercat_256"]


def test_the_command_pulls_only_what_has_the_right_checksum(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MEMORY_MESH_MODELS_DIR", str(tmp_path / "here"))
    with serve(lambda _: Reply(b"not a model")) as server:
        assert main.run(["models", "pull", "--base-url", server.url]) == 1
    assert "another checksum" in capsys.readouterr().err
    assert model_files.installed(tmp_path / "here") == []


def test_an_installed_model_may_be_read_only(source, here):
    folder = model_files.install(source, here)
    for file in folder.iterdir():
        file.chmod(0o444)
    assert os.access(folder, os.R_OK)
    assert model_files.opened(folder).name == "tiny"
