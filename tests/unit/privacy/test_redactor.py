"""Placeholders are stable, keyed, final, and in no way of the sentence."""

import re

import pytest
from hypothesis import given, strategies as st

from memory_mesh.privacy import RULES, NamespaceRedactor, masked
from tests.corpora.pii import negatives, positives

KEY, OTHER_KEY = b"k" * 32, b"j" * 32
REDACTOR = NamespaceRedactor(KEY, "default")
PLACEHOLDER = re.compile(r"\[[A-Z][A-Z_]*_[0-9a-f]{12}\]")
TEXTS = st.deferred(lambda: st.sampled_from([case.text for case in (*positives(), *negatives())]))
JOINTS = st.sampled_from(
    ["", " ", "\n", ",", ":", "=", '"', "-", "password=", "tel ", "密码是", "@"]
)


@given(st.lists(st.tuples(JOINTS, TEXTS | st.text(max_size=12)), max_size=4))
def test_redacting_twice_changes_nothing(parts):
    once = REDACTOR.text("".join(joint + text for joint, text in parts))
    assert REDACTOR.text(once) == once
    assert masked(once) == once


@given(TEXTS)
def test_what_was_masked_has_nothing_left_to_find(text):
    assert REDACTOR.find(masked(text)) == []


def test_a_text_without_anything_comes_back_itself():
    text = "The user prefers dark mode, since 2024-01-02"
    assert REDACTOR.text(text) is text


def test_no_rule_takes_a_placeholder():
    for label in {rule.label for rule in RULES}:
        for text in (
            f"[{label}_12345678]",
            f"password=[{label}_0a1b2c3d]",
            f"tel [{label}_12345678]",
        ):
            assert REDACTOR.find(text) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bob@example.com", "BOB@Example.com"),
        ("4111111111111111", "4111 1111 1111 1111"),
        ("GB33BUKB20201555555555", "gb33 bukb 2020 1555 5555 55"),
        ("+44 20 7946 0958", "+442079460958"),
        ("tel 00442079460958", "+442079460958"),
        ("2606:2800:220:1:248:1893:25c8:1946", "2606:2800:0220:0001:0248:1893:25C8:1946"),
        ("536-90-4399", "SSN 536904399"),
        ("bob@example.com", "ｂｏｂ＠ｅｘａｍｐｌｅ．ｃｏｍ"),
    ],
)
def test_one_value_is_one_placeholder_however_it_is_written(one, other):
    first, second = (PLACEHOLDER.findall(REDACTOR.text(text)) for text in (one, other))
    assert first == second != []


def test_a_search_for_a_value_meets_what_was_stored():
    stored = REDACTOR.text("Met Bob, bob@example.com, on Friday")
    (placeholder,) = PLACEHOLDER.findall(stored)
    assert REDACTOR.text("who is bob@example.com?") == f"who is {placeholder}?"


def test_values_namespaces_and_keys_have_placeholders_of_their_own():
    texts = {
        REDACTOR.text("bob@example.com"),
        REDACTOR.text("rob@example.com"),
        NamespaceRedactor(KEY, "other").text("bob@example.com"),
        NamespaceRedactor(OTHER_KEY, "default").text("bob@example.com"),
    }
    assert len(texts) == 4


def test_the_sentence_around_a_value_stays():
    text = "Ask (bob@example.com), then call +44 20 7946 0958."
    assert PLACEHOLDER.sub("…", REDACTOR.text(text)) == "Ask (…), then call …."


def test_found_says_where():
    text = "Ask bob@example.com"
    (found,) = REDACTOR.find(text)
    assert (found.kind, text[found.start : found.stop]) == ("email", "bob@example.com")


def test_json_is_redacted_in_its_strings_its_keys_and_its_whole_numbers():
    redacted = REDACTOR.json(
        {
            "bob@example.com": [1, 2.5, True, None, "ask rob@example.com"],
            "card": 4111111111111111,
            "when": 1739123456789,
            "nested": {"deep": [{"password": "hunter22"}]},
        }
    )
    assert PLACEHOLDER.sub("…", str(redacted)) == str(
        {
            "…": [1, 2.5, True, None, "ask …"],
            "card": "…",
            "when": 1739123456789,
            "nested": {"deep": [{"password": "…"}]},
        }
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("password", "hunter22"),
        ("client_secret", "swordfish"),
        ("phone", "0170 1234567"),
        ("phone_numbers", ["0170 1234567"]),
        ("ssn", 536904399),
    ],
)
def test_a_key_tells_what_its_value_is(key, value):
    redacted = REDACTOR.json({key: value})
    assert str(value).strip("[]'") not in str(redacted)
    assert REDACTOR.json(redacted) == redacted


def test_a_number_that_counts_something_stays_a_number():
    value = {"mobile_users": 1234567, "phone_orders": 20250101, "tokens": 128000}
    assert REDACTOR.json(value) == value
    assert REDACTOR.json({"phone": 2025550123}) != {"phone": 2025550123}


def test_two_spellings_of_one_key_stay_two_keys():
    redacted = REDACTOR.json({"bob@example.com": 1, "BOB@example.com": 2})
    assert isinstance(redacted, dict)
    assert list(redacted.values()) == [1, 2]
    assert REDACTOR.json(redacted) == redacted


def test_a_mask_needs_no_key_and_says_no_more_than_the_kind():
    assert masked("cannot reach bob@example.com") == "cannot reach [EMAIL]"
    assert masked("cannot reach the host") == "cannot reach the host"
