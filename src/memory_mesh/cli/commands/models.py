"""`memory-mesh models`."""

import argparse
import sys
import time
from pathlib import Path

from memory_mesh.cli import output
from memory_mesh.cli.parsing import UsageError
from memory_mesh.config import load
from memory_mesh.engines import model_files
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import Json

EXAMPLE = "memory-mesh models pull"
_MEGABYTE = 1_000_000
_PAUSE = 0.1  # seconds between two updates of the progress line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "action",
        choices=("list", "pull", "install"),
        help="list models, pull (download) one, or install one from a folder",
    )
    parser.add_argument(
        "what", nargs="?", metavar="NAME|FOLDER", help="the model to pull or the folder to install"
    )
    parser.add_argument(
        "--name", metavar="NAME", help="install: the model's name; default: the folder's name"
    )
    parser.add_argument(
        "--base-url",
        metavar="URL",
        default=model_files.HUB,
        help="pull: URL of the hub or of a mirror",
    )


def run(options: argparse.Namespace) -> int:
    """Lists the models, downloads one, or installs one from a folder."""
    folder = load({"db_dir": options.db_dir}).models_dir
    if options.action == "list":
        return _list(folder, as_json=options.json)
    if options.action == "pull":
        name = options.what or model_files.DEFAULT
        done = model_files.pull(name, folder, base_url=options.base_url, progress=_Progress())
    else:
        if options.what is None:
            raise UsageError("name the folder: memory-mesh models install FOLDER")
        source = Path(options.what).expanduser()
        done = model_files.install(source, folder, name=options.name, progress=_Progress())
    told = f"{done.name} is installed in {done}"
    return output.answer({"name": done.name, "folder": str(done)}, told, as_json=options.json)


def _list(folder: Path, *, as_json: bool) -> int:
    here = {model.name: model for model in model_files.installed(folder)}
    every = {name: source.size for name, source in model_files.KNOWN.items()}
    every |= {name: model.size for name, model in here.items()}
    if as_json:
        known: list[Json] = [
            {"name": name, "bytes": size, "installed": name in here, "folder": _folder(here, name)}
            for name, size in sorted(every.items())
        ]
        output.say_json(known)
        return 0
    for name, size in sorted(every.items()):
        state = _folder(here, name) or f"not installed; download it: memory-mesh models pull {name}"
        print(
            f"{output.bold(name)}  {size / _MEGABYTE:.0f} MB  "
            f"{safe_text(state, keep_newlines=False)}"
        )
    return 0


def _folder(here: dict[str, model_files.Installed], name: str) -> str | None:
    return str(here[name].folder) if name in here else None


class _Progress:
    """Prints a progress line, on a terminal only."""

    def __init__(self) -> None:
        self._last = 0.0

    def __call__(self, name: str, done: int, total: int | None) -> None:
        if sys.stderr is None or not sys.stderr.isatty():
            return
        finished = done == total
        if not finished and time.monotonic() < self._last + _PAUSE:
            return
        self._last = time.monotonic()
        of = f" of {total / _MEGABYTE:.1f}" if total else ""
        line = f"\r{safe_text(name)}: {done / _MEGABYTE:.1f}{of} MB\x1b[K"
        print(line, end="\n" if finished else "", file=sys.stderr, flush=True)
