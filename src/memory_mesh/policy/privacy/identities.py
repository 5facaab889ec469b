"""Rules for national identity numbers, with their check digits.

A number that is told from others by its form stands alone; one that is bare digits needs a word for
it near by. python-stdnum knows the check digits.
"""

import re
from collections.abc import Callable
from importlib import import_module

from memory_mesh.policy.privacy.rule import Check, Rule, Span

LABEL = "NATIONAL_ID"
_SHORT = 4  # a name of so few letters must be a word of its own
# said after the first character, so that the search for it is fast
_EDGE, _END = r"(?<![0-9A-Za-z_].)(?<![0-9][.,/-].)", r"(?![0-9A-Za-z_]|[.,/-][0-9])"


def _by(module: str) -> Check:
    """Returns the check function of python-stdnum's module."""

    def check(text: str, start: int, stop: int) -> Span | None:
        valid: Callable[[str], bool] = import_module(f"stdnum.{module}").is_valid
        value = text[start:stop]
        return (start, stop) if valid(value) or valid(re.sub("[ .]", "", value)) else None

    return check


def _dashless(text: str, start: int, stop: int) -> Span | None:
    """Checks a Finnish number of the last century without its dash."""
    from stdnum.fi import hetu

    value = text[start:stop]
    return (start, stop) if hetu.is_valid(f"{value[:6]}-{value[6:]}") else None


def _alone(name: str, module: str, pattern: str, why: str, example: str) -> Rule:
    """Builds a rule for an unambiguous form; two blanks end the pattern's first character."""
    first, _, rest = pattern.partition("  ")
    return Rule(
        name=name,
        label=LABEL,
        gate="number",
        hints=tuple(mark for mark in "-./" if mark in example)[:1],
        digits=len(re.findall("[0-9]", example)) - 2,  # two of them may be letters
        pattern=first + _EDGE + rest + _END,
        check=_by(module) if module else None,
        why=why,
        example=example,
    )


def _named(name: str, check: str | Check, pattern: str, why: str, words: str) -> Rule:
    """Builds a rule for a form that other numbers share: it needs a word for it nearby."""
    names = tuple(words.lower().split("|"))
    whole = [rf"{word}(?![a-z])" if len(word) <= _SHORT else word for word in names]
    return Rule(
        name=name,
        label=LABEL,
        gate="number",
        hints=names,
        pattern="[0-9]" + _EDGE + pattern + _END,
        check=_by(check) if isinstance(check, str) else check,
        context=rf"(?<![a-z])(?:{'|'.join(whole)})",
        why=f"{why}, near a word for it",
        example=f"{words.partition('|')[0]} …",
    )


def _digits(count: int) -> str:
    return rf"(?:[ .-]?[0-9]){{{count - 1}}}"


