"""Rules for secrets found by context: headers, URLs, assignments, sentences."""

import re
from collections.abc import Iterator

from memory_mesh.privacy.scan import Anchored, chosen, is_version, strong
from memory_mesh.rules.privacy_rule import MatchPosition, PrivacyRule, Span

_KNOWN = (
    r"PHPSESSID|J?SESSIONID(?:SSO)?|ASP\.NET_SessionId|\.ASPXAUTH|\.AspNetCore\.\w{1,40}"
    r"|connect\.sid|laravel_session|ASPSESSIONID[A-Z]{0,8}|wordpress_logged_in_\w{1,40}|_gh_sess"
    r"|user_session|__Secure-[\w.-]{1,40}|__Host-[\w.-]{1,40}|rack\.session|ci_session"
    r"|koa\.sess|express\.sid|beaker\.session\.id|csrftoken"
)
_COOKIE_WORDS = (
    "cookie", "curl ", "phpsessid", "jsessionid", "sessionid", "asp.net_s", ".aspxauth",
    ".aspnetcore.", "connect.sid", "laravel_session", "aspsessionid", "wordpress_logged_in_",
    "_gh_sess", "user_session", "__secure-", "__host-", "rack.session", "ci_session", "koa.sess",
    "express.sid", "beaker.session", "csrftoken",
)  # fmt: skip
_COOKIE = Anchored(
    _COOKIE_WORDS,
    rf"(?P<known>(?<![\w.-])(?:{_KNOWN})(?=[\"']?\s{{0,2}}[=:]))"
    r"|(?P<said>(?i:cookies?(?:jar)?)(?:\.set\(|[\"'\])]{0,2}(?:\s{0,3}[:=]|\s(?:is|was|ist|est|es"
    r"|value))\s{0,3})|(?<![\w-])curl [^\n]{0,200}?\s(?:-b|--cookie)[ =])"
    r"|(?i:cookies?)(?![a-z])",
)
_PAIR = re.compile(
    r"(?<![\w.%-])(?P<name>[\w.-]{1,64})[\"']?\s{0,2}[=:,]\s{0,2}[\"']?(?P<value>[^\s;,\"'&<>]{8,4000})"
)
_ALONE = re.compile(r"[\"'`]?(?P<value>[A-Za-z0-9%._~+/=:-]{16,4000})")
_SESSION = re.compile(
    r"(?i)sess|sid\Z|auth|token|jwt|csrf|xsrf|remember|log(?:ged)?_?in|identity|ticket|access"
    r"|refresh"
    r"|secret|key\Z|cookie"
)
_COOKIE_ATTRIBUTE = re.compile(
    r"(?i)path|domain|expires|max-age|samesite|version|comment|https?|priority"
)
_LONGEST_COOKIE, _NEAR, _COOKIE_RANDOM, _DIGITS = 2000, 120, 20, 4

