"""Our own sets keep what their README promises: counts, gold, and nobody's personal data."""

import json
from collections import Counter
from datetime import datetime
from functools import cache
from pathlib import Path

import pytest

from memory_mesh.privacy import NamespaceRedactor

SETS = Path(__file__).resolve().parents[3] / "bench" / "sets"
NAMES = ("languages", "aliases", "temporal")
LANGUAGES = ("chinese", "japanese", "korean", "german", "arabic", "spanish")
CODE = ("identifiers", "paths", "errors")
PERIODS = {
    *("absolute", "month", "season", "relative-days"),
    *("relative-weeks", "quarter", "range", "weekday"),
}

each_set = pytest.mark.parametrize("name", NAMES)


@cache
def rows(name, part):
    text = (SETS / name / f"{part}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def records(name):
    return rows(name, "corpus")


def questions(name):
    return rows(name, "queries")


def repeated(values):
    return [value for value, count in Counter(values).items() if count > 1]


@each_set
def test_every_row_has_the_fields_of_the_neutral_form(name):
    record_fields = {"id", "tenant", "session", "ord", "text", "speaker", "timestamp"}
    question_fields = {"id", "tenant", "text", "category", "gold", "answer", "question_date"}
    assert all(record_fields <= set(record) for record in records(name))
    assert all(question_fields <= set(question) for question in questions(name))
    texts = [row["text"] for row in [*records(name), *questions(name)]]
    assert all(text and text == text.strip() for text in texts)


@each_set
def test_ids_are_unique(name):
    assert repeated(record["id"] for record in records(name)) == []
    assert repeated(question["id"] for question in questions(name)) == []


@each_set
def test_every_question_has_gold_and_all_of_it_is_in_its_own_tenant(name):
    tenant_of = {record["id"]: record["tenant"] for record in records(name)}
    for question in questions(name):
        assert question["gold"], question["id"]
        assert repeated(question["gold"]) == []
        assert {tenant_of.get(gold) for gold in question["gold"]} == {question["tenant"]}


@each_set
def test_no_text_is_twice_in_a_tenant(name):
    for part in ("corpus", "queries"):
        assert repeated((row["tenant"], row["text"].casefold()) for row in rows(name, part)) == []


@each_set
def test_every_tenant_that_is_asked_has_more_than_fifty_records(name):
    pools = Counter(record["tenant"] for record in records(name))
    assert all(pools[question["tenant"]] > 50 for question in questions(name))


@each_set
def test_records_are_numbered_within_their_tenant_and_carry_a_time(name):
    for tenant in {record["tenant"] for record in records(name)}:
        mine = [record for record in records(name) if record["tenant"] == tenant]
        assert [record["ord"] for record in mine] == list(range(len(mine)))
        times = [datetime.fromisoformat(record["timestamp"]) for record in mine]
        assert all(time.tzinfo is not None for time in times)
        assert times == sorted(times)


@each_set
def test_the_readme_states_the_counts(name):
    readme = (SETS / name / "README.md").read_text(encoding="utf-8")
    assert f"{len(records(name))} records, {len(questions(name))} questions" in readme
    assert "Licence: MIT" in readme


@each_set
def test_nothing_in_a_set_looks_like_personal_data_or_a_secret(name):
    redactor = NamespaceRedactor(b"0" * 32, "sets")
    texts = [row["text"] for row in [*records(name), *questions(name)]]
    texts += [alias for record in records(name) for alias in record.get("aliases", [])]
    assert [text for text in texts if redactor.find(text)] == []


def test_each_language_and_kind_has_enough_records_and_both_sorts_of_question():
    pools = Counter(record["tenant"] for record in records("languages"))
    asked = Counter(question["tenant"] for question in questions("languages"))
    sorts = Counter(question["category"] for question in questions("languages"))
    assert set(pools) == {*LANGUAGES, *CODE}
    assert min(pools.values()) >= 60
    assert min(asked.values()) >= 36
    assert set(sorts) == {f"{tenant}-{sort}" for tenant in pools for sort in ("same", "varied")}
    assert min(sorts.values()) >= 12
    assert sum(asked.values()) >= 320


def test_a_question_of_the_languages_is_never_its_record():
    text_of = {record["id"]: record["text"] for record in records("languages")}
    for question in questions("languages"):
        assert all(question["text"] != text_of[gold] for gold in question["gold"])


def test_a_stated_alias_is_in_the_question_and_not_in_the_record():
    record_of = {record["id"]: record for record in records("aliases")}
    for question in questions("aliases"):
        (gold,) = question["gold"]
        record = record_of[gold]
        said = [
            alias
            for alias in record.get("aliases", [])
            if alias.casefold() in question["text"].casefold()
        ]
        assert bool(said) == (question["category"] == "stated"), question["id"]
        assert all(alias.casefold() not in record["text"].casefold() for alias in said)


def test_aliases_has_enough_of_both_categories():
    sorts = Counter(question["category"] for question in questions("aliases"))
    assert set(sorts) == {"common", "stated"}
    assert min(sorts.values()) >= 20
    assert sum(sorts.values()) >= 60
    assert len(records("aliases")) >= 120


def test_the_gold_of_a_time_is_every_record_of_its_topic_in_its_period():
    for question in questions("temporal"):
        first, last = question["period"]
        inside = [
            record["id"]
            for record in records("temporal")
            if (record["tenant"], record["topic"]) == (question["tenant"], question["topic"])
            and first <= record["timestamp"][:10] <= last
        ]
        assert question["gold"] == inside, question["id"]


def test_no_answer_lies_after_its_question_and_a_rival_lies_outside_the_period():
    time_of = {record["id"]: record["timestamp"] for record in records("temporal")}
    topics = Counter((record["tenant"], record["topic"]) for record in records("temporal"))
    for question in questions("temporal"):
        assert all(time_of[gold] < question["question_date"] for gold in question["gold"])
        assert topics[question["tenant"], question["topic"]] > len(question["gold"])


def test_temporal_spans_two_years_and_has_enough_of_every_category():
    times = [datetime.fromisoformat(record["timestamp"]) for record in records("temporal")]
    sorts = Counter(question["category"] for question in questions("temporal"))
    assert (max(times) - min(times)).days >= 700
    assert set(sorts) == PERIODS
    assert min(sorts.values()) >= 5
    assert sum(sorts.values()) >= 60
    assert len(records("temporal")) >= 150
