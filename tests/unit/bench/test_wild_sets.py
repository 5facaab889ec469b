"""The sets of notes, facts and documents are what was committed, and each store has its size."""

import hashlib
import json
from collections import Counter

import pytest

from bench import wild_sets
from memory_mesh.evaluation import records, suite


def test_every_file_is_the_one_that_was_committed_before_tuning():
    listed = (wild_sets.HERE / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    told = {name: digest for digest, name in (line.split("  ", 1) for line in listed)}
    there = {
        path.relative_to(wild_sets.HERE).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in wild_sets.HERE.rglob("*")
        if path.is_file() and path.name not in {"SHA256SUMS", "README.md"}
    }
    assert there == told


@pytest.mark.parametrize("name", wild_sets.SETS)
def test_each_store_has_its_size_and_holds_what_answers(name, tmp_path):
    memories, questions = wild_sets.build(name, tmp_path)
    lines = (tmp_path / name / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    corpus = [json.loads(line) for line in lines]
    read = records.read(tmp_path / name)
    assert (memories, questions) == (len(corpus), len(read.questions))
    held = {memory["id"] for memory in corpus}
    assert len(held) == len(corpus)
    sizes = Counter(memory["tenant"] for memory in corpus)
    assert all(count == int(tenant.split("-")[1]) for tenant, count in sizes.items())
    for question in read.questions:
        assert held.issuperset(question.gold)
        assert all(gold.startswith(question.tenant + "/") for gold in question.gold)
        assert question.category.startswith(f"{sizes[question.tenant]} ")
        assert bool(question.gold) == ("no_answer" not in question.category)


@pytest.mark.parametrize("name", wild_sets.SETS)
def test_the_suite_names_every_store_once(name, tmp_path):
    wild_sets.build(name, tmp_path)
    read = records.read(tmp_path / name)
    parts = suite.split(suite.load(name), read.questions)
    assert {"dev", "test", "more", "all"} == set(parts)
    assert sum(len(parts[part]) for part in ("dev", "test", "more")) == len(read.questions)
    for part in ("dev", "test", "more"):
        assert {question.tenant.split("-")[0].split("_")[0] for question in parts[part]} == {part}