STANDS_FOR_ONE = (
    r"(?i)\$.*|%.*|<.*|\{.*|\[.*|\*+|x+|\.+|-.*|=.*|your.*|my[_-].*|pass(?:word|wd)?|pw|pwd|secret"
    r"|token|user|example|none|null|prompt|stdin|file:.*|env:.*|@.*"
)
_VALUE = r"(?P<value>\"[^\"\n]{1,128}\"|'[^'\n]{1,128}'|[^\s\"'|;&<>)`]{1,128})"
_COMMAND_NAME = r"[\w.@\\+-]{1,64}"
_ROW = r"[^\n|;&]{0,200}?\s"
_PORT = r"[0-9]{1,5}(?::[0-9]{1,5})?|[0-9.]+:[0-9:]+"
_LOGINS = (
    r"(?:docker|podman|buildah|skopeo|nerdctl|oc|az|helm|crane|oras|cf|ibmcloud|jf|argocd|flyctl)"
    r" (?:[a-z-]{1,12} ){0,2}login"
)
# the command, what stands before its password, and what a text must have to be looked at
_COMMANDS = (
    (r"mysql\w{0,8}|mariadb(?:-\w{1,8})?|mycli|xtrabackup", r"-p", " -p"),
    (rf"{_LOGINS}|sshpass|mongo\w{{0,8}}|rdesktop|mosquitto_\w{{3}}|plink|pscp", r"-p[ =]?", " -p"),
    (r"redis-cli|valkey-cli", r"(?:-a|--pass)[ =]", " -a "),
    (r"ldap(?:search|modify|add|delete|whoami|passwd)", r"-w ?", " -w"),
    (r"sqlcmd|bcp|osql|zip|unzip|ipmitool", r"-P ?", " -p"),
    (r"7z[ar]?", r"-p", " -p"),
    (r"smbclient|rpcclient|smbmap|wbinfo|winexe", rf"-U ?[\"']?{_COMMAND_NAME}%", " -u"),
    (r"openssl", r"-pass(?:in|out)? ?[\"']?pass:", "pass:"),
    (r"keytool|jarsigner|apksigner", r"-\w{0,8}storepass ", "storepass "),
    (r"keytool|jarsigner|apksigner", r"-\w{0,8}keypass ", "keypass "),
    (r"https?|xh|curlie", rf"(?:-a|--auth)[ =]?[\"']?{_COMMAND_NAME}:", " -a"),
    (r"curl|wget", rf"(?:-U|--proxy-user)[ =]?[\"']?{_COMMAND_NAME}:", "curl"),
    (r"lftp|ncftp\w{0,3}", rf"-u ?{_COMMAND_NAME},", " -u"),
    (r"htpasswd", rf"-\w{{0,4}}b\w{{0,4}} \S{{1,80}} {_COMMAND_NAME} ", "htpasswd"),
    (r"rabbitmqctl", rf"(?:add_user|change_password) {_COMMAND_NAME} ", "rabbitmqctl"),
    (r"net", rf"use [^\n]{{1,80}}?/user:{_COMMAND_NAME} ", "/user:"),
    (r"net", rf"user {_COMMAND_NAME} (?!/)", "net user"),
    (r"[xw]freerdp", r"/p:", "freerdp"),
    (r"kubectl|oc", r"--from-literal[= ][\"']?[\w.-]{1,60}=", "from-literal"),
)
_STATEMENTS = (
    (r"(?i:identified (?:with [\w']{1,40} )?by )(?=[\"'])", "identified "),
    (r"(?<![\w.-])(?:requirepass|masterauth) ", "requirepass"),
    (r"(?<![\w.-])masterauth ", "masterauth"),
    (r"(?i:(?:with|alter|create|set|encrypted) password )(?=')", "password '"),
    (r"(?i:set password for [^\s=]{1,80} ?= ?)(?=')", "set password"),
    (r"(?i:aws_secret_access_key|aws_session_token) ", "aws_s"),
    (rf"jdbc:oracle:\w{{2,5}}:{_COMMAND_NAME}/(?=[^\s@]{{1,64}}@)", "oracle:"),
    (rf"sqlplus(?: -\w)? {_COMMAND_NAME}/(?=[^\s@]{{1,64}}@)", "sqlplus"),
)
_PIPED = (
    r"(?<![\w.-])(?:echo|printf)(?: -\w)?(?: '%s(?:\\n)?')? "
    r"(?P<value>\"[^\"\n]{1,128}\"|'[^'\n]{1,128}'|[^\s\"'|;&<>]{1,128})\s{0,3}\|\s{0,3}"
    r"(?:sudo (?:[^\n|]{0,40}-S|\w{0,2}passwd)|\w{0,2}passwd|[^\n|]{1,120}--password-stdin)"
)

_ALL = (*(row[2] for row in _COMMANDS), *(row[1] for row in _STATEMENTS), "sudo ")
_COMMAND_HINTS = ("pass", *dict.fromkeys(hint for hint in _ALL if "pass" not in hint))

