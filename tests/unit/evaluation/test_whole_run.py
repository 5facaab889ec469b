"""Whole runs over small sets of our own, through the real store and search."""

import gzip
import json
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from memory_mesh import evaluation
from memory_mesh.evaluation import results, whole_run
from memory_mesh.evaluation.report import EvaluationReport
from memory_mesh.model import Embedding, Space
from memory_mesh.model.errors import InvalidInput, MeshError, NotFound, StoreIsBusy

FACTS = (
    "Ann drinks green tea", "Ben repairs clocks", "Cleo paints harbours", "Dan grows tomatoes",
    "Eve plays the oboe", "Finn studies beetles",
)  # fmt: skip
ASKED = (
    "Who drinks tea?", "Who repairs clocks?", "Who paints harbours?", "Who grows tomatoes?",
    "Who plays the oboe?", "Who studies beetles?",
)  # fmt: skip
SUITE = evaluation.Suite(name="small", ks=(1, 3), counts="R@1")


class Letters:
    """An embedder by letters: the same text has the same vector everywhere."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        self.texts += [] if query else texts
        vectors = []
        for text in texts:
            counts = [text.lower().count(letter) + 0.01 for letter in "abcdefghijklmnop"]
            size = sum(count * count for count in counts) ** 0.5
            vectors.append((array("f", [count / size for count in counts]).tobytes(),))
        return Embedding(Space("test", "letters", "1", 16, 256), tuple(vectors))

    def close(self) -> None:
        """Nothing is open."""


def write_set(folder: Path, corpus: Sequence[object], queries: Sequence[object]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in (("corpus", corpus), ("queries", queries)):
        text = "".join(json.dumps(value) + "\n" for value in values)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Two tenants, each with every fact in a session of its own; and a question without answer."""
    corpus = [
        {"id": f"{tenant}/{at}", "tenant": tenant, "session": f"s{at}", "ord": at, "text": fact}
        for tenant in ("x", "y")
        for at, fact in enumerate(FACTS)
    ]
    queries: list[Mapping[str, object]] = [
        {"id": f"{tenant}/q{at}", "tenant": tenant, "text": text, "category": "abc"[at // 2],
         "gold": [f"{tenant}/{at}"]}
        for tenant in ("x", "y")
        for at, text in enumerate(ASKED)
    ]  # fmt: skip
    nothing = {"id": "x/none", "tenant": "x", "text": "zebra xylophone", "category": "none"}
    return write_set(tmp_path / "set", corpus, [*queries, {**nothing, "gold": []}])


def rows_of(work: Path, report: EvaluationReport, system: str = "mesh", split: str = "all"):
    return {
        row.id: row for row in results.read(work / report.suite / report.results)[system][split]
    }


def test_a_run_stores_asks_and_says_how_much_was_found(people: Path, tmp_path: Path) -> None:
    report = evaluation.run(SUITE, data=people, work=tmp_path / "work")
    found = report.systems["mesh"]["all"]
    assert found["n"] == 13
    assert found["goldless"] == 1
    assert report.figure("mesh", "all", "R@1") == 1.0
    assert found["at_default"] == {"precision": 1.0, "recall": 1.0, "silent": 1.0}
    assert report.values["records"] == {"stored": 12}
    assert report.values["embedder"] is None
    row = rows_of(tmp_path / "work", report)["y/q3"]
    assert (row.ranked[0], row.gold, row.pool, row.tenant) == ("y/3", ("y/3",), 6, "y")
    assert row.ms is not None
    assert row.tokens is not None
    assert row.ms > 0 < row.tokens


def test_several_systems_are_compared_pair_by_pair(people: Path, tmp_path: Path) -> None:
    report = evaluation.run(
        SUITE, data=people, work=tmp_path / "work", systems=["mesh", "keyword", "rrf"]
    )
    assert list(report.systems) == ["mesh", "keyword", "rrf"]
    pairs = {(each["system"], each["against"], each["metric"]) for each in report.paired}
    assert ("mesh", "keyword", "R@1") in pairs
    assert ("mesh", "rrf", "MRR") in pairs
    assert all(each["difference"] == 0 for each in report.paired)


def test_records_that_became_one_memory_are_found_together(tmp_path: Path) -> None:
    said = [*FACTS, FACTS[0]]
    corpus = [{"id": f"r{at}", "text": text, "session": "s"} for at, text in enumerate(said)]
    query = {"id": "q", "text": ASKED[0], "gold": ["r6", "r3"]}
    data = write_set(tmp_path / "set", corpus, [query])
    report = evaluation.run(SUITE, data=data, work=tmp_path / "work")
    row = rows_of(tmp_path / "work", report)["q"]
    assert report.values["records"] == {"stored": 6, "merged": 1}
    assert row.ranked[0] == "r0"
    assert row.gold == ("r0", "r3")
    assert row.pool == 6
    assert report.figure("mesh", "all", "R@1") == 0.5


def test_a_session_is_found_by_its_best_record(tmp_path: Path) -> None:
    corpus = [
        {"id": f"r{at}", "text": text, "session": f"s{at // 2}"} for at, text in enumerate(FACTS)
    ]
    query = {"id": "q", "text": ASKED[3], "gold": ["r2"], "gold_sessions": ["s1"]}
    data = write_set(tmp_path / "set", corpus, [query])
    suite = evaluation.Suite(name="small", unit="session", ks=(1,), counts="R@1")
    report = evaluation.run(suite, data=data, work=tmp_path / "work")
    row = rows_of(tmp_path / "work", report)["q"]
    assert (row.ranked[0], row.gold, row.pool) == ("s1", ("s1",), 3)
    assert len(row.ranked) == len(set(row.ranked))


def test_a_question_as_of_a_moment_sees_nothing_later(tmp_path: Path) -> None:
    said = [*FACTS, "Zoe drinks black tea"]
    corpus = [{"id": f"r{at}", "ord": at, "text": text} for at, text in enumerate(said)]
    queries = [
        {"id": "late", "text": "Who drinks tea?", "gold": ["r6"], "as_of_ord": 7},
        {"id": "early", "text": "Who drinks tea?", "gold": ["r0"], "as_of_ord": 4},
        {"id": "earliest", "text": "Who drinks tea?", "gold": [], "as_of_ord": 0},
        {"id": "any", "text": "Who drinks tea?", "gold": ["r6"]},
    ]
    data = write_set(tmp_path / "set", reversed_file(corpus), queries)
    suite = evaluation.Suite(name="small", ks=(1, 3), counts="R@1")
    report = evaluation.run(suite, data=data, work=tmp_path / "work")
    rows = rows_of(tmp_path / "work", report)
    assert rows["earliest"].ranked == ()
    assert rows["early"].ranked[0] == "r0"
    assert "r6" not in rows["early"].ranked
    assert {"r0", "r6"} <= set(rows["late"].ranked)
    assert {name: row.pool for name, row in rows.items()} == {
        "late": 7, "early": 4, "earliest": 0, "any": 7,
    }  # fmt: skip
    assert not list((tmp_path / "work" / "small").glob("as-of-*"))


def reversed_file(corpus: Sequence[object]) -> list[object]:
    """The order of the file must not matter: `ord` says when something was said."""
    return list(reversed(corpus))


def test_a_question_asks_in_its_own_scope(tmp_path: Path) -> None:
    where = (["domain:code"], ["domain:hobby"], ["domain:law"], ["user:universal"])
    corpus = [
        {"id": f"r{at}", "text": f"tea in place {at}", "scope": scope}
        for at, scope in enumerate(where)
    ]
    queries = [
        {"id": "code", "text": "tea", "gold": ["r0"], "scope": ["domain:code"]},
        {"id": "both", "text": "tea", "gold": [], "scope": ["domain:code", "domain:hobby"]},
        {"id": "none", "text": "tea", "gold": [], "scope": ["user:universal"]},
    ]
    data = write_set(tmp_path / "set", corpus, queries)
    suite = evaluation.Suite(name="small", ks=(1, 3), counts="P@R95")
    rows = rows_of(
        tmp_path / "work", evaluation.run(suite, data=data, work=tmp_path / "work")
    )  # fmt: skip
    assert {name: set(row.ranked) for name, row in rows.items()} == {
        "code": {"r0", "r3"}, "both": {"r0", "r1", "r3"}, "none": {"r3"},
    }  # fmt: skip


def test_what_is_superseded_pinned_or_a_guess_is_not_asked_for(tmp_path: Path) -> None:
    more: list[dict[str, object]] = [
        {}, {"superseded_by": "r0", "timestamp": "2020-01-01"}, {"pinned": True},
        {"status": "inferred"}, {"aliases": ["cup"]}, {}, {},
    ]  # fmt: skip
    corpus = [
        {"id": f"r{at}", "tenant": "t", "text": f"tea number {at}", **values}
        for at, values in enumerate(more)
    ]
    query = {"id": "q", "tenant": "t", "text": "tea", "gold": ["r0"], "category": "c"}
    data = write_set(tmp_path / "set", corpus, [query, {**query, "id": "q2"}])
    report = evaluation.run("precisionmembench", data=data, work=tmp_path / "work", split="all")
    row = rows_of(tmp_path / "work", report)["q"]
    assert set(row.ranked) == {"r0", "r4", "r5", "r6"}


# --- going on, and starting anew ------------------------------------------------------------------


class Stopped(Exception):
    """As if somebody had pressed a key."""


def test_an_interrupted_run_goes_on_where_it_was(people: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"

    def stop(what: str, done: int, of: int) -> None:
        if what == "asking y" and done == 10:
            raise Stopped

    with pytest.raises(Stopped):
        evaluation.run(SUITE, data=people, work=work, progress=stop)
    [folder] = (work / "small" / "results").iterdir()
    before = {file: file.read_text() for file in folder.iterdir()}
    assert sorted(text.count("\n") for text in before.values()) == [3, 7]
    half = next(file for file, text in before.items() if text.count("\n") == 3)
    half.write_text(before[half] + '{"id": "y/q3", "ten')

    asked: list[str] = []
    report = evaluation.run(
        SUITE, data=people, work=work, progress=lambda what, *_: asked.append(what)
    )
    assert set(asked) == {"asking y"}
    assert report.figure("mesh", "all", "R@1") == 1.0
    assert all(file.read_text().startswith(text) for file, text in before.items())
    assert half.read_text().count("\n") == 6


def test_a_store_is_kept_for_other_questions_of_it(people: Path, tmp_path: Path) -> None:
    told: list[str] = []
    work, progress = tmp_path / "work", lambda what, *_: told.append(what.split()[0])
    evaluation.run(SUITE, data=people, work=work, progress=progress)
    assert "storing" in told
    told.clear()
    evaluation.run(SUITE, data=people, work=work, progress=progress, systems=["rrf"])
    assert set(told) == {"asking"}
    told.clear()
    evaluation.run(SUITE, data=people, work=work, progress=progress, fresh=True)
    assert set(told) == {"storing", "asking"}


def test_other_data_is_stored_anew(people: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    evaluation.run(SUITE, data=people, work=work)
    corpus = people / "corpus.jsonl"
    corpus.write_text(corpus.read_text().replace("drinks green tea", "sleeps"))
    report = evaluation.run(SUITE, data=people, work=work)
    assert report.figure("mesh", "all", "R@1") == pytest.approx(10 / 12, abs=1e-4)


def test_two_runs_do_not_share_a_work_folder(people: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    with whole_run.alone(work / "small"), pytest.raises(StoreIsBusy, match="another evaluation"):
        evaluation.run(SUITE, data=people, work=work)


def test_vectors_are_computed_once(people: Path, tmp_path: Path) -> None:
    first, second = Letters(), Letters()
    work, vectors = tmp_path / "work", tmp_path / "kept.db"
    report = evaluation.run(SUITE, data=people, work=work, vectors=vectors, embedder=first)
    assert report.values["embedder"] == "test/letters/1/16, 256 tokens"
    evaluation.run(SUITE, data=people, work=work, vectors=vectors, embedder=second, fresh=True)
    assert len(first.texts) == len(FACTS)
    assert second.texts == []


# --- which questions ------------------------------------------------------------------------------


def test_a_sample_is_the_same_for_the_same_seed(people: Path, tmp_path: Path) -> None:
    def sampled(seed: int) -> list[str]:
        work = tmp_path / f"work{seed}"
        report = evaluation.run(SUITE, data=people, work=work, sample=3, seed=seed)
        return list(rows_of(work, report))

    first, other = sampled(1), sampled(5)
    assert len(first) == 3
    assert first == sampled(1)
    assert first != other


def test_only_the_tenants_of_a_sample_are_stored(people: Path, tmp_path: Path) -> None:
    report = evaluation.run(SUITE, data=people, work=tmp_path / "work", sample=1)
    assert report.values["records"] == {"stored": 6}


def test_a_split_is_asked_alone_and_all_shows_its_parts(people: Path, tmp_path: Path) -> None:
    suite = evaluation.Suite(
        name="small", ks=(1,), counts="R@1", splits={"dev": ("x",), "test": ()}
    )
    work = tmp_path / "work"
    report = evaluation.run(suite, data=people, work=work)
    assert {name: each["n"] for name, each in report.systems["mesh"].items()} == {"dev": 7}
    report = evaluation.run(suite, data=people, work=work, split="all")
    sizes = {name: each["n"] for name, each in report.systems["mesh"].items()}
    assert sizes == {"dev": 7, "test": 6, "all": 13}
    with pytest.raises(NotFound, match="dev, test, all"):
        evaluation.run(suite, data=people, work=work, split="other")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"gold": ["r0"]}, "with k = 3 everything would be found"),
        ({"gold": ["r9"]}, "'r9' is no record of all"),
        ({"gold": [], "stale": ["r9"]}, "'r9' is no record of all"),
    ],
)
def test_a_figure_that_would_mean_nothing_is_refused(tmp_path: Path, query, said) -> None:
    corpus = [{"id": f"r{at}", "text": text} for at, text in enumerate(FACTS[:3])]
    data = write_set(tmp_path / "set", corpus, [{"id": "q", "text": "tea?", **query}])
    with pytest.raises(InvalidInput) as caught:
        evaluation.run(SUITE, data=data, work=tmp_path / "work")
    assert said in str(caught.value)


