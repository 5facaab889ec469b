"""The walker: it sees calls, statements and transactions, and notices a call that goes up."""

import gc
import logging
import sqlite3
from typing import Any

import pytest

from tools import walk


@pytest.fixture(scope="module")
def walks():
    return walk.walk_all(None)


def test_a_search_by_keyword_is_one_read_transaction(walks):
    assert [walked.transactions for walked in walks] == [
        {"read": 0, "write": 1},
        {"read": 1, "write": 0},
        {"read": 1, "write": 0},
        {"read": 3, "write": 0},  # of a pack: what is pinned, and the records of what was packed
    ]


def test_a_cached_answer_costs_one_statement_and_its_transaction(walks):
    statements = [sql for _, place, sql in walks[2].calls if place.startswith("SQL")]
    assert [sql.split()[0] for sql in statements] == ["BEGIN", "SELECT", "COMMIT"]


def test_no_search_asks_the_same_statement_twice(walks):
    statements = [sql for _, place, sql in walks[1].calls if place.startswith("SQL")]
    visible = [sql for sql in statements if not sql.startswith("SELECT v.text, v.number")]
    assert len(visible) == len(set(visible))


def test_no_call_goes_up_but_the_callbacks(walks):
    assert [walked.broken for walked in walks] == [[], [], [], []]
    assert any("decides inside" in why for why in walks[0].ups.values())


def test_a_listener_to_the_log_is_no_part_of_a_walk(caplog):
    with caplog.at_level(logging.DEBUG):
        walked = walk.walk_all(None)
    assert [each.broken for each in walked] == [[], [], [], []]
    assert not logging.getLogger("memory_mesh").disabled


def test_a_call_that_goes_up_is_told(tmp_path):
    recorder = walk.Recorder(tmp_path, {"policy": 1, "flows": 0})
    low = "def decide(act):\n    act()\n"
    high = "def act():\n    pass\n"
    scope: dict[str, Any] = {}
    for name, source in (("policy.py", low), ("flows.py", high)):
        exec(compile(source, str(tmp_path / name), "exec"), scope)
    with recorder.recording("up") as walked:
        scope["decide"](scope["act"])
    assert walked.broken == ["policy.py decide calls flows.py act"]


def test_what_the_garbage_collector_runs_is_no_part_of_a_walk(tmp_path):
    recorder = walk.Recorder(tmp_path, {"policy": 1, "flows": 0})
    scope: dict[str, Any] = {}
    low = "def decide(make):\n    return [make() for _ in range(100)]\n"
    high = "class Left:\n    def __del__(self):\n        pass\n"
    for name, source in (("policy.py", low), ("flows.py", high)):
        exec(compile(source, str(tmp_path / name), "exec"), scope)

    def leave():
        left = scope["Left"]()
        left.itself = left

    usual = gc.get_threshold()
    gc.set_threshold(1)
    try:
        with recorder.recording("collecting") as walked:
            scope["decide"](leave)
        assert gc.isenabled()
    finally:
        gc.set_threshold(*usual)
    assert walked.broken == []
    assert {function for _, function in walked.functions} == {"decide"}


def test_statements_belong_to_their_transaction(tmp_path):
    recorder = walk.Recorder(tmp_path, {})
    with recorder.tracing_sql():
        db = sqlite3.connect(":memory:", isolation_level=None)
    with recorder.recording("transactions") as walked:
        for sql in ("SELECT 1", "BEGIN", "SELECT 2", "COMMIT", "BEGIN IMMEDIATE", "COMMIT"):
            db.execute(sql)
    db.close()
    assert walked.transactions == {"read": 1, "write": 1}
    assert [transaction for transaction, _ in walked.root.statements] == [
        *("alone", "read 1", "read 1", "read 1"),
        *("write 1", "write 1"),
    ]
