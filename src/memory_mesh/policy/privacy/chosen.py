"""Tells a value that somebody chose as a secret from the words and numbers of a sentence."""

import re

_SHORTEST, _STRONG, _LONGEST, _VARIED = 6, 8, 128, 4
_SIGN = r"[A-Za-z0-9][!@#$%^&*+=?~]|[!@#$%^&*+=?~][A-Za-z0-9]"
_ENDS = (
    r"py|pyi|js|mjs|ts|tsx|jsx|rs|go|rb|c|h|cc|cpp|hpp|cs|java|kt|sh|ps1|sql|md|txt|json|ya?ml|toml"
    r"|ini|cfg|conf|env|log|csv|tsv|xml|html?|s?css|png|jpe?g|gif|svg|pdf|zip|gz|tgz|tar|bz2|xz|whl"
    r"|lock|pem|crt|key|pub|db|sqlite|proto|tf|ipynb|com|org|net|io|dev|local|internal"
)
_VERSION = re.compile(
    r"(?i)v[0-9]{1,9}\.[0-9][\w.+-]*|(?:sha|md|aes|rsa|utf|base|argon|pbkdf|oauth|ed|hs|rs"
    r"|es)-?[0-9]{1,5}(?:id)?"
)
_OTHER = re.compile(
    r"(?i)v?[0-9]{1,9}\.[0-9][\w.+-]*"  # a version
    r"|[0-9][0-9.,]*[a-z%µ°]{0,8}|[a-z]{1,3}[0-9]{1,2}|[0-9]{1,9}-[a-z]+"  # a number and its unit
    r"|[0-9]{1,4}[-/.:][0-9]{1,2}[-/.:tz0-9+]*"  # a date or a time
    rf"|[\w.@/\\-]{1, 128}\.(?:{_ENDS})"
    r"|[~./\\].*|[a-z][a-z0-9+.-]{0,20}://.*|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]+"
    r"|[\w.-]{1,64}/[\w.-]{1,64}/[\w./-]*"
    r"|\$.*|%.*|<.*|\{.*|\[.*|[^(){}<>]*[(){}<>].*"
    r"|(?:sha|md|aes|rsa|utf|ucs|iso|base|argon|pbkdf|oauth|oidc|tls|ssl|ipv|rfc|http|https|ed|log"
    r"|win|windows|ubuntu|debian|arm|amd|mp|gpt|claude|llama|python|node|java|php|mysql|postgres"
    r"|postgresql|redis|web|level|step|phase|part|page|line|row|node|host|server|srv|web|db|box"
    r"|team"
    r"|user|admin|test|option|field|rule|key|slot|case|room|version|build|release|sprint|week|day)"
    r"[-_]?[0-9][0-9a-z.-]*"
    r"|bcrypt.*|scrypt.*|1password.*|keepass.*|bitwarden.*|lastpass.*|[0-9]fa|[a-z]{1,4}-[0-9]{1,4}"
    r"|(?:iphone|ipad|pixel|galaxy|macbook|thinkpad|raspberry)-?[0-9].*"
    r"|(?-i:[A-Z]{2,10}-?[0-9]{1,6}[A-Z]{0,3})"
)


def is_version(value: str) -> bool:
    """True for a version, or the name of a method with its number, as in sha256."""
    return bool(_VERSION.fullmatch(value))


def chosen(value: str) -> bool:
    """True for letters with digits or signs among them that are no name of another thing."""
    if (
        not _SHORTEST <= len(value) <= _LONGEST
        or len(set(value)) < _VARIED
        or not re.search("[A-Za-z]", value)
    ):
        return False
    if not re.search("[0-9]", value) and not re.search(_SIGN, value):
        return False
    return not _OTHER.fullmatch(value)


def strong(value: str) -> bool:
    """True if a value needs no more than a word for a secret beside it to be one."""
    if len(value) < _STRONG or not chosen(value) or not re.search("[0-9]", value):
        return False
    mixed = bool(re.search("[a-z]", value)) and bool(re.search("[A-Z]", value))
    return mixed or bool(re.search(_SIGN, value)) or len(re.findall("[0-9]", value)) > 1
