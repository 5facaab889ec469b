"""No memory leaves the place where a page shows it, and no key sees more than its grants say."""

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
