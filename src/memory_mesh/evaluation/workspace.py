"""The folder of an evaluation run, and the identity of the running code."""

import hashlib
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from memory_mesh.config import APP
from memory_mesh.errors import StoreIsBusy
from memory_mesh.process.locks import locked

_PACKAGE = Path(__file__).resolve().parent.parent
_ANSWERING = {  # of this folder
    "answering.py",
    "asking.py",
    "longmemeval.py",
    "records.py",
    "storing.py",
}
_SOURCES = {".py", ".sql", ".md", ".json"}


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Returns the default work folder on this platform; it can be deleted."""
    home = Path(environment.get("HOME") or Path.home())
    if sys.platform == "win32":
        base = Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / APP / "cache"
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches" / APP
    else:
        base = Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / APP
    return base / "eval"


def code_digest() -> str:
    """Returns the digest of the code that results depend on: without command line and reports."""
    whole = hashlib.sha256()
    for file in sorted(_PACKAGE.rglob("*")):
        inside = file.relative_to(_PACKAGE)
        if file.suffix not in _SOURCES or inside.parts[0] in {"cli", "testing"}:
            continue
        if inside.parts[0] == "evaluation" and inside.name not in _ANSWERING:
            continue
        whole.update(f"{inside.as_posix()}\n".encode())
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def commit() -> tuple[str | None, bool | None]:
    """Returns the commit of the checkout, and whether it has changes."""
    top = _git("rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() / "src" / "memory_mesh" != _PACKAGE:
        return None, None  # an installed package may lie in somebody else's checkout
    return _git("rev-parse", "HEAD"), bool(_git("status", "--porcelain", "--", "src"))


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Locks the folder against a second run of the same suite."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock", wait=False) as mine:
        if not mine:
            raise StoreIsBusy(f"another evaluation runs in {folder}; wait for it, or give --work")
        yield


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603  # fixed words
            ["git", "-C", str(_PACKAGE), *words],  # noqa: S607  # found on PATH
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
