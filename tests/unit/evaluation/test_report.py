"""Reports as files, and two of them side by side."""

import builtins
import json
import math
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from memory_mesh.base.installed import install_command
from memory_mesh.base.typed import replace
from memory_mesh.evaluation import report_files, results
from memory_mesh.evaluation.one_question import QuestionResult
from memory_mesh.evaluation.report import EvaluationReport, Facts, build, check
from memory_mesh.evaluation.suite import Suite
from memory_mesh.evaluation.whole_run import compare
from memory_mesh.model.errors import InvalidInput, NotFound

SUITE = Suite(name="small", ks=(1,), counts="R@1")


def rows(found: str) -> list[QuestionResult]:
    """A question for each sign, in two conversations; + is found."""
    return [
        QuestionResult(
            id=str(at), tenant=f"t{at % 2}", category="ab"[at % 2], gold=("x",), pool=9, limit=9,
            ranked=("x",) if sign == "+" else ("y",), scores=(0.5,), ms=2.0, tokens=7,
        )
        for at, sign in enumerate(found)
    ]  # fmt: skip


def report_of(ours: str = "+++-", theirs: str = "+---", file: str = "r") -> EvaluationReport:
    facts = Facts(
        command="memory-mesh eval run small", date="2026-01-01T00:00:00+00:00", version="0",
        commit=("abc", False), seed=1, sample=None, embedder=None, data_digest="d", records={},
        results=file,
    )  # fmt: skip
    return build(SUITE, facts, {"mesh": {"dev": rows(ours)}, "peer": {"dev": rows(theirs)}}, {})


def test_a_report_has_the_keys_that_are_promised() -> None:
    values = report_of().values
    promised = {
        "suite", "date", "commit", "dirty", "seed", "command", "embedder", "unit", "data_digest",
        "systems", "paired",
    }  # fmt: skip
    assert promised <= values.keys()
    found = report_of().systems["mesh"]["dev"]
    assert (found["n"], found["R@1"], found["MRR"]) == (4, 0.75, 0.75)
    assert {"by_category", "latency_ms", "tokens", "intervals", "P@R95"} <= found.keys()
    difference = report_of().paired[0]
    assert difference == {
        "split": "dev", "metric": "R@1", "system": "mesh", "against": "peer", "difference": 0.5,
        "questions": difference["questions"], "conversations": difference["conversations"],
    }  # fmt: skip
    assert isinstance(difference["questions"], Sequence)
    low, high = difference["questions"]
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert 0 <= low <= 0.5 <= high <= 1


