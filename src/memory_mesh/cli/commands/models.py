"""`memory-mesh models`."""

import argparse
from collections.abc import Callable
from pathlib import Path

from memory_mesh.cli import output
from memory_mesh.cli.parsing import UsageError
from memory_mesh.cli.progress import Counting
from memory_mesh.config import Config, load
from memory_mesh.engines import model_files
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import Json
from memory_mesh.process import extras

EXAMPLE = "memory-mesh models pull"
_MEGABYTE = 1_000_000
_TO_USE = "To use it: pip install 'memory-mesh[onnx]'"


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
    config = load({"store": options.store, "db_dir": options.db_dir})
    folder = config.models_dir
    if options.action == "list":
        return _list(config, as_json=options.json)
    if options.action == "pull":
        name = options.what or model_files.DEFAULT
        done = model_files.pull(name, folder, base_url=options.base_url, progress=_shown())
    else:
        if options.what is None:
            raise UsageError("name the folder: memory-mesh models install FOLDER")
        source = Path(options.what).expanduser()
        done = model_files.install(source, folder, name=options.name, progress=_shown())
    told = f"{done.name} is installed in {done}"
    return output.answer(
        {"name": done.name, "folder": str(done)},
        told,
        as_json=options.json,
        remark="" if _runs() else _TO_USE,
    )


def _list(config: Config, *, as_json: bool) -> int:
    used = model_files.in_use(config)
    models = _models(config.models_dir)
    if as_json:
        known: list[Json] = [
            {
                "name": name,
                "bytes": size,
                "installed": folder is not None,
                "folder": None if folder is None else str(folder),
                "in_use": name == used,
            }
            for name, (size, folder) in sorted(models.items())
        ]
        output.say_json(known)
        return 0
    for name, (size, folder) in sorted(models.items()):
        state = f"not installed; {_remedy(name)}" if folder is None else str(folder)
        idle = "" if folder is None or name == model_files.STATIC or _runs() else f"  ({_TO_USE})"
        print(
            f"{output.bold(name)}  {size / _MEGABYTE:.0f} MB  "
            f"{safe_text(state, keep_newlines=False)}{'  (in use)' if name == used else idle}"
        )
    if used not in models:
        told = "none; search uses keywords" if used is None else used
        print(f"Embedder in use: {safe_text(told, keep_newlines=False)}")
    return 0


def _models(folder: Path) -> dict[str, tuple[int, Path | None]]:
    """The size of each model, and its folder if it is installed."""
    found: dict[str, tuple[int, Path | None]] = {
        name: (source.size, None) for name, source in model_files.KNOWN.items()
    }
    static = model_files.find_static()
    found[model_files.STATIC] = (
        (model_files.STATIC_BYTES, None) if static is None else (static.size, static.folder)
    )
    return found | {
        model.name: (model.size, model.folder) for model in model_files.installed(folder)
    }


def _runs() -> bool:
    return extras.is_installed("onnxruntime")


def _remedy(name: str) -> str:
    if name == model_files.STATIC:
        return "install it: pip install 'memory-mesh[local]'"
    return f"download it: memory-mesh models pull {name}"


def _shown() -> Callable[[str, int, int | None], None]:
    """What counts the megabytes of each file along, on a terminal only."""
    files: dict[str, Counting] = {}

    def tell(name: str, done: int, total: int | None) -> None:
        before = f"{safe_text(name)}: "
        counting = files.setdefault(name, Counting("MB", before=before))
        counting(done // _MEGABYTE, None if total is None else -(-total // _MEGABYTE))
        if done == total:
            counting.end()

    return tell
