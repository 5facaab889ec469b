"""Rules for phone numbers: international by form, national by the words or the country nearby.

The matcher of phonenumbers wants one country and spaces between words; here the candidates are
found by form, next to any script, and phonenumbers says which of them can be dialled.
"""

import re
from collections.abc import Sequence

from memory_mesh.base.typed import replace
from memory_mesh.base.word_files import text_beside
from memory_mesh.rules.privacy_rule import PrivacyRule, Span

# a country's code, and the words that name it in the languages of those who write about it
_REGIONS = {
    name: line[:2]
    for line in text_beside(__file__, "countries.txt").splitlines()
    for name in line[3:].split()
}
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

_FEWEST, _MOST, _NEAR = 7, 15, 80
_WORDS = (
    r"(?i)(?:(?<![a-z])(?:(?:tele|i|smart|cell)?phones?(?: (?:no|nr|number))?|tel|cell|fax|sms|gsm"
    r"|mobil(?:e|nummer|telefon)?|whats\s?app|telegram|signal|viber|handy|rufnummer|festnetz"
    r"|telefon[a-zăéóő]*|t[ée]l[ée]phone|portable|tel[eé]fono?s?|m[oó]vil|celular|telefone"
    r"|telem[oó]vel|cellulare|puhelin|contact number|(?:access|office|home|work) ?:)(?![a-z])"
    r"|телефон\w*|тел\.|моб\.|τηλ|هاتف|جوال|טלפון|电话|電話|手机|手機|携帯|전화|휴대폰|핸드폰|โทร)"
    r"(?P<gap>[^0-9\n]{0,30}(?:\n\s{0,4})?)\Z"
)
_LINKS = frozenset(("number", "numbers", "nummer", "numero", "line", "home", "work", "called"))
_VERBS = (
    r"(?i)(?<![a-z])(?:call(?:ing|ed)?|ring|dial|reach|text|message|messages|phone|answering"
    r"|contact)"
    r"(?: (?:me|him|her|us|them|you|back|home|the \w{1,12})){0,2}"
    r"(?: (?:at|on|to|under|via))?:? {0,2}\Z"
)
_VERBS_ABROAD = (
    r"(?i)(?:(?<![a-zà-ÿ])(?:an(?:zu)?rufen|rückruf|ruf(?:t|en)?|erreichbar|erreichen|durchwahl"
    r"|appel(?:er|ez|le)?"
    r"|rappel(?:er|ez)?|joindre|joignable|llam(?:ar|a|ad|e)|ll[aá]mame|marcar|chiamare"
    r"|chiama(?:mi|te)?"
    r"|ligar|ligue|bel(?:len)?|ring(?:e|a)?|dzwoni[cć]|zadzwo[nń]|callback|call-back|hotline"
    r"|helpdesk"
    r"|after-hours|on-call|switchboard|reception|extension)|позвон\w*|звон\w*|拨打|致电|連絡先)"
    r"(?P<gap>[^0-9\n]{0,30})\Z"
)
_AFTER = (
    r"(?i)[ -]{1,2}(?:office|fax|mobile|cell|phone|(?:is|was) (?:the|my|our|his|her|their|your)"
    r" (?:\w{1,16} )?(?:line|number|phone|mobile|cell|extension|office))(?![a-z])"
)
# where a number may begin, and end, among other numbers: its form alone says that it is one
_BEGINS = (
    r"(?:\A|(?<=[ /]))(?=\(?[+0]|\([2-9][0-9]{2}\)"
    r"|(?:1[-. ])?[2-9][0-9]{2}[-. ][2-9][0-9]{2}[-. ][0-9]{4}(?![0-9]))"
)
_ENDS = r"(?<=[0-9])(?![0-9])"
_GROUPED = r"\+(?=(?:\D{0,3}\d){9})(?!\d{1,3}(?:[ .]\d{3})+\Z)\d+(?:\D{1,3}\d+){3,}"  # no amount
_EXTENSION = r"(?i)\s?(?:x|ext\.?)\s?\d{1,6}\Z"
_ANOTHER_THING = (
    r"(?i)(?:(?<![a-z])(?:orders?|tickets?|invoices?|tracking|build|job|version|commit|serial"
    r"|sku|ean|id"
    r"|ref(?:erence)?|account|konto|kto|blz|(?:rechnung|auftrag|bestell)\w{0,40}|commande"
    r"|facture|pedido"
    r"|factura|ordine|fattura|siret|siren|nif|cif|vat|ust-?id\w{0,40}|hrb|postcode|zip|plz|lat|lon)"
    r"(?:[ -]?(?:number|no\.?|nr\.?|id))?[ :=#.]{0,4}|[#$€£¥@_=/]\s?)\Z"
)
_COUNTED = (
    r"(?i)\s?(?:€|\$|£|eur|usd|gbp|ms|s|sec|kb|mb|gb|rows?|users?|people|page|views?|tokens?|%"
    r"|km|m²"
    r"|zeilen)(?![a-z])"
)
_NOT_A_PHONE = (
    r"(?:19|20)\d\d[-./ ]?(?:0[1-9]|1[0-2])[-./ ]?(?:0[1-9]|[12]\d|3[01])(?:\D.*)?"  # a date
    r"|(?:0?[1-9]|[12]\d|3[01])[./-](?:0?[1-9]|1[0-2])[./-](?:19|20)\d\d(?:\D.*)?"
    r"|1[4-9]\d{8}(?:\d{3}){0,2}"  # seconds, milliseconds or microseconds of our years
    r"|\d+\.\d+"
)


