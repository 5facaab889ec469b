"""Kinds on request and the locale's phone numbers are settings of the store."""

import json
import logging
import subprocess
import sys

import phonenumbers
import pytest

from memory_mesh import config
from memory_mesh.config import COUNTRIES
from memory_mesh.model import Channel
from memory_mesh.model.errors import InvalidInput
from memory_mesh.privacy import KEEPABLE, RULES, NamespaceRedactor, user_rules
from memory_mesh.sync import MemoryMesh
from tests.corpora.pii import positives

CARD = "4111111111111111"
REACHED = "bob@example.com, +44 20 7946 0958 or 93.184.216.34"
SECRETS = f"the password is hunter22!, card {CARD}, SSN 536-90-4399, GB33BUKB20201555555555"


def stored(tmp_path, **settings):
    with MemoryMesh(db_dir=tmp_path / "store", embedder="none", **settings) as mesh:
        mesh.add("Jane Roe, born on 4 July 1983, lives at 742 Larkspur Avenue, 030 23125 417")
        (memory,) = mesh.get_all()
        return memory.content


def test_addresses_and_birth_dates_are_stored_unless_they_are_asked_for(tmp_path):
    assert "4 July 1983, lives at 742 Larkspur Avenue" in stored(tmp_path, phone_country="")


def test_a_kind_that_is_asked_for_is_not_stored(tmp_path):
    kinds = ["street_address", "birth_date"]
    content = stored(tmp_path, privacy_kinds=kinds, phone_country="DE")
    assert not any(part in content for part in ("1983", "Larkspur", "23125"))


@pytest.mark.parametrize(
    ("environment", "country"),
    [
        ({"LANG": "de_DE.UTF-8"}, "DE"),
        ({"LANG": "de_DE.UTF-8", "LC_TELEPHONE": "fr_CH"}, "CH"),
        ({"LANG": "de_DE.UTF-8", "MEMORY_MESH_PHONE_COUNTRY": "at"}, "AT"),
        ({"LANG": "C.UTF-8"}, ""),
        ({"LANG": "en_XX.UTF-8"}, ""),
        ({}, ""),
    ],
)
def test_the_locale_names_the_country_unless_a_setting_does(tmp_path, environment, country):
    found = config.load({}, {"HOME": str(tmp_path), **environment})
    assert found.phone_country == country


def test_the_file_asks_for_kinds_under_privacy(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('[privacy]\nkinds = ["birth_date"]\n', encoding="utf-8")
    found = config.load({}, {"HOME": str(tmp_path), "MEMORY_MESH_CONFIG": str(path)})
    assert found.privacy_kinds == ("birth_date",)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("privacy_kinds", "shoe_size", "street_address, birth_date"),
        ("privacy_kinds", 3, "a list of kinds"),
        ("keep", "e-mail", "no kind to keep.*email, ip, phone; did you mean email"),
        ("keep", ["email", "password"], "'password' is no kind to keep: secrets, keys, passwords"),
        ("keep", "card", "cards and accounts, and national ids never are"),
        ("keep", "us_ssn", "national ids never are; the kinds are: email, ip, phone"),
        ("keep", 3, "a list of kinds"),
        ("phone_country", "Germany", "two letters"),
        ("phone_country", "XX", "two letters of a country .*such as DE or GB.*not 'XX'"),
        ("phone_country", "UK", "two letters"),
    ],
)
def test_a_bad_setting_is_an_error_that_says_what_is_allowed(tmp_path, name, value, message):
    with pytest.raises(InvalidInput, match=message):
        config.load({name: value}, {"HOME": str(tmp_path)})


def test_the_countries_are_those_whose_phone_numbers_are_known():
    assert COUNTRIES == phonenumbers.SUPPORTED_REGIONS


