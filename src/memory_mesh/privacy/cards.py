"""Rules for card numbers: an issuer's digits, unless the words beside them name another thing."""

import re

from memory_mesh.rules.privacy_rule import PrivacyRule, Span

# Who issues a card shows in its first digits, and fixes how long it is.
_ISSUERS = (
    r"4(?:\d{15}|\d{18})"
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"
    r"|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|35\d{14}"
    r"|(?:6011|64[4-9]\d|65\d\d|62\d\d|81[0-7]\d)\d{12}|62\d{15,17}|220[0-4]\d{12}|508[5-9]\d{12}"
)
_RARE_ISSUERS = r"4\d{12}|(?:2131|1800)\d{11}|(?:50[0-9]{2}|5[6-9]\d\d|6[0-9]{3}|0604)\d{8,15}"
# the groups on a card; other numbers may stand before and behind them
_GROUPS = (
    r"(?<![0-9A-Za-z])(?<![0-9]\.)(?=(?P<value>(?<![0-9]-)[0-9]{%s}(?!-[0-9])"
    r"|[0-9]{4}(?P<gap>[ -])(?:(?:[0-9]{4}(?P=gap)){2}[0-9]{4}|[0-9]{6}(?P=gap)[0-9]{4,5}))"
    r"(?![0-9A-Za-z]))"
)
_CARD_WORDS = (
    "card", "cc", "visa", "maestro", "jcb", "karte", "carte", "tarjeta", "carta", "cartão",
    "信用卡", "银行卡", "カード", "카드", "карт",
)  # fmt: skip
_CARD = "|".join(_CARD_WORDS).replace("cc", "(?<![a-z])cc(?![a-z])")
# what says for sure that digits are a card, even if their check digit is wrong
_SURELY = (
    r"(?i)(?<![a-z])(?:(?:credit|debit|bank|kredit|gift)?[ _-]?card(?:[ _-]?(?:number|no|nr"
    r"|num))?|pan"
    r"|cc[ _-]?(?:number|no|num)|visa|mastercard|amex|american express|unionpay|kreditkarte"
    r"|kartennummer|carte (?:bancaire|bleue|de cr[eé]dit)|num[eé]ro de carte"
    r"|tarjeta(?: de cr[eé]dito)?"
    r"|carta di credito|cart[aã]o(?: de cr[eé]dito)?)[\"'`]?(?: (?:is|ist|est"
    r"|es))?[ :=#\"'`]{1,4}\Z"
)
_NUMBER = r"(?:number|no\.?|nr\.?|num|nummer|id|ids|code|ref|#|№|n[°ºo.]\.?)"
_THINGS = (
    r"orders?|tickets?|invoices?|tracking|shipments?|consignments?|waybills?|transactions?|txn"
    r"|references?|ref|receipts?|bookings?|reservations?|serials?|imei|imsi|iccid|ean|gtin|upc|isbn"
    r"|sku|barcodes?|asset|batch|lot|job|build|trace|span|tweet|snowflake|offset|seed|checksum|hash"
    r"|nonce|timestamp|epoch|contract|incident"
    r"|bestell(?:ung|nummer|nr)|auftrags?(?:nummer|nr)?|rechnungs?(?:nummer|nr)?"
    r"|sendung(?:s(?:nummer|nr))?"
    r"|liefer(?:ung|schein)s?(?:nummer|nr)?|vorgangs?(?:nummer|nr)?|buchungs?(?:nummer|nr)?"
    r"|kundennummer"
    r"|seriennummer|vertrags?(?:nummer|nr)|commandes?|factures?|suivi|colis|r[eé]servation|dossier"
    r"|pedidos?|facturas?|encomendas?|env[ií]o|seguimiento|rastreo|rastreamento|recibo"
    r"|ordin[ei]|fattur[ae]|spedizion[ei]|tracciamento|bestelling|factuur|zam[oó]wieni[ea]"
    r"|faktur[ay]?"
    r"|ordre|objedn[aá]vk[ay]|sipari[sş]|fatura"
)
_OTHER_BEFORE = (
    rf"(?i)(?:(?<![a-z])(?:{_THINGS})(?:[ _-]?{_NUMBER})?[\"'`]?(?: (?:is|was"
    rf"|ist|est|es|war|n[uú]mero"
    rf"|num[eé]ro|von|vom|of|del|de|du))?|订单号?|訂單|单号|發票|发票|快递单?号?|注文番号?"
    rf"|追跡番号?"
    rf"|請求書番?号?|주문 ?번호|송장 ?번호|(?:заказ|сч[её]т|трек|накладн)\w{{0,24}}"
    rf"|номер заказа)"
    rf"[ :=#№(\"'`是は]{{0,4}}\Z"
)
_ID_BEFORE = (
    r"(?i)(?:(?<![a-z])(?:ids?|uid|uuid|oid)|(?-i:[a-z]Id))[\"'`]?(?: (?:is|was))?[ :=#\"'`]{0,4}\Z"
)
_OTHER_AFTER = (
    rf"(?i)[\"'`)]?,? ?(?:\(|is |as |= ?|ist |est |es |was )(?:the |an |a |our |your |die |le "
    rf"|la |el )?"
    rf"(?:\w{{1,16}} )?(?:{_THINGS})(?![a-z])"
)
_LISTED = re.compile(
    r"(?:[0-9][0-9 -]{10,22}[0-9](?:,| and| und| et| y| e| or|/|;| &|\s)\s?){1,6}\Z"
)
# of https://docs.stripe.com/testing: the numbers that begin with 400000, and these
_STRIPE = frozenset(
    (
        "4242424242424242", "5555555555554444", "2223003122003222", "5200828282828210",
        "5105105105105100", "378282246310005", "371449635398431", "6011111111111117",
        "6011000990139424", "6011981111111113", "3056930009020004", "36227206271667",
        "6555900000604105", "3566002020360505", "6200000000000005", "6200000000000047",
        "6205500000000000004", "4100000000000019", "5555552500001001", "4001000360000005",
        "4001000020000000", "4000582600000094", "4000582600000045", "4000582600000102",
        "4000582600000110", "4000056655665556", "6011000400000000", "38520000023237",
        "30569309025904", "5555050360000080", "5555050020000085", "6011007100001117",
    )
)  # fmt: skip
_TEST = re.compile(r"(?i)(?<![a-z])(?:stripe|test(?!ed|if|am|im|o))|тест|测试|測試|テスト|테스트")
_BESIDE = 64  # how far a word may stand that says the number is Stripe's


