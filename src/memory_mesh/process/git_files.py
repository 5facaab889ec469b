"""Git's files: where a repository is, what it is made of, and its root commit.

Git itself is asked for a root commit alone, in a way that runs nothing of the repository: no hook,
no monitor, no pager, no transport.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path

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
        if bare is None and _is_bare(place):
            bare = place, place
    return bare


def top(real: Path) -> Path | None:
    """The nearest folder that says which repository it belongs to: the top of a work tree."""
    return next((place for place in (real, *real.parents) if (place / ".git").exists()), None)


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
    if kind != "ref" and kind:
        return True
    if ref and _first_line(files / ref.strip()):
        return True
    packed = text(files / "packed-refs")
    return any(line and line[0] not in "#^" for line in packed.splitlines()) or _has_any_head(files)


def root_of(files: Path) -> str | None:
    """The first commit of the main line, by git; None without git, UNKNOWN if it takes too long.

    Several roots come from histories that were merged in: the main line leads to the first one.
    """
    import subprocess  # most repositories have a remote

    place = files.parent if files.name == ".git" else files  # git looks at its owner, as ever
    command = [
        "git", "--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}",
        "-c", "protocol.allow=never", "-C", str(place),
        "rev-list", "--first-parent", "--max-parents=0",
    ]  # fmt: skip
    for start in (["HEAD"], ["--all"]):
        try:
            done = subprocess.run(  # noqa: S603  # git, and words of our own
                [*command, *start, "--"],
                env=_environment(place), stdin=subprocess.DEVNULL, capture_output=True, check=False,
                timeout=GIT_SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return UNKNOWN
        except OSError:
            return None
        found = (
            sorted(done.stdout.decode("ascii", "replace").split()) if not done.returncode else []
        )
        if found:
            return found[0]
    return None


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


def _is_bare(place: Path) -> bool:
    return all((place / name).exists() for name in ("HEAD", "objects", "refs", "config"))


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
