"""The names of the user that this machine knows: account, home folder, author of commits.

Git is not run: its configuration files are read as text, with a limit on their size, number and
depth. A file that cannot be read says nothing.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from memory_mesh.platform import system
from memory_mesh.privacy.private_names import Person

MAX_BYTES = 200_000  # of one configuration file
MAX_FILES = 20  # of git that are read, those that others include among them
_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"[^"\n]*")?\s*\]\s*(.*)\Z')
_VALUE = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)\Z")


def own_person(
    environment: Mapping[str, str] | None = None, *, of_system: bool | None = None
) -> Person | None:
    """The user of this process under every name that is known, or None if none is.

    A given environment is asked alone, unless `of_system` adds the system's list of accounts.
    """
    variables = os.environ if environment is None else environment
    home = _home(variables)
    accounts, full_names = [*_accounts(variables)], [*_git_names(variables, home)]
    if environment is None if of_system is None else of_system:
        accounts, full_names = _from_system(accounts, full_names)
    accounts += [name for name in full_names if " " not in name]
    person = Person(
        accounts=tuple(dict.fromkeys(accounts)),
        full_names=tuple(dict.fromkeys(name for name in full_names if " " in name)),
        homes=(str(home),) if home is not None and home.name else (),
    )
    return person if person != Person() else None


def _home(variables: Mapping[str, str]) -> Path | None:
    said = variables.get("HOME") or variables.get("USERPROFILE")
    return Path(said) if said and Path(said).is_absolute() else None


def _accounts(variables: Mapping[str, str]) -> Iterator[str]:
    for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER"):
        if variables.get(name):
            yield variables[name]


def _from_system(accounts: list[str], full_names: list[str]) -> tuple[list[str], list[str]]:
    """Adds what the system's list of accounts says about this process."""
    entry = system.account()
    if entry is None:
        return accounts, full_names
    name, full_name = entry
    return [name, *accounts], full_names + ([full_name] if full_name else [])


def _git_names(variables: Mapping[str, str], home: Path | None) -> Iterator[str]:
    """The names that git would write into commits: its variables, then its files."""
    for variable in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        if variables.get(variable):
            yield variables[variable]
    waiting = [*_git_files(variables, home)]
    for _ in range(MAX_FILES):
        if not waiting:
            return
        path = waiting.pop(0)
        for section, key, value in _settings(path):
            if (section, key) in {("user", "name"), ("author", "name"), ("committer", "name")}:
                yield value
            elif section in {"include", "includeif"} and key == "path":
                waiting.append(_included(value, path, home))


def _git_files(variables: Mapping[str, str], home: Path | None) -> Iterator[Path]:
    if variables.get("GIT_CONFIG_GLOBAL"):
        yield Path(variables["GIT_CONFIG_GLOBAL"])
    elif home is not None:
        folder = Path(variables.get("XDG_CONFIG_HOME") or home / ".config")
        yield folder / "git" / "config"
        yield home / ".gitconfig"
    here = Path(variables.get("PWD") or ".")
    for folder in (here, *here.parents):
        if (folder / ".git" / "config").is_file():
            yield folder / ".git" / "config"
            return


def _included(value: str, path: Path, home: Path | None) -> Path:
    if value.startswith("~/") and home is not None:
        return home / value[2:]
    return path.parent / value


def _settings(path: Path) -> Iterator[tuple[str, str, str]]:
    """Section, key and value of each line of a configuration file, without comments."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return
    section = ""
    for line in text.split("\n"):
        rest = line
        if (head := _SECTION.match(line)) is not None:
            section, rest = head[1].lower(), head[2]
        if (found := _VALUE.match(rest)) is not None:
            yield section, found[1].lower(), _unquoted(found[2])


def _unquoted(value: str) -> str:
    """A value without its quotes, escapes and the comment after it."""
    kept, quoted, at = "", False, 0
    while at < len(value):
        letter = value[at]
        if letter == "\\" and at + 1 < len(value):
            at += 1
            kept += value[at]
        elif letter == '"':
            quoted = not quoted
        elif letter in "#;" and not quoted:
            break
        else:
            kept += letter
        at += 1
    return " ".join(kept.split())
