"""The cross-encoder through fastembed: a tiny real model, since no trained one ships with us."""

import sys

import pytest

from memory_mesh.model.errors import MissingExtra, RerankError
from memory_mesh.models.rerankers import Guarded
from memory_mesh.models.rerankers.services import FastembedReranker
from tests.rerankers import write_cross_encoder

WORTH = {"tea": 10, "milk": 20, "honey": 40}


@pytest.mark.parametrize("file", ["model.onnx", "onnx/model.onnx"])
def test_a_folder_is_loaded_and_scores_pairs_in_their_order(tmp_path, file):
    write_cross_encoder(tmp_path, WORTH, file)
    reranker = FastembedReranker(str(tmp_path))
    texts = ["tea", "tea milk honey", "honey honey", "milk"]
    assert reranker.rank("milk tea", texts) == [10, 70, 80, 20]
    again = FastembedReranker(str(tmp_path))  # fastembed knows the folder by now
    assert again.rank("tea", ["honey", "tea"]) == [40, 10]


def test_many_texts_are_scored_in_batches(tmp_path):
    write_cross_encoder(tmp_path, WORTH)
    texts = ["tea " * count for count in range(1, 41)]
    found = FastembedReranker(str(tmp_path)).rank("tea", texts)
    assert found == [10 * count for count in range(1, 41)]


def test_half_of_a_character_does_not_stop_it(tmp_path):
    write_cross_encoder(tmp_path, WORTH)
    assert FastembedReranker(str(tmp_path)).rank("\ud83d tea", ["tea", "\ud83d"]) == [10, 1]


def test_nothing_is_fetched_or_loaded_before_it_is_asked(tmp_path):
    reranker = FastembedReranker("Xenova/ms-marco-MiniLM-L-6-v2", cache=tmp_path)
    with pytest.raises(RerankError, match="nothing is fetched here"):
        reranker.rank("tea", ["tea", "milk"])


@pytest.mark.parametrize("model", ["no/such-model", "/no/such/folder"])
def test_a_model_that_fastembed_does_not_know_is_named(model):
    with pytest.raises(RerankError, match=f"cannot load {model}"):
        FastembedReranker(model).rank("tea", ["tea", "milk"])


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(RerankError, match="MEMORY_MESH_RERANKER_MODEL"):
        FastembedReranker(str(tmp_path)).rank("tea", ["tea", "milk"])


def test_without_the_extra_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastembed.rerank.cross_encoder", None)
    reranker = FastembedReranker("Xenova/ms-marco-MiniLM-L-6-v2")
    with pytest.raises(MissingExtra, match=r"pip install (-e )?'\S+\[fastembed\]'"):
        reranker.rank("tea", ["tea", "milk"])
    with pytest.raises(RerankError, match="pip install"):
        Guarded(reranker, 5).rank("tea", ["tea", "milk"])


def test_a_child_process_loads_the_model_anew(tmp_path):
    write_cross_encoder(tmp_path, WORTH)
    reranker = FastembedReranker(str(tmp_path))
    assert reranker.rank("tea", ["milk"]) == [20]
    reranker.after_fork()
    assert reranker._engine is None
    assert reranker.rank("tea", ["milk"]) == [20]
