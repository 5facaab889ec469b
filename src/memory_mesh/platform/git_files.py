"""Git's files: where a repository is, what it is made of, and its root commit.

Git itself is asked for a root commit alone, in a way that runs nothing of the repository: no hook,
no monitor, no pager, no transport.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from memory_mesh.base.lazy_pattern import lazy_pattern

_scheme = lazy_pattern(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_scp = lazy_pattern(r"(?:([^@/:\s]+)@)?(\[[^\]\s]+\]|[^/:@\s\[\]]+):(?!//|:)(.+)", re.DOTALL)
_drive = lazy_pattern(r"[A-Za-z]:[\\/]")
_hex_pair = lazy_pattern(r"%([0-9A-Fa-f]{2})")
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

Entries = list[tuple[str, str, str, str]]  # section, subsection, key, value

_plain = lazy_pattern(r'\[[^"\\\]]*(?:"[^"\\\]]*")?[^"\\\]]*\]')
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}

GIT_SECONDS = 1.0  # that git may take to name a root commit
UNKNOWN = "-"  # stands for a root commit that git did not find in time
_MAX_BYTES = 1 << 20  # of a file that is read
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def found(real: Path) -> tuple[Path, Path] | None:
    """The main work tree of a folder and the files of its repository.

    A repository without a work tree counts only where it is not inside of one: such files could
    have come with a clone.
    """
    bare: tuple[Path, Path] | None = None
    for place in (real, *real.parents):
        git = place / ".git"
        if git.is_dir():
            return place, git
        if git.is_file():
            return _linked(git)
        if bare is None and all(
            (place / name).exists() for name in ("HEAD", "objects", "refs", "config")
        ):
            bare = place, place
    return bare


def top(real: Path) -> Path | None:
    """The nearest folder that says which repository it belongs to: the top of a work tree."""
    return next((place for place in (real, *real.parents) if (place / ".git").exists()), None)


def top_of(folder: str) -> str | None:
    """The top of the work tree that a folder is in, as the folder is written."""
    while True:
        if os.path.lexists(f"{folder}/.git"):
            return folder
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return None
        folder = above


def birth(files: Path) -> str:
    """When the repository was made here: git writes this file once; without it, which folder."""
    try:
        return _base32((files / "description").stat().st_mtime_ns // 1_000)
    except OSError:
        pass
    try:
        return f"i{_base32(files.stat().st_ino)}"
    except OSError:
        return "0"


def has_commits(files: Path) -> bool:
    """True if there is a commit and the first one is here, as far as the files tell."""
    if _first_line(files / "shallow"):
        return False
    if (files / "reftable").is_dir():
        return True
    kind, _, ref = _first_line(files / "HEAD").partition(":")
    if (kind != "ref" and kind) or (ref and _first_line(files / ref.strip())):
        return True
    packed = text(files / "packed-refs")
    return any(line and line[0] not in "#^" for line in packed.splitlines()) or _has_any_head(files)


def root_of(files: Path) -> str | None:
    """The first commit of the main line, by git; None without git, UNKNOWN if it takes too long.

    Several roots come from histories that were merged in: the main line leads to the first one.
    """
    place = files.parent if files.name == ".git" else files  # git looks at its owner, as ever
    for start in (["HEAD"], ["--all"]):
        words = ("rev-list", "--first-parent", "--max-parents=0", *start, "--")
        told = asked(place, words, GIT_SECONDS)
        if told is None or told == UNKNOWN:
            return told
        found = sorted(told.split())
        if found:
            return found[0]
    return None


def asked(place: Path, words: Sequence[str], seconds: float) -> str | None:
    """What git says, in a way that runs nothing of the repository; empty where it refuses.

    None without git, UNKNOWN if it takes too long.
    """
    import subprocess  # most folders need no git

    command = [
        "git", "--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}",
        "-c", "protocol.allow=never", "-C", str(place), *words,
    ]  # fmt: skip
    try:
        done = subprocess.run(  # noqa: S603  # git, and words of our own
            command,
            env=_environment(place), stdin=subprocess.DEVNULL, capture_output=True, check=False,
            timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return UNKNOWN
    except (OSError, ValueError):  # no git, or a word that no process can have
        return None
    return "" if done.returncode else done.stdout.decode("utf-8", "surrogateescape")


def head(top: Path) -> str | None:
    """The commit that is checked out in a work tree, as far as git's files tell."""
    git = top / ".git"
    if git.is_file():
        word, _, target = _first_line(git).partition(":")
        git = Path(os.path.realpath(top / target.strip())) if word == "gitdir" else git
    shared = Path(os.path.realpath(git / (_first_line(git / "commondir") or ".")))
    kind, _, ref = _first_line(git / "HEAD").partition(":")
    if not ref:
        return kind or None
    ref = ref.strip()
    if found := _first_line(git / ref) or _first_line(shared / ref):
        return found
    packed = (line.partition(" ") for line in text(shared / "packed-refs").splitlines())
    return next((commit for commit, _, name in packed if name == ref), None)