_SHORTEST, _LONGEST, _VARIED, _RANDOM = 6, 500, 3, 20
_PLAIN = frozenset(("string", "required", "optional", "hidden", "bearer", "number", "invalid"))
_WORDS = (
    r"pass(?:word|wd|phrase|code|wort|ord(?![a-z]))"
    r"|(?:(?<=db_)|(?<=user_)|(?<=admin_)|(?<=root_)|(?<=smtp_)|(?<=mail_)|(?<=ftp_)"
    r"|(?<=redis_)|(?<=mysql_)|(?<=pg_)|(?<=ssh_)|(?<=become_)|(?<=http_)|(?<=proxy_))pass"
    r"|(?<![a-z_])(?:pass|pw)(?==|[\"']\s{0,3}[:=])|(?<![a-z_-])pass(?=\s{1,3}=\s{0,3}[\"'])"
    r"|(?<=/ )pass(?=\s)|(?<![a-z0-9_-])(?:pw|mdp|psw|pswd)(?![a-z0-9_])"
    r"|(?<![a-z])(?:pass|ww|clave)(?=:\s)(?<!-\spass)(?<!_pass)|kennwort|mot de passe"
    r"|contrase[ñn]a|senha|wachtwoord"
    r"|has[lł]o(?![a-z])|heslo(?![a-z])|l[öo]senord|adgangskode|salasana|[şs]ifre(?![a-z])"
    r"|parola(?![a-z])"
    r"|mật khẩu|kata sandi|парол[ья]|pwd|secret(?:[ _-]?(?:access)?[ _-]?key)?(?:[ _-]base)?|token"
    r"|(?:api|access|account|auth|private|signing|encryption|preshared|master|license"
    r"|licence)[ _-]?key"
    r"|credentials?|密码|密碼|口令|密钥|令牌|パスワード|비밀번호|비번|암호|पासवर्ड|סיסמ[הא]"
    r"|كلمة (?:المرور|السر)|κωδικός"
)
_OF = (
    r"(?:for|of|on|to|in|at|für|fuer|von|vom|zum|zur|am|im|de|du|del|della|di|para|pour|per|do|da"
    r"|van|voor|для|от|на|к)"
)
_ABOUT = (
    rf"(?:\s{_OF}\s[^\n.:=]{{1,40}}?|\s\([^()\n]{{1,40}}\)"
    r"|\s(?:temp|tempor\w{2,6}|admin|root|initial\w{0,2}|default|provis\w{3,6}|new|neu|nuevo|nueva"
    r"|old|actual|current|staging|prod|production|dev|test|db|user|wifi|wlan|sudo|ssh))"
)
_SAID = (
    r"[\\\"'`\]*]{0,3}(?:\s{0,3}(?:=>|:=|={1,3}|:)(?:\*\*)?\s{0,3}|>(?=[^<>\n]{6,200}</)"
    r"|\s{0,2}(?:[是为為は은는]|->|→)\s{0,2}:?\s{0,2}|\s\|\s{1,20}(?=[^\s|]{6,64}\s{0,20}\|)"
    r"|'s\s|,?\s{1,20}[\"']?value[\"']?\s{0,2}[:=]\s{0,3}"
    rf"|{_ABOUT}?\s(?:is|was|to|es|est|ist|é|è|lautet|war|era|är|er|jest)(?:\s(?:now|jetzt"
    rf"|(?:re)?set to|changed to))?"
    rf"(?:\s?:)?\s{{1,3}}|{_ABOUT}\s{{0,2}}[:=]\s{{0,3}}|\s)"
)
_HINTS = (
    "pass", "pw", "mdp", "psw", "secret", "token", "api_key", "apikey", "api-key", "api key",
    "access_key", "accesskey", "access-key", "access key", "account_key", "accountkey",
    "private_key", "privatekey", "private key", "signing_key", "encryption_key", "auth_key",
    "preshared", "master_key", "master key", "license key", "licence key", "license_key",
    "credential", "kennwort", "mot de passe", "contrase", "senha", "wachtwoord", "ww:", "clave",
    "haslo", "hasło", "heslo", "losenord", "lösenord", "adgangskode", "salasana", "sifre", "şifre",
    "parola", "mật khẩu", "kata sandi", "密码", "密碼", "口令", "密钥", "令牌", "パスワード",
    "비밀번호", "비번", "암호", "पासवर्ड", "סיסמ", "كلمة ال", "κωδικός", "парол",
)  # fmt: skip
_STANDS_FOR_ONE = (
    r"(?i)\$[{(].*|\$[a-z_]\w*|\{.*\}|<.*>|\[.*\]|%\(.*|%[a-z_]+%|%s|\*+|x+|\.{3}.*"
    r"|your[ _-].*|your(?:api|key|token|secret|pass).*|my[_-](?:api|key|token|secret|pass)[a-z_-]*"
    r"|example|dummy|placeholder|redacted|none|null|true|false|undefined"
    r"|(?:process\.env|os\.|env\[|getenv).*|!(?:vault|env|ref|sub|secret|getatt|var)|id=.*"
)
_LETTERS = r"A-Za-zÀ-ÖØ-öø-ɏ\u0300-\u052f\u1e00-\u1eff"
_NAME = rf"[{_LETTERS}_]+"
_ATTRIBUTE = (
    r"[A-Za-z_]+(?:\.[A-Za-z_]+)+|(?:self|this|settings|config|cfg|conf|os|env|args|options|opts"
    r"|request|req|ctx|app|secrets|process|user|client|params|kwargs|response|result|credentials"
    r"|creds|auth|session|props|state|vault|var|local|module)\.[\w.]+"
)
_TYPE = r"(?:str|string|int|bool|bytes|float)\d*\??;?"
_BARE = rf"[!#-&*+\--:=?-Z^_a-z~|{_LETTERS}]+"
# a sign that ends a value, unless more of it follows that is no other name and value
_MORE = re.compile(r"(?:[,;()<>][!#-&*+\-.0-9?-Z^_a-z~]{1,40}){1,3}(?=[,;.]?(?:\s|\Z))")
_COMPARED = r"[=!]=\s{0,3}[\"'`]?\Z"
_VARIABLE = r"[A-Za-z_]\w*"
_QUERY = r"[?&][\w.-]{0,40}=\Z"
_JUST_WORDS = rf"(?:{_WORDS})[\"'`\\\]]*\s"
_FLAG = r"--[a-zA-Z-]{0,20}\Z"
_LOOSE = re.compile(
    r"\A\S*\s+\S.*[:=]\s*\Z|\|\s*\Z|'s\s\Z", re.DOTALL
)  # words between a secret's and its value
_WEAK = re.compile(r"(?:pass|ww|clave)(?=:)|credential")  # words that name other things, too
_USER = re.compile(
    r"(?i)(?<![a-z])(?:user|username|usr|login|account|benutzer\w*|utilisateur|identifiant"
    r"|usuario|usuário"
    r"|utente|gebruiker|пользователь|логин|admin|root|wifi|ssid|connect|用户|用戶|账号|ユーザー"
    r"|사용자)(?![a-z])"
    r"[^\n]{0,48}\Z"
)
_QUOTES, _BRACKETS = ('"', "'", "`"), ("(", "[", "{", "<")


