"""A cheap test before the rules: it tells whether any of them can match.

Every rule states what must be in a text before it is tried: one of its hints, enough digits, or a
form only addresses and tokens have. All of that together is asked here, so a text that answers no
is one no rule is tried on, and the rules need not even be loaded.
"""

import re
from collections.abc import Iterable, Sequence, Set as AbstractSet
from functools import cache

from memory_mesh.rules.privacy_rule import PrivacyRule
from memory_mesh.text import LONGEST, KnownWords

ENOUGH_DIGITS = 6  # the fewest in any number a rule knows
LONG_WORD = 50  # the shortest token that has neither prefix nor hint
_CLOSE = rf"[0-9](?:[^0-9]{{0,6}}[0-9]){{{ENOUGH_DIGITS - 1}}}"
# what every IPv4 address has in it, and every public IPv6 address
_DOTTED = r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]"
_COLONS = r"[23][0-9A-Fa-f]{3}:[0-9A-Fa-f]{0,4}:"
# the digits of a PIN, or a digit within a word, as in a chosen password
_SHORT = r"[0-9]{4}|[0-9]{3} [0-9]{3}|[^\s0-9.,:;/()\[\]'\"][0-9]|[0-9][^\s0-9.,:;/()\[\]'\"]"
_START = 3  # characters by which hints are found in a word
_CODE = "code"
NEUTRAL = "\ue000"  # stands for what no rule may touch

HINTS = (
    "@", "%40", "&#64;", "&#x40;", "&commat;", "://", "curl", "bearer", "authorization", "pass",
    "pw", "psw", "mdp", "secret", "token", "api_key",
    "apikey", "api-key", "api key", "access_key", "accesskey", "access-key", "access key",
    "account_key", "accountkey", "private_key", "privatekey", "signing_key", "encryption_key",
    "auth_key", "preshared", "master_key", "master key", "license key", "licence key",
    "license_key", "credential", "kennwort", "mot de passe", "contrase", "senha", "wachtwoord",
    "ww:", "clave", "haslo", "hasło", "heslo", "losenord", "lösenord", "adgangskode", "salasana",
    "sifre", "şifre", "parola", "mật khẩu", "kata sandi", "密码", "密碼", "口令", "密钥", "令牌",
    "パスワード", "비밀번호", "비번", "암호", "पासवर्ड", "סיסמ", "كلمة ال", "κωδικός", "парол",
    "sig=",
    "private key", "eyj", "akia", "asia", "abia", "acca", "aiza", "gocspx-", "ya29.", "1//0",
    "q~", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glrt-",
    "glptt-", "glsoat-", "glcbt-", "glft-", "glimt-", "glagent-", "xox", "xapp-",
    "hooks.slack.com", "/api/webhooks/", "sk-", "sk_", "rk_", "whsec_", "npm_", "pypi-", "hf_",
    "sg.", ":aa", "dop_v1_", "doo_v1_", "dor_v1_", "shpat_", "shpss_", "shpca_", "shppa_",
    "dapi", "key-", "-us", "hvs.", "hvb.", ".atlasv1.", "gsk_", "r8_", "pplx-", "xai-", "ntn_",
    "lin_api_", "figd_", "glsa_", "nrak-", "pmak-", "pul-", "sntryu_", "sntrys_", "sbp_",
    "rubygems_", "dckr_pat_", "dp.pt.", "pscale_tkn_", "pscale_oauth_", "atatt3",
    "age-secret-key-1",
    " -p", " -a", " -w", " -u", "rabbitmqctl", "/user:", "net user", "freerdp",
    "from-literal", "identified ", "masterauth", "aws_s", "oracle:", "sqlplus", "sudo ",
    "cryptsetup", "wifi:", "phrase", "mnemonic", "seed words", '"auth"', "-signature=", "totp",
    "otp sec", "otp_sec", "authenticator",
    ":5432:", ":*:", "ls0tls1crudjti", 'psk="',
)  # fmt: skip
DIGITS_HINTS = (  # asked of a text that has a few digits
    "cookie", " -b", "sessid", "sessionid", "_session", "_sess", "rack.session", "koa.sess",
    "session.id", "connect.sid", "aspnetcore", "aspxauth", "__secure-", "__host-", "logged_in_",
    "express.sid", "csrftoken", " / ", "login", "log in",
    "log-in", "logon", "sign in", "sign-in", "creds", "zugang", "anmeld",
    "identifiant", "connexion", "acceso", "accesso", "acesso", "inlog", "admin:",
    "root:", "guest:", "istrator:", "sa:", "wifi", "wi-fi", "wlan", "w-lan",
    "ssid", "hotspot", "wpa", "psk", "guest net", "recovery key", "backup key", "emergency key",
    " otp", "otp ", "notfall",
    "wiederherstellung", "digo ", "digos ", "codic", " pin", "pin ",
    "pin:", "pin=", 'pin"', "pin'", "pin_",
    "pin-", "puk", "geheimzahl", "логин", "доступ", "учетка", "учётка", "ログイン", "アカウント",
    "账号", "帳號", "登录", "登入", "로그인", "계정", "无线", "無線", "ワイファイ", "와이파이",
    "вайфай", "вай-фай",
    "восстановления", "恢复代码", "备用代码", "リカバリーコード", "복구 코드", "pin码", "pin番号",
    "pinコード", "暗証番号", "门禁码", "門禁碼", "пин", "핀번호",
)  # fmt: skip
DOORS = (  # what makes the word code one for a secret
    "door", "gate", "alarm", "entry", "entrance", "access", "unlock", "safe", "lock", "keypad",
    "lobby", "pairing", "verification", "confirmation", "security", "tür", "zugangs", "zutritts",
    "entsperr", "freischalt", "bestätigungs", "sicherheits", "2fa", "mfa", "sms", "sim",
)  # fmt: skip
LISTS = ("recovery", "backup", "scratch", "emergency", "rescue", "reset", "2fa", "mfa")
_CODES = (*DOORS, *LISTS, "code de", "codes de", "code d'", "digicode", "passcode", "pincode")

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

