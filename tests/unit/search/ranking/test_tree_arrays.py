"""Trees in arrays: the same sums as the code of the trees, to the last bit."""

from importlib import import_module
from random import Random

import pytest

from bench.training import tables
from memory_mesh.search.ranking import (
    _forest_by_meaning,
    _forest_by_static,
    _forest_by_words,
    forest,
    shares,
    tree_arrays,
)
from memory_mesh.search.ranking.features import NAMES, FeatureTable
from memory_mesh.text.embedding_models import MEANING, STATIC, WORDS

CODE = {MEANING: _forest_by_meaning, STATIC: _forest_by_static, WORDS: _forest_by_words}


def limits(order):
    source = (tables.OUT / f"_forest_by_{order}.py").read_text(encoding="utf-8")
    trees = tables.read(source, "margin")
    return sorted({limit for tree in trees for _, limit in tables._questions(tree)})


@pytest.mark.parametrize("order", CODE)
def test_the_tables_are_those_of_the_code(order):
    file = tables.OUT / f"_trees_by_{order}.py"
    assert file.read_text(encoding="utf-8") == tables.source(order)


@pytest.mark.parametrize("order", CODE)
def test_the_trees_of_the_tables_are_those_of_the_code(order):
    code = (tables.OUT / f"_forest_by_{order}.py").read_text(encoding="utf-8")
    numbers = import_module(f"memory_mesh.search.ranking._trees_by_{order}").TREES
    assert tuple(map(shares.tree, numbers)) == tables.read(code, "margin")


@pytest.mark.parametrize("order", CODE)
def test_the_sums_are_those_of_the_code_to_the_last_bit(order):
    chance, known = Random(order), limits(order)
    rows = [
        tuple(chance.choice((0.0, 1.0, chance.uniform(-1, 1), chance.choice(known))) for _ in NAMES)
        for _ in range(400)
    ]
    line = [NAMES.index(name) for name in forest.lines(order)]
    by_code = [CODE[order].margin(*row) + sum(row[column] for column in line) for row in rows]
    assert tree_arrays.margins(rows, order, line) == by_code


def test_few_and_many_candidates_have_the_same_margins():
    chance = Random(7)
    rows = tuple(tuple(chance.uniform(-1, 1) for _ in NAMES) for _ in range(60))
    many = forest.margins_of(FeatureTable(tuple(range(60)), rows, (1.0,) * 60), WORDS)
    alone = [
        forest.margins_of(FeatureTable((at,), (row,), (1.0,)), WORDS)[0]
        for at, row in enumerate(rows)
    ]
    assert many == alone


def test_a_tree_with_more_questions_than_the_tables_hold_is_refused():
    source = (
        "def margin(a):\n    total = 0.0\n    total += "
        "(1 if cosine <= 1 else (2 if cosine <= 2 else (3 if cosine <= 3 else "
        "(4 if cosine <= 4 else 5))))\n    return total\n"
    )
    (tree,) = tables.read(source, "margin")
    with pytest.raises(ValueError, match="asks 4 questions"):
        tables._numbers(tree)
