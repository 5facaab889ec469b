"""No memory leaves the place where a page shows it, and no key sees more than its grants say."""

import pytest

from tests.faults import page_feed
from tests.faults.suites import sampled


def test_hostile_memories_stay_text_on_every_page(tmp_path):
    report = sampled("pages", tmp_path)
    report.holds()
    assert report.figures["pages"]


def test_a_page_shows_and_offers_no_more_than_the_key_of_its_reader_allows(tmp_path):
    report = sampled("pages/readers", tmp_path)
    report.holds()
    assert report.figures["shown"]
    assert report.figures["refused"]


@pytest.mark.skipif(not page_feed.chromium(), reason="Chromium is not installed")
def test_the_live_page_goes_on_while_memories_pour_in(tmp_path):
    report = sampled("pages/feed", tmp_path)
    report.holds()
    assert report.figures["pages answered"]
