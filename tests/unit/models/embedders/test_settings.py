"""From settings to an embedder: which providers there are, and whose key is read when."""

import os
import re
import sys
import sysconfig

import pytest

from memory_mesh.base.installed import install_command
from memory_mesh.config import load
from memory_mesh.model.errors import EmbeddingError, ForbiddenAddress, InvalidInput, MissingExtra
from memory_mesh.models import model_files
from memory_mesh.models.embedders import embedder_of
from tests.embedding import model_folder, provider
from tests.servers import serve

KEYS = {"OPENAI_API_KEY": "of-openai", "COHERE_API_KEY": "of-cohere"}


@pytest.mark.req("R-000-192")
@pytest.mark.parametrize("name", ["openai", "ollama", "cohere", "local", "static", "fastembed"])
def test_every_provider_can_be_chosen(name, clock, tmp_path):
    variables = {"HOME": str(tmp_path), "MEMORY_MESH_EMBEDDER": name}
    stated = {"model_dir": model_folder(), "embedder_model": "m" if name == "fastembed" else None}
    chain = embedder_of(load(stated, variables), clock)
    assert chain is not None
    assert chain._services[0].name.startswith(name)


@pytest.mark.req("R-000-193")
def test_the_built_in_fallback_is_the_local_model(clock, tmp_path):
    with serve(provider("ollama")) as server:
        pass  # and is gone again
    stated = {"embedder": "ollama", "embedder_base_url": server.url, "model_dir": model_folder()}
    chain = embedder_of(load(stated, {"HOME": str(tmp_path)}), clock)
    assert chain is not None
    found = chain.embed(["a"])
    assert (found.space.provider, found.space.dimension) == ("local", 384)
    assert "the primary embedder ollama all-minilm is down" in (found.note or "")


@pytest.mark.parametrize("name", ["", "local", "static"])
def test_without_a_model_the_static_vectors_are_used(name, clock, tmp_path):
    variables = {"HOME": str(tmp_path), "MEMORY_MESH_EMBEDDER": name}
    chain = embedder_of(load(environment=variables), clock)
    assert chain is not None
    assert [service.name for service in chain._services] == ["static l2_supercat_256"]


def test_an_installed_model_comes_before_the_static_vectors(clock, tmp_path):
    config = load({"model_dir": model_folder()}, {"HOME": str(tmp_path)})
    chain = embedder_of(config, clock)
    assert chain is not None
    assert [service.name for service in chain._services] == ["local all-MiniLM-L6-v2"]
    assert model_files.in_use(config) == "all-MiniLM-L6-v2"


def test_static_by_name_comes_before_an_installed_model(clock):
    config = load({"embedder": "static", "model_dir": model_folder()}, {})
    chain = embedder_of(config, clock)
    assert chain is not None
    assert chain.embed(["a"]).space.provider == "static"
    assert model_files.in_use(config) == "l2_supercat_256"


def test_without_a_model_and_without_the_extra_there_is_no_embedder(clock, tmp_path, no_extra):
    config = load(environment={"HOME": str(tmp_path)})
    assert embedder_of(config, clock) is None
    assert model_files.in_use(config) is None


def test_static_by_name_without_the_extra_is_refused_with_the_command(clock, no_extra):
    command = re.escape(install_command("local"))
    with pytest.raises(MissingExtra, match=command):
        embedder_of(load({"embedder": "static"}, {}), clock)


@pytest.fixture
def no_extra(monkeypatch):
    """Python looks for packages in its own library only, where the extra is not."""
    monkeypatch.setattr(sys, "path", [sysconfig.get_path("stdlib")])


def test_none_is_none_although_a_model_is_there(clock):
    assert embedder_of(load({"embedder": "none", "model_dir": model_folder()}, {}), clock) is None


def test_a_stated_folder_that_is_not_there_is_said_when_it_is_needed(clock, tmp_path):
    chain = embedder_of(load({"model_dir": tmp_path / "no"}, {"HOME": str(tmp_path)}), clock)
    assert chain is not None
    with pytest.raises(EmbeddingError, match=r"lacks model.onnx"):
        chain.embed(["a"])


def test_an_unknown_provider_is_said_with_those_known(clock):
    known = "cohere, fastembed, local, none, ollama, openai, static"
    with pytest.raises(InvalidInput, match=known):
        embedder_of(load({"embedder": "gpt"}, {}), clock)


def test_a_service_at_an_address_that_is_none_is_refused(clock):
    stated = {"embedder": "ollama", "embedder_base_url": "http://169.254.1.1@localhost"}
    with pytest.raises(ForbiddenAddress):
        embedder_of(load(stated, {}), clock)


@pytest.mark.parametrize(
    ("chosen", "key"),
    [
        (None, None),
        ("local", None),
        ("ollama", None),
        ("openai", "of-openai"),
        ("cohere", "of-cohere"),
    ],
)
def test_a_providers_key_is_read_only_for_that_provider(chosen, key):
    assert load({"embedder": chosen}, KEYS).embedder_api_key == key


def test_the_own_variable_beats_the_providers():
    own = KEYS | {"MEMORY_MESH_EMBEDDER_API_KEY": "of-us", "MEMORY_MESH_EMBEDDER": "openai"}
    config = load(environment=own)
    assert config.embedder_api_key == "of-us"
    assert "of-us" not in repr(config)
    origin = load({"embedder": "openai"}, KEYS).origins["embedder_api_key"]
    assert origin == "environment OPENAI_API_KEY"


def test_numbers_come_out_of_the_environment_as_numbers():
    config = load(
        environment={
            "MEMORY_MESH_EMBEDDER_DIMENSION": "768",
            "MEMORY_MESH_EMBEDDER_THREADS": "2",
            "MEMORY_MESH_MODEL_DIR": "~/model",
        }
    )
    assert (config.embedder_dimension, config.embedder_threads) == (768, 2)
    assert config.model_dir is not None
    assert str(config.model_dir).startswith(os.environ["HOME"])


@pytest.mark.parametrize("value", ["many", "-1", "1.5", True, 2.0, "²"])
def test_a_number_that_is_none_is_refused(value):
    with pytest.raises(InvalidInput, match="embedder_dimension"):
        load({"embedder_dimension": value}, {})


def test_models_are_shared_by_all_stores(tmp_path):
    config = load({"db_dir": tmp_path / "elsewhere"}, {"HOME": str(tmp_path)})
    assert config.models_dir == tmp_path / ".local/share/memory-mesh/models"
    assert model_files.find_model(config) is None
