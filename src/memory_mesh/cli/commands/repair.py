"""`memory-mesh repair`."""

import argparse

from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.advice import completed
from memory_mesh.errors import MeshError
from memory_mesh.model import Json
from memory_mesh.model.safekeeping import Repaired
from memory_mesh.policy.users import shown_namespace
from memory_mesh.safekeeping.repairing import repair

EXAMPLE = "memory-mesh repair"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--accept-loss",
        action="store_true",
        help="go on with a database that lacks acknowledged writes or was replaced",
    )


def run(options: argparse.Namespace) -> int:
    """Rebuilds what is derived and prints what was done; exit code 1 if something is left."""
    if options.accept_loss:
        cli_options.refuse_agent("repair --accept-loss")
    with cli_options.mesh_of(options) as mesh:
        folder = store_folder.need_folder(mesh.config, "restore a backup that pg_dump made")
        namespace = mesh.config.namespace
    done = repair(folder, namespace, accept_loss=options.accept_loss)
    name = shown_namespace(namespace)
    lines = [f"[MemoryMesh] {name}: {sentence}." for sentence in done.done]
    if done.lost is not None:
        lines.append(f"[MemoryMesh] {name}: {done.lost}.")
    lines += [f"  wrong {each.check}: {each.detail}" for each in done.verification.findings]
    lines = [completed(line, options) for line in lines]
    output.answer(_plain(done, name), *lines, as_json=options.json)
    if done.ok:
        return 0
    raise MeshError(
        f"{_left(len(done.verification.findings))} left in the namespace {name}: what is named is "
        "derived from nothing else. Restore a backup (memory-mesh restore --from BACKUP) or copy "
        "what can be read: memory-mesh salvage --to FOLDER"
    )


def _left(count: int) -> str:
    return f"{output.counted(count, 'finding')} {'is' if count == 1 else 'are'}"


def _plain(done: Repaired, name: str) -> Json:
    return {
        "namespace": name,
        "ok": done.ok,
        "done": list(done.done),
        "lost": done.lost,
        "findings": [
            {"check": each.check, "detail": each.detail} for each in done.verification.findings
        ],
    }
