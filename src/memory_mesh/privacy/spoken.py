"""Rules for secrets as people write them down: logins, wifi codes, PINs, recovery codes, chats."""

import re
from collections.abc import Iterator

from memory_mesh.privacy.gate import DOORS, LISTS
from memory_mesh.privacy.scan import Anchored, chosen, strong
from memory_mesh.rules.privacy_rule import MatchPosition, PrivacyRule, Span

IS = (
    r"(?:is|are|was|=|->|→|ist|sind|war|lautet|lauten|est|sont|es|son|era|è|é|são|sono|jest|är"
    r"|er|on"
    r"|will be|wird|será|sera|будет|это|是|为|為|は|は、)"
)
OF = (
    r"(?:for|of|on|to|at|in|from|you|we|with|für|fuer|von|vom|zu|zum|zur|am|an|im|der|des|beim"
    r"|de|du"
    r"|des|d'|del|della|dello|di|para|pour|per|do|da|no|na|van|voor|till|för|til|до|для|от|на|к"
    r"|в|із)"
)
_BARE = r"[^\s\"'`,;|<>]{4,128}"
_TRAILING = ".,:;!?)]}*"
_NAME = r"[A-Za-z_][\w.@+\\-]{0,63}"
_COLONS = 2  # as many are in a line of /etc/passwd
_NEAR = 100  # how far behind its word a code may stand
_ADMIN = re.compile(
    r"(?i)(?<![a-z])(?:admin|administrator|root|guest|user|test|demo|sa|deploy|ci|bot|ops"
    r"|superuser)"
    r"[\"'`]?\s{1,3}[/|]\s{1,3}[\"'`]?\Z"
)
_LOGIN_WORDS = (
    r"log[ -]?ins?|logon|sign[ -]?in|creds?|credentials|zugang|zugangsdaten|anmeldung|anmeldedaten"
    r"|identifiants?|connexion|acceso|credenciales|accesso|credenziali|acesso|inlog|inloggen"
    r"|логин|доступ|учетка|учётка"
)
_LOGIN_HINTS = (
    "login", "log in", "log-in", "logon", "sign in", "sign-in", "creds", "credential",
    "zugang", "anmeld",
    "identifiant", "connexion", "acceso", "accesso", "acesso", "inlog", "логин", "доступ",
    "учетка", "учётка", "ログイン", "アカウント", "账号", "帳號", "登录", "登入", "로그인", "계정",
)  # fmt: skip
_USER_WORDS = (
    r"user(?:name)?s?|accounts?|access|auth|admin|benutzer(?:name)?|konto|utilisateur|compte"
    r"|acc[eè]s"
    r"|usuario|cuenta|utente|usu[aá]rio|conta|gebruiker|пользователь"
)
_USER_HINTS = (
    "user", "account", "access", "auth", "admin", "benutzer", "konto", "utilisateur", "compte",
    "acces", "accès", "usuario", "usuário", "cuenta", "utente", "conta", "gebruiker",
    "пользователь",
)  # fmt: skip
_WIFI_HINTS = (
    "wifi", "wi-fi", "wlan", "w-lan", "ssid", "hotspot", "wpa", "psk", "guest net", "无线", "無線",
    "ワイファイ", "와이파이", "вайфай", "вай-фай",
)  # fmt: skip
_WIFI_CODE = re.compile(
    r"(?i)(?P<kind>\s/\s|[:=]|(?:^|\W)(?:is|ist|est|es|è|é|är|lautet|key|code|pass\w*|pw|pwd|psk"
    r"|schl[uü]ssel|clave|contrase[nñ]a|senha|cl[eé]|mdp|chiave|sleutel|klucz|ключ|пароль|код)"
    r"(?:\s{0,2}[:=])?|密码|密碼|是|は|:|\s\()[\"'`]?\s{0,3}(?:\"(?P<quoted>[^\"\n]{8,63})\""
    r"|[\"'`]?(?P<value>[^\s\"'`,;|<>/]{8,63}))"
)
_COPULAS = frozenset(("is", "ist", "est", "es", "è", "é", "är", "lautet", "是", "は"))
_KEY = re.compile(
    r"(?i)key|code|pass|pw|psk|schl|clave|contrase|senha|cl[eé](?![a-z])|mdp|chiave|codice|sleutel"
    r"|klucz|ключ|пароль|код|密码|密碼|パスワード|비밀번호|kennwort"
)
_CODES = (
    rf"(?:{'|'.join(DOORS)})[ -]?code|digicode|geheimzahl|passcode|puk|code (?:for|of"
    rf"|to) (?:the )?(?:door|gate|alarm|safe|lock|entrance|garage|keypad)"
    r"|code (?:de |d')?(?:la |l')?(?:porte|portail|alarme|entrée|immeuble)"
    r"|c[oó]digo (?:de |del )?(?:la )?(?:puerta|alarma|acceso|entrada|porta|alarme)"
    r"|codice (?:della |del |di )?(?:porta|allarme|accesso|cancello)|暗証番号|门禁码|門禁碼"
    r"|пин(?:-?код)?|핀번호"
)
_PIN = (
    r"(?:(?<![A-Za-z0-9_])(?:PIN|pin|Pin)(?:[ _-]?(?i:codes?|number|nummer|no\.?|num|koden?|код)"
    r"|码|番号"
    rf"|コード)?|(?<![a-z0-9])(?i:{_CODES}))(?![A-Za-z])"
)
_SHOWN_PIN = (
    r"(?<![A-Za-z0-9_])(?:PIN|OTP|TAN|(?i:pin[ -]?code|пин(?:-?код)?|(?:door|gate|entry"
    r"|entrance|keypad"
    r"|lobby|unlock|tür)[ -]?code|puk"
    r"|digicode|passcode))\s"
)
_PIN_HINTS = (
    "pin", "puk", "code", "otp", "geheimzahl", "digo ", "codice ", "otp", "tan ", "暗証番号",
    "门禁码", "門禁碼", "пин",
    "핀번호",
)  # fmt: skip
_PIN_WORDS = (
    *DOORS, "pin", "puk", "digicode", "geheimzahl", "passcode", "code d", "code porte",
    "code portail", "code alarme", "code for", "code of", "code to", "código ", "codigo ",
    "codice ", "暗証番号", "门禁码", "門禁碼", "пин", "핀번호",
)  # fmt: skip
_DIGITS = r"(?P<value>[0-9]{4,8}(?:(?<=[0-9]{4})[#*])?|[0-9]{3} [0-9]{3})"
_DIGITS_END = (
    r"(?![0-9A-Za-z_]|[-./:,][0-9]|\s?(?:ms|sec|min|seconds?|minutes?|hours?|days?|times|digits?"
    r"|characters?|chars?|bytes?|[kmg]b|px|rows?|users?|errors?|tokens?|entries|items|%|°))"
)
_RECOVERY = (
    r"(?i)(?:recovery|backup|back-up|scratch|emergency|rescue|reset|wiederherstellungs?|notfall"
    r"|2fa|mfa)[ -]?(?:codes?|keys?|schl[uü]ssel)|codes? de (?:secours|r[eé]cup[eé]ration"
    r"|sauvegarde)"
    r"|c[oó]digos? de (?:recuperaci[oó]n|respaldo|recupera[cç][aã]o|backup)"
    r"|codici di (?:recupero|backup)|код\w* восстановления|恢复代码|备用代码|リカバリーコード"
    r"|복구 코드"
)
_RECOVERY_HINTS = (
    "code", "recovery key", "backup key", "emergency key", "notfall", "wiederherstellung", "digo",
    "codici di ",
    "восстановления", "恢复代码", "备用代码", "リカバリーコード", "복구 코드",
)  # fmt: skip
_RECOVERY_WORDS = (
    *LISTS, "back-up", "notfall", "wiederherstellung", "code de", "codes de", "código", "codigo",
    "codici di ", "код", "恢复代码", "备用代码", "リカバリーコード", "복구 코드",
)  # fmt: skip
_ONE_CODE = re.compile(
    r"(?<![\w-])(?:[0-9A-Za-z]{2,12}(?:-[0-9A-Za-z]{3,12}){1,9}|[0-9]{4} [0-9]{4}(?! ?[0-9])"
    r"|[0-9A-Za-z]{8,24})(?![\w-])"
)


