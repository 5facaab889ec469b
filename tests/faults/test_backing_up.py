"""Of the backups under load a tenth; `just prove backups` makes them all."""

import pytest

from tests.faults import backing_up

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_backup_while_eight_processes_write_is_the_store_of_one_moment(tmp_path):
    report = backing_up.under_load(tmp_path, writers=8, backups=2, seed=20261117)
    report.holds()
    assert report.figures["backups"] == 2
    assert report.figures["acknowledged"]
    assert report.figures["acknowledged while one was made"]
