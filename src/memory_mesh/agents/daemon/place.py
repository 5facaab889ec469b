"""Where a store's daemon listens: a socket in a folder of the user's own, under a short name.

::

    $XDG_RUNTIME_DIR/memory-mesh/ │ /tmp/memory-mesh-<uid>/ │ <store>/agents/      the first usable
        <16 hexadecimal digits of user and store>.sock

    <store>/agents/daemon.lock     held for life; one line: process, socket

Clients with another runtime folder read the socket's path from the lock file. This module is light:
a hook loads it at every prompt.
"""

import os
import stat

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.platform import system

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

AGENTS = "agents"  # the folder in the store
_FALSE = {"0", "false", "no", "off"}
_MOST = 1_000_000  # bytes of a configuration file that is looked into


class NoPlace(OSError):
    """There is no folder where a socket could lie safely."""


def folder_of(environment: "Mapping[str, str]", cwd: str = "") -> str:
    """The real path of the store's folder, as `config.load` finds it."""
    by_variable, by_file = environment.get("MEMORY_MESH_DIR"), _from_file(environment, "db_dir")
    stated = by_variable or by_file
    folder = _expanded(str(stated), environment) if stated else system.data_folder(environment)
    store: object = environment.get("MEMORY_MESH_STORE")
    if not store and not by_variable:
        store = _from_file(environment, "store")
    if store:
        folder = _folder_of_store(str(store), folder, environment)
    return os.path.realpath(os.path.join(cwd, folder))  # noqa: PTH118  # pathlib costs 8 ms


def _folder_of_store(store: str, folder: str, environment: "Mapping[str, str]") -> str:
    from memory_mesh.platform import store_urls

    path = store_urls.folder_in(store)
    if path is not None:
        return _expanded(path, environment)
    return f"{folder}/{store_urls.own_folder(store)}"


def is_wanted(environment: "Mapping[str, str]") -> bool:
    """Whether the settings allow a daemon."""
    stated = environment.get("MEMORY_MESH_DAEMON") or _from_file(environment, "daemon")
    denied = stated is not None and str(stated).lower() in _FALSE
    return not denied and not _is_by_service(environment)


def _is_by_service(environment: "Mapping[str, str]") -> bool:
    """Whether libpq looks up in files where the store is: it does so in the client's process."""
    store = str(environment.get("MEMORY_MESH_STORE") or _from_file(environment, "store") or "")
    if not store:
        return False
    from memory_mesh.platform.store_urls import is_server

    return is_server(store) and (bool(environment.get("PGSERVICE")) or "service=" in store)


def idle_seconds(environment: "Mapping[str, str]") -> float | None:
    """The setting for how long a daemon waits for work; None for the default, or what is none."""
    name, variable = "daemon_idle_seconds", "MEMORY_MESH_DAEMON_IDLE_SECONDS"
    stated = environment.get(variable) or _from_file(environment, name)
    try:
        seconds = float(str(stated))
    except ValueError:
        return None
    return seconds if 0 < seconds < float("inf") else None


def socket_path(store: str, environment: "Mapping[str, str] | None" = None) -> str:
    """The path of the daemon's socket; makes its folder. NoPlace if there is no safe one."""
    for folder in _candidates(store, os.environ if environment is None else environment):
        path = f"{folder}/{_name(store)}.sock"
        if len(os.fsencode(path)) <= system.MAX_SOCKET_PATH and _is_own(folder):
            return path
    raise NoPlace("there is no folder of this user's own with a path short enough for a socket")


def lock_path(store: str) -> str:
    """The file whose lock the store's one daemon holds."""
    return f"{store}/{AGENTS}/daemon.lock"


def recorded(store: str) -> tuple[int, str] | None:
    """The process and the socket that the last daemon wrote down, as far as they can be read."""
    try:
        with open(lock_path(store), "rb") as file:  # noqa: PTH123
            pid, _, path = file.read(4096).partition(b"\n")[0].partition(b" ")
        return int(pid), os.fsdecode(path.strip())
    except (OSError, ValueError):
        return None


def is_private(folder: str) -> bool:
    """Whether a folder is this user's own and closed to all others; a link to one is not."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == system.user_id()
        and not stat.S_IMODE(found.st_mode) & 0o077
    )


def _candidates(store: str, environment: "Mapping[str, str]") -> "Iterator[str]":
    runtime = environment.get("XDG_RUNTIME_DIR") or ""
    if runtime.startswith("/") and is_private(os.path.realpath(runtime)):
        yield f"{os.path.realpath(runtime)}/{system.APP}"
    yield f"/tmp/{system.APP}-{system.user_id()}"  # noqa: S108  # its owner and mode are checked
    yield f"{store}/{AGENTS}"


def _is_own(folder: str) -> bool:
    """Whether the folder is private; it is made if there is none."""
    if is_private(folder):
        return True
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102
        os.chmod(folder, 0o700)  # noqa: PTH101  # whatever the umask
    except OSError:  # it is there, or it cannot be made
        pass
    return is_private(folder)


def _name(store: str) -> str:
    try:
        from _blake2 import blake2b  # hashlib loads OpenSSL
    except ImportError:  # pragma: no cover  # a Python without it
        from hashlib import blake2b
    return blake2b(
        f"{system.user_id()} {store}".encode("utf-8", "surrogateescape"), digest_size=8
    ).hexdigest()


def _from_file(environment: "Mapping[str, str]", name: str) -> object:
    """A setting of the configuration file; a plain line is read here, all else as TOML."""
    path = environment.get("MEMORY_MESH_CONFIG") or (
        f"{system.config_folder(environment)}/config.toml"
    )
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            text = file.read(_MOST).decode()
    except (OSError, ValueError):
        return None
    if name not in text and "\\" not in text:  # a quoted name may be written in escapes
        return None
    if (found := _plain(text, name)) is not None:
        return found
    import tomllib

    try:
        return tomllib.loads(text).get(name)
    except ValueError:  # whoever opens the store says what is wrong
        return None


def _plain(text: str, name: str) -> str | None:
    """The value of a line `name = "text"`, `name = true` or `name = 7` above all tables.

    None if there is no such line, or if the file has anything that only a TOML reader understands.
    """
    if "\\" in text or '"""' in text or "'''" in text:
        return None
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            return None
        key, equals, value = line.partition("=")
        value = value.strip()
        if not equals or key.strip() != name or not value:
            continue
        if value[0] in "\"'":
            inner, closed, rest = value[1:].partition(value[0])
            rest = rest.strip()
            return inner if closed and (not rest or rest.startswith("#")) else None
        return value.partition("#")[0].strip()
    return None


def _expanded(path: str, environment: "Mapping[str, str]") -> str:
    home = environment.get("HOME")
    if home and (path == "~" or path.startswith("~/")):
        return home + path[1:]
    return os.path.expanduser(path)  # noqa: PTH111