def test_what_is_kept_is_readable_and_searchable_and_secrets_are_not(tmp_path):
    with MemoryMesh(db_dir=tmp_path, embedder="none", settings={"keep": KEEPABLE}) as mesh:
        mesh.add("the weather was fine")
        given = {"email": "bob@example.com", "password": "al@ex4mple.com", "phone": "+442079460958"}
        receipt = mesh.add(f"{REACHED}; {SECRETS}", given)
        (memory,) = mesh.search("bob@example.com")
        theirs = mesh.for_user("ann").add(REACHED)
    assert memory.content.startswith(REACHED)
    assert {name: memory.metadata[name] for name in ("email", "phone")} == {
        "email": "bob@example.com",
        "phone": "+442079460958",
    }
    assert receipt.redacted == {"card": 1, "iban": 1, "national_id": 1, "secret": 2}
    for secret in ("hunter22", CARD, "536-90-4399", "GB33", "al@ex4mple"):
        assert secret not in f"{memory.content} {memory.metadata}"
    assert theirs.content == REACHED
    assert not theirs.redacted


def test_a_kind_is_kept_alone(tmp_path):
    content = stored(tmp_path, settings={"keep": "email"}, phone_country="DE")
    assert "[PHONE_" in content
    with MemoryMesh(db_dir=tmp_path / "other", embedder="none", settings={"keep": "email"}) as mesh:
        receipt = mesh.add(REACHED)
    assert receipt.content.startswith("bob@example.com, [PHONE_")
    assert receipt.redacted == {"ip": 1, "phone": 1}


def test_a_secret_within_what_is_kept_is_replaced():
    kept = NamespaceRedactor(b"k" * 32, "default", keep=["email"])
    assert kept.text(f"{CARD}@example.com").startswith("[CARD_")
    (rule,) = user_rules([{"name": "email", "pattern": r"boss@example\.com"}])
    own = NamespaceRedactor(b"k" * 32, "default", [rule], keep=["email"])
    assert own.text("boss@example.com, bob@example.com").endswith("], bob@example.com")


def test_no_other_kind_is_found_less_where_kinds_are_kept():
    plain = NamespaceRedactor(b"k" * 32, "default")
    kept = NamespaceRedactor(b"k" * 32, "default", keep=KEEPABLE)
    cases = [case.text for case in positives()]
    assert {rule.name for rule in RULES} >= set(KEEPABLE)
    for text in cases:
        found = {(one.start, one.stop) for one in plain.find(text) if one.kind not in KEEPABLE}
        assert found <= {(one.start, one.stop) for one in kept.find(text)}, text


def test_the_file_and_the_environment_say_what_is_kept(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('keep = ["email"]\n', encoding="utf-8")
    environment = {"HOME": str(tmp_path), "MEMORY_MESH_CONFIG": str(path)}
    assert config.load({}, environment).keep == ("email",)
    assert config.load({}, environment | {"MEMORY_MESH_KEEP": "ip,phone"}).keep == ("ip", "phone")


def test_python_is_told_once_which_kind_was_replaced_and_how_to_keep_it(mesh, caplog):
    mesh.add("nothing private is in here")
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]
    mesh.add("write to bob@example.com")
    mesh.add("write to eve@example.com, or +44 20 7946 0958")
    (said,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    text = said.getMessage()
    assert 'MemoryMesh(settings={"keep": ["email"]})' in text
    assert 'keep = ["email"] in the configuration file' in text
    assert "bob" not in caplog.text


@pytest.mark.parametrize("channel", [Channel.CLI, Channel.HOOK, Channel.MCP])
def test_command_line_hooks_and_mcp_are_not_warned(mesh, caplog, channel):
    view = mesh.view(channel=channel)
    receipt = view.add("write to bob@example.com")
    view.update(receipt.id, "write to eve@example.com")
    assert receipt.redacted == {"email": 1}
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


def test_the_warning_reaches_standard_error_and_not_standard_output(tmp_path):
    code = (
        "import json, sys\n"
        "from memory_mesh.sync import MemoryMesh\n"
        "with MemoryMesh(db_dir=sys.argv[1], embedder='none') as mesh:\n"
        "    print(json.dumps(mesh.add('the password is hunter22!').redacted))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {"secret": 1}
    assert done.stderr.count("replaced before storing") == 1
    assert "hunter22" not in done.stderr
