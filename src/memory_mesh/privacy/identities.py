"""Rules for national identity numbers, with their check digits.

A number that is told from others by its form stands alone; one that is bare digits needs a word for
it near by. python-stdnum knows the check digits.
"""

import re
from collections.abc import Callable
from importlib import import_module

from memory_mesh.rules.privacy_rule import Check, PrivacyRule, Span

# the ends of file names that are no top-level domains, as .py, .rs, .md and .zip are
_FILE = (
    r"(?i)\.(?:png|jpe?g|gif|svg|webp|ico|bmp|pdf|s?css|m?js|[jt]sx|ts|json|txt|html?|xml|ya?ml|toml"
    r"|lock|log|csv|eml|msg|vcf|docx?|xlsx?|tar|gz)\Z"
)
_L = r"A-Za-z0-9À-ɏ\u0300-\u052f\u1e00-\u1eff"  # Latin, Greek and Cyrillic, marks apart or not
_LOCAL = rf"[{_L}_%+-](?:[{_L}._%+'-]{{0,62}}[{_L}_%+-])?\Z"
_MARKS = r"\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0e7f"  # written over and under letters
_ANY_LOCAL = rf"[\w{_MARKS}.%+-]{{1,64}}\Z"
_AT = r"(?:\\?@|%40|&#64;|&#[xX]40;|&commat;)"
_MACHINES = frozenset(("git", "hg", "svn"))  # git@host:path is where code lies
# The length of an account number by its country, from the IBAN registry.
_IBAN_LENGTHS = (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 "
    "DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 "
    "IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 "
    "MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 "
    "SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
)
_LOGIN = r"://[^\s/@]{0,64}:\Z"
_RESOLVERS = frozenset(("8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "9.9.9.9"))
_VERSION = (
    r"(?i)(?:\bv|version|release|build|firmware|driver|assembly\w{0,24}|upgrade[ds]?(?: to)?)"
    r"[\"':=> ]{0,3}\Z|(?:[=~<>!]=|[~^]) ?\Z"
)

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


def _alone(name: str, module: str, pattern: str, why: str, example: str) -> PrivacyRule:
    """Builds a rule for an unambiguous form; two blanks end the pattern's first character."""
    first, _, rest = pattern.partition("  ")
    return PrivacyRule(
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


def _named(name: str, check: str | Check, pattern: str, why: str, words: str) -> PrivacyRule:
    """Builds a rule for a form that other numbers share: it needs a word for it nearby."""
    names = tuple(words.lower().split("|"))
    whole = [rf"{word}(?![a-z])" if len(word) <= _SHORT else word for word in names]
    return PrivacyRule(
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


# Rules for e-mail and IP addresses and accounts.


def email(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of an e-mail address; None for a file name or a repository's address."""
    before = text[max(0, start - 64) : start]
    host = start + len(re.match(_AT, text[start:stop])[0])  # type: ignore[index]  # it begins so
    local = re.search(_LOCAL if text[host].isascii() else _ANY_LOCAL, before)
    if not local:
        return None
    if file := re.search(_FILE, text[host:stop]):
        stop = host + file.start()  # bob@example.com.txt is a file, bob@example.com its owner
        if not re.fullmatch(r"(?!\d+x\.).+\.[^\W\d_]{2,}", text[host:stop]):
            return None
    if local[0] in _MACHINES:
        return None
    start -= len(local[0])
    if text[start - 1 : start] == ":" and re.search(_LOGIN, text[max(0, start - 80) : start]):
        return None  # the end of a URL's login, which has a rule of its own
    return start, stop


def iban(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of an IBAN with its country's length and correct check digits."""
    from stdnum.iso7064 import mod_97_10

    country = _IBAN_LENGTHS.find(text[start : start + 2].upper())
    length = int(_IBAN_LENGTHS[country + 2 : country + 4]) if country >= 0 else 0
    places = [at for at in range(start, stop) if text[at] not in " -"][:length]
    if not length or len(places) < length:
        return None
    end = places[-1] + 1
    if end < len(text) and text[end].isascii() and text[end].isalnum():
        return None
    plain = "".join(text[at] for at in places).upper()
    return (start, end) if mod_97_10.is_valid(plain[4:] + plain[:4]) else None


def ip(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of a public IP address; None for private, local and reserved ones."""
    from ipaddress import ip_address

    value = text[start:stop].rstrip(":")
    if ":" in value and re.search(
        r"(?<![0-9A-Za-z])[0-9A-Fa-f]{0,4}:\Z", text[max(0, start - 6) : start]
    ):
        return None
    try:
        address = ip_address(value)
    except ValueError:
        return None
    if not address.is_global or address.is_multicast or value in _RESOLVERS:
        return None
    if "." in value and re.search(_VERSION, text[max(0, start - 24) : start]):
        return None
    return start, start + len(value)


PERSONAL = (
    PrivacyRule(
        name="email",
        label="EMAIL",
        hints=("@", "%40", "&#64;", "&#x40;", "&commat;"),
        pattern=(
            rf"{_AT}(?:[^\W\x00-\x7f][\w{_MARKS}-]{{0,62}}(?:\.[\w{_MARKS}-]{{1,63}}){{1,4}}"
            rf"|(?:[{_L}](?:[{_L}-]{{0,61}}[{_L}])?\.){{1,12}}"
            r"(?:[A-Za-z]{2,24}|[Ͱ-ԯ]{2,24})(?![A-Za-z0-9]))"
        ),
        check=email,
        why="an @ between a name and a host with a top-level domain, in any script",
        example="bob@example.com",
    ),
    PrivacyRule(
        name="iban",
        label="IBAN",
        gate="number",
        digits=10,
        pattern=r"[A-Za-z](?<![0-9A-Za-z].)[A-Za-z][0-9]{2}(?:[ -]?[0-9A-Za-z]){11,36}",
        check=iban,
        why="the length of its country and the check digits, in groups or without, in either case",
        example="GB33BUKB20201555555555",
    ),
    PrivacyRule(
        name="ip",
        label="IP",
        gate="number",
        hints=(".",),
        pattern=(
            r"[0-9](?<![0-9A-Za-z_.-].)[0-9]{0,2}(?:\.[0-9]{1,3}){3}"
            r"(?![0-9A-Za-z_]|\.[0-9A-Za-z]|-[A-Za-z])"
        ),
        check=ip,
        why="a public IPv4 address that is not a version and not a well-known resolver",
        example="93.184.216.34",
    ),
    PrivacyRule(
        name="ip",
        label="IP",
        gate="number",
        hints=(":",),
        pattern=r"[23](?<![0-9A-Za-z_.].)[0-9A-Fa-f]{3}(?::[0-9A-Fa-f]{0,4}){2,7}(?!:?[0-9A-Za-z])",
        check=ip,
        why="a public IPv6 address",
        example="2606:2800:220:1:248:1893:25c8:1946",
    ),
)