def phone(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of a phone number: all of a run of digits, or the longest part of it."""
    if found := _phone(text, start, stop):
        return found
    run = text[start:stop]
    begins = (start + match.start() for match in re.finditer(_BEGINS, run))
    ends = [start + match.start() for match in re.finditer(_ENDS, run)][::-1]
    parts = ((begin, end) for begin in begins for end in ends if end - begin >= _FEWEST)
    return next((span for part in parts if (span := _phone(text, *part, part=True))), None)


def _phone(text: str, start: int, stop: int, *, part: bool = False) -> Span | None:
    """Returns the span of an international number, or of one with a word for a phone nearby."""
    start, stop = _balanced(text, start, stop)
    value = text[start:stop]
    digits = re.sub(r"\D", "", re.sub(_EXTENSION, "", value))
    if not _FEWEST <= len(digits) <= _MOST + 2 * digits.startswith("00"):
        return None
    if value[0] == "+" or value.startswith("(+"):
        return (start, stop) if _international(value, digits) else None
    if _american(value) and (not part or not value[0].isdigit() or _apart(text, start, stop)):
        return start, stop
    if re.search(r"[0-9],\Z", text[max(0, start - 2) : start]) or re.match(
        r"[,:][0-9]", text[stop : stop + 2]
    ):
        return None  # a part of an amount or of a time
    said = _said(text, start, value) or bool(re.match(_AFTER, text[stop : stop + 40]))
    if (
        digits.startswith("00")
        and (said or len(value) > len(digits))
        and _possible(f"+{digits[2:]}")
    ):
        return start, stop
    if said and not re.fullmatch(_NOT_A_PHONE, value):
        return start, stop
    at_home = (not part or value[0] in "(0") and _at_home(text, start, stop)
    return (start, stop) if at_home else None


def national(country: str) -> PrivacyRule:
    """Builds the rule for numbers as they are dialled within one country."""

    def check(text: str, start: int, stop: int) -> Span | None:
        start, stop = _balanced(text, start, stop)
        grouped = text[start] in "(0" and not text[start:stop].isdigit()
        return (start, stop) if grouped and _is_national(text, start, stop, (country,)) else None

    return replace(
        PHONES[0],
        check=check,
        why=f"a number as it is dialled within {country}, the country of the locale",
        example="",
    )


def _at_home(text: str, start: int, stop: int) -> bool:
    """True for a number as it is dialled in a country that the text names nearby."""
    if re.fullmatch(_NOT_A_PHONE, text[start:stop]):
        return False
    before, after = text[max(0, start - _NEAR) : start], text[stop : stop + _NEAR]
    regions = named(f"{before} {after}")
    return bool(regions) and _is_national(text, start, stop, regions)


def _is_national(text: str, start: int, stop: int, regions: Sequence[str]) -> bool:
    value, before = text[start:stop], text[max(0, start - 60) : start]
    if re.fullmatch(_NOT_A_PHONE, value) or re.search(_ANOTHER_THING, before):
        return False
    if re.match(_COUNTED, text[stop : stop + 16]):
        return False
    called = value[0] in "(0" or re.search(_VERBS_ABROAD, before)
    if not called and (value.isdigit() or _may_be_an_amount(text, start, stop)):
        return False
    if value[0] in "(0" and not value.isdigit() and not value.startswith("0."):
        return any(_possible(value, region) for region in regions)
    return any(_valid(value, region) for region in regions)


def _may_be_an_amount(text: str, start: int, stop: int) -> bool:
    """True for groups of three digits, unless they stand alone behind a colon or a comma."""
    if not re.fullmatch(r"[0-9]{1,3}(?:[ .][0-9]{3})+", text[start:stop]):
        return False
    introduced = stop - start == len("934 567 890") and text[start - 2 : start] in {": ", ", "}
    return not introduced or re.match(r"\s?[^\W_]|%", text[stop : stop + 2]) is not None


def _balanced(text: str, start: int, stop: int) -> Span:
    """Returns the span without an unbalanced parenthesis."""
    value = text[start:stop]
    if value.count("(") <= value.count(")"):
        return start, stop
    if value[0] == "(":
        return start + 1, stop
    return start, start + len(value[: value.rindex("(")].rstrip(" -./"))


def _said(text: str, start: int, value: str) -> bool:
    before = text[max(0, start - 60) : start]
    if re.search(_VERBS, before):
        return True
    verb = None if value.isdigit() else re.search(_VERBS_ABROAD, before)
    if verb and (value[0] in "(0" or not re.search(r"[^\W\d_]{4,}", verb["gap"])):
        return True
    word = re.search(_WORDS, before)
    return word is not None and (
        not value.isdigit()
        or value[0] == "0"
        or all(word.lower() in _LINKS for word in re.findall(r"[A-Za-z]{4,}", word["gap"]))
    )


def _international(value: str, digits: str) -> bool:
    """True for a number that is possible in its country, or one in groups that is too short for it.

    Numbering plans change, and an old number stays in notes.
    """
    if re.match(r"\+(?: \d+\Z|(?:19|20)\d\d-\d\d-\d\d)", value):  # a sum, a line of a diff
        return False
    return _possible(f"+{digits}", short=bool(re.fullmatch(_GROUPED, value)))


def _american(value: str) -> bool:
    """True for the three groups of a North American number."""
    form = r"(?:1[-. ])?(?:\([2-9]\d\d\) ?|[2-9]\d\d([-. ]))[2-9]\d\d[-. ]\d{4}"
    return bool(re.fullmatch(form, re.sub(_EXTENSION, "", value))) and _valid(value, "US")


def _apart(text: str, start: int, stop: int) -> bool:
    """True unless the groups may belong to a row of numbers: blanks within, and around them."""
    beside = re.search(r"[0-9]{3} \Z", text[max(0, start - 4) : start]) or re.match(
        r" [0-9]{3}", text[stop : stop + 4]
    )
    return not beside or not re.fullmatch(r"[0-9 ]+", text[start:stop])


def _possible(number: str, region: str | None = None, *, short: bool = False) -> bool:
    import phonenumbers

    try:
        parsed = phonenumbers.parse(number, region)
    except phonenumbers.NumberParseException:
        return False
    reason = phonenumbers.is_possible_number_with_reason(parsed)
    return phonenumbers.is_possible_number(parsed) or (
        short and reason == phonenumbers.ValidationResult.TOO_SHORT
    )


def _valid(number: str, region: str) -> bool:
    import phonenumbers

    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(number, region))
    except phonenumbers.NumberParseException:
        return False


PHONES = (
    PrivacyRule(
        name="phone",
        label="PHONE",
        gate="number",
        pattern=(
            r"(?:[0-9](?<![0-9][.:/-].)|[+(])(?<![0-9A-Za-z_+].)[+( ]{0,3}"
            r"(?:[ ()./-]{0,3}[0-9]){6,17}(?: ?(?:x|ext\.?) ?[0-9]{1,6})?"
            r"(?![0-9A-Za-z_]|[./-][0-9])"
        ),
        check=phone,
        why=(
            "a + and a number possible in its country; North American groups; any number"
            " beside a word for a phone; one that is valid in a country named nearby"
        ),
        example="+44 20 7946 0958",
    ),
)


# Which country a text names: by its name, its people's word for a thing, or a locale.


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
