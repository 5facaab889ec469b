"""Low trust never overwrites high trust, however it is said and however often."""

import random

import pytest

from tests.corpora import hostile
from tests.faults import poisoning
from tests.faults.sample import SEED
from tests.faults.suites import counts, sampled


def test_the_generator_covers_every_channel_and_form_and_repeats_itself():
    made = list(hostile.attacks(random.Random(SEED), 1_000))
    assert made == list(hostile.attacks(random.Random(SEED), 1_000))
    assert {attack.channel for attack in made} == set(hostile.CHANNELS)
    assert {attack.form for attack in made} == set(hostile._FORMS)
    assert len({attack.text for attack in made}) > 990
    assert sum(attack.claim is not None for attack in made) == 500


@pytest.mark.req("R-003-095")
@pytest.mark.slow
def test_a_thousand_hostile_texts_supersede_nothing_and_raise_nothing(tmp_path):
    report = sampled("poisoning", tmp_path)
    report.holds()
    assert report.figures["attacks"] == counts("poisoning")["texts"]
    assert report.figures["quarantined"]


@pytest.mark.slow
def test_hostile_texts_without_a_stated_source_kind_gain_nothing(tmp_path):
    report = sampled("poisoning/unstated", tmp_path)
    report.holds()
    tried = report.figures["attacks"]
    assert isinstance(tried, int)
    assert tried > 1.6 * counts("poisoning/unstated")["texts"]
    assert report.figures["quarantined"]


@pytest.mark.slow
def test_a_thousand_repetitions_from_one_origin_gain_nothing(tmp_path):
    report = sampled("poisoning/repeated", tmp_path)
    report.holds()
    assert report.figures["repetitions"] == 2 * 7 * counts("poisoning/repeated")["repetitions"]


@pytest.mark.slow
def test_no_hostile_text_becomes_an_active_lesson_or_skill(tmp_path):
    report = sampled("poisoning/taught", tmp_path)
    report.holds()
    assert report.figures["waiting"]


@pytest.mark.slow
def test_harmless_text_over_the_same_channels_hardly_ever_waits(tmp_path):
    report = sampled("poisoning/let_in", tmp_path)
    report.holds()
    share = report.figures["quarantined per cent"]
    assert isinstance(share, float)
    assert share <= 2


def test_the_suite_notices_a_text_that_has_the_right_to_supersede(tmp_path, monkeypatch):
    """With every door taken for a low one, what the user says over his own counts as an attack."""
    monkeypatch.setattr(hostile, "LOW", hostile.CHANNELS)
    report = poisoning.upward(tmp_path, texts=300, seed=SEED)
    assert report.figures["superseded upward"]
    assert report.figures["raised"]