def test_a_tenant_without_records_has_no_answer(people: Path, tmp_path: Path) -> None:
    with (people / "queries.jsonl").open("a") as file:
        file.write('{"id": "new", "tenant": "z", "text": "tea?", "gold": []}\n')
    report = evaluation.run(SUITE, data=people, work=tmp_path / "work")
    assert rows_of(tmp_path / "work", report)["new"].ranked == ()


# --- others, and earlier runs ---------------------------------------------------------------------


def ranking(folder: Path, *lines: Mapping[str, object]) -> Path:
    file = folder / "peer.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def test_another_system_joins_by_its_rankings(people: Path, tmp_path: Path) -> None:
    ids = [f"{tenant}/q{at}" for tenant in "xy" for at in range(6)]
    wrong = [{"id": id_, "ranked": [f"{id_[0]}/5"], "ms": 4.5} for id_ in ids]
    file = ranking(tmp_path, *wrong, {"id": "x/none", "ranked": [], "ms": 4.5})
    report = evaluation.run(SUITE, data=people, work=tmp_path / "work", added={"peer": file})
    assert list(report.systems) == ["mesh", "peer"]
    assert report.figure("peer", "all", "R@1") == pytest.approx(2 / 12, abs=1e-4)
    assert report.systems["peer"]["all"]["latency_ms"] == {"p50": 4.5, "p95": 4.5, "p99": 4.5}
    [difference] = [each for each in report.paired if each["metric"] == "R@1"]
    assert (difference["system"], difference["against"]) == ("mesh", "peer")
    assert difference["difference"] == pytest.approx(10 / 12, abs=1e-4)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"id": "x/q0", "ranked": []}, "peer has no ranking for the question 'x/q1'"),
        ({"id": "x/q0", "ranked": ["x/99"]}, "line 1: ranked: 'x/99' is no record of x"),
        ({"id": "x/q0", "ranked": ["x/1"], "scores": [1, 2]}, "line 1: scores must be as many"),
        ({"id": "x/q0", "ranked": ["x/1"], "scores": ["a"]}, "line 1: scores must be numbers"),
        ({"ranked": []}, "line 1: id must be a text"),
    ],
)
def test_rankings_that_do_not_fit_are_named(people: Path, tmp_path: Path, line, said) -> None:
    file = ranking(tmp_path, line)
    with pytest.raises(InvalidInput) as caught:
        evaluation.run(SUITE, data=people, work=tmp_path / "work", added={"peer": file})
    assert said in str(caught.value)


