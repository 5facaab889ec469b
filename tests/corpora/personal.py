"""Personal data as Faker, python-stdnum and phonenumbers make it."""

import ipaddress
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from importlib import import_module
from random import Random
from string import ascii_uppercase

import phonenumbers
from faker import Faker
from phonenumbers import PhoneNumberFormat, PhoneNumberType
from stdnum import verhoeff
from stdnum.de import idnr
from stdnum.iso7064 import mod_11_10

from tests.corpora.value import Value

PER_NATION = 14
MARKS: Mapping[str, Sequence[str]] = {
    "#": "0123456789",
    "~": ascii_uppercase,
    "=": "BCDFGHJKLMNPQRSTVWXYZ",
    "?": "0123456789ABCDEFHJKLMNPRSTUVWXY",
    "^": ("110101", "310104", "440305", "510104", "420106", "330106"),
}
# kind: Faker's locale and method, stdnum's check, and what people call the number
BY_FAKER = {
    "us_ssn": ("en_US", "ssn", "us.ssn", ("SSN", "social security number")),
    "nl_bsn": ("nl_NL", "ssn", "nl.bsn", ("BSN", "burgerservicenummer")),
    "br_cpf": ("pt_BR", "cpf", "br.cpf", ("CPF",)),
    "tr_tckn": ("tr_TR", "ssn", "tr.tckimlik", ("T.C. kimlik no", "TCKN")),
    "ca_sin": ("en_CA", "ssn", "ca.sin", ("SIN", "social insurance number")),
    "ch_ahv": ("de_CH", "ssn", "ch.ssn", ("AHV-Nummer", "numéro AVS")),
    "hr_oib": ("hr_HR", "ssn", "hr.oib", ("OIB",)),
    "il_id": ("he_IL", "ssn", "il.idnr", ("תעודת זהות", "Teudat Zehut")),
    "cl_rut": ("es_CL", "rut", "cl.rut", ("RUT",)),
    "ru_inn": ("ru_RU", "individuals_inn", "ru.inn", ("ИНН",)),
}
# written so, these are told from other numbers by their form and check digits alone
ALONE = {
    "us_ssn",
    "gb_nino",
    "es_dni",
    "es_nie",
    "it_cf",
    "fr_nir",
    "br_cpf",
    "cn_ric",
    "kr_rrn",
    "se_pnr",
    "fi_hetu",
    "cz_rc",
    "mx_curp",
    "ch_ahv",
    "th_pin",
    "cl_rut",
    "be_nn",
}
IDENTITY_LEADS = (
    "My {0} is §",
    "{0}: §",
    "the customer's {0} is § according to the form",
    "Her {0} (§) was rejected by the portal",
    "{0} = '§'",
)
IBAN_LOCALES = (
    "en_GB",
    "de_DE",
    "fr_FR",
    "nl_NL",
    "es_ES",
    "it_IT",
    "pl_PL",
    "no_NO",
    "fi_FI",
    "de_AT",
    "de_CH",
    "pt_PT",
    "nl_BE",
    "da_DK",
    "cs_CZ",
    "tr_TR",
)
CARDS = (
    "visa16",
    "visa16",
    "mastercard",
    "mastercard",
    "amex",
    "discover",
    "diners",
    "jcb16",
    "visa19",
)
RARE_CARDS = ("visa13", "maestro", "jcb15")
CARD_LEADS = ("My credit card is §", "card number: §", "charge the Visa card § for it", "信用卡号§")
REGIONS = (
    "US",
    "GB",
    "DE",
    "FR",
    "ES",
    "IT",
    "NL",
    "BE",
    "AT",
    "CH",
    "PL",
    "CZ",
    "SE",
    "NO",
    "DK",
    "FI",
    "PT",
    "IE",
    "BR",
    "MX",
    "AR",
    "IN",
    "CN",
    "JP",
    "KR",
    "TW",
    "AU",
    "NZ",
    "ZA",
    "NG",
    "KE",
    "IL",
    "TR",
    "RU",
    "UA",
    "GR",
    "RO",
    "HU",
    "SG",
    "TH",
    "VN",
    "ID",
    "PH",
    "MY",
    "AE",
    "SA",
    "EG",
)
PHONE_LEADS = (
    "Call me at §",
    "My phone number is §",
    "tel: §",
    "Mobile § is the best way to reach her",
    "WhatsApp: §",
    "the customer's cell is §, evenings only",
    "Telefon: §",
    "Mon téléphone est le §",
    "mi teléfono es §",
    "电话§",
    "手机号：§",
    "電話番号は§です",
    "전화번호 §",
    "fax §",
    "Text him on § when the build is done",
)