def secret(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of a literal secret; None for a word, variable, type or call."""
    spoken = text[start:stop].lower()
    first = stop + (text[stop : stop + 1] == "\\")
    quoted = text[first : first + 1] in _QUOTES
    first += quoted
    if not quoted and _goes_on(text, start, spoken):
        return _beside_a_name(text, start, stop, spoken)
    last = _end(text, first, quoted=quoted)
    value = text[first:last]
    if len(value) < _SHORTEST or len(set(value)) < _VARIED or re.fullmatch(_STANDS_FOR_ONE, value):
        return None
    if re.fullmatch(_TYPE, value) or (value.isdigit() and "token" in spoken):
        return None
    if _LOOSE.search(spoken) and not (quoted or chosen(value)):
        return None
    if not quoted and (is_version(value) or (_WEAK.match(spoken) and not strong(value))):
        return None
    if not quoted and _is_code(text, (start, stop), value, text[last : last + 2]):
        return None
    if re.search("[0-9]", value):
        flagged = spoken.endswith("=") and re.search(_FLAG, text[max(0, start - 24) : start])
        meant = (
            " " not in value
            or "phrase" in spoken
            or bool(quoted and (flagged or (spoken.endswith("=") and text[start:stop].isupper())))
        )
    elif "token" in spoken and re.search(_COMPARED, spoken):
        meant = False  # as a parser asks what it reads
    else:
        meant = _deliberate(text, (start, stop), value, quoted=quoted)
    return (first, _uncut(text, first, last)) if meant else None


def _beside_a_name(text: str, start: int, stop: int, spoken: str) -> Span | None:
    """Returns the span of a value right behind a word for a password, beside a user's name."""
    if re.match("secret|token|credential|令牌|密钥|[a-z]{3,10}[ _-]?key", spoken):
        return None
    last = _end(text, stop, quoted=False)
    value = text[stop:last]
    named = _USER.search(text, max(0, start - 64), start)
    meant = chosen(value) if named else strong(value) and "=" not in value
    return (stop, last) if meant and text[last : last + 1] not in _BRACKETS else None


def _is_code(text: str, said: Span, value: str, following: str) -> bool:
    """True for a call, an attribute, a comparison, or a variable instead of a literal."""
    if (following != "</" and following[:1] in _BRACKETS) or re.fullmatch(_ATTRIBUTE, value):
        return True
    spoken = text[said[0] : said[1]]
    if re.search(_COMPARED, spoken):
        return True
    in_literal = re.search(r"[\"']\s?:\s{0,3}\Z", spoken) and following[:1] in {",", "}", ")"}
    return bool(in_literal) and re.fullmatch(_VARIABLE, value) is not None


def _goes_on(text: str, start: int, spoken: str) -> bool:
    """True if the word for a secret is part of a sentence and no value follows."""
    just_words = re.fullmatch(_JUST_WORDS, spoken)
    return bool(just_words) and not re.search(_FLAG, text[max(0, start - 24) : start])


def _end(text: str, first: int, *, quoted: bool) -> int:
    """Returns the end of the value: at its quote, or at the end of a bare value."""
    last = _closing(text, first) if quoted else -1
    if last >= 0 and "\n" not in text[first:last]:
        return first + len(text[first:last].rstrip("\\"))
    run = re.match(_BARE, text[first : first + _LONGEST])
    if not run:
        return first
    if re.search(_QUERY, text[max(0, first - 48) : first]):
        return first + len(run[0].partition("&")[0].rstrip(".,:;"))
    more = _MORE.match(text, first + len(run[0]), first + _LONGEST)
    return first + len((run[0] + (more[0] if more else "")).rstrip(".,:;"))


def _closing(text: str, first: int) -> int:
    """Returns the position of the closing quote; skips escaped quotes."""
    quote, escaped = text[first - 1], text[first - 2 : first - 1] == "\\"
    last = text.find(quote, first, first + _LONGEST)
    while last >= 0 and not escaped and text[last - 1] == "\\":
        last = text.find(quote, last + 1, first + _LONGEST)
    return last


def _uncut(text: str, first: int, last: int) -> int:
    """Returns the end of a value that is longer than the examined part."""
    if last - first < _LONGEST:
        return last
    run = re.match(_BARE, text[first:])
    return first + len(run[0]) if run else last


def _deliberate(text: str, said: Span, value: str, *, quoted: bool) -> bool:
    """True if letters alone count as a secret here: in a literal or after a bare =."""
    if re.search(_WORDS, value, re.IGNORECASE) or " " in value or value in _PLAIN:
        return False
    if value.count("-") > 1 and re.match("pw|passphrase|pass:", text[said[0] : said[1]].lower()):
        return True
    before, after = text[max(0, said[0] - 40) : said[1]], text[said[1] + len(value) :][:1]
    if not before.rstrip().endswith(("=", ":", ">")):
        return not re.fullmatch(_NAME, value.replace("-", ""))
    if quoted or not re.fullmatch(_NAME, value.replace("-", "")):
        return True
    called_with = after in {",", ")"} and re.search(r"\w\([^)]*\Z", before)
    return before.endswith("=") and "_" not in value and not called_with


def bearer(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of a token; None if it is the next word of a sentence."""
    value = text[start:stop]
    random = bool(re.search("[0-9]", value)) or len(set(value)) > _RANDOM
    return (start, stop) if random else None


def encoded(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of a name and a password in base64."""
    import binascii

    try:
        plain = binascii.a2b_base64(text[start:stop], strict_mode=True)
    except binascii.Error:
        return None
    return (start, stop) if b":" in plain and plain.isascii() else None


def login(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of a name and a password; None for the words for them."""
    name, _, password = text[start:stop].partition(":")
    if any(re.fullmatch(_STANDS_FOR_ONE, part) for part in (name, password)):
        return None
    spoken = {"pass", "password", "pwd", "secret", "token", "pw"}
    return None if password.lower() in spoken else (start, stop)


URL_LOGINS = (
    PrivacyRule(
        name="url_login",
        label="LOGIN",
        hints=("curl",),
        pattern=(
            r"(?<![\w-])curl [^\n]{0,200}?(?<![\w-])(?:-u|--user)[ =]?[\"']?"
            r"(?P<value>[^\s:\"'$<]{1,64}:[^\s\"']{1,128})"
        ),
        check=login,
        why="name and password that curl is called with",
        example="curl -u admin:s3cret https://example.com",
    ),
    PrivacyRule(
        name="url_login",
        label="LOGIN",
        hints=("://",),
        pattern=r"://(?P<value>[^\s/@:\"'<>\\]{0,64}:[^\s/@\"'<>\\]{1,128})@(?=[A-Za-z0-9\[])",
        check=login,
        why="name and password before the host of a URL",
        example="postgres://admin:s3cret@db.example.com",
    ),
)
LOGINS = (
    PrivacyRule(
        name="bearer",
        label="BEARER_TOKEN",
        hints=("bearer", "authorization"),
        pattern=(
            r"(?i:\bbearer\s{1,3}|authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:token|apikey"
            r"|api-key)\s{1,3})"
            r"(?P<value>[A-Za-z0-9._~+/-]{16,4000}={0,2})"
        ),
        check=bearer,
        why="the token of an Authorization header, or after the word bearer",
        example="Authorization: Bearer 0a1b2c3d4e5f6g7h8i9j",
    ),
    PrivacyRule(
        name="basic_auth",
        label="BASIC_LOGIN",
        hints=("authorization",),
        pattern=(
            r"(?i:authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?basic\s{1,3})"
            r"(?P<value>[A-Za-z0-9+/_-]{8,1000}={0,2})"
        ),
        why="the login of a basic Authorization header",
        example="Authorization: Basic dXNlcjpodW50ZXIy",
    ),
    PrivacyRule(
        name="basic_auth",
        label="BASIC_LOGIN",
        hints=('"auth"',),
        pattern=r"\"auth\"\s{0,2}:\s{0,2}\"(?P<value>[A-Za-z0-9+/]{8,1000}={0,2})\"",
        check=encoded,
        why="the login in docker's config.json",
        example='{"auth": "dXNlcjpodW50ZXIy"}',
    ),
    PrivacyRule(
        name="secret",
        label="SECRET",
        hints=("-signature=",),
        pattern=r"(?i:x-(?:amz|goog)-signature=)(?P<value>[0-9a-fA-F]{32,512})",
        why="the signature of a signed URL",
        example="X-Amz-Signature=" + "0a1b2c3d" * 8,
    ),
    PrivacyRule(
        name="secret",
        label="SECRET",
        hints=("totp", "otp sec", "otp_sec", "authenticator"),
        pattern=(
            r"(?i:totp|otp|2fa|mfa|authenticator)[ _-]?(?i:secret|seed|key)[\"']?"
            r"(?:\s{0,2}[:=]|\sis)?\s{0,2}[\"']?(?P<value>[A-Z2-7]{16,64})(?![A-Za-z0-9])"
        ),
        why="the seed of one-time passwords",
        example="TOTP secret JBSWY3DPEHPK3PXP",
    ),
    PrivacyRule(
        name="secret",
        label="SECRET",
        hints=(":5432:", ":*:"),
        pattern=(
            r"(?<![\w.:/-])[\w.*-]{1,80}:(?:5432|\*):[\w*.-]{1,60}:[\w*.@-]{1,60}:"
            r"(?P<value>[^\s:]{6,128})"
        ),
        check=lambda text, start, stop: (start, stop) if chosen(text[start:stop]) else None,
        why="the password of a line of .pgpass",
        example="db.example.com:5432:shop:app:kestrel-Quay-22",
    ),
    PrivacyRule(
        name="secret",
        label="SECRET",
        hints=_HINTS,
        pattern=Anchored(_HINTS, f"(?:{_WORDS})(?:{_SAID})", lowered=True),
        check=secret,
        why="what is assigned to a name such as password, token or api_key, or said to be one",
        example="DB_PASSWORD=hunter22",
    ),
)


# Rules for passwords that commands are called with.


def typed(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of a password as a command has it; None for a variable or a stand-in."""
    if text[start] in "\"'":
        start, stop = start + 1, stop - 1
    elif text[start - 1] in "\"'":
        stop = start + len(text[start:stop].rstrip(text[start - 1]))
    value = text[start:stop]
    if re.fullmatch(STANDS_FOR_ONE, value) or re.fullmatch(_PORT, value):
        return None
    return start, stop


def piped(text: str, start: int, stop: int) -> Span | None:
    """Returns the span of a password that is echoed into a command, without the user's name."""
    settled = typed(text, start, stop)
    if settled is None:
        return None
    name, colon, password = text[settled[0] : settled[1]].partition(":")
    if not colon or not re.fullmatch(_COMMAND_NAME, name):
        return settled
    return (
        None if re.fullmatch(STANDS_FOR_ONE, password) else (settled[1] - len(password), settled[1])
    )


class _Commands:
    """Finds the passwords of commands and statements; looks only for those a text may have."""

    def __init__(self) -> None:
        rows = [
            (hint, rf"(?<![\w.-])(?:{command})(?![\w-]){_ROW}(?:{flag}){_VALUE}", typed)
            for command, flag, hint in _COMMANDS
        ]
        rows += [(hint, before + _VALUE, typed) for before, hint in _STATEMENTS]
        rows += [(hint, _PIPED, piped) for hint in ("| sudo ", "passwd", "password-stdin")]
        self._rows = rows

    def finditer(self, text: str, /) -> Iterator[MatchPosition]:
        """Yields the passwords, those of one command in order."""
        lowered, found = text.lower(), list[Span]()
        for hint, pattern, check in self._rows:
            if hint not in lowered:
                continue
            for match in re.finditer(pattern, text):
                if span := check(text, *match.span("value")):
                    found.append(span)
        yield from (MatchPosition(start, stop) for start, stop in sorted(found))


COMMAND_LINES = (
    PrivacyRule(
        name="secret",
        label="SECRET",
        hints=_COMMAND_HINTS,
        pattern=_Commands(),
        why=(
            "the password that a command is called with (mysql, docker login, sshpass, redis-cli,"
            " ldapsearch, openssl and others), that a statement sets or that is echoed into one"
        ),
        example="mysql -u root -ptX93-mangrove",
    ),
)


# The rule for the cookies of sessions.


class _Cookies:
    """Finds the values of sessions: known names anywhere, others behind the word cookie."""

    def finditer(self, text: str, /) -> Iterator[MatchPosition]:
        end = 0
        for word in _COOKIE.finditer(text):
            if word.start() < end:
                continue
            first = word.start() if word["known"] else word.end()
            last = text.find("\n", first, first + _LONGEST_COOKIE)
            end = last if last >= 0 else min(len(text), first + _LONGEST_COOKIE)
            if not word["known"] and not word["said"]:
                end = min(end, first + _NEAR)
            found = [*_pairs(text, first, end, certain=bool(word["said"]))]
            if word["said"] and not found:
                found = [*_alone(text, first, end)]
            yield from found[:1] if word["known"] else found


def _pairs(text: str, first: int, end: int, *, certain: bool) -> Iterator[MatchPosition]:
    for pair in _PAIR.finditer(text, first, end):
        name, (start, stop) = pair["name"], pair.span("value")
        stop = start + len(text[start:stop].rstrip("`.,:)]}\\"))
        if (certain or _SESSION.search(name) or re.match(_KNOWN, name)) and _is_session(
            name, text[start:stop]
        ):
            yield MatchPosition(start, stop)


def _alone(text: str, first: int, end: int) -> Iterator[MatchPosition]:
    """Yields a value without a name: the whole of what stands behind the word."""
    found = _ALONE.match(text, first, end)
    if found and "=" not in found["value"].rstrip("=") and strong(found["value"]):
        yield MatchPosition(*found.span("value"))


def _is_session(name: str, value: str) -> bool:
    if _COOKIE_ATTRIBUTE.fullmatch(name) or re.fullmatch(STANDS_FOR_ONE, value):
        return False
    digits = len(re.findall("[0-9]", value))
    if len(value) >= _COOKIE_RANDOM and digits >= _DIGITS and re.search("[A-Za-z]", value):
        return not re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value)
    return bool(_SESSION.search(name) and digits > 0 and re.search("[A-Za-z]", value))


COOKIES = (
    PrivacyRule(
        name="cookie",
        label="COOKIE",
        gate="digits",
        hints=(
            "cookie",
            " -b",
            "sess",
            "session.id",
            "aspxauth",
            "connect.sid",
            "aspnetcore",
            "__secure-",
            "__host-",
            "logged_in_",
            "express.sid",
            "csrftoken",
        ),
        pattern=_Cookies(),
        why="the value of a session's cookie",
        example="Cookie: sessionid=frr9dud5x6u5ddi8dt0c72",
    ),
)
