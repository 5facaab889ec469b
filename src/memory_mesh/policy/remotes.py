"""Decides what a git remote is called, however its URL is written.

::

    git@GitHub.com:Owner/Repo.git            ─┐
    https://user:token@github.com/owner/repo/ ├──▶ github.com/owner/repo
    ssh://git@ssh.github.com:443/owner/repo  ─┘

The name holds no user, password or token. A path that is on this machine has no name here: whoever
asks looks at the repository that lies there.
"""

import re
from collections.abc import Iterable, Mapping

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SCP = re.compile(r"(?:([^@/:\s]+)@)?(\[[^\]\s]+\]|[^/:@\s\[\]]+):(?!//|:)(.+)", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_HEX_PAIR = re.compile(r"%([0-9A-Fa-f]{2})")
_PORTS = {"http": "80", "https": "443", "git": "9418", "ftp": "21", "ftps": "990"}
_SSH = frozenset({"ssh", "git+ssh", "ssh+git"})
_OTHER_HOSTS = {  # of the same service
    "ssh.github.com": "github.com",
    "www.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}
_ANY_CASE = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
_SHARED_USERS = frozenset({"git", "gitea", "forgejo", "gitlab", "hg", "anonymous"})
MAX_NAME = 500  # characters


def remote_name(url: str) -> str | None:
    """Returns the name of the repository that a URL leads to; None where there is none."""
    url = url.strip()
    if not url or not url.isprintable():
        return None
    scheme = _SCHEME.match(url)
    if scheme is not None:
        return _of_url(scheme[1].lower(), url[scheme.end() :])
    found = None if _DRIVE.match(url) else _SCP.fullmatch(url)
    if found is None:
        return None
    user, host, path = found[1], found[2], found[3]
    return _name(host, "", path, user=None if path.startswith("/") else user)


def local_path(url: str) -> str | None:
    """Returns the path that a URL of this machine names; None for any other."""
    url = url.strip()
    scheme = _SCHEME.match(url)
    if scheme is not None:
        if scheme[1].lower() != "file":
            return None
        host, slash, path = url[scheme.end() :].partition("/")
        return _decoded(slash + path) if host in {"", "localhost"} else None
    return url if url and (_DRIVE.match(url) or not _SCP.fullmatch(url)) else None


def chosen(remotes: Mapping[str, str]) -> list[str]:
    """Returns the names of remotes, the one that names the project first."""
    return sorted(remotes, key=lambda name: (name != "origin", name != "upstream", name))


def rewritten(url: str, bases: Iterable[tuple[str, str]]) -> str:
    """Returns the URL with the longest beginning replaced that a base stands in for."""
    fitting = [(len(short), base) for base, short in bases if short and url.startswith(short)]
    if not fitting:
        return url
    length, base = max(fitting)
    return base + url[length:]


def is_abbreviated(url: str) -> bool:
    """True if a URL is likely to be short for another one: its host has no dot."""
    if _SCHEME.match(url):
        return False
    found = _SCP.fullmatch(url)
    return found is not None and "." not in found[2] and found[2] != "localhost"


def _of_url(scheme: str, rest: str) -> str | None:
    if scheme == "file":
        return None
    place, _, path = rest.partition("/")
    host, port = _host_and_port(place.rpartition("@")[2])
    kept = "" if scheme in _SSH or port == _PORTS.get(scheme) else port
    return _name(host, kept, re.split(r"[?#]", path, maxsplit=1)[0])


def _host_and_port(place: str) -> tuple[str, str]:
    if place.startswith("["):
        host, _, port = place.partition("]")
        return f"{host}]", port.removeprefix(":")
    host, _, port = place.partition(":")
    return host, port


def _name(host: str, port: str, path: str, user: str | None = None) -> str | None:
    host = host.lower().rstrip(".")
    service = _OTHER_HOSTS.get(host, host)
    parts = [part for part in _decoded(path).split("/") if part not in {"", "."}]
    if parts:
        parts[-1] = parts[-1].removesuffix(".git")
    if not service or not parts or ".." in parts or not parts[-1]:
        return None
    if host == "ssh.dev.azure.com" and parts[0] == "v3" and len(parts) > 1:
        parts = [*parts[1:-1], "_git", parts[-1]]
    # A relative path starts in the home of the user, whose name is then a part of it.
    if user and user.lower() not in _SHARED_USERS and service not in _ANY_CASE:
        parts.insert(0, f"~{user}")
    named = "/".join(parts)
    named = named.lower() if service in _ANY_CASE else named
    whole = f"{service}:{port}/{named}" if port else f"{service}/{named}"
    return whole if whole.isprintable() and len(whole) <= MAX_NAME else None


def _decoded(path: str) -> str:
    if "%" not in path:
        return path
    held = _HEX_PAIR.sub(lambda pair: chr(int(pair[1], 16)), path)
    try:
        return held.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return path