def personal(rng: Random) -> Iterator[Value]:
    """Every personal kind, in the order of the documented table."""
    locales = sorted({row[0] for row in BY_FAKER.values()} | {*IBAN_LOCALES})
    fakers = {locale: _faker(locale, rng) for locale in locales}
    yield from _emails(rng, list(fakers.values()))
    yield from _phones(rng)
    yield from _cards(rng, fakers["en_US"])
    yield from _ibans(rng, fakers)
    yield from _addresses(rng)
    for kind, (locale, method, check, names) in BY_FAKER.items():
        make: Callable[[], str] = getattr(fakers[locale], method)
        yield from _identities(rng, kind, partial(_valid, make, check), names)
    for kind, (digits, names) in BY_STDNUM.items():
        yield from _identities(rng, kind, partial(digits, rng), names)


def _faker(locale: str, rng: Random) -> Faker:
    fake = Faker(locale)
    fake.seed_instance(rng.getrandbits(32) ^ sum(locale.encode()))
    return fake


def _emails(rng: Random, fakers: list[Faker]) -> Iterator[Value]:
    for _ in range(200):
        fake = rng.choice(fakers)
        name = f"{fake.ascii_safe_email().split('@')[0]}"
        host = rng.choice(
            ["gmail.com", "acme.co.uk", "mail.uni-koeln.de", "x.io", "firma.museum", "qq.com"]
        )
        form = rng.choice(
            ["{n}@{h}", "{n}+memo@{h}", "{N}@{h}", "{n}_{d}@sub.{h}", "{n}.{d}@{H}", "o'{n}@{h}"]
        )
        if not name:
            continue
        raw = form.format(n=name, N=name.upper(), h=host, H=host.upper(), d=rng.randrange(100))
        yield Value("email", raw, in_url=True)
    for raw in ("müller@bücher.de", "用户@例子.中国", "иван@почта.рф", "jose.peña@correo.es"):
        yield Value("email", raw, ("Write to § today", "e-mail: §"))


def _phones(rng: Random) -> Iterator[Value]:
    international = (
        PhoneNumberFormat.E164,
        PhoneNumberFormat.INTERNATIONAL,
        PhoneNumberFormat.RFC3966,
    )
    for turn in range(200):
        number = _phone(rng, REGIONS[turn % len(REGIONS)])
        raw = phonenumbers.format_number(number, international[turn % 3])
        if turn % 9 == 0:
            raw = f"00{phonenumbers.format_number(number, international[0])[1:]}"
            yield Value("phone", raw, PHONE_LEADS)
        else:
            yield Value("phone", raw.removeprefix("tel:"), in_url=False)
    for turn in range(160):
        number = _phone(rng, REGIONS[turn % len(REGIONS)])
        raw = phonenumbers.format_number(number, PhoneNumberFormat.NATIONAL)
        yield Value(
            "phone", rng.choice([raw, raw.replace("-", " "), raw.replace(" ", "-")]), PHONE_LEADS
        )
    for _ in range(40):
        digits = phonenumbers.national_significant_number(_phone(rng, "US"))
        form = rng.choice(["({}) {}-{}", "{}-{}-{}", "{}.{}.{}"])
        yield Value("phone", form.format(digits[:3], digits[3:6], digits[6:]), in_url=False)


