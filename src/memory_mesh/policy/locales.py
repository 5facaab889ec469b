"""The country of a locale, and whether a text is the code of one."""

from collections.abc import Mapping

from memory_mesh.errors import InvalidInput


def country_of(environment: Mapping[str, str]) -> str:
    """Returns the country that the locale names, such as DE of de_DE.UTF-8; else nothing."""
    names = ("LC_ALL", "LC_TELEPHONE", "LANG")
    stated = next((environment[name] for name in names if environment.get(name)), "")
    country = stated.partition(".")[0].partition("@")[0].rpartition("_")[2]
    return country if "_" in stated and _is_country(country) else ""


def check_country(value: object) -> str:
    """Returns the code of a country in capitals, or nothing; InvalidInput for another value."""
    if isinstance(value, str) and (not value or _is_country(value)):
        return value.upper()
    raise InvalidInput(f"must be the two letters of a country, such as DE, not {value!r}")


def _is_country(value: str) -> bool:
    return len(value) == 2 and value.isascii() and value.isalpha()  # noqa: PLR2004 - two letters
