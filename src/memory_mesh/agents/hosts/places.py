"""Where Claude Code and our own commands are on this machine."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from memory_mesh.base.typed import dataclass
from memory_mesh.model.errors import NotFound

NAME = "memory-mesh"  # of the plugin, its marketplace and our folder beside Claude Code's files
_UNLINKED = (".local/bin/claude", ".claude/local/claude")  # where its installers put it
_PASSING = (f"{os.sep}uv{os.sep}archive-v", f"{os.sep}uv{os.sep}environments-v", "pip-run-")


@dataclass(frozen=True, slots=True)
class SettingsFolder:
    """A folder `.claude` that is read by Claude Code: the user's, or that of one repository."""

    folder: Path
    repository: Path | None = None

    @property
    def settings(self) -> Path:
        """The settings to change: a repository's are those that stay on this machine."""
        name = "settings.json" if self.repository is None else "settings.local.json"
        return followed(self.folder / name)

    @property
    def own(self) -> Path:
        """The folder of our plugin and of what is needed to undo the installation."""
        return self.folder / NAME


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands that the plugin calls, and the settings that it hands to them."""

    hook: Path
    mcp: Path
    settings: Mapping[str, str]

    @property
    def passing(self) -> bool:
        """True if the commands are in a cache that may be cleared at any time (uvx, pip-run)."""
        return any(part in str(self.hook) for part in _PASSING)


def home_of(environment: Mapping[str, str]) -> Path:
    """Returns the home folder that Claude Code uses."""
    return Path(environment.get("HOME") or Path.home())


def user_place(environment: Mapping[str, str]) -> SettingsFolder:
    """Returns the place of the user's own settings."""
    stated = environment.get("CLAUDE_CONFIG_DIR")
    return SettingsFolder(Path(stated) if stated else home_of(environment) / ".claude")


def repository_place(folder: Path) -> SettingsFolder:
    """Returns the place of the repository that a folder is in; outside of one, of the folder."""
    here = folder.resolve()
    root = next((each for each in (here, *here.parents) if (each / ".git").exists()), here)
    return SettingsFolder(root / ".claude", root)


def settings_here(environment: Mapping[str, str], here: Path) -> list[Path]:
    """Returns the settings that Claude Code reads in a folder; a later one goes before."""
    repository = repository_place(here)
    read = [
        user_place(environment).settings,
        followed(repository.folder / "settings.json"),
        repository.settings,
    ]
    return list(dict.fromkeys(read))


def is_users_own(folder: Path, environment: Mapping[str, str]) -> bool:
    """True if a folder `.claude` is the user's: as it is now, or without CLAUDE_CONFIG_DIR."""
    own = (user_place(environment).folder, home_of(environment) / ".claude")
    return folder.resolve() in {each.resolve() for each in own}


def find_claude(environment: Mapping[str, str]) -> Path | None:
    """Returns Claude Code's binary, or None."""
    if found := shutil.which("claude", path=environment.get("PATH")):
        return Path(found)
    home = home_of(environment)
    return next((home / each for each in _UNLINKED if (home / each).is_file()), None)


def find_commands(settings: Mapping[str, str]) -> Commands:
    """Returns the installed commands; NotFound says how to install them."""
    return Commands(_script("memory-mesh-hook"), _script("memory-mesh-mcp"), settings)


def followed(path: Path) -> Path:
    """Returns the file that a link leads to: settings are often kept in another folder."""
    return path.resolve() if path.is_symlink() else path


def _script(name: str) -> Path:
    """Finds a command beside the running one, where this Python has its commands, or on PATH."""
    folders = [Path(sys.argv[0]).parent, Path(sysconfig.get_path("scripts"))]
    if sys.platform != "win32":
        folders.append(Path(sysconfig.get_path("scripts", "posix_user")))
    for folder in folders:
        for ending in ("", ".exe"):
            found = Path(os.path.abspath(folder / f"{name}{ending}"))  # noqa: PTH100  # no ".."
            if found.is_file():
                return found
    if found_on_path := shutil.which(name):
        return Path(found_on_path).absolute()
    raise NotFound(
        f"the command {name} is not installed beside this one. Install memory-mesh as a whole: "
        "uv tool install memory-mesh, or pip install memory-mesh"
    )
