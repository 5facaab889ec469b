"""Rules for passwords that commands are called with."""

import re

from memory_mesh.policy.privacy.rule import Rule, Span

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


def _rule(pattern: str, hint: str, example: str, why: str) -> Rule:
    return Rule(
        name="secret",
        label="SECRET",
        hints=(hint,),
        pattern=pattern,
        check=typed,
        why=why,
        example=example,
    )


COMMANDS = (
    *(
        _rule(
            rf"(?<![\w.-])(?:{command})(?![\w-]){_ROW}(?:{flag}){_VALUE}",
            hint,
            example,
            f"the password that {re.match('[a-z0-9]+', example)[0]} is called with",  # type: ignore[index]  # every example begins so
        )
        for command, flag, hint, example in _COMMANDS
    ),
    *(
        _rule(before + _VALUE, hint, example, "the password of a statement")
        for before, hint, example in _STATEMENTS
    ),
    Rule(
        name="secret",
        label="SECRET",
        hints=("sudo ", "passwd", "password-stdin", "cryptsetup"),
        pattern=_PIPED,
        check=piped,
        why="a password that is echoed into a command",
        example="echo tX93-mangrove | sudo -S reboot",
    ),
)
