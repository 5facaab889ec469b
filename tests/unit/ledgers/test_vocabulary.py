"""Which words are stored: the same as if each were looked for by itself."""

import sqlite3
from random import Random
from string import ascii_lowercase

import pytest

from memory_mesh.ledgers.sqlite import keywords
from memory_mesh.text import analyzer


def keyword_tables(words, segments=12):
    """Keyword tables with these words, in as many pieces as commits would leave."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    for table in ("live", "rest"):
        db.execute(
            f"CREATE VIRTUAL TABLE {table} USING fts5 "
            "(terms, content = '', tokenize = \"ascii tokenchars '#+'\")"
        )
    for piece in range(segments):
        db.execute("INSERT INTO live (terms) VALUES (?)", (" ".join(words[piece::segments]),))
    db.execute("INSERT INTO rest (terms) VALUES ('zebra memori kitchen')")
    return db


def made(chance, count):
    letters = "aaeeiioou" + ascii_lowercase
    words = {"".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(count)}
    return sorted({analyzer.stem(word) for word in words})


def misspelt(chance, word):
    at = chance.randrange(min(4, len(word)))
    letter = chance.choice(ascii_lowercase)
    return chance.choice((word[:at] + word[at + 1 :], word[:at] + letter + word[at:]))


@pytest.mark.parametrize("count", [3, 60, 600, 6_000, 40_000])
def test_the_words_found_are_those_that_are_stored(count):
    chance = Random(count)
    words = made(chance, count)
    db, known = keyword_tables(words), set(words)
    for _ in range(60):
        asked = analyzer.respelt(misspelt(chance, chance.choice(words)))
        asked += chance.sample(words, 3)
        chance.shuffle(asked)
        found = keywords.stored(db, ("live",), asked)
        assert found == [word for word in asked if word in known]


def test_words_of_both_tables_are_found():
    db = keyword_tables(["garden"])
    asked = ["zebra", "garden", "tulip"]
    assert keywords.stored(db, ("live", "rest"), asked) == ["zebra", "garden"]
    assert keywords.stored(db, ("live",), asked) == ["garden"]
    assert keywords.stored(db, ("live",), []) == []


def test_a_small_store_is_asked_for_few_words_one_by_one():
    db = keyword_tables(made(Random(1), 500))
    asked = analyzer.respelt("qestion")
    keywords.stored(db, ("live",), asked)
    said: list[str] = []
    db.set_trace_callback(said.append)
    keywords.stored(db, ("live",), asked)
    said = [each for each in said if not each.startswith("--")]  # what FTS5 asks of its own tables
    assert len([each for each in said if "LIMIT" in each]) == 2
    looked_for = [each for each in said if "json_each" in each]
    assert sum(each.count('"') // 2 for each in looked_for) <= 2
