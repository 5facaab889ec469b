"""A cheap test before the rules: it tells whether any of them can match.

Every rule states what must be in a text before it is tried: one of its hints, enough digits, or a
form only addresses and tokens have. All of that together is asked here, so a text that answers no
is one no rule is tried on, and the rules need not even be loaded.
"""

import re

ENOUGH_DIGITS = 6  # the fewest in any number a rule knows
LONG_WORD = 50  # the shortest token that has neither prefix nor hint
_CLOSE = rf"[0-9](?:[^0-9]{{0,6}}[0-9]){{{ENOUGH_DIGITS - 1}}}"
NEUTRAL = "\ue000"  # stands for what no rule may touch

HINTS = (
    "@", "%40", "&#64;", "&#x40;", "&commat;", "://", "curl", "bearer", "authorization", "pass",
    "pwd", "pw=", 'pw"', "pw'", "secret", "token", "api_key",
    "apikey", "api-key", "api key", "access_key", "accesskey", "access-key", "access key",
    "account_key", "accountkey", "private_key", "privatekey", "signing_key", "encryption_key",
    "auth_key", "credential", "kennwort", "mot de passe", "contrase", "senha", "wachtwoord",
    "密码", "密碼", "口令", "密钥", "令牌", "パスワード", "비밀번호", "пароль", "sig=",
    "private key", "eyj", "akia", "asia", "abia", "acca", "aiza", "gocspx-", "ya29.", "1//0",
    "q~", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glrt-",
    "glptt-", "glsoat-", "glcbt-", "glft-", "glimt-", "glagent-", "xox", "xapp-",
    "hooks.slack.com", "/api/webhooks/", "sk-", "sk_", "rk_", "whsec_", "npm_", "pypi-", "hf_",
    "sg.", ":aa", "dop_v1_", "doo_v1_", "dor_v1_", "shpat_", "shpss_", "shpca_", "shppa_",
    "dapi", "key-", "-us", "hvs.", "hvb.", ".atlasv1.", "gsk_", "r8_", "pplx-", "xai-", "ntn_",
    "lin_api_", "figd_", "glsa_", "nrak-", "pmak-", "pul-", "sntryu_", "sntrys_", "sbp_",
    "rubygems_", "dckr_pat_", "dp.pt.", "pscale_tkn_", "pscale_oauth_", "atatt3",
    "age-secret-key-1",
)  # fmt: skip

_FOLDS = dict(zip(range(0xFF01, 0xFF5F), range(0x21, 0x7F), strict=True))
_ZEROS = (
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50,
    0xED0, 0xF20, 0x1040, 0x17E0, 0x1810, *range(0x1D7CE, 0x1D800, 10),
)  # fmt: skip
for _zero in _ZEROS:
    _FOLDS |= {_zero + digit: 0x30 + digit for digit in range(10)}
_FOLDS |= {0xFE6B: 0x40, ord(NEUTRAL): ord(NEUTRAL) + 1}  # nobody writes what is only ours
_FOLDS |= dict.fromkeys((0xA0, 0x2007, 0x2009, 0x202F, 0x3000), 0x20)
_FOLDS |= dict.fromkeys((*range(0x2010, 0x2016), 0x2212), 0x2D)
_FOLDS |= dict.fromkeys(map(ord, "“”„«»「」『』"), 0x22) | dict.fromkeys(
    (0x2018, 0x2019, 0x201A), 0x27
)
_UNSEEN = (
    0xAD, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10), 0xFEFF,
)  # fmt: skip
_WITHOUT_UNSEEN: dict[int, None] = dict.fromkeys(_UNSEEN)


def fold(text: str) -> str:
    """Replaces wide digits, dashes, quotes and spaces by ASCII, character by character."""
    return text if text.isascii() else text.translate(_FOLDS)


def visible(folded: str) -> tuple[str, list[int] | None]:
    """Removes invisible characters and returns the original positions of the others."""
    if folded.isascii() or len(seen := folded.translate(_WITHOUT_UNSEEN)) == len(folded):
        return folded, None
    return seen, [at for at, letter in enumerate(folded) if ord(letter) not in _WITHOUT_UNSEEN]


def suspicious(text: str) -> bool:
    """True if a rule may match; False is certain for the built-in rules."""
    folded = text if text.isascii() else fold(text).translate(_WITHOUT_UNSEEN)
    return has_number(folded) or has_long_word(folded) or has_hint(folded.lower())


def has_number(folded: str) -> bool:
    """True for enough digits for a number, or the dots and colons of an IP address."""
    digits = sum(map(folded.count, "0123456789"))
    if digits >= ENOUGH_DIGITS and re.search(_CLOSE, folded):
        return True
    dotted = digits >= 4 and folded.count(".") >= 3  # noqa: PLR2004 - as many as an address has
    return dotted or (digits > 0 and folded.count(":") >= 2)  # noqa: PLR2004 - the same


def has_long_word(folded: str) -> bool:
    """True for a dotted word that is too long to be written by hand."""
    if folded.count(".") < 2:  # noqa: PLR2004 - the token has three parts
        return False
    return any(len(word) >= LONG_WORD for word in folded.split())


def has_hint(lowered: str) -> bool:
    """True if the text has one of the words or marks that occur with secrets."""
    for hint in HINTS:  # noqa: SIM110 - a third faster than any()
        if hint in lowered:
            return True
    return False
