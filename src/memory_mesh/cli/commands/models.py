"""Commands for embedding models: models and reembed."""

import argparse
from collections.abc import Callable
from pathlib import Path

from memory_mesh.base.installed import install_command
from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, UsageError, adding, argument
from memory_mesh.cli.progress import Counting
from memory_mesh.config import Config, load
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import Json
from memory_mesh.model.reembedding import Comparison, ReembedState
from memory_mesh.models import model_files
from memory_mesh.platform import extras
from memory_mesh.sync import MemoryMesh

# models

_MEGABYTE = 1_000_000


def _run_models(options: argparse.Namespace) -> int:
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
        remark="" if _runs() else _to_use(),
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
        idle = "" if folder is None or name == model_files.STATIC or _runs() else f"  ({_to_use()})"
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


def _to_use() -> str:
    return f"To use it: {install_command('onnx')}"


def _remedy(name: str) -> str:
    if name == model_files.STATIC:
        return f"install it: {install_command('local')}"
    return f"download it: memory-mesh models pull {name}"


def _shown() -> Callable[[str, int, int | None], None]:
    """What counts the megabytes of each file along, on a terminal only."""
    files: dict[str, Counting] = {}

    def tell(name: str, done: int, total: int | None) -> None:
        counting = files.setdefault(name, Counting("MB", before=f"{safe_text(name)}: "))
        counting(done // _MEGABYTE, None if total is None else -(-total // _MEGABYTE))
        if done == total:
            counting.end()

    return tell


MODELS = Command(
    "memory-mesh models pull",
    (
        argument(
            "action",
            choices=("list", "pull", "install"),
            help="list models, pull (download) one, or install one from a folder",
        ),
        argument(
            "what",
            nargs="?",
            metavar="NAME|FOLDER",
            help="the model to pull or the folder to install",
        ),
        argument(
            "--name", metavar="NAME", help="install: the model's name; default: the folder's name"
        ),
        argument(
            "--base-url",
            metavar="URL",
            default=model_files.HUB,
            help="pull: URL of the hub or of a mirror",
        ),
    ),
    _run_models,
)


# reembed

_STATE = "in_use beside switched texts vectors waiting waiting_in_use embedded dropped"

_ACTIONS = ("status", "start", "compare", "switch", "rollback", "drop")

_WITH_MODEL = frozenset({"start", "compare", "switch", "rollback"})

_NAMING = ("embedder", "model", "model-dir")  # the options that name the new model

_LINE = 60


def _run_reembed(options: argparse.Namespace) -> int:
    """Shows or takes the next step of a change of the embedding model."""
    model = _model(options)
    if model is not None and options.action not in _WITH_MODEL:
        raise UsageError("--embedder, --model and --model-dir go with start, compare, switch and "
                         "rollback")  # fmt: skip
    if options.action in {"switch", "rollback", "drop"}:
        cli_options.refuse_agent(f"reembed {options.action}", "it changes every search")
    if options.action == "compare":
        cli_options.refuse_agent("reembed compare", "it shows the queries of every project")
    with cli_options.mesh_of(options, meaning=options.action in _WITH_MODEL) as mesh:
        if options.action == "compare":
            said = cli_options.given(options, MemoryMesh.care.models.compare)
            found = mesh.care.models.compare(model, as_owner=True, **said)
            return _tell_comparison(found, options)
        state = _step(mesh, options, model)
    output.progress("")
    return output.answer(
        output.plain(state, _STATE),
        *_lines(state),
        as_json=options.json,
        remark=_next(state, options),
    )


def _step(
    mesh: MemoryMesh, options: argparse.Namespace, model: dict[str, object] | None
) -> ReembedState:
    """Does what the action says; returns how things stand then."""
    if options.action == "status":
        return mesh.care.models.state()
    if options.action == "drop":
        _sure(mesh, options)
        return mesh.care.models.drop()
    waiting = mesh.care.models.state()
    counting = Counting("texts embedded", waiting.waiting or waiting.texts)
    try:
        if options.action == "start":
            return mesh.care.models.reembed(model, progress=counting)
        if options.action == "switch":
            return mesh.care.models.switch(model, progress=counting)
        return mesh.care.models.roll_back(model, progress=counting)
    except KeyboardInterrupt:
        output.progress("")
        again = f"memory-mesh reembed {options.action}{_model_words(options)}"
        said = output.completed(f"To go on from here: {again}", options)
        output.note(f"[MemoryMesh] What was embedded stays. {said}")
        raise


def _sure(mesh: MemoryMesh, options: argparse.Namespace) -> None:
    state = mesh.care.models.state()
    if options.yes or state.beside is None:
        return
    raise UsageError(
        f"this deletes {state.vectors:,} vectors of {state.beside}, and there is no way back to "
        "them but to make them again; if you are sure: memory-mesh reembed drop --yes"
    )


def _model(options: argparse.Namespace) -> dict[str, object] | None:
    """The settings of the new model; None if none was given."""
    given = {
        "embedder": options.embedder,
        "embedder_model": options.model,
        "model_dir": options.model_dir,
    }
    stated: dict[str, object] = {name: value for name, value in given.items() if value is not None}
    return stated or None


def _model_words(options: argparse.Namespace) -> str:
    """The options that name the new model, as they were given."""
    given = [(name, getattr(options, name.replace("-", "_"))) for name in _NAMING]
    return "".join(output.option(name, value) for name, value in given if value is not None)


def _lines(state: ReembedState) -> list[str]:
    if state.in_use is None:
        return [
            "[MemoryMesh] Each process searches by the model of its settings; no other one is made."
        ]
    lack = output.counted(state.waiting_in_use, "text")
    lack = f" ({lack} without a vector)" if state.waiting_in_use else ""
    lines = [f"[MemoryMesh] In use: {state.in_use}{lack}."]
    if state.beside is not None:
        what = "the former model" if state.switched else "the new model"
        lines.append(
            f"  Beside it: {state.beside}, {what}, "
            f"{state.texts - state.waiting:,} of {output.counted(state.texts, 'text')}."
        )
    return lines


def _next(state: ReembedState, options: argparse.Namespace) -> str:
    """What can be done now, with the model as it was named."""
    new = _model_words(options) if options.action in {"start", "switch"} else ""
    if state.in_use is None:
        said = "Begin with another model: memory-mesh reembed start --model NAME"
    elif state.beside is None:
        return ""
    elif state.switched:
        said = "Go back: memory-mesh reembed rollback. Free the room: memory-mesh reembed drop"
    elif state.waiting:
        said = f"Go on: memory-mesh reembed start{new}"
    else:
        said = f"Compare: memory-mesh reembed compare{new}. Then: memory-mesh reembed switch{new}"
    return output.completed(said, options)


def _tell_comparison(found: Comparison, options: argparse.Namespace) -> int:
    plain = output.plain(found, "in_use beside depth waiting overlap helped_in_use helped_beside")
    each_query = "query overlap helped_in_use helped_beside"
    plain["queries"] = [output.plain(each, each_query) for each in found.queries]
    remark = f"The new model still lacks {found.waiting:,} texts." if found.waiting else ""
    return output.answer(plain, *_told(found), as_json=options.json, remark=remark)


def _told(found: Comparison) -> list[str]:
    if found.overlap is None:
        return ["[MemoryMesh] No search is on record, so there is nothing to compare by."]
    asked = output.counted(len(found.queries), "query")
    lines = [
        f"[MemoryMesh] {asked}, the first {found.depth} hits: {found.overlap:.0%} are the same.",
        f"  in use: {found.in_use}",
        f"  beside: {found.beside}",
    ]
    if found.helped_in_use is not None and found.helped_beside is not None:
        lines.append(
            f"  Memories that were voted helpful, mean of 1 / rank: {found.helped_in_use:.2f} in "
            f"use, {found.helped_beside:.2f} beside."
        )
    worst = sorted(found.queries, key=lambda each: each.overlap)[:5]
    return [
        *lines,
        *(f"  {each.overlap:4.0%}  {output.one_line(each.query, _LINE)}" for each in worst),
    ]


REEMBED = Command(
    "memory-mesh care reembed start --model bge-small-en-v1.5",
    (
        argument(
            "action",
            nargs="?",
            choices=_ACTIONS,
            default="status",
            help="status; start (or go on) making vectors of another model; compare both "
            "models by the "
            "last queries; switch searches to it; rollback to the former one; drop the vectors "
            "of the "
            "one that is not in use",
        ),
        argument("--embedder", metavar="NAME", help="what makes the new vectors; default: local"),
        argument(
            "--model", metavar="NAME", help="the new model: an installed one, or the service's"
        ),
        argument("--model-dir", metavar="DIR", help="the folder of the new local model"),
        adding(cli_options.add_operation, MemoryMesh.care.models.compare, hidden=("as_owner",)),
        argument("--yes", action="store_true", help="drop without asking"),
    ),
    _run_reembed,
)