def replaced(path: Path, change: Callable[[str], str]) -> None:
    """Changes a configuration under git's own lock, so that nobody's change is lost."""
    path = Path(os.path.realpath(path))
    lock = path.with_name(f"{path.name}.lock")
    descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        before = path.read_bytes() if path.exists() else b""
        after = change(before.decode("utf-8", "surrogateescape"))
        with os.fdopen(descriptor, "wb") as file:
            file.write(after.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            lock.chmod(stat.S_IMODE(path.stat().st_mode))
        lock.replace(path)
    except OSError:
        lock.unlink(missing_ok=True)
        raise


def text(path: Path) -> str:
    """A file as text; empty where there is none, or something else than a file."""
    try:
        descriptor = os.open(path, _FLAGS)  # a pipe must not keep us waiting
    except (OSError, ValueError):
        return ""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        try:
            return file.read(_MAX_BYTES).decode("utf-8", "surrogateescape")
        except OSError:
            return ""


def _base32(number: int) -> str:
    """A number in few letters, which nobody takes for a secret or a card."""
    text = ""
    while number > 0:
        number, digit = divmod(number, 32)
        text = _LETTERS[digit] + text
    return text or _LETTERS[0]


def _linked(link: Path) -> tuple[Path, Path]:
    """Where the repository of a linked work tree lives; a submodule is a project of its own."""
    own = link.parent
    word, _, target = _first_line(link).partition(":")
    if word != "gitdir":
        return own, link
    private = Path(os.path.realpath(own / target.strip()))
    common = _first_line(private / "commondir")
    if not common:
        return own, private
    shared = Path(os.path.realpath(private / common))
    return shared.parent if shared.name == ".git" else shared, shared


def _has_any_head(files: Path) -> bool:
    try:
        return any((files / "refs" / "heads").iterdir())
    except OSError:
        return False


def _environment(place: Path) -> dict[str, str]:
    """What git may know: where its settings are, and to fetch, ask and lock nothing."""
    kept = {
        name: os.environ[name]
        for name in ("HOME", "XDG_CONFIG_HOME", "PATH", "SYSTEMROOT")
        if name in os.environ
    }
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CEILING_DIRECTORIES": str(place.parent),
    }


def _first_line(path: Path) -> str:
    return text(path).partition("\n")[0].strip()


# Git's configuration text to values: as much of its grammar as naming a project needs.


def entries(text: str) -> Entries:
    """Returns every value of a configuration with its section, subsection and key, in order.

    Sections and keys are in lower case. A line that git would refuse is left out.
    """
    found: Entries = []
    section = subsection = ""
    for line in _joined(text):
        setting = line
        if line.startswith("["):
            section, subsection, setting = _heading(line)
        key, equals, value = setting.partition("=")
        key = key.strip().lower()
        if section and key and key[0] not in "#;":
            found.append((section, subsection, key, _value(value) if equals else "true"))
    return found


def with_value(text: str, section: str, key: str, value: str | None) -> str:
    """Returns a configuration in which one key of a plain section has this value, or none.

    All other lines stay as they are.
    """
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if bare.startswith("["):
            inside = _heading(bare)[:2] == (section, "")
        elif inside and bare.partition("=")[0].strip().lower() == key:
            continue
        kept.append(line)
    lines = _without_empty(kept, section)
    if value is not None:
        if lines and not lines[-1].endswith("\n"):
            lines.append("\n")
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'[{section}]\n\t{key} = "{quoted}"\n')
    return "".join(lines)