def _phone(rng: Random, region: str) -> phonenumbers.PhoneNumber:
    """A valid number of the region: its example with the last digits thrown anew."""
    wish = rng.choice([PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE])
    example = phonenumbers.example_number_for_type(region, wish)
    assert example is not None
    plain = phonenumbers.national_significant_number(example)
    for _ in range(100):
        thrown = plain[:-5] + f"{rng.randrange(100_000):05}"
        number = phonenumbers.parse(f"+{example.country_code}{thrown}", None)
        if phonenumbers.is_valid_number_for_region(number, region):
            return number
    return example


def _cards(rng: Random, fake: Faker) -> Iterator[Value]:
    for _ in range(150):
        raw = fake.credit_card_number(rng.choice(CARDS))
        yield Value("card", _grouped(raw, rng.choice(["", " ", "-"])))
    for _ in range(30):
        yield Value("card", fake.credit_card_number(rng.choice(RARE_CARDS)), CARD_LEADS)


def _grouped(digits: str, mark: str) -> str:
    if len(digits) in {14, 15}:
        return mark.join([digits[:4], digits[4:10], digits[10:]])
    return mark.join(digits[at : at + 4] for at in range(0, len(digits), 4))


def _ibans(rng: Random, fakers: dict[str, Faker]) -> Iterator[Value]:
    for _ in range(130):
        raw = fakers[rng.choice(IBAN_LOCALES)].iban()
        spaced = " ".join(raw[at : at + 4] for at in range(0, len(raw), 4))
        yield Value("iban", rng.choice([raw, raw, spaced, raw.lower()]))


def _addresses(rng: Random) -> Iterator[Value]:
    made = 0
    while made < 90:
        address = ipaddress.IPv4Address(rng.getrandbits(32))
        if address.is_global and not address.is_multicast:
            made += 1
            yield Value("ip", str(address))
    for _ in range(60):
        six = ipaddress.IPv6Address(0x2A << 120 | rng.getrandbits(112) << 8 | rng.randrange(1, 256))
        sparse = ipaddress.IPv6Address(0x2606_4700 << 96 | rng.getrandbits(32))
        yield Value(
            "ip", rng.choice([str(six), six.exploded, str(sparse), str(six).upper()]), in_url=False
        )


def _identities(
    rng: Random, kind: str, make: Callable[[], str], names: tuple[str, ...]
) -> Iterator[Value]:
    leads = tuple(lead.format(name) for lead in IDENTITY_LEADS for name in names)
    for turn in range(PER_NATION):
        raw = make()
        yield Value(kind, raw, () if kind in ALONE and turn % 2 else leads, in_url=False)
        digits = "".join(letter for letter in raw if letter.isalnum())
        if turn < 4 and digits != raw:
            yield Value(kind, digits, leads)


def _valid(make: Callable[[], str], check: str) -> str:
    valid = import_module(f"stdnum.{check}").is_valid
    return next(raw for raw in iter(make, None) if valid(raw))


def _digits(rng: Random, count: int) -> str:
    return str(rng.randrange(1, 10)) + "".join(str(rng.randrange(10)) for _ in range(count - 1))


def _german(rng: Random) -> str:
    while True:
        front = _digits(rng, 10)
        raw = front + mod_11_10.calc_check_digit(front)
        if idnr.is_valid(raw):
            return rng.choice([raw, idnr.format(raw)])


def _indian(rng: Random) -> str:
    front = str(rng.randrange(2, 10)) + _digits(rng, 10)
    raw = front + verhoeff.calc_check_digit(front)
    return rng.choice([raw, f"{raw[:4]} {raw[4:8]} {raw[8:]}"])


def _searched(module: str, length: int) -> Callable[[Random], str]:
    """Numbers of a length until one passes the check."""

    def make(rng: Random) -> str:
        valid = import_module(f"stdnum.{module}").is_valid
        while True:
            raw = _digits(rng, length)
            if valid(raw):
                return raw

    return make


