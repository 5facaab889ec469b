"""The house check sees every breach of a rule, and nothing where a rule is kept."""

import ast

import pytest

from tools import house_check

COMMIT = "only write/, learn/ and care/ may write to a ledger"
USE = "only search/, context/ and those that write may note a use"
REDACTOR = "only write/prepare.py may use a redactor"
REDACT = "only write/prepare.py may redact"
SQLITE = "only ledgers/ may import sqlite3"
SQL = "only ledgers/ may hold SQL"


def whys(source, place="mesh/operations/x.py"):
    return [breach.partition(": ")[2] for breach in house_check.find_breaches(source, place)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("ledger.commit(namespace, wanted, decide)", [COMMIT]),
        ("self._opened().ledger.commit('n', wanted, decide=decide)", [COMMIT]),
        ("held = self.anything\nheld.commit(*arguments)", [COMMIT]),
        ("write = access.ledger.commit", [COMMIT]),
        ("run(self._ledger().commit, 'n')", [COMMIT]),
        ("opened.ledger.use(namespace, [id_], None)", [USE]),
        ("revision = workspace.commit()", []),
        ("print(results.commit)", []),
        ("text = redact(access.redactor, text)", [REDACTOR]),
        ("text = self._redactor", [REDACTOR]),
        ("made = opened.redactor('default')", [REDACTOR]),
        ("kept = redactor.text(text)", [REDACT]),
        ("scrub(text, redact=redactor.text)", [REDACT]),
        ("kept = make_redactor().json(value)", [REDACT]),
        ("kept = access.redactor.text(text)", [REDACT, REDACTOR]),
        ("kept = StoreRedactor(namespace, folder).text(text)", [REDACT]),
        ("kept = redact(access, draft.text)", []),
        ("import sqlite3", [SQLITE]),
        ("import json, sqlite3.dbapi2 as db", [SQLITE]),
        ("def f():\n    from sqlite3 import connect", [SQLITE]),
        ("import sqlite_utils", []),
        ("from . import sqlite3", []),
        ("read('SELECT id FROM memory')", [SQL]),
        ("read('select id '\n     'from memory')", [SQL]),
        ("read(f'SELECT {columns} FROM {table}')", [SQL]),
        ("read(f'{verb} INTO {table}', 'INSERT OR IGNORE INTO sink VALUES (?)')", [SQL]),
        ("ASKED = 'UPDATE store SET seq = 1'", [SQL]),
        ("ASKED = f'DELETE FROM {table}'", [SQL]),
        ("ASKED = 'CREATE VIRTUAL TABLE live USING fts5(terms)'", [SQL]),
        ("ASKED = 'PRAGMA user_version'", [SQL]),
        ("ASKED = 'BEGIN IMMEDIATE'", [SQL]),
        ('def f():\n    """Does what SELECT id FROM memory did."""', []),
        ("raise InvalidInput('select an id, then update it; delete the rest')", []),
    ],
)
def test_a_breach_of_a_rule_is_named(source, expected):
    assert whys(source) == expected


def test_a_breach_is_named_with_its_line():
    source = "x = 1\n\nledger.commit(namespace, wanted, decide)\nimport sqlite3\n"
    assert house_check.find_breaches(source, "sync.py") == [f"3: {COMMIT}", f"4: {SQLITE}"]


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("ledger.commit(namespace, wanted, decide)", "write/add.py"),
        ("kept = access.redactor.text(text)", "write/prepare.py"),
        ("kept = access.redactor.json(text)", "privacy/gate.py"),
        ("made = opened.redactor('default')", "mesh/view.py"),
        ("import sqlite3\nASKED = 'SELECT 1 FROM memory'", "ledgers/shared/rows.py"),
        ("import sqlite3\nASKED = 'SELECT 1 FROM memory'", "compat/lane/import_.py"),
        ("import sqlite3\nASKED = 'SELECT 1 FROM vector'", "evaluation/vector_cache.py"),
    ],
)
def test_what_a_rule_allows_in_its_place_is_no_breach(source, place):
    assert whys(source, place) == []
    assert whys(source, "conversation.py")


def test_a_view_makes_a_redactor_and_does_not_redact():
    assert whys("kept = self.redactor.text(text)", "mesh/view.py") == [REDACT]


def test_sql_scripts_lie_with_the_ledgers(tmp_path):
    for place in ("ledgers/sqlite/0001.sql", "text/rules.sql"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text("SELECT 1", encoding="utf-8")
    assert house_check.misplaced_scripts(tmp_path) == ["text/rules.sql"]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("class Walk: ...", "class Walk: ...", ["class Walk is defined in p.a and p.b"]),
        (
            "class Walk: ...",
            "class Page:\n    class Walk: ...",
            ["class Walk is defined in p.a and p.b"],
        ),
        ("class _Walk: ...", "class _Walk: ...", []),
        ("class Walk: ...", "class Page: ...", []),
        ("import p.b", "def f():\n    import p.a", ["a circle of imports: p.a -> p.b -> p.a"]),
        ("import p.b", "if TYPE_CHECKING:\n    import p.a", []),
    ],
)
def test_a_name_defined_twice_and_a_circle_are_named(first, second, expected):
    trees = {"p.a": ast.parse(first), "p.b": ast.parse(second)}
    assert house_check.house_breaches(trees) == expected


def test_one_file_or_late_import_more_than_was_reached_is_named(monkeypatch):
    late = "def f():\n    from memory_mesh import x\n    def g(): from memory_mesh import y"
    trees = {"p.a": ast.parse(late), "p.b": ast.parse("from memory_mesh.model import Hit")}
    monkeypatch.setattr(house_check, "MOST", {"files": 2, "imports of ours inside functions": 2})
    assert house_check.house_breaches(trees) == []
    monkeypatch.setattr(house_check, "MOST", {"files": 1, "imports of ours inside functions": 1})
    assert house_check.house_breaches(trees) == [
        "2 files, of 1 allowed",
        "2 imports of ours inside functions, of 1 allowed",
    ]


def test_a_package_is_held_to_the_rules(tmp_path, capsys):
    """That ours keeps them is asked by `just check`, and so by the gate."""
    package = tmp_path / "p"
    package.mkdir()
    (package / "a.py").write_text("class Walk: ...\n", encoding="utf-8")
    assert house_check.main(package) == 0
    assert capsys.readouterr().out == "1 modules, 0 breaches of a house rule\n"
    (package / "b.py").write_text("import sqlite3\nclass Walk: ...\n", encoding="utf-8")
    (package / "b.sql").write_text("SELECT 1", encoding="utf-8")
    assert house_check.main(package) == 1
    said = capsys.readouterr()
    assert said.out == "2 modules, 3 breaches of a house rule\n"
    assert said.err.splitlines() == [
        f"HOUSE RULE: src/memory_mesh/b.py:1: {SQLITE}",
        "HOUSE RULE: b.sql: SQL outside ledgers/",
        "HOUSE RULE: class Walk is defined in p.a and p.b",
    ]
