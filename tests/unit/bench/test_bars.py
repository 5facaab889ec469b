"""Bars, their report, and the smoke bench, without any long measurement."""

import json
import sqlite3

import pytest

from bench import bare_rows, bars, bars_report, bars_writing, measure, prepared, smoke
from bench.measure import Sides, Skipped, Times


def times(*seconds):
    return Times(list(seconds), list(seconds))


def bar(measured):
    return bars.Bar("scoped_1", "a text", 1.2, 0.6, (100_000,), ("src",), measured)


def test_a_bar_is_met_when_both_clocks_are(tmp_path, monkeypatch):
    sides = Sides(Times([1.0], [3.0]), Times([1.0], [2.0]))
    monkeypatch.setitem(bars.BY_NAME, "scoped_1", bar(lambda *_: sides))
    assert not bars_report.run(["scoped_1"], bars.Bench(tmp_path), tmp_path)
    record = json.loads((tmp_path / "bars.json").read_text(encoding="utf-8"))["scoped_1"]
    assert (record["met"], record["figures"]["cpu_ratio"]) == (False, 1.5)
    assert record["figures"]["wall_ratio"] == 1.0
    assert record["paths"] == ["src"]
    assert "missed" in (tmp_path / "bars.md").read_text(encoding="utf-8")


def test_a_bar_that_cannot_be_measured_says_why(tmp_path, monkeypatch):
    def skipped(*_):
        raise Skipped("no such filter")

    monkeypatch.setitem(bars.BY_NAME, "scoped_1", bar(skipped))
    assert bars_report.run(["scoped_1"], bars.Bench(tmp_path, 2_000), tmp_path)
    assert "skipped: no such filter" in (tmp_path / "bars.md").read_text(encoding="utf-8")


def test_sizes_follow_the_one_given(tmp_path):
    assert bars.Bench(tmp_path, 2_000).sized(500_000) == 10_000
    assert bars.Bench(tmp_path).sized(500_000) == 500_000


def test_several_calls_take_turns():
    called = []
    found = measure.in_turns(
        2, lambda n: called.append(("a", n)), lambda n: called.append(("b", n))
    )
    assert called == [("a", 0), ("b", 0), ("b", 1), ("a", 1)]
    assert [len(each.cpu) for each in found] == [2, 2]


def test_bare_rows_are_those_that_an_add_wrote(tmp_path):
    base = bars_writing.keyword_base(tmp_path)
    source, bare = (prepared.scratch(tmp_path, base, name) for name in ("source", "bare"))
    with prepared.keyword_mesh(source) as mesh:
        [rows] = bare_rows.written_by(
            prepared.file_of(source), [lambda: mesh.add("tea at noon", {"team": "core"})]
        )
    db = bare_rows.connect(prepared.file_of(bare))
    bare_rows.write(db, rows)
    assert db.execute("SELECT content FROM text ORDER BY number DESC").fetchone() == (
        "tea at noon",
    )
    found = db.execute("SELECT rowid FROM live WHERE live MATCH 'noon'").fetchall()
    assert found == [db.execute("SELECT max(number) FROM text").fetchone()]
    db.close()
    tables = [statement.split()[-4] for statement, _ in bare_rows.text_alone(rows)]
    assert len(tables) == 2


def test_smoke_fails_above_the_recorded_figure_and_its_margin():
    recorded = {"a": 2.0, "b": 2.0}
    assert smoke.exceeded({"a": 2.4, "b": 2.6, "new": 9.0}, recorded, 1.25) == {"b"}


def test_every_recorded_figure_is_measured():
    recorded = json.loads(smoke.RECORD.read_text(encoding="utf-8"))
    assert set(recorded["ratios"]) == set(smoke._SIDES)


def test_statements_are_counted_without_those_inside_others(tmp_path):
    with smoke._counting() as counted:
        db = sqlite3.connect(tmp_path / "a.db")
        db.execute("CREATE VIRTUAL TABLE words USING fts5 (terms)")
        counted[0] = 0
        db.execute("SELECT * FROM words WHERE words MATCH 'tea'").fetchall()
        db.close()
    assert counted == [1]


@pytest.mark.parametrize("given", [1_000])
def test_a_prepared_store_is_continued_and_made_anew_for_another_mixture(tmp_path, given):
    folder = prepared.keyword_only(tmp_path, given // 2)
    with prepared.keyword_mesh(folder) as mesh:
        assert mesh.stats().memories == given // 2
    stamp = folder / "bench.json"
    found = json.loads(stamp.read_text(encoding="utf-8"))
    stamp.write_text(json.dumps(found | {"mixture": 0}), encoding="utf-8")
    assert not prepared._fits(folder)
