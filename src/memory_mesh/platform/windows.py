"""What `system` offers, on Windows: its docstrings say what each function does."""

import os

from memory_mesh.base.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

APP = "memory-mesh"
MAX_SOCKET_PATH = 0


def _refuse(*_: object) -> Any:  # noqa: ANN401
    raise OSError("Windows has no such call")


def _nothing(*_: object) -> Any:  # noqa: ANN401
    return None


def _true(*_: object) -> bool:  # `lives`: a signal would end the process here
    return True


def _zero(*_: object) -> int:
    return 0


fork = unix_family = peer_user = readable = writable = _refuse
account = spawn = raise_open_files = memory_bytes = _nothing
bound_memory = detach = lower_priority = end_in = ignore_hangup = set_open_files = _nothing
has_ended = lives = _true
user_id = unread_bytes = process_began = _zero


def data_folder(environment: "Mapping[str, str]") -> str:
    """Where programs keep a user's data."""
    return f"{environment.get('LOCALAPPDATA') or f'{_home(environment)}/AppData/Local'}/{APP}"


config_folder = data_folder


def key_folder(environment: "Mapping[str, str]") -> str:
    """Where programs keep a user's keys."""
    return f"{environment.get('APPDATA') or f'{_home(environment)}/AppData/Roaming'}/{APP}/keys"


def _home(environment: "Mapping[str, str]") -> str:
    return environment.get("HOME") or os.path.expanduser("~")  # noqa: PTH111


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    """Reads from a place in a file."""
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, size)


def lock_at_once(descriptor: int) -> None:
    """Locks a file alone until it is closed; OSError where another one holds it."""
    import sys

    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)


def end_group(process: int) -> None:
    """Ends a process."""
    os.kill(process, 15)


def device(number: int) -> str:
    """The number of a disk."""
    return f"{number:x}"