def _thrown(module: str, form: str) -> Callable[[Random], str]:
    """Numbers of a form, often with a day of birth, thrown until one passes the check.

    # is any digit, ~ any letter, = a consonant, ? either, ^ a Chinese district and M! the
    Italian month; Faker would count the
    birthdays from today, and tomorrow this would be another corpus.
    """

    def throw(rng: Random) -> str:
        day = date(1940, 1, 1) + timedelta(days=rng.randrange(22_000))
        thrown = day.strftime(form).replace("M!", "ABCDEHLMPRST"[day.month - 1])
        for mark, letters in MARKS.items():
            thrown = "".join(rng.choice(letters) if letter == mark else letter for letter in thrown)
        return thrown

    def make(rng: Random) -> str:
        valid = import_module(f"stdnum.{module}").is_valid
        return next(raw for raw in iter(lambda: throw(rng), None) if valid(raw))

    return make


def _british(rng: Random) -> str:
    """Without a check digit; the letters that are never given out stay out."""
    front = rng.choice("ABCEGHJKLMNOPRSTWXYZ") + rng.choice("ABCEHJLMPRSWXY")
    raw = f"{front}{_digits(rng, 6)}{rng.choice('ABCD')}"
    return rng.choice([raw, f"{raw[:2]} {raw[2:4]} {raw[4:6]} {raw[6:8]} {raw[8]}"])


BY_STDNUM: dict[str, tuple[Callable[[Random], str], tuple[str, ...]]] = {
    "de_idnr": (_german, ("Steuer-ID", "Steueridentifikationsnummer")),
    "in_aadhaar": (_indian, ("Aadhaar", "Aadhaar number")),
    "es_dni": (_thrown("es.dni", "########~"), ("DNI", "NIF")),
    "es_nie": (_thrown("es.nie", "X#######~"), ("NIE",)),
    "th_pin": (
        _thrown("th.pin", "#-####-#####-##-#"),
        ("เลขประจำตัวประชาชน", "Thai national ID"),
    ),
    "it_cf": (_thrown("it.codicefiscale", "~~~~~~%yM!%d~###~"), ("codice fiscale",)),
    "fr_nir": (_thrown("fr.nir", "1%y%m##########"), ("numéro de sécurité sociale", "NIR")),
    "pl_pesel": (_thrown("pl.pesel", "%y%m%d#####"), ("PESEL",)),
    "cn_ric": (_thrown("cn.ric", "^%Y%m%d####"), ("身份证号", "resident id")),
    "kr_rrn": (_thrown("kr.rrn", "%y%m%d-1######"), ("주민등록번호", "RRN")),
    "se_pnr": (_thrown("se.personnummer", "%y%m%d-####"), ("personnummer",)),
    "fi_hetu": (_thrown("fi.hetu", "%d%m%y-###?"), ("henkilötunnus", "HETU")),
    "no_fnr": (_thrown("no.fodselsnummer", "%d%m%y#####"), ("fødselsnummer",)),
    "be_nn": (_thrown("be.nn", "%y.%m.%d-###.##"), ("rijksregisternummer", "numéro national")),
    "ro_cnp": (_thrown("ro.cnp", "1%y%m%d######"), ("CNP", "cod numeric personal")),
    "cz_rc": (_thrown("cz.rc", "%y%m%d/####"), ("rodné číslo",)),
    "mx_curp": (_thrown("mx.curp", "=A==%y%m%dHDF===##"), ("CURP",)),
    "ee_ik": (_thrown("ee.ik", "3%y%m%d####"), ("isikukood",)),
    "lv_pk": (_thrown("lv.pvn", "%d%m%y-1####"), ("personas kods",)),
    "gr_amka": (_thrown("gr.amka", "%d%m%y#####"), ("ΑΜΚΑ", "AMKA")),
    "za_id": (_thrown("za.idnr", "%y%m%d####08#"), ("South African ID number", "SA ID")),
    "gb_nino": (_british, ("NINO", "National Insurance number")),
    "gb_nhs": (_searched("gb.nhs", 10), ("NHS number",)),
    "jp_mynumber": (_searched("jp.in_", 12), ("マイナンバー", "個人番号")),
    "au_tfn": (_searched("au.tfn", 9), ("TFN", "tax file number")),
    "pt_nif": (_searched("pt.nif", 9), ("NIF", "número de contribuinte")),
}
