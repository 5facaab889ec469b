"""The bearer token of the server over HTTP: made once, kept in a file for its owner only."""

import os
import secrets
import stat
from pathlib import Path

from memory_mesh.errors import NotAllowed
from memory_mesh.process import private

_NAME = "mcp-token"
_BYTES = 32
_OTHERS = 0o077
_SHORTEST = 20  # characters of a token that somebody wrote into the file


def token_path(store: Path) -> Path:
    """Where the token of a store is."""
    return store / "agents" / _NAME


def kept_token(store: Path) -> tuple[str, bool]:
    """Returns the token and whether it was made just now.

    NotAllowed if others may read the file, or if there is no token in it.
    """
    path = token_path(store)
    private.make_folder(path.parent)
    made = private.new_file(path, os.O_WRONLY)
    if made is not None:
        token = secrets.token_urlsafe(_BYTES)
        with os.fdopen(made, "w", encoding="ascii") as file:
            file.write(f"{token}\n")
        return token, True
    return _read(path), False


def _read(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(descriptor, encoding="ascii", errors="replace") as file:
        about = os.fstat(descriptor)
        token = file.read(1_000).strip()
    own = not hasattr(os, "getuid") or about.st_uid == os.getuid()
    if os.name == "posix" and (not own or stat.S_IMODE(about.st_mode) & _OTHERS):
        raise NotAllowed(f"others may read the token in {path}; delete the file to get a new one")
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise NotAllowed(f"{path} holds no token; delete the file to get a new one")
    return token
