"""Rules for e-mail and IP addresses and accounts."""

import re

from memory_mesh.policy.privacy.rule import Rule, Span

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
    Rule(
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
    Rule(
        name="iban",
        label="IBAN",
        gate="number",
        digits=10,
        pattern=r"[A-Za-z](?<![0-9A-Za-z].)[A-Za-z][0-9]{2}(?:[ -]?[0-9A-Za-z]){11,36}",
        check=iban,
        why="the length of its country and the check digits, in groups or without, in either case",
        example="GB33BUKB20201555555555",
    ),
    Rule(
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
    Rule(
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
