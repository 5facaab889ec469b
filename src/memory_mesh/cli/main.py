"""The command line: `memory-mesh <command>`.

Runs one command and maps every failure to an exit code. `parsing` reads the words, `options` holds
the shared options, `output` prints; each command is a module that is loaded only when it is run.
"""

import atexit
import codecs
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from memory_mesh.base.typed import TYPE_CHECKING, NoReturn
from memory_mesh.model.errors import MeshError, NotAllowed

if TYPE_CHECKING:
    import argparse

FAILED, MISUSED, CRASHED = 1, 2, 70  # 70: EX_SOFTWARE of sysexits.h
INTERRUPTED, PIPE_CLOSED = 130, 141  # 128 + the signal's number, as shells report it
_PLAIN = "memory-mesh-plain"
_SIGNS = dict(zip("…·“”’–—→█×✓✗", ("...", *'-""\'--', "->", *"#x+x"), strict=True))  # noqa: RUF001
_GARBAGE = 100_000  # objects; start-up creates half as many, none of them garbage


def main() -> NoReturn:
    """The process `memory-mesh`: run what its command line asks for, and end.

    Every file is closed and every output flushed by then, so the process ends without taking the
    interpreter apart, which costs as much as a tenth of a short command. Exit handlers still run.
    """
    gc.set_threshold(_GARBAGE)  # a command is over before its garbage is worth collecting
    code = run(sys.argv[1:])
    atexit._run_exitfuncs()  # noqa: SLF001  # what leaving by sys.exit would call
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, full or not there at all
            stream.flush()
    os._exit(code)


def run(argv: Sequence[str]) -> int:
    """Runs one command and returns its exit code; prints an error to standard error."""
    from memory_mesh.cli import command_table, output

    _prepare_output(argv)
    options = None
    try:
        command, options = command_table.read(argv)
        output.of_command(options)
        if options.log_level or "MEMORY_MESH_LOG" in os.environ:
            _show_log(options.log_level)
        code = command.run(options)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except command_table.UsageError as error:
        return _fail(str(error), MISUSED, "usage")
    except NotAllowed as error:
        return _fail(f"{_advised(error, options)}{_agent_hint()}", FAILED, _code_of(error))
    except MeshError as error:
        return _fail(_advised(error, options), FAILED, _code_of(error))
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED, "interrupted")
    except BrokenPipeError:
        _drop_output()
        return PIPE_CLOSED
    except OSError as error:
        _drop_output()
        what = f"{error.strerror}: {error.filename}" if error.filename else str(error)
        return _fail(what, FAILED, "os_error")
    except Exception as error:  # noqa: BLE001  # the surface's last line
        return _crash(error)


def _advised(error: MeshError, options: "argparse.Namespace | None") -> str:
    """The message; the commands in it are for the store that the command line names."""
    from memory_mesh.cli import output

    if options is None:
        return str(error)
    return output.completed(output.in_options(str(error), options), options)


def _agent_hint() -> str:
    """Says why this shell counts as an agent's, and what a person who types in it can do."""
    from memory_mesh.cli.options import without_agent

    own = without_agent()
    return f". An agent started this shell; if you are the user, run: {own}" if own else ""


def _show_log(verbose: int) -> None:
    """Prints log records as -v, or MEMORY_MESH_LOG, asks for."""
    from memory_mesh.cli.command_table import UsageError
    from memory_mesh.platform import telemetry

    asked = os.environ.get("MEMORY_MESH_LOG", "").lower()
    if asked not in {"", "info", "debug"}:
        raise UsageError("MEMORY_MESH_LOG must be info or debug")
    level = {0: asked, 1: asked or "info"}.get(verbose, "debug")
    if level:
        telemetry.show(level)


def _prepare_output(argv: Sequence[str]) -> None:
    """Prints characters that the terminal's encoding lacks as escapes instead of failing."""
    if "--json" in argv or "memory_mesh.cli.output" in sys.modules:
        from memory_mesh.cli import output

        output.as_json(wanted="--json" in argv)
    codecs.register_error(_PLAIN, _plainly)
    ascii_only = _locale() in {"C", "POSIX"}
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            told = ascii_only and stream.isatty()  # a pipe gets UTF-8 whatever the terminal shows
            stream.reconfigure(encoding="ascii" if told else None, errors=_PLAIN)


def _locale() -> str:
    """The locale that the user asked for; an empty text if none."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    return next((found for name in names if (found := os.environ.get(name))), "")


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """Writes signs of ours in ASCII, and any other character as an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    shown = (_SIGNS.get(char) or char.encode("ascii", "backslashreplace").decode() for char in lost)
    return "".join(shown), error.end


def _fail(message: str, code: int, kind: str) -> int:
    from memory_mesh.cli import output
    from memory_mesh.privacy import masked

    output.end_progress()
    output.say_error(masked(message), kind)
    return code


def _code_of(error: MeshError) -> str:
    """The name of an error's class as JSON has it: StoreIsBusy is store_is_busy."""
    name = type(error).__name__
    parts = (f"_{char.lower()}" if char.isupper() else char for char in name)
    return "".join(parts).lstrip("_").replace("l_l_m", "llm")


def _crash(error: Exception) -> int:
    if os.environ.get("MEMORY_MESH_DEBUG") == "1":
        import traceback

        from memory_mesh.formats.terminal import safe_text
        from memory_mesh.privacy import masked

        print(safe_text(masked("".join(traceback.format_exception(error)))), file=sys.stderr)
    return _fail(
        f"{type(error).__name__}: {error}. This is a bug in memory-mesh. Please report it with "
        "the output of the same command run with MEMORY_MESH_DEBUG=1.",
        CRASHED,
        "bug",
    )


def _drop_output() -> None:
    """Redirects standard output to nowhere if it is closed, so that the last flush succeeds."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