_STANDING = (
    (
        "us_ssn",
        "us.ssn",
        "[0-8]  [0-9]{2}-[0-9]{2}-[0-9]{4}",
        "US social security number",
        "536-90-4399",
    ),
    (
        "gb_nino",
        "",
        "[A-CEGHJ-PR-TW-Z]  [A-CEGHJ-NPR-TW-Z](?: ?[0-9]{2}){3} ?[A-D]",
        "UK National Insurance number",
        "AB 12 34 56 C",
    ),
    ("es_dni", "es.dni", "[0-9]  [0-9]{7}-?[A-Z]", "Spanish DNI", "54362315K"),
    ("es_nie", "es.nie", "[XYZ]  -?[0-9]{7}-?[A-Z]", "Spanish NIE", "X2482300W"),
    (
        "it_cf",
        "it.codicefiscale",
        "[A-Za-z]  [A-Za-z]{5}[0-9]{2}[A-Za-z][0-9]{2}[A-Za-z][0-9]{3}[A-Za-z]",
        "Italian codice fiscale",
        "RCCMNL83S18D969H",
    ),
    (
        "fr_nir",
        "fr.nir",
        "[12]  (?: ?[0-9]{2}){2} ?[0-9][0-9AB](?: ?[0-9]{3}){2} ?[0-9]{2}",
        "French social security number",
        "2 95 10 99 126 111 93",
    ),
    (
        "be_nn",
        "be.nn",
        r"[0-9]  [0-9]\.[0-9]{2}\.[0-9]{2}-[0-9]{3}\.[0-9]{2}",
        "Belgian national number",
        "85.07.30-033.28",
    ),
    (
        "br_cpf",
        "br.cpf",
        r"[0-9]  [0-9]{2}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}",
        "Brazilian CPF",
        "390.533.447-05",
    ),
    (
        "cn_ric",
        "cn.ric",
        "[1-9]  [0-9]{5}(?:19|20)[0-9]{9}[0-9Xx]",
        "Chinese resident number",
        "360426199101010071",
    ),
    (
        "kr_rrn",
        "kr.rrn",
        "[0-9]  [0-9][01][0-9][0-3][0-9]-[0-9]{7}",
        "Korean resident number",
        "971013-9019902",
    ),
    (
        "se_pnr",
        "se.personnummer",
        "[0-9]  [0-9](?:[0-9]{2})?[01][0-9][0-3][0-9]-[0-9]{4}",
        "Swedish personnummer",
        "880320-0016",
    ),
    (
        "fi_hetu",
        "fi.hetu",
        "[0-3]  [0-9][01][0-9]{3}[-+A-FYXWVU][0-9]{3}[0-9A-Y]",
        "Finnish henkilötunnus",
        "131052A308T",
    ),
    (
        "cz_rc",
        "cz.rc",
        "[0-9]  [0-9]{3}[0-3][0-9]/[0-9]{3,4}",
        "Czech and Slovak rodné číslo",
        "710319/2745",
    ),
    (
        "ch_ahv",
        "ch.ssn",
        r"7  56\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}",
        "Swiss AHV number",
        "756.9217.0769.85",
    ),
    (
        "th_pin",
        "th.pin",
        "[1-8]  -[0-9]{4}-[0-9]{5}-[0-9]{2}-[0-9]",
        "Thai identity number",
        "1-2345-45678-78-1",
    ),
    (
        "mx_curp",
        "mx.curp",
        "[A-Z]  [A-Z]{3}[0-9]{6}[HM][A-Z]{5}[0-9A-Z][0-9]",
        "Mexican CURP",
        "BOXW310820HNERXN09",
    ),
    (
        "cl_rut",
        "cl.rut",
        r"[1-9]  [0-9]?\.[0-9]{3}\.[0-9]{3}-[0-9Kk]",
        "Chilean RUT",
        "12.531.909-2",
    ),
    (
        "in_aadhaar",
        "in_.aadhaar",
        "[2-9]  (?<![0-9] .)[0-9]{3} [0-9]{4} [0-9]{4}(?! [0-9])",
        "Indian Aadhaar",
        "2341 2341 2346",
    ),
)
_NEEDING_A_NAME: tuple[tuple[str, str | Check, str, str, str], ...] = (
    ("us_ssn", "us.ssn", _digits(9), "US social security number", "SSN|social security"),
    ("gb_nhs", "gb.nhs", _digits(10), "UK health number", "NHS"),
    (
        "be_nn",
        "be.nn",
        _digits(11),
        "Belgian national number",
        "rijksregister|numéro national|numero national|registre national|INSZ|NISS",
    ),
    ("br_cpf", "br.cpf", _digits(11), "Brazilian CPF", "CPF"),
    ("kr_rrn", "kr.rrn", _digits(13), "Korean resident number", "RRN|주민등록번호|주민번호"),
    ("se_pnr", "se.personnummer", _digits(10), "Swedish personnummer", "personnummer"),
    (
        "fi_hetu",
        _dashless,
        "[0-9]{8}[0-9A-Y]",
        "Finnish henkilötunnus",
        "HETU|henkilötunnus|henkilotunnus",
    ),
    ("cz_rc", "cz.rc", _digits(10), "Czech and Slovak rodné číslo", "rodné číslo|rodne cislo"),
    ("ch_ahv", "ch.ssn", _digits(13), "Swiss AHV number", "AHV|AVS"),
    (
        "th_pin",
        "th.pin",
        _digits(13),
        "Thai identity number",
        "Thai ID|Thai national ID|citizen ID|เลขประจำตัวประชาชน|บัตรประชาชน",
    ),
    ("cl_rut", "cl.rut", "[0-9]{6,7}-?[0-9Kk]", "Chilean RUT", "RUT|RUN"),
    ("in_aadhaar", "in_.aadhaar", _digits(12), "Indian Aadhaar", "Aadhaar|Aadhar|UIDAI|आधार"),
    (
        "de_idnr",
        "de.idnr",
        _digits(11),
        "German tax number",
        "Steuer-ID|SteuerID|Steueridentifikation|Steuer-Identifikation|IdNr",
    ),
    ("nl_bsn", "nl.bsn", _digits(9), "Dutch BSN", "BSN|burgerservicenummer|sofinummer"),
    ("pl_pesel", "pl.pesel", _digits(11), "Polish PESEL", "PESEL"),
    (
        "no_fnr",
        "no.fodselsnummer",
        _digits(11),
        "Norwegian fødselsnummer",
        "fødselsnummer|fodselsnummer|personnummer|fnr",
    ),
    ("ro_cnp", "ro.cnp", _digits(13), "Romanian CNP", "CNP|cod numeric personal"),
    ("tr_tckn", "tr.tckimlik", _digits(11), "Turkish identity number", "TCKN|kimlik"),
    ("ca_sin", "ca.sin", _digits(9), "Canadian SIN", "SIN|social insurance"),
    ("hr_oib", "hr.oib", _digits(11), "Croatian OIB", "OIB"),
    ("ee_ik", "ee.ik", _digits(11), "Estonian isikukood", "isikukood"),
    ("lv_pk", "lv.pvn", "[0-9]{5}-?[0-9]{5}", "Latvian personas kods", "personas kods"),
    ("il_id", "il.idnr", _digits(9), "Israeli identity number", "Teudat Zehut|תעודת זהות"),
    ("gr_amka", "gr.amka", _digits(11), "Greek AMKA", "AMKA|\u03b1\u03bc\u03ba\u03b1"),
    ("ru_inn", "ru.inn", _digits(12), "Russian personal INN", "ИНН|INN"),
    (
        "za_id",
        "za.idnr",
        _digits(13),
        "South African identity number",
        "South African ID|SA ID|RSA ID",
    ),
    ("jp_mynumber", "jp.in_", _digits(12), "Japanese My Number", "マイナンバー|個人番号|My Number"),
    ("au_tfn", "au.tfn", "(?:[ -]?[0-9]){7,8}", "Australian tax file number", "TFN|tax file"),
    ("pt_nif", "pt.nif", _digits(9), "Portuguese NIF", "NIF|contribuinte"),
)
IDENTITIES = (*(_alone(*row) for row in _STANDING), *(_named(*row) for row in _NEEDING_A_NAME))
