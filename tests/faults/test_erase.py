"""What is erased is hidden at once, leaves no byte that we own, and does not come back."""

from urllib.parse import urlsplit

import pytest

from tests.faults.suites import sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_random_sets_are_erased_to_the_last_byte_whatever_is_killed(tmp_path):
    report = sampled("erase", tmp_path)
    report.holds()
    assert report.figures["kills"]
    assert report.figures["refused"]


def test_on_a_server_it_is_done_when_no_row_is_left_after_a_vacuum(postgres, database):
    owner = postgres.url(urlsplit(database).path.lstrip("/"))
    report = sampled("erase/server", database, owner)
    report.holds()
    assert report.figures["done"]
