"""Statements of change, pieces of configuration, and what is no value."""

import pytest

from memory_mesh.write.claims import ClaimRelation, compare, predicates_of, read


def relation(old, new):
    """How a new statement relates to an old one, as the ledger would look it up."""
    before, after = read(old), read(new)
    if before is None or after is None or before.subject != after.subject:
        return None
    if before.predicate not in predicates_of(after):
        return None
    return compare(after, before)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The API timeout is 30 seconds", "The API timeout was raised to 60 seconds"),
        ("The API timeout is 30 seconds", "We raised the API timeout to 60 seconds"),
        ("Retention is 90 days", "Retention has been reduced to 30 days"),
        ("Standup is at 9:30", "Standup moved to 10:00"),
        ("The launch is on May 3", "The launch was postponed to June 1"),
        ("The office is in Berlin", "The office moved to Hamburg"),
        ("Maya works at Acme", "Maya left Acme and joined Stripe"),
        ("Maya works at Acme", "Maya left Acme for Stripe"),
        ("The repo is called foo", "The repo was renamed to bar"),
        ("We use Jenkins for CI", "We switched from Jenkins to GitHub Actions for CI"),
        ("I drink coffee", "I don't drink coffee any more"),
        ("I am vegetarian", "I am no longer vegetarian"),
        ("My boss is Tom", "Correction: my boss is Anna"),
        ("Deploys happen on Fridays", "From now on deploys happen on Mondays"),
        ("btw my boss is Tom", "ok so my boss is Anna, in case you wonder"),
        ("The default branch is master", "The default branch is now main"),
        ("# api.yml\nport: 8080", "# api.yml\nport: 9090"),
        ("[server] in app.toml\nworkers = 4", "[server] in app.toml\nworkers = 8"),
        ("# a.yml, worker\nlimits:\n  memory: 512Mi", "# a.yml, worker\nlimits:\n  memory: 1Gi"),
    ],
)
def test_an_update_is_read(old, new):
    assert relation(old, new) is ClaimRelation.CONFLICT


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("My wife is Ana", "My wife is pregnant"),
        ("The deadline is Friday", "The deadline is tight"),
        ("The budget is 5k", "The budget is approved"),
        ("My doctor is Dr. Lee", "My doctor is great"),
        ("My job is teaching", "My job is stressful"),
        ("port: 8080", "port: 5432"),
        ("# api.yml\nport: 8080", "# db.yml\nport: 5432"),
        ("# a.yml\nport: 8080", "port: 5432\nhost: b"),
        ("The meeting is at 9:00", "The meeting moved to the third floor"),
        ("I live in Lisbon", "We moved the tests into tests/unit"),
        ("Ana works at Acme", "Ana left the key at Tom's"),
        ("The price is 10 euros", "The price might be raised to 12 euros"),
        ("The price is 10 euros", "Tom said the price was raised to 12 euros"),
        ("The price is 10 euros", "The price was not raised to 12 euros"),
        ("The timeout is 30 s (staging)", "The timeout is 60 s (production)"),
        ("I'm away on 5 March", "I'm away on 9 March as well"),
        ("Der Port ist 8080", "Der Port ist offen"),
        ("Mein Chef ist Tom", "Mein Chef ist Anna"),
    ],
)
def test_what_is_true_together_is_no_update(first, second):
    assert relation(first, second) is not ClaimRelation.CONFLICT


def test_a_change_is_looked_for_under_every_predicate_that_fits():
    told = read("Standup moved to 10:00")
    assert told is not None
    assert {"is", "at", "on"} <= set(predicates_of(told))
    plain = read("Standup is at 10:00")
    assert plain is not None
    assert predicates_of(plain) == ("at",)


@pytest.mark.parametrize(
    "text",
    [
        "first line\nsecond line",
        "# config.yml\nport: 8080\nhost: localhost",
        "# config.yml",
        "Shopping list\nmilk\neggs",
        "# notes.md\n\n",
    ],
)
def test_a_piece_that_shows_no_single_setting_is_no_claim(text):
    assert read(text) is None