def test_a_report_is_written_in_every_form(tmp_path: Path) -> None:
    assert report_files.write(report_of(), tmp_path, {"R@1": 0.7}, "dev") == []
    assert {file.name for file in tmp_path.iterdir()} == {
        "small.json", "small.md", "small.junit.xml", "small.svg", "small.png",
    }  # fmt: skip
    assert EvaluationReport.read(tmp_path / "small.json").figure("mesh", "dev", "R@1") == 0.75
    page = (tmp_path / "small.md").read_text(encoding="utf-8")
    assert "| mesh | 4 | 0.750 |" in page
    assert "| dev | R@1 | mesh | peer | +0.500 |" in page
    assert "![R@1](small.svg)" in page
    assert (tmp_path / "small.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "small.svg").read_text(encoding="utf-8")


def test_without_the_extra_all_but_the_chart_is_written(tmp_path: Path, monkeypatch) -> None:
    given = builtins.__import__

    def without(name: str, *more: object, **options: object) -> object:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return given(name, *more, **options)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(builtins, "__import__", without)
    [line] = report_files.write(report_of(), tmp_path, {}, "dev")
    assert install_command("eval") in line
    assert {file.suffix for file in tmp_path.iterdir()} == {".json", ".md", ".xml"}
    assert "svg" not in (tmp_path / "small.md").read_text(encoding="utf-8")


def test_a_bound_is_a_test_case(tmp_path: Path) -> None:
    report_files.write(report_of(), tmp_path, {"R@1": 0.75, "MRR": 0.9}, "dev")
    [suite] = ET.parse(tmp_path / "small.junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    held, broken = suite
    assert (held.get("classname"), held.get("name")) == ("small.mesh.dev", "R@1 >= 0.75")
    assert list(held) == []
    assert broken.get("name") == "MRR >= 0.9"
    assert broken[0].get("message") == "dev MRR: 0.7500, below 0.9"


def test_a_figure_that_could_not_be_taken_is_below_any_bound() -> None:
    [miss] = report_of("----").misses({"P@R95": 0.0}, "dev")
    assert str(miss) == "dev P@R95: nothing was measured, below 0"


def test_a_bound_on_no_figure_is_refused_before_anything_is_asked() -> None:
    check(SUITE, ["R@1", "MRR", "newest_above_stale", "P@R95", "n"])
    with pytest.raises(InvalidInput, match=r"no figure 'R@7'; there are: R@1, all@1, MRR"):
        check(SUITE, ["R@1", "R@7"])


@pytest.mark.parametrize(
    ("split", "metric", "bound"),
    [
        ("dev", "newest_above_stale", 0.0),  # no question has anything stale
        ("test", "R@1", 0.0),  # there is no such split
        ("dev", "R@1", math.nan),
    ],
)
def test_what_cannot_be_held_against_a_bound_is_below_it(split, metric, bound, tmp_path) -> None:
    assert len(report_of().misses({metric: bound}, split)) == 1
    report_files.write(report_of(), tmp_path, {metric: bound}, split)
    [suite] = ET.parse(tmp_path / "small.junit.xml").getroot()
    assert suite.get("failures") == "1"
    [[failure]] = suite
    assert failure.text == failure.get("message")


def test_names_of_others_do_not_break_a_table() -> None:
    report = report_of()
    named = EvaluationReport({**report.values, "systems": {"a|b\nc": report.systems["mesh"]}})
    assert r"| a\|b c | 4 | 0.750 |" in report_files.markdown(named)


def test_two_reports_are_compared_by_their_results(tmp_path: Path) -> None:
    for name, ours in (("before", "+--------"), ("after", "+++------")):
        folder = tmp_path / name
        folder.mkdir()
        kept = results.write(folder, "small", {"mesh": {"dev": rows(ours)}})
        report_files.write(report_of(ours, ours, kept.name), folder, {}, "dev")
    found = compare(tmp_path / "before/small.json", tmp_path / "after/small.json")
    by_name = {(each["system"], each["metric"]): each for each in found}
    mesh, peer = by_name["mesh", "R@1"], by_name["peer", "R@1"]
    assert (mesh["before"], mesh["after"], mesh["difference"]) == (0.1111, 0.3333, 0.2222)
    assert mesh["questions"] == [0.0, 0.5556]
    assert peer["difference"] == 0.2222
    assert peer["questions"] is None  # its answers were not kept


def test_reports_without_results_are_compared_by_their_figures(tmp_path: Path) -> None:
    for name, ours in (("before", "+-"), ("after", "++")):
        report_files.write(report_of(ours), tmp_path / name, {}, "dev")
    found = compare(tmp_path / "before/small.json", tmp_path / "after/small.json")
    assert found[0]["difference"] == 0.5
    assert found[0]["questions"] is None


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"suite": "x"}))
    with pytest.raises(InvalidInput, match="no report of an evaluation"):
        EvaluationReport.read(other)
    with pytest.raises(NotFound, match="there is no report"):
        EvaluationReport.read(tmp_path / "nothing.json")
    report_files.write(report_of(), tmp_path, {}, "dev")
    values = {**report_of().values, "suite": "another"}
    other.write_text(json.dumps(values))
    with pytest.raises(InvalidInput, match="one report is of small, the other of another"):
        compare(tmp_path / "small.json", other)


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    kept = {"mesh": {"dev": rows("+-"), "all": rows("+-+")}}
    assert results.read(results.write(tmp_path, "small", kept)) == kept


def test_an_id_may_hold_any_separator_of_lines(tmp_path: Path) -> None:
    [one] = rows("+")
    odd = [replace(one, id=f"a{mark}b", category=mark) for mark in "\u2028\x85\x1c\r\n"]
    kept = {"mesh": {"dev": odd}}
    assert results.read(results.write(tmp_path, "small", kept)) == kept
    going_on = tmp_path / "rows.jsonl"
    with going_on.open("a", encoding="utf-8") as opened:
        for each in odd:
            results.add(opened, each)
    assert list(results.kept(going_on).values()) == odd


def test_a_row_cut_within_a_letter_is_dropped(tmp_path: Path) -> None:
    first, second = rows("++")
    file = tmp_path / "rows.jsonl"
    with file.open("a", encoding="utf-8") as opened:
        results.add(opened, first)
        results.add(opened, replace(second, id="\u65e5"))
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.index("\u65e5".encode()) + 1])
    assert results.kept(file) == {"0": first}
    assert file.read_bytes() == whole[: whole.index(b"\n") + 1]
