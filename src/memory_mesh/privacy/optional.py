"""Kinds that are replaced only on request, because other words and numbers look like them."""

import re
from collections.abc import Mapping, Sequence

from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.rules.arguments import near
from memory_mesh.rules.privacy_rule import KEEPABLE, Finder, PrivacyRule, Span

_NEVER = "secrets, keys, passwords, numbers of cards and accounts, and national ids never are"
_KNOWN = ("name", "pattern", "label", "why", "example")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_LABEL = re.compile(r"[A-Z][A-Z0-9_]{0,39}")

_W = r"[A-ZÀ-ÖØ-Þ][\w'.-]{0,24}"
_AFTER_NAME = (  # as in 742 Larkspur Avenue
    r"Street|St|Avenue|Ave|Av|Road|Rd|Drive|Dr|Lane|Ln|Court|Ct|Boulevard|Blvd|Way|Place|Pl"
    r"|Square|Sq"
    r"|Terrace|Ter|Close|Crescent|Cres|Parkway|Pkwy|Highway|Hwy|Circle|Cir|Trail|Trl"
    r"|Gardens|Gdns"
    r"|Grove|Mews|Quay|Hill|Alley|Walk|Plaza|Park|Esplanade|Wharf"
    r"|Turnpike"
)
_BEFORE_NAME = (  # as in 12 rue des Acacias, Calle Mayor 5
    r"(?i:rue|avenue|av\.|boulevard|bd\.?|place|chemin|all[ée]e|impasse|quai|route|cours|square"
    r"|passage)"
)
_SOUTHERN = (
    r"(?i:calle|c/|avda\.?|avenida|av\.|paseo|plaza|carrera|camino|travesía|ronda|(?-i:Via)"
    r"|via(?=[^\n,]{3,40}(?:, (?-i:[A-Z])|,? [0-9]{5}))|viale|piazza"
    r"|corso|vicolo|largo|rua|r\.|travessa|praça|alameda|estrada|rodovia|ul\.|ulica|aleja|al\."
    r"|ulice)"
)
_GERMAN = (
    r"[A-ZÄÖÜ][\wäöüß-]{1,30}(?:stra(?:ß|ss)e|str\.|weg|allee|platz|gasse|ring|damm|ufer|steig"
    r"|chaussee|hof"
    r"|straat|laan|plein|gracht|kade|dijk|singel|gatan|vägen|gata|vej|vejen|gade|veien|katu|tie)"
)
_GERMAN_APART = (
    r"(?:(?:Am|An der|An den|Auf der|Im|In der|Zum|Zur|Unter den|Alte|Neue|Große|Kleine|Hintere"
    r"|Obere|Untere)"
    rf" {_W}|{_W}[ -](?:Straße|Strasse|Str\.|Weg|Allee|Platz|Gasse|Ring|Damm|Ufer))"
)
_NUMBER = r"[0-9]{1,5}(?:[ -]?[a-zA-Z](?![a-zA-Z]))?(?:[-/][0-9]{1,5})?"
_UNIT = (
    r"(?:,? (?:Apt|Apartment|Suite|Ste|Unit|Flat|Floor|Fl|App|Room|#)\.? ?#?[0-9A-Z]{1,6}"
    r"(?![a-z]))?"
)
_STREETS = (
    rf"(?<![\w.,:/-])(?:(?:Flat|Apt"
    rf"|Unit) [0-9A-Z]{{1,5}},? )?[0-9]{{1,5}}[A-Za-z]?(?:-[0-9]{{1,5}})?,?"
    rf" (?:(?:N|S|E|W|NE|NW|SE|SW|North|South|East|West|Old|New)\.? )?(?:(?:{_W}"
    rf"|[0-9]{{1,3}}(?:st|nd|rd|th)) ){{1,4}}"
    rf"(?:{_AFTER_NAME})\b\.?(?: (?:N|S|E|W|NE|NW|SE|SW)\b)?{_UNIT}"
    rf"|(?<![\w.,:/-])[0-9]{{1,5}}(?: ?(?:bis|ter|quater|[a-zA-Z]))?,? {_BEFORE_NAME}"
    rf"(?: (?:de|du|des|la|le|les|l'|d'|aux?|saint|sainte|et))*(?: ?{_W}){{1,5}}"
    rf"|(?<!\w){_SOUTHERN} ?(?:(?:de|del|de la|de los|di|da|do|das|dos|della|delle|la|los"
    rf"|las) )?{_W}"
    rf"(?: (?:de|del|la|di|da|do|e|y)? ?{_W}){{0,4}},? (?:n[.º°o]?\.? ?|nº ?|núm\.? ?"
    rf"|numero )?{_NUMBER}(?![\w.,:/-]*[0-9])"
    rf"|(?<![\w/]){_GERMAN} {_NUMBER}(?![\w.:/-]*[0-9])"
    rf"|(?<![\w/]){_GERMAN_APART} {_NUMBER}(?=,|\)|\s?\Z|\n| [0-9]{{5}})"
    r"|[一-鿿]{2,8}[都道府県省市][一-鿿0-9]{1,12}[区町村路街号丁目番地0-9-]{2,16}"
    r"|(?i:P\.? ?O\.? Box|Postfach|Apartado|BP) [0-9]{2,8}"
)
_MONTHS = (
    r"jan(?:uary|uar|vier|eiro)?|feb(?:ruary|ruar)?|f[eé]v(?:rier|ereiro)?|febrero|enero"
    r"|mar(?:ch|zo|s|ço)?"
    r"|märz|apr(?:il|ile)?|avr(?:il)?|abril|may|mai|mayo|maio|maggio|mei|jun(?:e|i|io|ho)?|juin"
    r"|giugno"
    r"|jul(?:y|i|io|ho)?|juil(?:let)?|luglio|aug(?:ust)?|août|agosto|sept?(?:ember|embre"
    r"|iembre)?|settembre"
    r"|setembro|o[ck]t(?:ober|obre|ubre)?|ottobre|outubro|nov(?:ember|embre|iembre|embro)?"
    r"|de[czs](?:ember|embre"
    r"|iembre|embro)?|déc(?:embre)?|dicembre|dezember|gennaio|febbraio"
)
_DATE = (
    r"(?:[0-9]{1,2}[./-] ?[0-9]{1,2}[./-] ?(?:19|20)?[0-9]{2}|(?:19"
    r"|20)[0-9]{2}[./-][0-9]{1,2}[./-][0-9]{1,2}"
    r"|(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])|(?:19"
    r"|20)[0-9]{2}年[0-9]{1,2}月[0-9]{1,2}日"
    rf"|(?i:[0-9]{{1,2}}(?:st|nd|rd|th|er|º|°|\.)?(?: de| of)? (?:{_MONTHS})\.?,?(?: de"
    rf"| del)? (?:19|20)[0-9]{{2}})"
    rf"|(?i:(?:{_MONTHS})\.? [0-9]{{1,2}}(?:st|nd|rd|th)?,? (?:19|20)[0-9]{{2}}))"
)
_BORN = (
    r"(?i:(?<![a-z])(?:dob|d\.o\.b\.|date[ _-]?of[ _-]?birth|birth[ _-]?da(?:te|y)s?|born"
    r"|b-?day|bdate"
    r"|geb(?:oren|\.)?|geburts(?:datum|tag)|né(?:e)? le|née?|date de naissance|naissance"
    r"|anniversaire"
    r"|fecha[ _]de[ _]nacimiento|nacid[oa]|nacimiento|cumpleaños|data[ _]di[ _]nascita"
    r"|nat[oa] il|nat[oa]"
    r"|data[ _]de[ _]nascimento|nascid[oa]|nascimento|geboren|geboortedatum|urodzon[ya]"
    r"|data urodzenia"
    r"|född|fødselsdato|syntymäaika|narozen[áa]?|doğum tarihi|дата рождения|родил(?:ся|ась))"
    r"|[a-z]B(?:irthDate|irthday)|出生(?:日期|年月日)?|生年月日|誕生日|생년월일)"
)
_BIRTHS = rf"{_BORN}[^\n0-9]{{0,24}}?(?P<value>{_DATE})(?![0-9])"
_BIRTH_HINTS = (
    "dob", "d.o.b", "birth", "born", "bday", "b-day", "bdate", "geb", "né", "naiss", "annivers",
    "naci", "cumple", "nasci", "nato", "nata", "urodz", "född", "fødsel", "syntym", "narozen",
    "doğum", "рожд", "родил", "出生", "生年月日", "誕生日", "생년월일",
)  # fmt: skip


