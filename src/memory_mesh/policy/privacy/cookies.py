"""The rule for the cookies of sessions."""

import re
from collections.abc import Iterator

from memory_mesh.policy.privacy.anchored import Anchored
from memory_mesh.policy.privacy.chosen import strong
from memory_mesh.policy.privacy.commands import STANDS_FOR_ONE
from memory_mesh.policy.privacy.rule import Place, Rule

_KNOWN = (
    r"PHPSESSID|J?SESSIONID(?:SSO)?|ASP\.NET_SessionId|\.ASPXAUTH|\.AspNetCore\.\w{1,40}"
    r"|connect\.sid|laravel_session|ASPSESSIONID[A-Z]{0,8}|wordpress_logged_in_\w{1,40}|_gh_sess"
    r"|user_session|__Secure-[\w.-]{1,40}|__Host-[\w.-]{1,40}|rack\.session|ci_session"
    r"|koa\.sess|express\.sid|beaker\.session\.id|csrftoken"
)
_WORDS = (
    "cookie", "curl ", "phpsessid", "jsessionid", "sessionid", "asp.net_s", ".aspxauth",
    ".aspnetcore.", "connect.sid", "laravel_session", "aspsessionid", "wordpress_logged_in_",
    "_gh_sess", "user_session", "__secure-", "__host-", "rack.session", "ci_session", "koa.sess",
    "express.sid", "beaker.session", "csrftoken",
)  # fmt: skip
_COOKIE = Anchored(
    _WORDS,
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
_ATTRIBUTE = re.compile(r"(?i)path|domain|expires|max-age|samesite|version|comment|https?|priority")
_LONGEST, _NEAR, _RANDOM, _DIGITS = 2000, 120, 20, 4


class _Cookies:
    """Finds the values of sessions: known names anywhere, others behind the word cookie."""

    def finditer(self, text: str, /) -> Iterator[Place]:
        end = 0
        for word in _COOKIE.finditer(text):
            if word.start() < end:
                continue
            first = word.start() if word["known"] else word.end()
            last = text.find("\n", first, first + _LONGEST)
            end = last if last >= 0 else min(len(text), first + _LONGEST)
            if not word["known"] and not word["said"]:
                end = min(end, first + _NEAR)
            found = [*_pairs(text, first, end, certain=bool(word["said"]))]
            if word["said"] and not found:
                found = [*_alone(text, first, end)]
            yield from found[:1] if word["known"] else found


def _pairs(text: str, first: int, end: int, *, certain: bool) -> Iterator[Place]:
    for pair in _PAIR.finditer(text, first, end):
        name, (start, stop) = pair["name"], pair.span("value")
        stop = start + len(text[start:stop].rstrip("`.,:)]}\\"))
        if (certain or _SESSION.search(name) or re.match(_KNOWN, name)) and _is_session(
            name, text[start:stop]
        ):
            yield Place(start, stop)


def _alone(text: str, first: int, end: int) -> Iterator[Place]:
    """Yields a value without a name: the whole of what stands behind the word."""
    found = _ALONE.match(text, first, end)
    if found and "=" not in found["value"].rstrip("=") and strong(found["value"]):
        yield Place(*found.span("value"))


def _is_session(name: str, value: str) -> bool:
    if _ATTRIBUTE.fullmatch(name) or re.fullmatch(STANDS_FOR_ONE, value):
        return False
    digits = len(re.findall("[0-9]", value))
    if len(value) >= _RANDOM and digits >= _DIGITS and re.search("[A-Za-z]", value):
        return not re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value)
    if not _SESSION.search(name):
        return False
    return digits > 0 and bool(re.search("[A-Za-z]", value))


COOKIES = (
    Rule(
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
