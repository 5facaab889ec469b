"""A backup that is made while others write is the store of one moment."""

import pytest

from tests.faults.suites import counts, sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_backup_while_eight_processes_write_is_the_store_of_one_moment(tmp_path):
    report = sampled("backups", tmp_path)
    report.holds()
    assert int(str(report.figures["backups"])) >= counts("backups")["backups"]
    assert report.figures["acknowledged"]
    assert report.figures["acknowledged while one was made"]
