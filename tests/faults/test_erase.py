"""What is erased is hidden at once, leaves no byte that we own, and does not come back."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from urllib.parse import urlsplit

import pytest

from tests.faults.suites import sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_random_sets_are_erased_to_the_last_byte_whatever_is_killed(tmp_path):
    # In a process of its own: the suite forks, and no child of one that loaded Lance can use it.
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        report = pool.submit(sampled, "erase", tmp_path).result()
    report.holds()
    assert report.figures["kills"]
    assert report.figures["refused"]


def test_on_a_server_it_is_done_when_no_row_is_left_after_a_vacuum(postgres, database):
    owner = postgres.url(urlsplit(database).path.lstrip("/"))
    report = sampled("erase/server", database, owner)
    report.holds()
    assert report.figures["done"]
