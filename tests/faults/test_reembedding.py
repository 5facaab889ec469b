"""A re-embed that is killed goes on where it was, and no search returns less meanwhile."""

from pathlib import Path

import pytest

from tests.faults.suites import counts, sampled
from tests.postgres import SECRET


@pytest.mark.timeout(300)
@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
def test_three_kills_lose_nothing_and_searches_go_on(
    ledger: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    place = request.getfixturevalue("database") if ledger == "postgres" else str(tmp_path)
    suite = "re-embed/postgres" if ledger == "postgres" else "re-embed"
    report = sampled(suite, place)
    report.holds()
    assert report.figures["kills"] == counts(suite)["kills"]
    assert int(str(report.figures["searches"])) > 10
    assert int(str(report.figures["written meanwhile"])) > 0