class _Codes:
    """Finds every code of a list behind a word for recovery codes."""

    def __init__(self) -> None:
        self._words = Anchored(_RECOVERY_WORDS, _RECOVERY)

    def finditer(self, text: str, /) -> Iterator[MatchPosition]:
        end = 0
        for word in self._words.finditer(text):
            at = max(end, word.end())
            for code in _list_of_codes(text, at):
                end = code[1]
                yield MatchPosition(*code)


def _list_of_codes(text: str, at: int) -> Iterator[Span]:
    """Yields the codes from a position on, until other words follow."""
    limit = at + 60
    while code := _ONE_CODE.search(text, at, min(len(text), limit + 80)):
        if code.start() > limit:
            return
        at = code.end()
        if _is_code(code[0]):
            yield code.span()
            limit = at + 8


def _is_code(value: str) -> bool:
    digits = len(re.findall("[0-9]", value))
    if re.fullmatch(r"(?:19|20)[0-9]{2}-?[0-9]{2}.*|[A-Za-z]+-?[0-9]{1,3}", value):
        return False
    return digits > 1 and (len(value) > 8 or digits == 8)  # noqa: PLR2004 - eight digits, or more


def login_line(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of a password behind the name it belongs to."""
    last = start + len(text[start:stop].rstrip(_TRAILING))
    value = text[start:last]
    spaced = text[start - 1 : start] in {" ", '"', "'", "`"}
    beside = text[max(0, start - 4) : start].strip(" \"'`")
    if value.isdigit():
        return (start, last) if beside == "/" and spaced and 4 <= len(value) <= 8 else None  # noqa: PLR2004 - as long as a PIN
    if beside[-1:] in {"/", "|"} and spaced:
        weak = re.fullmatch("[a-z]+[0-9]", value) and not _ADMIN.search(
            text, max(0, start - 32), start
        )
        return (start, last) if chosen(value) and not weak else None
    return (start, last) if strong(value) and "/" not in value else None


def wifi(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of the code that is said behind a word for a wireless network."""
    before = text[max(0, start - 24) : start]
    tail, ssid = text[stop : stop + _NEAR], text[start:stop].lower() == "ssid"
    for said in _WIFI_CODE.finditer(tail):
        kind = said["kind"].strip().lower()
        if said["quoted"] and re.search("[0-9]", said["quoted"]) and kind[:1] in "=:pk":
            return stop + said.start("quoted"), stop + said.end("quoted")
        if said["quoted"]:
            continue
        line = "\n" not in tail[: said.start()]
        last = said.start("value") + len(said["value"].rstrip(_TRAILING))
        value = tail[said.start("value") : last]
        if not line and (kind in {"/", ":", "="} or kind in _COPULAS):
            continue
        loose = kind in {":", "=", "("}
        if re.match(r"\w+=", value) or (ssid and loose and not tail[: said.start()].strip()):
            continue
        if kind in _COPULAS and not _KEY.search(before + tail[: said.start()]):
            continue
        if value.isdigit() and (kind == "/" or _KEY.search(before + tail[: said.end()])):
            return stop + said.start("value"), stop + last
        if (strong(value) and not re.match("[A-Z]{2,}[0-9]", value)) if loose else chosen(value):
            return stop + said.start("value"), stop + last
    return None


def pin(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of a PIN; None for digits that stand in for one."""
    return (start, stop) if len(set(text[start:stop])) > 1 else None


def answer(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of a value that answers a question for a secret."""
    last = start + len(text[start:stop].rstrip(_TRAILING))
    value = text[start:last]
    return (start, last) if strong(value) and value.count(":") < _COLONS else None


SPOKEN = (
    PrivacyRule(
        name="secret",
        label="SECRET",
        gate="digits",
        hints=_LOGIN_HINTS,
        pattern=Anchored(
            _LOGIN_HINTS,
            rf"(?i:(?<![a-z])(?:{_LOGIN_WORDS})|ログイン|アカウント|账号|帳號|登录|登入|로그인"
            rf"|계정)"
            rf"(?:[^\n:=/]{{0,30}}?\s{{0,2}}[:=]\s{{0,3}}|\s{IS}\s{{1,2}}"
            rf"|\s{{1,2}}(?=[\"'`A-Za-z]))"
            rf"[\"'`]?{_NAME}[\"'`]?(?:\s{{1,3}}[/|·,;-]\s{{1,3}}|[/:|]"
            rf"|,\s)[\"'`]?(?P<value>{_BARE})",
        ),
        check=login_line,
        why="what stands behind the name of a login",
        example="login: admin / kestrel-Quay-22",
    ),
    PrivacyRule(
        name="secret",
        label="SECRET",
        gate="digits",
        hints=(" / ",),
        pattern=Anchored(
            _USER_HINTS,
            rf"(?i:(?<![a-z])(?:{_USER_WORDS}))(?:[^\n:=/]{{0,30}}?\s{{0,2}}[:=]\s{{0,3}}"
            rf"|\s{IS}\s|\s)"
            rf"[\"'`]?{_NAME}[\"'`]? / [\"'`]?(?P<value>{_BARE})",
        ),
        check=login_line,
        why="what stands behind the name of an account and a stroke",
        example="user: deploy / kestrel-Quay-22",
    ),
    PrivacyRule(
        name="secret",
        label="SECRET",
        gate="digits",
        hints=("admin:", "root:", "guest:", "istrator:", "sa:", " / "),
        pattern=Anchored(
            ("admin", "root", "guest", "sa:", "sa /", "superuser"),
            r"(?<![\w/.@-])(?:admin|administrator|root|guest|sa|superuser)"
            rf"(?:\s/\s|:|\s:\s)(?P<value>{_BARE})",
        ),
        check=answer,
        why="what stands behind the name of an administrator",
        example="admin:Kestrel-Quay-22",
    ),
    PrivacyRule(
        name="secret",
        label="SECRET",
        gate="digits",
        hints=_WIFI_HINTS,
        pattern=Anchored(
            _WIFI_HINTS,
            r"(?i:(?<![a-z0-9])(?:wi-?fi|w-?lan|ssid|hotspot|wpa[23]?|psk"
            r"|guest net(?:work)?)(?![a-z0-9]))"
            "|无线|無線|ワイファイ|와이파이|(?i:вай-?фай)",
        ),
        check=wifi,
        why="the code of a wireless network",
        example="wifi: Otterbox / plum-cactus-81",
    ),
    PrivacyRule(
        name="secret",
        label="SECRET",
        hints=("wifi:", 'psk="'),
        pattern=(
            r"(?:(?i:wifi:)[^\n]{0,100}?(?<![A-Za-z])P:|psk=\")(?P<value>[^;\"\n]{8,63})[;\"]"
        ),
        why="the code in the text of a wifi's QR code, or in wpa_supplicant's file",
        example="WIFI:T:WPA;S:Otterbox;P:plum cactus;;",
    ),
    PrivacyRule(
        name="secret",
        label="SECRET",
        gate="digits",
        hints=_RECOVERY_HINTS,
        pattern=_Codes(),
        why="every code of a list of recovery or backup codes",
        example="recovery codes: 3f9a1-c07de b81d4-92e6f",
    ),
    PrivacyRule(
        name="secret",
        label="SECRET",
        hints=("phrase", "mnemonic", "seed words"),
        pattern=(
            r"(?i:(?:seed|recovery|mnemonic|wallet|backup)(?: recovery)? ?(?:phrase|words)"
            r"|mnemonic)"
            r"[^\n:=]{0,30}?(?:[:=]"
            r"|\sis)\s{0,3}[\"'`]?(?P<value>[a-z]{3,8}(?: [a-z]{3,8}){11,23})(?![a-z])"
        ),
        why="the twelve to twenty-four words of a wallet",
        example="seed phrase: " + " ".join(["orbit", "lantern", "mustard"] * 4),
    ),
    PrivacyRule(
        name="secret",
        label="SECRET",
        hints=("passphrase", "passphras"),
        pattern=(
            r"(?i:passphrase)(?:[^\n:=.]{0,40}?)(?:\s{0,2}[:=]|\sis)\s{1,3}"
            r"(?P<value>(?!must|the |see |not |never |ask)[a-z]{3,12}(?: (?!(?:must|the|and|for"
            r"|with|from|that"
            r"|you|will|can|not|are|was|has|have|be|is|should|when|by|of|to|in|on|it|at|or"
            r"|as)\b)[a-z0-9]{2,12}){3,9})(?=[.!]?(?:\n|\Z))"
        ),
        why="a passphrase of at least four words that ends its line",
        example="the passphrase is orbit lantern mustard kestrel",
    ),
    PrivacyRule(
        name="secret",
        label="SECRET",
        gate="digits",
        hints=("\n",),
        pattern=Anchored(
            (
                "pw",
                "pass",
                "mdp",
                "kennwort",
                "mot de",
                "contrase",
                "clave",
                "senha",
                "пароль",
                "login",
            ),
            r"(?i:pw|pass|passw(?:or[dt]|d)|mdp|kennwort|mot de passe|contrase[ñn]a|clave|senha"
            r"|пароль|login)"
            r"(?![a-z])(?:[^\n?]{0,60}\?[ \t]{0,3}\r?\n[^\n]{0,60}?"
            r"|[ \t]{0,3}\r?\n(?:(?!\s{0,12}(?:value|name|type|key|-))[^\n:]{1,32}:[ \t])?)"
            r"(?P<value>[^\s\"'`,;|<>]{8,64})(?=[\"'`.!]{0,2}[ \t]{0,3}(?:\r?\n|\Z))",
        ),
        check=answer,
        why="the last word of the line that answers a question for a password",
        example="rob: its corkscrew77Lemon …",
    ),
    PrivacyRule(
        name="pin",
        label="PIN",
        gate="digits",
        hints=_PIN_HINTS,
        pattern=Anchored(
            _PIN_WORDS,
            rf"(?:{_SHOWN_PIN}|{_PIN}(?:[\"'`]?\s{{0,2}}[:=]\s{{0,3}}[\"'`]?"
            rf"|(?:\s{OF}\s[^\n.:=0-9]{{1,48}}?|\s?\([^()\n]{{1,40}}\)"
            rf"|(?<=code)\s[A-ZÄÖÜ]\w{{2,20}})?"
            rf"(?:\s{{0,2}}[:=]\s{{0,3}}|\s{IS}:?\s(?:now\s|currently\s|jetzt\s|still\s)?)[\"'`]?"
            rf"|\s(?:was |got |has been )?(?:re)?(?:set|changed|geändert|gesetzt)\s(?:to|auf)\s"
            rf"|[是为為は]\s?|\s\((?=[0-9]{{4,8}}\))))"
            rf"{_DIGITS}{_DIGITS_END}",
        ),
        check=pin,
        why="four to eight digits called a PIN, a passcode or the code of a door",
        example="The PIN is 4821",
    ),
    PrivacyRule(
        name="pin",
        label="PIN",
        gate="digits",
        hints=("pin",),
        pattern=(
            rf"(?<![\w.,:/#-])(?P<value>[0-9]{{4,8}})\s(?:{IS}|as|als|como|comme)\s"
            r"(?i:the\s|a\s|my\s|your\s|our\s|die\s|der\s|le\s|el\s"
            r"|il\s)?(?:\w{1,16}\s)?PIN(?![A-Za-z])"
        ),
        check=pin,
        why="four to eight digits said to be a PIN",
        example="4821 is the PIN",
    ),
)
