"""What the owner of a database changes behind the ledger's back is found by `verify`."""

from contextlib import closing
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.faults import postgres_tamper, postgres_world as world
from tests.faults.suites import sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_changes_of_any_row_are_found_but_for_those_that_are_stated(postgres, database):
    owner = postgres.url(urlsplit(database).path.lstrip("/"))
    report = sampled("postgres-tamper", database, owner)
    report.holds()
    assert report.figures["found"]


def test_a_value_that_no_statement_reads_is_a_finding_and_ends_no_check(postgres, database):
    postgres_tamper.build(database)
    owner = postgres.url(urlsplit(database).path.lstrip("/"))
    with psycopg.connect(owner) as db:
        db.execute("UPDATE memory_mesh.version SET lesson = 'no json' WHERE memory = 1")
        db.execute("UPDATE memory_mesh.block SET agent = 'intruder' WHERE position = 2")
    with closing(world.open_ledger(database)) as ledger:
        found = " ".join(map(str, ledger.verify("default").findings))
    assert "cannot be read: invalid input syntax for type json" in found
    assert "block yamo" in found
