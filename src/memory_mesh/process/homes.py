"""Paths that begin with ~, in the home that an environment names and not in this process's own."""

from collections.abc import Mapping
from pathlib import Path


def expanded(path: str, environment: Mapping[str, str]) -> Path:
    """The path with the home folder in place of ~; `~name` is the home of that account."""
    home = environment.get("HOME")
    if home and (path == "~" or path.startswith("~/")):
        return Path(home, path[2:])
    return Path(path).expanduser()
