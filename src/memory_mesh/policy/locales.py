"""The country of a locale, and whether a text is the code of one."""

from collections.abc import Mapping

from memory_mesh.errors import InvalidInput, shown

# Those whose phone numbers the package phonenumbers knows, which takes long to import.
_CODES = (
    "AC AD AE AF AG AI AL AM AO AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ "
    "BR BS BT BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO "
    "DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GT GU "
    "GW GY HK HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW "
    "KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT "
    "MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PR PS PT "
    "PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TA "
    "TC TD TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG US UY UZ VA VC VE VG VI VN VU WF WS XK "
    "YE YT ZA ZM ZW"
)
COUNTRIES = frozenset(_CODES.split())


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
    raise InvalidInput(
        f"must be the two letters of a country (ISO 3166), such as DE or GB, or '' for none, "
        f"not {shown(value)}"
    )


def _is_country(value: str) -> bool:
    return value.isascii() and value.upper() in COUNTRIES