def test_a_run_is_held_against_an_earlier_one(people: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    first = evaluation.run(SUITE, data=people, work=work)
    corpus = people / "corpus.jsonl"
    corpus.write_text(corpus.read_text().replace("drinks green tea", "sleeps"))
    earlier = work / "small" / first.results
    report = evaluation.run(SUITE, data=people, work=work, baseline=earlier)
    [found] = [each for each in report.paired if each["metric"] == "R@1"]
    assert (found["system"], found["against"]) == ("mesh", "baseline mesh")
    assert found["difference"] == pytest.approx(-2 / 12, abs=1e-4)


def test_a_baseline_that_is_none_is_refused(people: Path, tmp_path: Path) -> None:
    broken = tmp_path / "small.results.jsonl.gz"
    broken.write_bytes(gzip.compress(b'{"system": "mesh"}\n'))
    for file in (broken, people / "corpus.jsonl", tmp_path / "nothing.gz"):
        with pytest.raises(MeshError, match="results"):
            evaluation.run(SUITE, data=people, work=tmp_path / "work", baseline=file)


def test_longmemeval_is_read_by_its_path(tmp_path: Path) -> None:
    history = {
        "question_id": "q1", "question_type": "user", "question": "Who drinks tea?",
        "answer": "Ann", "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": [f"s{at}" for at in range(6)],
        "haystack_dates": ["2023/05/20 (Sat) 02:21"] * 6,
        "haystack_sessions": [[{"role": "user", "content": fact}] for fact in FACTS],
        "answer_session_ids": ["s0"],
    }  # fmt: skip
    nothing = {**history, "question_id": "q2_abs", "question": "zebra"}
    file = tmp_path / "longmemeval.json"
    file.write_text(json.dumps([history, nothing]))
    with pytest.raises(InvalidInput, match="q1 has 6 sessions: with k = 10"):
        evaluation.run("longmemeval", data=file, work=tmp_path / "work")
    suite = evaluation.Suite(name="longmemeval", unit="session", ks=(1, 5), counts="R@5")
    report = evaluation.run(suite, data=file, work=tmp_path / "work")
    assert report.figure("mesh", "all", "R@1") == 1.0
    assert report.systems["mesh"]["all"]["goldless"] == 1
