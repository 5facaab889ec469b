"""Kinds on request and the locale's phone numbers are settings of the store."""

import phonenumbers
import pytest

from memory_mesh import config
from memory_mesh.config import COUNTRIES
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh


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
