"""Short facts in many scripts, with code, signs and negations: no meaning is lost."""

import json
from pathlib import Path

import pytest

from memory_mesh.text.scrub import IN_MESH, TextForm, form_of, scrub

FACTS = [
    json.loads(line)
    for line in Path(__file__).with_name("facts.jsonl").read_text(encoding="utf-8").splitlines()
]
ONE_LINE = [
    fact for fact in FACTS if form_of(fact["text"]) is TextForm.TEXT and "\n" not in fact["text"]
]


def test_there_are_two_hundred_facts_and_none_twice():
    assert len({fact["text"] for fact in FACTS}) == len(FACTS) >= 200


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact["text"][:40])
def test_a_fact_is_stored_as_it_was_said_and_read_with_all_that_matters(fact):
    scrubbed = scrub(fact["text"], IN_MESH)
    assert scrubbed.content == fact["text"]
    assert scrubbed.removed == ()
    assert all(fragment in scrubbed.content for fragment in fact["keep"])
    read = fact.get("read", fact["keep"])
    assert [fragment for fragment in read if fragment not in scrubbed.plain] == []


@pytest.mark.parametrize("fact", ONE_LINE, ids=lambda fact: fact["text"][:40])
def test_a_fact_in_the_middle_of_a_document_is_no_boilerplate(fact):
    page = f"Notes of Tuesday.\n\n{fact['text']}\n\nThat was all."
    scrubbed = scrub(page, IN_MESH, form=TextForm.DOCUMENT)
    assert scrubbed.removed == ()
    assert all(fragment in scrubbed.content for fragment in fact["keep"])
