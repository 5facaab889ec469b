"""When a question is asked, which answers are asked anew, and where a set is found."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from shutil import copytree

import pytest

from memory_mesh import evaluation
from memory_mesh.evaluation import results, whole_run
from memory_mesh.evaluation.all_questions import AskedAt
from memory_mesh.evaluation.one_question import QuestionResult
from memory_mesh.evaluation.report import EvaluationReport
from memory_mesh.evaluation.report_files import write
from memory_mesh.evaluation.whole_run import compare
from memory_mesh.model.errors import InvalidInput

SUITE = evaluation.Suite(name="small", ks=(1, 3), counts="R@1")
SETS = Path(__file__).resolve().parents[3] / "bench" / "sets"


def put(folder: Path, corpus: Sequence[object], queries: Sequence[object]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in (("corpus", corpus), ("queries", queries)):
        text = "".join(json.dumps(value) + "\n" for value in values)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def rows(work: Path, report: EvaluationReport) -> Mapping[str, QuestionResult]:
    kept = results.read(work / report.suite / report.results)
    return {row.id: row for row in kept["mesh"]["all"]}


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """The same report every day of a week; only the day that is asked for tells them apart."""
    corpus = [
        {"id": f"d{day}", "text": f"Report {day}: the harbour was closed at noon",
         "timestamp": f"2024-05-{day:02}T12:00:00Z"}
        for day in range(10, 17)
    ]  # fmt: skip
    asked = "When was the harbour closed yesterday?"
    queries = [
        {"id": day, "text": asked, "gold": [f"d{int(day) - 1}"],
         "question_date": f"2024-05-{day}T09:00:00Z"}
        for day in ("12", "15")
    ]  # fmt: skip
    return put(tmp_path / "set", corpus, queries)


def test_yesterday_is_counted_from_the_day_of_the_question(days: Path, tmp_path: Path) -> None:
    report = evaluation.run(SUITE, data=days, work=tmp_path / "work")
    found = rows(tmp_path / "work", report)
    assert {id_: row.ranked[0] for id_, row in found.items()} == {"12": "d11", "15": "d14"}
    assert report.figure("mesh", "all", "R@1") == 1.0


def test_as_of_a_moment_yesterday_is_the_day_before_as_well(days: Path, tmp_path: Path) -> None:
    queries = [json.loads(line) for line in (days / "queries.jsonl").read_text().splitlines()]
    corpus = [json.loads(line) for line in (days / "corpus.jsonl").read_text().splitlines()]
    put(
        days,
        [{**record, "ord": at} for at, record in enumerate(corpus)],
        [{**query, "as_of_ord": 6} for query in queries],
    )
    report = evaluation.run(SUITE, data=days, work=tmp_path / "work")
    assert report.figure("mesh", "all", "R@1") == 1.0
    assert {row.pool for row in rows(tmp_path / "work", report).values()} == {6}


def test_longmemeval_is_asked_on_its_own_day(tmp_path: Path) -> None:
    item = {
        "question_id": "q", "question_type": "t", "question": "Was the harbour closed yesterday?",
        "question_date": "2024/05/13 (Mon) 08:00",
        "haystack_session_ids": [f"s{day}" for day in range(10, 17)],
        "haystack_dates": [f"2024/05/{day} (Sat) 10:00" for day in range(10, 17)],
        "haystack_sessions": [
            [{"role": "user", "content": f"Report {day}: the harbour was closed"}]
            for day in range(10, 17)
        ],
        "answer_session_ids": ["s12"],
    }  # fmt: skip
    file = tmp_path / "longmemeval.json"
    file.write_text(json.dumps([item]))
    suite = evaluation.Suite(name="longmemeval", unit="session", ks=(1, 5), counts="R@5")
    report = evaluation.run(suite, data=file, work=tmp_path / "work")
    assert rows(tmp_path / "work", report)["q"].ranked[0] == "s12"


def test_without_a_moment_the_clock_is_that_of_the_day() -> None:
    clock = AskedAt()
    assert abs((datetime.now(UTC) - clock.now()).total_seconds()) < 60
    clock.moment = datetime(2024, 5, 1, tzinfo=UTC)
    assert clock.now() == datetime(2024, 5, 1, tzinfo=UTC)


# --- what is asked anew ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "anew"),
    [
        ("evaluation/all_questions.py", True),
        ("evaluation/one_question.py", True),
        ("evaluation/records.py", True),
        ("text/analyzer.py", True),
        ("evaluation/report.py", False),
        ("cli/commands/eval.py", False),
    ],
)
def test_only_code_that_answers_asks_anew(tmp_path: Path, monkeypatch, file, anew) -> None:
    package = whole_run._PACKAGE
    for part in ("evaluation", "text", "cli"):
        copytree(package / part, tmp_path / part)
    monkeypatch.setattr(whole_run, "_PACKAGE", tmp_path)
    before = whole_run.code_digest()
    with (tmp_path / file).open("a") as opened:
        opened.write("# another line\n")
    assert (whole_run.code_digest() != before) == anew


def test_what_a_killed_run_left_behind_is_cleared_away(days: Path, tmp_path: Path) -> None:
    left = tmp_path / "work" / "small" / "as-of-killed"
    left.mkdir(parents=True)
    (left / "store.db").write_bytes(b"half")
    evaluation.run(SUITE, data=days, work=tmp_path / "work")
    assert not left.exists()


def test_a_seed_that_nothing_can_be_drawn_from_is_refused_first(days: Path, tmp_path: Path) -> None:
    told: list[str] = []
    with pytest.raises(InvalidInput, match="a seed is"):
        evaluation.run(
            SUITE, data=days, work=tmp_path / "work", seed=-1,
            progress=lambda what, *_: told.append(what),
        )  # fmt: skip
    assert told == []


# --- baselines, rankings and sets -----------------------------------------------------------------


def test_a_baseline_of_other_questions_is_refused(days: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    first = evaluation.run(SUITE, data=days, work=work)
    write(first, tmp_path / "out", {}, "all")
    other = evaluation.Suite(name="other", ks=(1, 3), counts="R@1")
    with pytest.raises(InvalidInput, match="the baseline is of small, not of other"):
        evaluation.run(other, data=days, work=work, baseline=tmp_path / "out" / "small.json")
    queries = days / "queries.jsonl"
    queries.write_text(queries.read_text().replace('"id": "', '"id": "new'))
    with pytest.raises(InvalidInput, match="answers none of these questions"):
        evaluation.run(SUITE, data=days, work=work, baseline=work / "small" / first.results)


def test_reports_are_compared_by_the_results_of_the_usual_place(
    days: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    write(evaluation.run(SUITE, data=days), tmp_path / "out", {}, "all")
    report = tmp_path / "out" / "small.json"
    [found] = [each for each in compare(report, report) if each["metric"] == "R@1"]
    assert found["questions"] == [0.0, 0.0]


def test_a_ranking_says_how_much_was_asked_for(days: Path, tmp_path: Path) -> None:
    short = [{"id": id_, "ranked": ["d10"], "limit": 1} for id_ in ("12", "15")]
    file = tmp_path / "peer.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in short))
    report = evaluation.run(SUITE, data=days, work=tmp_path / "work", added={"peer": file})
    assert report.figure("peer", "all", "R@1") == 0.0
    assert report.figure("peer", "all", "R@3") is None


@pytest.mark.parametrize("score", ["NaN", "Infinity", "true", '"0.5"'])
def test_a_score_is_a_number(days: Path, tmp_path: Path, score: str) -> None:
    file = tmp_path / "peer.jsonl"
    lines = [f'{{"id": "{id_}", "ranked": ["d10"], "scores": [{score}]}}\n' for id_ in ("12", "15")]
    file.write_text("".join(lines))
    with pytest.raises(InvalidInput, match="line 1: scores must be numbers"):
        evaluation.run(SUITE, data=days, work=tmp_path / "work", added={"peer": file})


@pytest.mark.parametrize("name", ["languages", "aliases", "temporal"])
def test_a_set_that_comes_along_is_found_by_its_folder_and_by_that_of_all(
    name: str, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    one = evaluation.run(name, data=SETS / name, work=work, sample=4, systems=["keyword"])
    both = evaluation.run(name, data=SETS, work=work, sample=4, systems=["keyword"])
    assert one.values["data_digest"] == both.values["data_digest"]
    assert one.figure("keyword", "dev", one.counts) is not None
