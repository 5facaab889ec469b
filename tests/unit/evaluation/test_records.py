"""Sets and suites as files: what is read, and what is said of a line that cannot be."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_mesh.evaluation import load_records, records, suite
from memory_mesh.evaluation.records import EvaluationQuestion, EvaluationRecord
from memory_mesh.model import Scope
from memory_mesh.model.errors import InvalidInput, MeshError, NotFound


def written(file: Path, *values: object) -> Path:
    lines = [value if isinstance(value, str) else json.dumps(value) for value in values]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def folder_of(tmp_path: Path, corpus: list[object], queries: list[object]) -> Path:
    written(tmp_path / "corpus.jsonl", *corpus)
    written(tmp_path / "queries.jsonl", *queries)
    return tmp_path


RECORD = {"id": "r1", "tenant": "ann", "text": "tea"}
QUERY = {"id": "q1", "tenant": "ann", "text": "drink?", "gold": ["r1"]}


def test_a_set_is_read_with_everything_that_is_said(tmp_path: Path) -> None:
    said = {
        **RECORD, "session": "s", "ord": 3, "speaker": "Ann", "timestamp": "2024-05-01T10:00:00",
        "scope": ["domain:code"], "aliases": ["cup"], "pinned": True, "type": "preference",
        "superseded_by": "r2", "status": "inferred", "caption": "left alone",
    }  # fmt: skip
    asked = {**QUERY, "category": "x", "stale": ["r0"], "as_of_ord": 4, "gold_sessions": ["s"]}
    data = records.read(folder_of(tmp_path, [said, ""], [asked]))
    [(tenant, [record])] = data.tenants({"ann"})
    assert tenant == "ann"
    assert record == EvaluationRecord(
        id="r1", text="tea", tenant="ann", session="s", order=3, speaker="Ann",
        occurred_at=datetime(2024, 5, 1, 10, tzinfo=UTC), scopes=("domain:code",), tags=("cup",),
        pinned=True, type="preference", superseded_by="r2", status="inferred",
    )  # fmt: skip
    assert data.questions == (
        EvaluationQuestion(
            id="q1", text="drink?", tenant="ann", category="x", gold=("r1",), stale=("r0",),
            as_of_order=4, gold_sessions=("s",),
        ),
    )  # fmt: skip


def test_records_may_call_their_fields_otherwise(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, [{"key": "r1", "body": "tea"}], [{"id": "q1", "text": "drink?"}])
    data = records.read(folder, {"id": "key", "text": "body"})
    [(_, [record])] = data.tenants({"all"})
    assert (record.id, record.text, record.tenant) == ("r1", "tea", "all")


@pytest.mark.parametrize(
    ("corpus", "queries", "said"),
    [
        ([RECORD, "{broken"], [QUERY], "corpus.jsonl, line 2: no JSON"),
        ([RECORD, "[]"], [QUERY], "corpus.jsonl, line 2: the line must be a JSON object"),
        ([{**RECORD, "text": None}], [QUERY], "corpus.jsonl, line 1: text must be a text"),
        ([{**RECORD, "ord": "3"}], [QUERY], "corpus.jsonl, line 1: ord must be a whole number"),
        ([{**RECORD, "timestamp": "May"}], [QUERY], "line 1: timestamp must be an ISO 8601 time"),
        ([{**RECORD, "pinned": "yes"}], [QUERY], "line 1: pinned must be true or false"),
        ([RECORD, RECORD], [QUERY], "corpus.jsonl, line 2: id 'r1' is there twice"),
        ([RECORD], [QUERY, QUERY], "queries.jsonl, line 2: id 'q1' is there twice"),
        ([RECORD], [{**QUERY, "gold": [1]}], "queries.jsonl, line 1: gold must be a list of texts"),
        ([RECORD], [""], "queries.jsonl holds no question"),
        ([RECORD], [{**QUERY, "question_date": "yesterday"}], "question_date must be an ISO 8601"),
        ([{**RECORD, "text": "\ud800"}], [QUERY], "line 1: text holds half a character"),
        ([RECORD], [{**QUERY, "tenant": "\ud800"}], "line 1: tenant holds half a character"),
        (
            [RECORD],
            [{**QUERY, "Scope": "a"}],
            "line 1: there is no 'Scope'; did you mean scope? Re",
        ),
        ([{**RECORD, "speakers": "a"}], [QUERY], "there is no 'speakers'; did you mean speaker?"),
        ([RECORD], [{**QUERY, "gold": ["\ud800"]}], "line 1: gold holds half a character"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, corpus, queries, said) -> None:
    with pytest.raises(InvalidInput) as caught:
        list(records.read(folder_of(tmp_path, corpus, queries)).tenants({"ann"}))
    assert said in str(caught.value)


def test_a_folder_without_a_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"corpus\.jsonl and queries\.jsonl"):
        records.read(tmp_path)


# --- how a record is stored -----------------------------------------------------------------------


def test_a_record_becomes_an_item_of_add_many() -> None:
    at = datetime(2024, 5, 1, tzinfo=UTC)
    record = EvaluationRecord(
        id="r1", text="tea", session="s", order=3, speaker="User", occurred_at=at, tags=("cup",),
        scopes=("domain:code",), pinned=True, type="preference", status="inferred",
    )  # fmt: skip
    assert load_records.item(record) == {
        "content": "tea", "key": "r1", "scope": Scope("code", None, "s"), "speaker": "User",
        "role": "user", "occurred_at": at, "order": 3, "tags": ("cup", "status:inferred"),
        "pinned": True, "metadata": {"type": "preference"},
    }  # fmt: skip


def test_what_is_superseded_is_no_longer_valid() -> None:
    at = datetime(2024, 5, 1, tzinfo=UTC)
    for said, second in ((at, (2024, 5, 1)), (None, (1970, 1, 1))):
        item = load_records.item(
            EvaluationRecord(id="r", text="t", occurred_at=said, superseded_by="r2")
        )
        assert item["valid_until"] == datetime(*second, 0, 0, 1, tzinfo=UTC)


def test_what_is_for_everyone_has_no_project_and_a_name_no_role() -> None:
    item = load_records.item(
        EvaluationRecord(id="r", text="t", speaker="Ann", scopes=("user:universal",))
    )
    assert item == {"content": "t", "key": "r", "scope": Scope(), "speaker": "Ann"}


# --- LongMemEval ----------------------------------------------------------------------------------

HISTORY = {
    "question_id": "e47", "question_type": "single-session-user", "question": "Which bike?",
    "answer": "a blue one", "question_date": "2023/05/30 (Tue) 23:40",
    "haystack_session_ids": ["s1", "answer_s2", "s1"],
    "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00", "2023/05/22"],
    "haystack_sessions": [
        [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}],
        [{"role": "user", "content": "I bought a blue bike", "has_answer": True}],
        [{"role": "user", "content": "Hello again"}],
    ],
    "answer_session_ids": ["answer_s2"],
}  # fmt: skip


def test_each_question_of_longmemeval_is_a_tenant(tmp_path: Path) -> None:
    nothing = {**HISTORY, "question_id": "e48_abs"}
    data = suite.read_longmemeval(
        written(tmp_path / "s.json", json.dumps([HISTORY, nothing], indent=1))
    )
    answered, silent = data.questions
    assert (answered.tenant, answered.gold) == ("e47", ("answer_s2_1",))
    assert answered.gold_sessions == ("answer_s2",)
    assert (silent.gold, silent.gold_sessions) == ((), ())
    found = dict(data.tenants({"e48_abs"}))
    assert list(found) == ["e48_abs"]
    assert [record.id for record in found["e48_abs"]] == ["s1_1", "s1_2", "answer_s2_1", "s1#2_1"]
    assert [record.order for record in found["e48_abs"]] == [0, 1, 2, 3]
    assert found["e48_abs"][0].occurred_at == datetime(2023, 5, 20, 2, 21, tzinfo=UTC)
    assert found["e48_abs"][0].speaker == "user"
    assert answered.asked_at == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)


def test_a_long_file_is_read_piece_by_piece(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(suite, "_BLOCK", 7)
    many = [{**HISTORY, "question_id": f"q{number}"} for number in range(3)]
    data = suite.read_longmemeval(written(tmp_path / "s.json", f"  {json.dumps(many)}"))
    assert [question.id for question in data.questions] == ["q0", "q1", "q2"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1}', "must be a JSON list"),
        ("[", "must be a JSON list"),
        ("[]", "holds no question"),
        ('[{"question_id": 1}]', "question 1: question_id must be a text"),
        (json.dumps([HISTORY]) [:-2], "must be a JSON list"),
        (json.dumps([{**HISTORY, "haystack_dates": []}]), "with an id and a date for each"),
        (json.dumps([{**HISTORY, "haystack_dates": ["May"] * 3}]), "haystack_dates must be a date"),
        (json.dumps([{**HISTORY, "question_date": "2023-05-30"}]), "question_date must be a date"),
        (json.dumps([{**HISTORY, "question_date": "2023/02/30"}]), "question_date must be a date"),
        (json.dumps([HISTORY, HISTORY]), "question 2: question_id 'e47' is there twice"),
        (json.dumps([{**HISTORY, "haystack_sessions": [[{}], [], []]}]), "content must be a text"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_longmemeval_is_refused(tmp_path: Path, text, said) -> None:
    with pytest.raises(InvalidInput) as caught:
        suite.read_longmemeval(written(tmp_path / "s.json", text))
    assert said in str(caught.value)


# --- suites ---------------------------------------------------------------------------------------

SPLITS = {
    "locomo": {
        "dev": {"conv-26", "conv-30", "conv-41", "conv-42"},
        "test": {"conv-43", "conv-44", "conv-47", "conv-48", "conv-49", "conv-50"},
    },
    "beam100k": {
        "dev": {f"beam100K-{number}" for number in range(1, 9)},
        "test": {f"beam100K-{number}" for number in range(9, 21)},
    },
    "realmem": {
        "dev": {"Kim_Ji_young", "Sophie_Dubois", "Ethan_Hunt", "Sarah_Miller"},
        "test": {"Liam_O_Connor", "Pak_Budi"},
    },
    "mab_conflict": {
        "dev": {"factconsolidation_sh_6k", "factconsolidation_sh_32k"},
        "test": {"factconsolidation_sh_64k", "factconsolidation_sh_262k"},
    },
}


@pytest.mark.parametrize("name", SPLITS)
def test_the_splits_of_a_known_set_are_fixed(name: str) -> None:
    tenants = sorted(set.union(*SPLITS[name].values()))
    asked = [EvaluationQuestion(id=tenant, text="?", tenant=tenant) for tenant in tenants]
    parts = suite.split(suite.load(name), asked)
    found = {part: {question.tenant for question in parts[part]} for part in parts if part != "all"}
    assert found == SPLITS[name]


def test_half_of_each_category_is_for_tuning() -> None:
    asked = [
        EvaluationQuestion(id=f"{category}{number}", text="?", category=category)
        for number in range(3)
        for category in "abc"[: 3 - number]
    ]
    parts = suite.split(suite.load("precisionmembench"), asked)
    assert {part: [question.id for question in found] for part, found in parts.items()} == {
        "dev": ["a0", "b0"],
        "test": ["c0", "a1", "b1", "a2"],
        "all": ["a0", "b0", "c0", "a1", "b1", "a2"],
    }


def test_categories_can_be_left_out() -> None:
    asked = [
        EvaluationQuestion(id=category, text="?", tenant="conv-26", category=category)
        for category in ("temporal", "adversarial")
    ]
    assert [question.id for question in suite.split(suite.load("locomo"), asked)["all"]] == [
        "temporal"
    ]


def test_every_suite_that_comes_along_can_be_loaded() -> None:
    known = suite.builtin()
    own = {"languages", "aliases", "temporal", "notes", "personal", "documents"}
    assert set(known) == {*SPLITS, *own, "precisionmembench", "longmemeval"}
    page = Path(__file__).resolve().parents[3] / "docs/reference/evaluation.md"
    assert all(f"`{name}`" in page.read_text(encoding="utf-8") for name in known)
    for name, about in known.items():
        loaded = suite.load(name)
        assert loaded.name == name
        assert about
        assert loaded.options("mesh")["across"] == ("session",)


def test_a_system_is_search_with_other_options() -> None:
    loaded = suite.load("locomo")
    everything = {"across": ("session",), "min_relevance": 0.0}
    assert loaded.options("mesh") == {"limit": 100, **everything}
    assert loaded.options("keyword")["keyword_only"] is True
    assert loaded.options("rrf") == {"limit": 10, "profile": "rrf", **everything}
    with pytest.raises(NotFound, match="mesh, keyword, rrf"):
        loaded.options("other")


def test_a_suite_may_name_systems_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("systems: {wide: {limit: 20, across: project}}\nk: 3\n", encoding="utf-8")
    loaded = suite.load(file)
    assert (loaded.name, loaded.ks, loaded.counts) == ("mine", (3,), "R@3")
    assert loaded.options("wide") == {"limit": 20, "across": ("project",), "min_relevance": 0.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a", "must be a mapping"),
        ("a: [", "not valid YAML"),
        ("colour: red", "there is no 'colour' in a suite"),
        ("unit: word", "unit must be record or session"),
        ("k: [0]", "k must be whole numbers from 1 to 100"),
        ("k: []", "k must be a list"),
        ("counts: R@7", "counts must be one of: R@5"),
        ("splits: [a]", "splits must be 'halves of each category'"),
        ("splits: {all: [a]}", "cannot be called all"),
        (
            "name: a\nasks: {}",
            "line 2: there is no 'asks' in a suite; did you mean ask? Al",
        ),
        ("k: 1\nname: a\nk: 2", "line 3: k is there twice"),
        ("k: &a [*a]", "contains itself"),
        (
            "ask: {colour: red}",
            "line 1: there is no 'colour' in the options of search. All",
        ),
        ("systems:\n  wide:\n    limits: 5", "line 3: there is no 'limits' in the options of sea"),
        ("ask: {limit: 0}", "limit must be a whole number"),
        ("ask: {filter: pinned is}", "ask Filter, position 10"),
        ("records: {colour: red}", "records may say how these are called"),
        ("min_relevance: 2", "min_relevance must be a number from 0 to 1"),
        ("store: here", "questions go with a store"),
        ("store: here\nquestions: [{expect: [a]}]", "line 2: questions: number 1 must have ask"),
        (
            "store: here\nquestions:\n- ask: a\n  expects: [b]",
            "line 4: there is no 'expects' in a question; did you mean expect? Allowed: ask, cate",
        ),
        ("store: s\nquestions:\n- ask: a\n  expect: {b: c}", "line 4: questions: number 1: expect"),
        (
            "store: s\nquestions:\n- ask: a\n  expect: ['']",
            "line 4: questions: number 1 expect mu",
        ),
        ("name: a/b", "name has letters"),
    ],
)
def test_a_suite_that_makes_no_sense_is_refused(tmp_path: Path, text, said) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(MeshError) as caught:
        suite.load(file)
    assert said in str(caught.value)


@pytest.mark.parametrize("named", ["../locomo", "nothing", "nothing.yaml"])
def test_a_suite_that_is_not_there_is_named(named: str) -> None:
    with pytest.raises(NotFound, match="there is no suite"):
        suite.load(named)