_SURE, _SPOKEN, _OF_CODES = frozenset(HINTS), frozenset(DIGITS_HINTS), frozenset(_CODES)
_NONE: frozenset[str] = frozenset()


class Hints:
    """Finds which of many hints a text has, in about the time that one takes.

    A hint without blanks lies within a word, and what a word holds is looked up once it is known.
    One with blanks is looked for where its longest part is.
    """

    def __init__(self, hints: Iterable[str]) -> None:
        self._asked: dict[str, tuple[str, ...]] = {}
        for hint in dict.fromkeys(hints):
            needle = max(hint.split(), key=len, default="")
            self._asked[needle] = (*self._asked.get(needle, ()), hint)
        self._blank = self._asked.pop("", ())  # nothing but blanks
        self._marks = tuple(needle for needle in self._asked if len(needle) < _START)
        self._plain_marks = tuple(filter(str.isascii, self._marks))
        self._starts: dict[str, list[str]] = {}
        for needle in self._asked.keys() - self._marks:
            self._starts.setdefault(needle[:_START], []).append(needle)
        self._of_word = KnownWords(self._within).__getitem__

    def of(self, lowered: str) -> AbstractSet[str]:
        """Returns the hints that a text in lower case has."""
        needles = _NONE.union(*map(self._of_word, lowered.split()))
        if not needles and not self._blank:
            return needles
        asked = (hint for needle in needles for hint in self._asked[needle])
        return {hint for hint in (*asked, *self._blank) if hint in needles or hint in lowered}

    def _within(self, word: str) -> frozenset[str]:
        """Returns what a word holds of the hints, or of their longest parts."""
        marks = self._plain_marks if word.isascii() else self._marks
        found = [mark for mark in marks if mark in word]
        if len(word) > LONGEST:
            found += (needle for needle in self._asked if needle in word)
            return frozenset(found)
        starts = list(map("".join, zip(word, word[1:], word[2:], strict=False)))
        if not self._starts.keys().isdisjoint(starts):
            near = (needle for start in starts for needle in self._starts.get(start, ()))
            found += (needle for needle in near if needle in word)
        return frozenset(found) if found else _NONE


@cache
def _hints() -> Hints:
    return Hints((*HINTS, *DIGITS_HINTS, *_CODES, _CODE))


def fold(text: str) -> str:
    """Replaces wide digits, dashes, quotes and spaces by ASCII, character by character."""
    return text if text.isascii() else text.translate(_FOLDS)


def visible(folded: str) -> tuple[str, list[int] | None]:
    """Removes invisible characters and returns the original positions of the others."""
    if folded.isascii() or len(seen := folded.translate(_WITHOUT_UNSEEN)) == len(folded):
        return folded, None
    return seen, [at for at, letter in enumerate(folded) if ord(letter) not in _WITHOUT_UNSEEN]


def suspicious(text: str) -> bool:
    """True if a rule may match; False is certain for the built-in rules.

    Names of projects, speakers and tags come again and again: what is short is looked up.
    """
    return _of_short[text] if len(text) <= LONGEST else _suspicious(text)


def mentioned(text: str, names: Sequence[PrivacyRule]) -> bool:
    """True if a text has a word of one of the names; False is certain."""
    if not names:
        return False
    lowered = (text if text.isascii() else visible(fold(text))[0]).lower()
    return any(hint in lowered for rule in names for hint in rule.hints)


def _suspicious(text: str) -> bool:
    folded = text if text.isascii() else fold(text).translate(_WITHOUT_UNSEEN)
    digits = digits_of(folded)
    if has_number(folded, digits) or has_long_word(folded):
        return True
    found = _hints().of(folded.lower())
    if not found or not found.isdisjoint(_SURE):
        return bool(found)
    spoken = not found.isdisjoint(_SPOKEN) or (_CODE in found and not found.isdisjoint(_OF_CODES))
    return spoken and has_code(folded, digits)


_of_short = KnownWords(_suspicious)


def digits_of(folded: str) -> int:
    """Counts the digits of a text."""
    if folded.isascii():
        return len(folded) - len(folded.encode().translate(None, b"0123456789"))
    return sum(map(folded.count, "0123456789"))


def has_number(folded: str, digits: int) -> bool:
    """True for enough digits for a number, or the dots and colons of an IP address."""
    if digits >= ENOUGH_DIGITS and re.search(_CLOSE, folded):
        return True
    if digits >= 4 and folded.count(".") >= 3 and re.search(_DOTTED, folded):  # noqa: PLR2004 - as many as an address has
        return True
    return digits > 0 and folded.count(":") >= 2 and bool(re.search(_COLONS, folded))  # noqa: PLR2004 - the same


def has_code(folded: str, digits: int) -> bool:
    """True for digits that may be a PIN or part of a chosen password."""
    return digits > 0 and re.search(_SHORT, folded) is not None


def has_long_word(folded: str) -> bool:
    """True for a dotted word that is too long to be written by hand."""
    if folded.count(".") < 2:  # noqa: PLR2004 - the token has three parts
        return False
    return max(map(len, folded.split()), default=0) >= LONG_WORD
