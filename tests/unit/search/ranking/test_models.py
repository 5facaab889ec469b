"""What is known of embedding models, and the order that follows from it."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.model import Space
from memory_mesh.search.ranking import scales
from memory_mesh.search.ranking.features import NAMES, FeatureTable
from memory_mesh.text import embedding_models
from memory_mesh.text.embedding_models import MEANING, STATIC, WORDS


def space(model):
    return Space("local", model, "1", 384, 256)


MINI, TABLE, OTHER = space("all-MiniLM-L6-v2"), space("l2_supercat_256"), space("text-embedding-9")


def test_ranking_knows_the_cosines_of_its_own_model_and_scales_the_others():
    assert (embedding_models.traits(MINI).slope, embedding_models.traits(MINI).offset) == (1.0, 0.0)
    assert (embedding_models.traits(TABLE).slope, embedding_models.traits(TABLE).offset) == (
        1.18,
        0.0,
    )
    assert (
        embedding_models.traits(OTHER) == embedding_models.traits(None) == embedding_models.Traits()
    )


@pytest.mark.parametrize(
    ("question", "latin"),
    [
        ("where is the key?", True),
        ("Wo ist der Schlüssel für die Tür?", True),
        ("Gdzie jest żółta łódź?", True),
        ("\u0110\u1ecba ch\u1ec9 c\u1ee7a b\u1ea1n \u1edf \u0111\u00e2u?", True),  # Vietnamese
        ("what does \u674e\u96f7 like?", True),  # a name does not make a Chinese question
        ("4711", True),
        ("", True),
        ("\u94a5\u5319\u5728\u54ea\u91cc", False),
        ("\u0433\u0434\u0435 \u043a\u043b\u044e\u0447?", False),
        ("\u03c0\u03bf\u03cd \u03b5\u03af\u03bd\u03b1\u03b9", False),
        ("API \u306e\u30ad\u30fc\u306f\u3069\u3053", False),
    ],
)
def test_a_question_in_another_script_goes_by_words_for_a_model_that_reads_latin(question, latin):
    assert embedding_models.order(MINI, question) == (MEANING if latin else WORDS)
    assert embedding_models.order(TABLE, question) == (STATIC if latin else WORDS)
    assert embedding_models.order(OTHER, question) == MEANING
    assert embedding_models.order(None, question) == WORDS


@pytest.mark.parametrize(("letters", "others", "order"), [(8, 2, MEANING), (8, 3, WORDS)])
def test_up_to_a_fifth_of_the_letters_may_be_of_another_script(letters, others, order):
    assert embedding_models.order(MINI, "a" * letters + " 1 ?" + "\u0436" * others) == order


@given(st.text(), st.sampled_from([None, MINI, TABLE, OTHER]))
def test_every_question_has_an_order_that_ranking_knows(question, known):
    order = embedding_models.order(known, question)
    assert order in {MEANING, STATIC, WORDS}
    assert len(scales.best(FeatureTable((1,), ((0.0,) * len(NAMES),), (1.0,)), 1, order)) == 1