def _without_empty(lines: list[str], section: str) -> list[str]:
    """Leaves out headings of a section that has no line of its own any more."""
    kept: list[str] = []
    for number, line in enumerate(lines):
        following = lines[number + 1].strip() if number + 1 < len(lines) else "["
        if line.strip() == f"[{section}]" and following.startswith("["):
            continue
        kept.append(line)
    return kept


def _joined(text: str) -> list[str]:
    """The lines, each with those that continue it, without the space around them."""
    lines: list[str] = []
    continued = ""
    for line in text.splitlines():
        whole = continued + line
        if (len(whole) - len(whole.rstrip("\\"))) % 2:
            continued = whole[:-1]
            continue
        continued = ""
        lines.append(whole.strip())
    return [*lines, continued.strip()] if continued else lines


def _heading(line: str) -> tuple[str, str, str]:
    """Section and subsection of a heading, and what stands behind it on the same line."""
    end = line.index("]") if _plain().match(line) else _end(line)
    section, _, named = line[1:end].partition('"')
    name = _unescaped(named.rpartition('"')[0])
    return section.strip().lower(), name, line[end + 1 :].strip()


def _end(line: str) -> int:
    """Where a heading ends: at the first bracket outside of quotes."""
    quoted = escaped = False
    for place, letter in enumerate(line):
        if escaped:
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter == '"':
            quoted = not quoted
        elif letter == "]" and not quoted:
            return place
    return len(line)


def _unescaped(text: str) -> str:
    letters = iter(text)
    return "".join(next(letters, "") if letter == "\\" else letter for letter in letters)


def _value(text: str) -> str:
    """A value without its quotes, escapes and comment."""
    if not any(mark in text for mark in '"\\#;'):
        return text.strip()
    found: list[str] = []
    quoted, kept = False, 0
    letters = iter(text.strip())
    for letter in letters:
        if letter == '"':
            quoted = not quoted
            kept = len(found)
        elif letter == "\\":
            named = next(letters, "")
            found.append(_ESCAPES.get(named, named))
            kept = len(found)
        elif letter in "#;" and not quoted:
            break
        else:
            found.append(letter)
            if quoted or not letter.isspace():
                kept = len(found)
    return "".join(found[:kept])


# Decides what a git remote is called, however its URL is written.
#
# ::
#
#     git@GitHub.com:Owner/Repo.git            ─┐
#     https://user:token@github.com/owner/repo/ ├──▶ github.com/owner/repo
#     ssh://git@ssh.github.com:443/owner/repo  ─┘
#
# The name holds no user, password or token. A path that is on this machine has no name here:
# whoever
# asks looks at the repository that lies there.


def remote_name(url: str) -> str | None:
    """Returns the name of the repository that a URL leads to; None where there is none."""
    url = url.strip()
    if not url or not url.isprintable():
        return None
    scheme = _scheme().match(url)
    if scheme is not None:
        return _of_url(scheme[1].lower(), url[scheme.end() :])
    found = None if _drive().match(url) else _scp().fullmatch(url)
    if found is None:
        return None
    user, host, path = found[1], found[2], found[3]
    return _name(host, "", path, user=None if path.startswith("/") else user)


def local_path(url: str) -> str | None:
    """Returns the path that a URL of this machine names; None for any other."""
    url = url.strip()
    scheme = _scheme().match(url)
    if scheme is not None:
        if scheme[1].lower() != "file":
            return None
        host, slash, path = url[scheme.end() :].partition("/")
        return _decoded(slash + path) if host in {"", "localhost"} else None
    return url if url and (_drive().match(url) or not _scp().fullmatch(url)) else None


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
    if _scheme().match(url):
        return False
    found = _scp().fullmatch(url)
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
    held = _hex_pair().sub(lambda pair: chr(int(pair[1], 16)), path)
    try:
        return held.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return path
