"""Which country a text names: by its name, its people's word for a thing, or a locale."""

import re

# a country's code, and the words that name it in the languages of those who write about it
_NAMES = """
AR argentina argentinien argentine
AT austria österreich oesterreich autriche
AU australia australien australie australian
BE belgium belgien belgique belgië belgian
BR brazil brasil brasilien brésil brazilian
CA canada kanada canadian
CH switzerland schweiz suisse svizzera suiza swiss
CL chile
CN china 中国 chinese
CO colombia kolumbien
CZ czechia tschechien česko czech
DE germany deutschland allemagne alemania germania alemanha german deutsche
DK denmark dänemark danmark danish
ES spain spanien españa espagne spagna espanha spanish
FI finland finnland suomi finnish
FR france frankreich francia frança french
GB uk britain england scotland wales großbritannien royaume-uni reino-unido british
GR greece griechenland ελλάδα greek
HK hongkong 香港
HU hungary ungarn magyarország
IE ireland irland irlande irish
IL israel ישראל
IN india indien inde indian भारत
IT italy italien italia italie italian
JP japan japon 日本 japanese
KR korea südkorea 한국 korean
MX mexico mexiko méxico mexique mexican
NL netherlands niederlande nederland holland pays-bas dutch
NO norway norwegen norge norwegian
NZ neuseeland newzealand
PL poland polen polska pologne polish
PT portugal portuguese
RO romania rumänien românia
RU russia russland россия россии russian
SE sweden schweden sverige suède swedish
SG singapore singapur
TH thailand ไทย
TR turkey türkei türkiye turkish
TW taiwan 台灣 台湾
UA ukraine україна украина
US usa america amerika états-unis american
VN vietnam
ZA südafrika
"""
_REGIONS = {name: line[:2] for line in _NAMES.strip().splitlines() for name in line[3:].split()}
_PHRASES = {
    "united kingdom": "GB", "united states": "US", "new zealand": "NZ", "south africa": "ZA",
    "south korea": "KR", "hong kong": "HK", "czech republic": "CZ", "estados unidos": "US",
    "reino unido": "GB", "vereinigte staaten": "US",
}  # fmt: skip
_CODES = frozenset(_REGIONS.values())
_WORD = re.compile(r"[^\W\d_]{2,24}(?:-[^\W\d_]{2,10})?")
_WIDE = re.compile("|".join(name for name in _REGIONS if name > "\u0900"))
_SHOUTED = re.compile(r"(?<![A-Za-z])(?:[a-z]{2}[-_])?(US|UK|GB|[A-Z]{2})(?![A-Za-z])")
_ALONE = frozenset(("US", "UK", "GB"))  # written without a language, too


def named(text: str) -> list[str]:
    """Returns the codes of the countries that a text names, each once."""
    lowered = text.lower()
    found = [_REGIONS[word] for word in _WORD.findall(lowered) if word in _REGIONS]
    found += [region for phrase, region in _PHRASES.items() if phrase in lowered]
    found += [_REGIONS[word] for word in _WIDE.findall(text)]
    for code in _SHOUTED.finditer(text):
        region = "GB" if code[1] == "UK" else code[1]
        if region in _CODES and (len(code[0]) > len(code[1]) or code[1] in _ALONE):
            found.append(region)
    return list(dict.fromkeys(found))
