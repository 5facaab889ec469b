"""What the operating system gives a process: users, processes, signals, sockets, folders, flags.

Every other module asks here. What Windows lacks it refuses with OSError or answers with nothing:
agents' hooks and daemons need what only Linux and macOS have. This module is light: a hook loads it
at every prompt.
"""
# ruff: noqa: PLC0414  # names are given on

import os
import sys

from memory_mesh.base.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Mapping
    from pathlib import Path

APP = "memory-mesh"
MODES: bool = sys.platform != "win32"  # whether files say who may read them
# Flags to open a file that is no link, and one that may be a pipe on which nobody waits.
NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
NO_WAIT = NO_LINK | getattr(os, "O_NONBLOCK", 0)

if sys.platform == "win32":  # pragma: no cover  # its types are checked; it did not run there
    from memory_mesh.platform.windows import (
        MAX_SOCKET_PATH as MAX_SOCKET_PATH,
        account as account,
        bound_memory as bound_memory,
        config_folder as config_folder,
        data_folder as data_folder,
        detach as detach,
        device as device,
        end_group as end_group,
        end_in as end_in,
        fork as fork,
        has_ended as has_ended,
        ignore_hangup as ignore_hangup,
        key_folder as key_folder,
        lives as lives,
        lock_at_once as lock_at_once,
        lower_priority as lower_priority,
        memory_bytes as memory_bytes,
        peer_user as peer_user,
        process_began as process_began,
        raise_open_files as raise_open_files,
        read_at as read_at,
        readable as readable,
        set_open_files as set_open_files,
        spawn as spawn,
        unix_family as unix_family,
        unread_bytes as unread_bytes,
        user_id as user_id,
        writable as writable,
    )
