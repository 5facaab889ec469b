"""No policy and no clock makes retention touch what is protected."""

from tests.faults import retaining


def test_what_is_protected_is_never_touched(tmp_path):
    report = retaining.protected_untouched(tmp_path, rounds=1_000, seed=2026)
    report.holds()
    assert report.figures["archived"]
    assert report.figures["compressed"]
