"""From settings to a reranker: off by default, and whose key is read when."""

import subprocess
import sys

import pytest

from memory_mesh.config import load
from memory_mesh.model.errors import InvalidInput
from memory_mesh.models.rerankers import reranker_of

KEYS = {"COHERE_API_KEY": "of-cohere", "JINA_API_KEY": "of-jina", "OPENAI_API_KEY": "of-openai"}


@pytest.mark.parametrize("name", [None, "none"])
def test_there_is_none_by_default(name):
    assert reranker_of(load({"reranker": name}, {})) is None


@pytest.mark.parametrize("name", ["cohere", "jina", "tei", "http", "fastembed"])
def test_every_reranker_can_be_chosen_and_chooses_without_loading(name):
    variables = {
        "MEMORY_MESH_RERANKER": name,
        "MEMORY_MESH_RERANKER_MODEL": "m",
        "MEMORY_MESH_RERANKER_BASE_URL": "http://localhost:9",
    }
    assert "'m'" in repr(reranker_of(load({}, variables)))


def test_an_unknown_reranker_is_said_with_those_known():
    with pytest.raises(InvalidInput, match="cohere, fastembed, http, jina, none, tei"):
        reranker_of(load({"reranker": "gpt"}, {}))


def test_fastembed_needs_a_model():
    with pytest.raises(InvalidInput, match="MEMORY_MESH_RERANKER_MODEL"):
        reranker_of(load({"reranker": "fastembed"}, {}))


@pytest.mark.parametrize(
    ("chosen", "key"),
    [(None, None), ("tei", None), ("http", None), ("cohere", "of-cohere"), ("jina", "of-jina")],
)
def test_a_providers_key_is_read_only_for_that_provider(chosen, key):
    config = load({"reranker": chosen}, KEYS)
    assert config.reranker_api_key == key
    assert config.embedder_api_key is None
    assert key is None or key not in repr(config)


def test_the_budget_comes_out_of_the_environment_as_numbers():
    config = load(
        environment={
            "MEMORY_MESH_RERANKER_CANDIDATES": "20",
            "MEMORY_MESH_RERANKER_CHARS": "500",
            "MEMORY_MESH_RERANKER_TIMEOUT": "0.5",
        }
    )
    budget = (config.reranker_candidates, config.reranker_chars, config.reranker_timeout)
    assert budget == (20, 500, 0.5)
    usual = load({}, {})
    assert (usual.reranker_candidates, usual.reranker_chars) == (50, 2_000)
    assert usual.reranker_timeout == 2.0
    assert load({"reranker_timeout": 3}, {}).reranker_timeout == 3.0


@pytest.mark.parametrize("value", ["soon", "0", "-1", "nan", "inf", 0, -2.5, True, [], 10**400])
def test_a_time_limit_that_is_none_is_refused(value):
    with pytest.raises(
        InvalidInput, match="reranker_timeout: must be a number of seconds, above 0"
    ):
        load({"reranker_timeout": value}, {})


def test_a_search_without_a_reranker_loads_no_module_of_it(tmp_path):
    code = (
        "import sys; from memory_mesh.sync import MemoryMesh\n"
        f"mesh = MemoryMesh(db_dir={str(tmp_path)!r}, embedder='none')\n"
        "mesh.add('tea is hot'); mesh.search('tea'); mesh.close()\n"
        "print([name for name in sys.modules if 'rerankers' in name or 'reranking' in name])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