else:
    MAX_SOCKET_PATH = 103 if sys.platform == "darwin" else 107  # bytes
    fork, detach, lower_priority, user_id = os.fork, os.setsid, os.nice, os.getuid
    read_at = os.pread

    def account() -> tuple[str, str] | None:
        """The name of this process's account and what the system says of its person."""
        import pwd

        try:
            entry = pwd.getpwuid(os.getuid())
        except KeyError:  # an account without an entry
            return None
        return entry.pw_name, entry.pw_gecos.partition(",")[0].strip()

    if sys.platform == "darwin":

        def data_folder(environment: "Mapping[str, str]") -> str:
            """Where programs keep a user's data."""
            return f"{home_folder(environment)}/Library/Application Support/{APP}"

        def config_folder(environment: "Mapping[str, str]") -> str:
            """Where programs keep a user's settings."""
            return data_folder(environment)

        def key_folder(environment: "Mapping[str, str]") -> str:
            """Where programs keep a user's keys."""
            return f"{data_folder(environment)}-keys"

        def peer_user(connection: "socket") -> int:
            """The user of the process at the other end of a Unix socket."""
            raw = connection.getsockopt(0, 1, 76)  # struct xucred: version, uid, groups
            return int.from_bytes(raw[4:8], sys.byteorder)

        def process_began(_process: int) -> float:
            """When a process began; 0 where the system does not tell."""
            return 0.0

    else:

        def data_folder(environment: "Mapping[str, str]") -> str:
            """Where programs keep a user's data."""
            stated = environment.get("XDG_DATA_HOME")
            return f"{stated or f'{home_folder(environment)}/.local/share'}/{APP}"

        def config_folder(environment: "Mapping[str, str]") -> str:
            """Where programs keep a user's settings."""
            stated = environment.get("XDG_CONFIG_HOME")
            return f"{stated or f'{home_folder(environment)}/.config'}/{APP}"

        def key_folder(environment: "Mapping[str, str]") -> str:
            """Where programs keep a user's keys."""
            stated = environment.get("XDG_CONFIG_HOME", "")
            base = stated if stated.startswith("/") else f"{home_folder(environment)}/.config"
            return f"{base}/{APP}/keys"

        def peer_user(connection: "socket") -> int:
            """The user of the process at the other end of a Unix socket."""
            from _socket import SO_PEERCRED, SOL_SOCKET

            raw = connection.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)  # struct ucred: pid, uid, gid
            return int.from_bytes(raw[4:8], sys.byteorder)

        def process_began(process: int) -> float:
            """When a process began; 0 where the system does not tell."""
            import time

            try:
                with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123
                    ticks = int(file.read(2048).rpartition(b")")[2].split()[19])
                age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
            except (OSError, ValueError, IndexError, AttributeError):
                return 0.0
            return time.time() - age - 1.0  # a second is left for its clock

    def lock_at_once(descriptor: int) -> None:
        """Locks a file alone until it is closed; OSError where another one holds it."""
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def device(number: int) -> str:
        """The two numbers of a disk, as the list of locks writes them."""
        return f"{os.major(number):02x}:{os.minor(number):02x}"

    def end_in(seconds: int) -> None:
        """Has the system end this process; a call into C does not keep it from that."""
        import _signal  # type: ignore[import-not-found]  # `signal` loads `enum`

        _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)  # it may be ignored or blocked
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGALRM])
        _signal.alarm(seconds)

    def bound_memory(most: int) -> None:
        """Lets this process take so many bytes at most, where the system counts them."""
        import resource
        from contextlib import suppress

        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (most, most))

    def ignore_hangup() -> None:
        """Lives on when the starter's terminal is closed."""
        import signal

        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def spawn(words: list[str], variables: "Mapping[str, str]") -> int | None:
        """Starts a process without input and output; None where the system has no such call."""
        if not hasattr(os, "posix_spawn"):
            return None
        nowhere = [(os.POSIX_SPAWN_OPEN, to, os.devnull, os.O_RDWR, 0) for to in (0, 1, 2)]
        return os.posix_spawn(words[0], words, variables, file_actions=nowhere)

    def has_ended(process: int) -> bool:
        """Whether a process that this one started has ended, or is none of its own."""
        try:
            return os.waitpid(process, os.WNOHANG)[0] == process
        except OSError:
            return True

    def lives(process: int) -> bool:
        """Whether a process is there, as far as it can be known."""
        try:
            os.kill(process, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except OSError:  # somebody else's process
            return True
        return True

    def end_group(process: int) -> None:
        """Ends a process that leads a group, and its group."""
        os.killpg(process, 9)

    def unix_family() -> int:
        """The family of sockets with a path."""
        from _socket import AF_UNIX

        return AF_UNIX

    def readable(descriptor: int, seconds: float) -> bool:
        """Waits until there is something to read or the other end is closed."""
        import select

        ready = select.poll()
        ready.register(descriptor, select.POLLIN)
        return bool(ready.poll(seconds * 1000))

    def writable(descriptor: int, seconds: float) -> bool:
        """Waits until there is room to write; False where nobody reads any more."""
        import select

        ready = select.poll()
        ready.register(descriptor, select.POLLOUT)
        gone = select.POLLERR | select.POLLHUP | select.POLLNVAL
        events = ready.poll(seconds * 1000)
        return bool(events) and not events[0][1] & gone

    def unread_bytes(pipe: int, size: int) -> int:
        """What lies unread in a pipe that could take `size` bytes at once; else 0."""
        import fcntl
        import stat
        import termios

        takes = getattr(fcntl, "F_GETPIPE_SZ", None)
        if (
            takes is None
            or not stat.S_ISFIFO(os.fstat(pipe).st_mode)
            or size > fcntl.fcntl(pipe, takes)
        ):
            return 0
        return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4), sys.byteorder)

    def raise_open_files(wanted: int) -> tuple[int, int] | None:
        """Lets this process open so many files more; returns the limits before, if it has any."""
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        more = soft + wanted if hard == resource.RLIM_INFINITY else min(soft + wanted, hard)
        if soft != resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        return soft, hard

    def set_open_files(limits: tuple[int, int]) -> None:
        """Sets the limits back."""
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    def memory_bytes() -> int | None:
        """The memory that this process occupies, where the system tells."""
        try:
            with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        except (OSError, ValueError, IndexError):
            return None


def home_folder(environment: "Mapping[str, str]") -> str:
    """The user's own folder."""
    return environment.get("HOME") or os.path.expanduser("~")  # noqa: PTH111


FOLDER, FILE = 0o700, 0o600
_OTHERS = 0o077


def make_folder(folder: "Path") -> None:
    """Makes a folder, and what is missing above it, for its owner only."""
    missing = []
    here = folder.absolute()
    while not here.exists() and here != here.parent:
        missing.append(here)
        here = here.parent
    for each in reversed(missing):
        try:
            each.mkdir(FOLDER)
        except FileExistsError:  # another process was faster
            if not each.is_dir():
                raise
        else:
            each.chmod(FOLDER)  # a umask may have taken even the owner's rights
    if not folder.is_dir():
        folder.mkdir()  # raises what is wrong with it


def open_file(path: "Path", flags: int) -> int:
    """Opens a file, or makes it for its owner only; returns its descriptor."""
    while True:
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            if (made := new_file(path, flags)) is not None:
                return made


def new_file(path: "Path", flags: int) -> int | None:
    """Makes a file for its owner only and opens it; None if there is one already."""
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, FILE)
    except FileExistsError:
        return None
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, FILE)
    return descriptor


def make_file(path: "Path") -> None:
    """Makes an empty file for its owner only, unless there is one."""
    os.close(open_file(path, os.O_RDWR))


def close_to_others(path: str, descriptor: int) -> None:
    """Takes the rights of others from a file or folder that a library of others made."""
    mode = os.fstat(descriptor).st_mode
    if mode & _OTHERS:
        os.chmod(path, mode & 0o7700)  # noqa: PTH101  # many files: a Path for each is slow
