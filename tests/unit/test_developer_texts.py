"""The corpus of developer texts is what it says: marks that are there, numbers that are valid."""

import ipaddress
import re
from collections import Counter

import phonenumbers
import pytest
from stdnum import iban, luhn

from tests.corpora.developer_texts import FOLDER, DeveloperText, developer_texts

DEV, HELD_OUT = developer_texts("dev"), developer_texts("held_out")
EVERY = DEV + HELD_OUT
USUAL = [row for row in EVERY if not row.opt_in]
PUBLISHED = {  # by Stripe, for tests
    "4242424242424242",
    "5555555555554444",
    "378282246310005",
    "6011111111111117",
    "3056930009020004",
    "4000002500003155",
    "4000000000009995",
}
COUNTRIES = ("US", "GB", "DE", "FR", "ES", "AU", "CA", "NL")


def test_there_are_150_texts_and_those_for_the_opt_in_kinds():
    assert len(USUAL) == 150
    assert sum(bool(row.secrets) for row in USUAL) == 76
    assert len(EVERY) - len(USUAL) == 24
    assert sum(row.lang != "en" for row in USUAL) >= 0.15 * len(USUAL)


def test_every_kind_is_dealt_out_evenly():
    dev, held_out = (Counter(row.kind for row in half) for half in (DEV, HELD_OUT))
    assert dev.keys() == held_out.keys()
    assert all(abs(dev[kind] - held_out[kind]) <= 1 for kind in dev)


def test_no_text_no_id_and_no_secret_comes_twice():
    for values in (
        [row.id for row in EVERY],
        [row.text for row in EVERY],
        [secret for row in EVERY for secret in row.secrets],
    ):
        assert [value for value, count in Counter(values).items() if count > 1] == []


def test_two_texts_are_never_of_one_template():
    shapes = Counter(re.sub(r"[\W\d_]+", " ", _without_secrets(row)).lower() for row in EVERY)
    assert [shape for shape, count in shapes.items() if count > 1] == []


@pytest.mark.parametrize("row", EVERY, ids=lambda row: row.id)
def test_every_mark_stands_once_in_its_text(row: DeveloperText):
    for secret in row.secrets:
        assert row.text.count(secret) == 1
        assert secret == secret.strip()
    for kept in row.keeps:
        assert kept in _without_secrets(row)
    assert 1 <= len(row.text.split("\n")) <= 6
    assert bool(row.secrets) == (row.id[0] == "s" or row.kind in {"street_address", "birth_date"})


def test_cards_accounts_addresses_and_phones_are_valid():
    for row in EVERY:
        for secret in row.secrets:
            digits = re.sub(r"\D", "", secret)
            if row.kind in {"card", "stripe_number"}:
                assert luhn.is_valid(digits), row
                assert (digits in PUBLISHED) == (row.kind == "stripe_number"), row
            if row.kind == "phone":
                assert not secret.startswith("+"), row
                assert any(_is_phone(secret, country) for country in COUNTRIES), row
            if re.match(r"[A-Z]{2}\d\d", secret) and row.kind == "account":
                assert iban.is_valid(secret, check_country=False), row
            elif row.kind == "account" and "@" not in secret:
                assert ipaddress.ip_address(secret).is_global, row


def test_numbers_said_to_pass_luhn_do_and_are_no_card():
    for row in EVERY:
        if "Luhn" in row.note:
            runs = re.findall(r"\d(?: ?\d){12,18}", row.text)
            assert any(luhn.is_valid(run.replace(" ", "")) for run in runs), row
            assert not row.secrets


def test_published_numbers_stay_only_beside_their_words():
    for row in EVERY:
        named = re.search("test|stripe", row.text, re.IGNORECASE) is not None
        if row.kind in {"stripe_test", "stripe_number"}:
            assert named == (row.kind == "stripe_test"), row


def test_the_files_hold_no_token_in_one_piece():
    for path in sorted(FOLDER.glob("developer_texts_*.jsonl")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(
            r"sk-proj|sk-ant|sk_live|AKIA|ghp_|hf_\w{9}|xox|SG\.\w|AIza|glpat|pypi-|eyJ\w+\.eyJ"
            r"|PRIVATE KEY",
            text,
        )


def _without_secrets(row: DeveloperText) -> str:
    text = row.text
    for secret in row.secrets:
        text = text.replace(secret, " ")
    return text


def _is_phone(text: str, country: str) -> bool:
    return phonenumbers.is_valid_number(phonenumbers.parse(text, country))