def card(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of a card number: an issuer's prefix and length, and Luhn's check digit.

    Behind a word for a card the check digit may be wrong. A number whose words name another thing
    is none, unless a word for a card stands near by.
    """
    digits = re.sub(r"\D", "", text[start:stop])
    if not re.fullmatch(_ISSUERS, digits) or _published(text, start, stop, digits):
        return None
    plain = stop - start == len(digits)
    if not plain and _in_a_row(text, start, stop):
        return None
    before = text[max(0, start - 160) : start]
    other = _another_thing(before, text[stop : stop + 48], plain=plain)
    if other and not _called_a_card(text, start, stop):
        return None
    return _checked(text, start, stop, digits, surely=bool(re.search(_SURELY, before[-40:])))


def rare_card(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of a short or old card number, whose form other numbers share."""
    digits = re.sub(r"\D", "", text[start:stop])
    if not re.fullmatch(_RARE_ISSUERS, digits) or _published(text, start, stop, digits):
        return None
    return _checked(text, start, stop, digits, surely=False)


def _checked(text: str, start: int, stop: int, digits: str, *, surely: bool) -> Span | None:
    from stdnum import luhn

    if re.search(r"[0-9]\.\Z", text[max(0, start - 2) : start]):
        return None
    return (start, stop) if surely or luhn.is_valid(digits) else None


def _published(text: str, start: int, stop: int, digits: str) -> bool:
    """True for a test number of Stripe's beside the word test or stripe.

    A word before another short number, as in "test case 17", speaks of that one.
    """
    if digits not in _STRIPE and not digits.startswith("400000"):
        return False
    before = re.split(r"(?<!\w)[0-9]{1,3}(?!\w)", text[max(0, start - _BESIDE) : start])[-1]
    return bool(_TEST.search(before) or _TEST.search(text[stop : stop + _BESIDE]))


def _another_thing(before: str, after: str, *, plain: bool) -> bool:
    """True if the words beside a number, or before a list that it ends, name another thing.

    A number in the groups of a card is no plain id.
    """
    if re.match(_OTHER_AFTER, after):
        return True
    if listed := _LISTED.search(before):
        before = before[: listed.start()]
    return bool(re.search(_OTHER_BEFORE, before[-64:])) or (
        plain and bool(re.search(_ID_BEFORE, before[-16:]))
    )


def _in_a_row(text: str, start: int, stop: int) -> bool:
    """True for groups of four out of a longer row of them, which any numbers may stand in."""
    before = re.search(r"(?<![0-9])[0-9]{4}([ -])\Z", text[max(0, start - 6) : start])
    after = re.match(r"([ -])[0-9]{4}(?![0-9])", text[stop : stop + 6])
    return bool(before and after) or any(group and group[1] == "-" for group in (before, after))


def _called_a_card(text: str, start: int, stop: int) -> bool:
    near = text[max(0, start - 48) : start] + " " + text[stop : stop + 24]
    return bool(re.search(_CARD, near, re.IGNORECASE))


CARDS = (
    PrivacyRule(
        name="card",
        label="CARD",
        gate="number",
        digits=14,
        pattern=(
            r"[0-9](?<![0-9A-Za-z].)(?<![0-9][.-].)(?:[ -]?[0-9]){13,18}(?![ -]?[0-9]|[A-Za-z])"
        ),
        check=card,
        why="an issuer's first digits and length, and Luhn's check digit unless a card is named",
        example="4111 1111 1111 1111",
    ),
    PrivacyRule(
        name="card",
        label="CARD",
        gate="number",
        digits=14,
        pattern=_GROUPS % "14,19",
        check=card,
        why="the same in one piece or in the groups of a card, beside other numbers",
        example="3 4111 1111 1111 1111 12/27",
    ),
    PrivacyRule(
        name="card",
        label="CARD",
        gate="number",
        digits=12,
        pattern=r"[0-9](?<![0-9A-Za-z_].)(?:[ -]?[0-9]){11,18}(?![ -]?[0-9]|[A-Za-z_])",
        check=rare_card,
        hints=_CARD_WORDS,
        context=_CARD,
        why="Maestro, 13-digit Visa and 15-digit JCB, near a word for a card",
        example="card 4222222222222",
    ),
    PrivacyRule(
        name="card",
        label="CARD",
        gate="number",
        digits=12,
        pattern=_GROUPS % "12,19",
        check=rare_card,
        hints=_CARD_WORDS,
        context=_CARD,
        why="the same in one piece or in the groups of a card, beside other numbers",
        example="card 4222222222222 12/27",
    ),
    PrivacyRule(
        name="card",
        label="CARD",
        gate="number",
        digits=16,
        pattern=(
            r"[0-9](?<![0-9A-Za-z_].)[0-9]{3}"
            r"(?:(?:[ \t]{1,3}|[._/-]|\s{0,2}\n[ \t>]{0,4})[0-9]{4}){3}(?![0-9A-Za-z_])"
        ),
        check=card,
        hints=_CARD_WORDS,
        context=_CARD,
        why="four groups apart by dots, tabs or a line's end, near a word for a card",
        example="card 4111.1111.1111.1111",
    ),
)
