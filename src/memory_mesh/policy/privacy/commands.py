"""Rules for passwords that commands are called with."""

import re
from collections.abc import Iterator

from memory_mesh.policy.privacy.rule import Place, Rule, Span

STANDS_FOR_ONE = (
    r"(?i)\$.*|%.*|<.*|\{.*|\[.*|\*+|x+|\.+|-.*|=.*|your.*|my[_-].*|pass(?:word|wd)?|pw|pwd|secret"
    r"|token|user|example|none|null|prompt|stdin|file:.*|env:.*|@.*"
)
_VALUE = r"(?P<value>\"[^\"\n]{1,128}\"|'[^'\n]{1,128}'|[^\s\"'|;&<>)`]{1,128})"
_NAME = r"[\w.@\\+-]{1,64}"
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
    (r"smbclient|rpcclient|smbmap|wbinfo|winexe", rf"-U ?[\"']?{_NAME}%", " -u"),
    (r"openssl", r"-pass(?:in|out)? ?[\"']?pass:", "pass:"),
    (r"keytool|jarsigner|apksigner", r"-\w{0,8}storepass ", "storepass "),
    (r"keytool|jarsigner|apksigner", r"-\w{0,8}keypass ", "keypass "),
    (r"https?|xh|curlie", rf"(?:-a|--auth)[ =]?[\"']?{_NAME}:", " -a"),
    (r"curl|wget", rf"(?:-U|--proxy-user)[ =]?[\"']?{_NAME}:", "curl"),
    (r"lftp|ncftp\w{0,3}", rf"-u ?{_NAME},", " -u"),
    (r"htpasswd", rf"-\w{{0,4}}b\w{{0,4}} \S{{1,80}} {_NAME} ", "htpasswd"),
    (r"rabbitmqctl", rf"(?:add_user|change_password) {_NAME} ", "rabbitmqctl"),
    (r"net", rf"use [^\n]{{1,80}}?/user:{_NAME} ", "/user:"),
    (r"net", rf"user {_NAME} (?!/)", "net user"),
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
    (rf"jdbc:oracle:\w{{2,5}}:{_NAME}/(?=[^\s@]{{1,64}}@)", "oracle:"),
    (rf"sqlplus(?: -\w)? {_NAME}/(?=[^\s@]{{1,64}}@)", "sqlplus"),
)
_PIPED = (
    r"(?<![\w.-])(?:echo|printf)(?: -\w)?(?: '%s(?:\\n)?')? "
    r"(?P<value>\"[^\"\n]{1,128}\"|'[^'\n]{1,128}'|[^\s\"'|;&<>]{1,128})\s{0,3}\|\s{0,3}"
    r"(?:sudo (?:[^\n|]{0,40}-S|\w{0,2}passwd)|\w{0,2}passwd|[^\n|]{1,120}--password-stdin)"
)

_ALL = (*(row[2] for row in _COMMANDS), *(row[1] for row in _STATEMENTS), "sudo ")
_HINTS = ("pass", *dict.fromkeys(hint for hint in _ALL if "pass" not in hint))


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
    if not colon or not re.fullmatch(_NAME, name):
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

    def finditer(self, text: str, /) -> Iterator[Place]:
        """Yields the passwords, those of one command in order."""
        lowered, found = text.lower(), list[Span]()
        for hint, pattern, check in self._rows:
            if hint not in lowered:
                continue
            for match in re.finditer(pattern, text):
                if span := check(text, *match.span("value")):
                    found.append(span)
        for start, stop in sorted(found):
            yield Place(start, stop)


COMMAND_LINES = (
    Rule(
        name="secret",
        label="SECRET",
        hints=_HINTS,
        pattern=_Commands(),
        why=(
            "the password that a command is called with (mysql, docker login, sshpass, redis-cli,"
            " ldapsearch, openssl and others), that a statement sets or that is echoed into one"
        ),
        example="mysql -u root -ptX93-mangrove",
    ),
)
