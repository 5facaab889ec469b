"""Rules for passwords that commands are called with."""

import re
from collections.abc import Iterator

from memory_mesh.policy.privacy.rule import Place, Rule, Span

STANDS_FOR_ONE = (
    r"(?i)\$.*|%.*|<.*|\{.*|\[.*|\*+|x+|\.+|-.*|=.*|your.*|my[_-].*|pass(?:word|wd)?|pw|pwd|secret|token"
    r"|user|example|none|null|prompt|stdin|file:.*|env:.*|@.*"
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
    (r"mysql\w{0,8}|mariadb(?:-\w{1,8})?|mycli|xtrabackup", r"-p", " -p", "mysql -u root -ptX93-mangrove"),
    (rf"{_LOGINS}|sshpass|mongo\w{{0,8}}|rdesktop|mosquitto_(?:pub|sub)|plink|pscp", r"-p[ =]?",
     " -p", "docker login -u ci -p Rk2mWqz8LdVh"),
    (r"redis-cli|valkey-cli", r"(?:-a|--pass)[ =]", " -a ", "redis-cli -a tX93-mangrove ping"),
    (r"ldap(?:search|modify|add|delete|whoami|passwd)", r"-w ?", " -w", "ldapsearch -w tX93-mangrove"),
    (r"sqlcmd|bcp|osql|zip|unzip|ipmitool", r"-P ?", " -p", "sqlcmd -U sa -P tX93-mangrove"),
    (r"7z[ar]?", r"-p", " -p", "7z a -ptX93-mangrove backup.7z"),
    (r"smbclient|rpcclient|smbmap|wbinfo|winexe", rf"-U ?[\"']?{_NAME}%", " -u", "smbclient -U bob%tX93-mangrove"),
    (r"openssl", r"-pass(?:in|out)? ?[\"']?pass:", "pass:", "openssl rsa -passin pass:tX93-mangrove"),
    (r"keytool|jarsigner|apksigner", r"-\w{0,8}(?:store|key)pass ", "pass ", "keytool -storepass tX93-mangrove"),
    (r"https?|xh|curlie", rf"(?:-a|--auth)[ =]?[\"']?{_NAME}:", " -a", "http -a bob:tX93-mangrove :8000"),
    (r"curl|wget", rf"(?:-U|--proxy-user)[ =]?[\"']?{_NAME}:", "curl", "curl -U bob:tX93-mangrove"),
    (r"lftp|ncftp\w{0,3}", rf"-u ?{_NAME},", " -u", "lftp -u bob,tX93-mangrove"),
    (r"htpasswd", rf"-\w{{0,4}}b\w{{0,4}} \S{{1,80}} {_NAME} ", "htpasswd", "htpasswd -bc .htpasswd bob tX93-mangrove"),
    (r"rabbitmqctl", rf"(?:add_user|change_password) {_NAME} ", "rabbitmqctl", "rabbitmqctl add_user bob tX93-mangrove"),
    (r"net", rf"use [^\n]{{1,80}}?/user:{_NAME} ", "/user:", r"net use X: \\nas\x /user:bob tX93-mangrove"),
    (r"net", rf"user {_NAME} (?!/)", "net user", "net user bob tX93-mangrove /add"),
    (r"xfreerdp|wfreerdp", r"/p:", "freerdp", "xfreerdp /u:bob /p:tX93-mangrove"),
    (r"kubectl|oc", r"--from-literal[= ][\"']?[\w.-]{1,60}=", "from-literal", "kubectl create secret generic pg --from-literal=pg=tX93-mangrove"),
)  # fmt: skip
_STATEMENTS = (
    (r"(?i:identified (?:with [\w']{1,40} )?by )(?=[\"'])", "identified ", "IDENTIFIED BY 'tX93-mangrove'"),
    (r"(?<![\w.-])(?:requirepass|masterauth) ", "requirepass", "requirepass tX93-mangrove"),
    (r"(?<![\w.-])masterauth ", "masterauth", "masterauth tX93-mangrove"),
    (r"(?i:\b(?:set|alter|create|with)(?: \w{1,40}){0,3} password(?: for \S{1,60})?(?: =)? (?=[\"']))", "password", "WITH PASSWORD 'tX93-mangrove'"),
    (r"(?i:aws_secret_access_key|aws_session_token) ", "aws_s", "aws configure set aws_secret_access_key tX93mangrove/K7"),
    (rf"(?:sqlplus(?: -\w)? |jdbc:oracle:\w{{2,5}}:){_NAME}/(?=[^\s@]{{1,64}}@)", "oracle:", "jdbc:oracle:thin:scott/tX93-mangrove@db"),
    (rf"sqlplus(?: -\w)? {_NAME}/(?=[^\s@]{{1,64}}@)", "sqlplus", "sqlplus scott/tX93-mangrove@db"),
)  # fmt: skip
_PIPED = (
    r"(?<![\w.-])(?:echo|printf)(?: -\w)?(?: '%s(?:\\n)?')? "
    r"(?P<value>\"[^\"\n]{1,128}\"|'[^'\n]{1,128}'|[^\s\"'|;&<>]{1,128})\s{0,3}\|\s{0,3}"
    r"(?:sudo (?:[^\n|]{0,40}-S|\w{0,2}passwd)|\w{0,2}passwd|[^\n|]{1,120}--password-stdin|cryptsetup)"
)


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
            for command, flag, hint, _ in _COMMANDS
        ]
        rows += [(hint, before + _VALUE, typed) for before, hint, _ in _STATEMENTS]
        rows += [(hint, _PIPED, piped) for hint in ("sudo ", "passwd", "password-stdin")]
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


COMMANDS = (
    Rule(
        name="secret",
        label="SECRET",
        hints=tuple(
            dict.fromkeys(
                (*(row[2] for row in _COMMANDS), *(row[1] for row in _STATEMENTS), "sudo ", "passwd")
            )
        ),
        pattern=_Commands(),
        why=(
            "the password that a command is called with (mysql, docker login, sshpass, redis-cli,"
            " ldapsearch, openssl and others), that a statement sets or that is echoed into one"
        ),
        example="mysql -u root -ptX93-mangrove",
    ),
)
EXAMPLES = tuple(row[-1] for row in (*_COMMANDS, *_STATEMENTS))