def street(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of an address without the dot that ends its sentence."""
    return start, start + len(text[start:stop].rstrip(" ,"))


OPTIONAL = {
    "street_address": PrivacyRule(
        name="street_address",
        label="ADDRESS",
        pattern=_STREETS,
        check=street,
        why="a street with its house number, as it is written in a dozen languages",
        example="742 Larkspur Avenue",
    ),
    "birth_date": PrivacyRule(
        name="birth_date",
        label="BIRTH_DATE",
        hints=_BIRTH_HINTS,
        pattern=_BIRTHS,
        why="a date behind a word for somebody's birth",
        example="born on 4 July 1983",
    ),
}


def read(value: object, *, kept: bool = False) -> tuple[str, ...]:
    """Returns the kinds of a setting: a list, or one text; InvalidInput says what is allowed."""
    known = KEEPABLE if kept else tuple(OPTIONAL)
    names = value.replace(",", " ").split() if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"must be a kind or a list of kinds, not {value!r}")
    for name in names:
        if name not in known:
            hint = f"; did you mean {meant}?" if (meant := near(name, known)) else ""
            raise InvalidInput(
                f"{shown(name)} is no kind to {f'keep: {_NEVER}' if kept else 'ask for'}; "
                f"the kinds are: {', '.join(known)}{hint}"
            )
    return tuple(names)


# Rules a user adds in the configuration, in RE2's syntax, which takes linear time on any text.


def read_rules(
    settings: Mapping[str, object] | Sequence[Mapping[str, object]],
) -> tuple[PrivacyRule, ...]:
    r"""Builds rules from a list of tables, or from one table of names and patterns.

    In the configuration file::

        [[privacy.rules]]
        name = "ticket"
        pattern = 'ACME-\d{4,8}'
    """
    if isinstance(settings, Mapping):
        settings = [{"name": name, "pattern": pattern} for name, pattern in settings.items()]
    return tuple(_rule(number, table) for number, table in enumerate(settings, 1))


def _rule(number: int, table: Mapping[str, object]) -> PrivacyRule:
    name = table.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(
            f"privacy rule {number} needs a name of lower-case letters, digits and _, not {name!r}"
        )
    for key, value in table.items():
        if key not in _KNOWN:
            raise InvalidInput(
                f"the privacy rule {name!r} has an unknown key {key!r};"
                f" the keys are: {', '.join(_KNOWN)}"
            )
        if not isinstance(value, str):
            raise InvalidInput(
                f"the {key} of the privacy rule {name!r} must be text, not {shown(value)}"
            )
    if not table.get("pattern"):
        raise InvalidInput(f"the privacy rule {name!r} needs a pattern in RE2 syntax")
    label = str(table.get("label", name.upper()))
    if not _LABEL.fullmatch(label):
        raise InvalidInput(
            f"the label of the privacy rule {name!r} must be capital letters, digits and _,"
            f" not {label!r}"
        )
    return PrivacyRule(
        name=name,
        label=label,
        pattern=_compiled(name, str(table["pattern"])),
        why=str(table.get("why", "a rule of yours")),
        example=str(table.get("example", "")),
    )


def _compiled(name: str, pattern: str) -> Finder:
    import re2  # type: ignore[import-untyped]  # it ships none

    options = re2.Options()
    options.log_errors = False
    try:
        compiled: Finder = re2.compile(pattern, options=options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error
        raise InvalidInput(
            f"the pattern of the privacy rule {name!r} is not valid RE2: {reason}"
        ) from None
    if any(True for _ in compiled.finditer("")):
        raise InvalidInput(
            f"the pattern of the privacy rule {name!r} matches the empty text;"
            " it must match at least one character"
        )
    return compiled
