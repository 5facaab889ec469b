"""`memory-mesh verify`."""

import argparse

from memory_mesh.cli import every_namespace, options as cli_options, output, store_folder
from memory_mesh.cli.advice import completed, option
from memory_mesh.cli.parsing import UsageError
from memory_mesh.cli.progress import Counting
from memory_mesh.errors import MeshError, NotFound
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import Json, Verification
from memory_mesh.policy.privacy import masked
from memory_mesh.policy.users import PREFIX, shown_namespace
from memory_mesh.sync import MemoryMesh

EXAMPLE = "memory-mesh verify --checkpoint today.json"
_NEXT = (
    "Rebuild what is derived: memory-mesh repair{of}. See a memory that is named: memory-mesh "
    "get{of} --id ID, and as it was: memory-mesh restore --from BACKUP --to FOLDER, then "
    "memory-mesh get --db-dir FOLDER{of} --id ID"
)

_NEXT_IN_DATABASE = (
    "Rebuild the index of vectors: memory-mesh upkeep{of} --rebuild-index. See a memory that is "
    "named: memory-mesh get{of} --id ID; for what is lost restore a dump of the database"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="save the last block of the chain to a file, to keep elsewhere",
    )
    parser.add_argument(
        "--against", metavar="FILE", help="compare the chain with an earlier checkpoint"
    )
    parser.add_argument("--all", action="store_true", help="check every namespace of the store")
    every_namespace.add_after(parser)


def run(options: argparse.Namespace) -> int:
    """Prints what was checked and what is wrong; the exit code is 1 if anything is wrong."""
    every_namespace.check_after(options)
    if options.all:
        return _all(options)
    with cli_options.mesh_of(options) as mesh:
        name = shown_namespace(mesh.config.namespace)
        named = options.namespace is not None or options.user is not None
        if named and name not in (there := mesh.namespaces()):
            which = f"its namespaces are: {output.some(there)}" if there else "it has none"
            where = store_folder.shown(mesh.config)
            raise NotFound(
                f"there is no namespace {name} in {where}; {which}. Check --db-dir or --store"
            )
        found = mesh.verify(checkpoint=options.checkpoint, against=options.against)
        if found.ok and not mesh.namespaces(limit=1):
            raise _no_store(mesh)
    if options.json:
        output.say_json(_plain(name, found))
    else:
        _show(name, found, options)
    if found.ok:
        return 0
    raise MeshError(f"{_counted(found)} in the namespace {name}. {_next(mesh)}")


def _all(options: argparse.Namespace) -> int:
    """Verifies one namespace after the other; JSON is a list."""
    if options.checkpoint is not None or options.against is not None:
        raise UsageError("a checkpoint is of one namespace: leave --all out")
    store_folder.refuse_one(options, "leave --all out")
    with cli_options.mesh_of(options) as mesh:
        usual = shown_namespace(mesh.config.namespace)
        told: list[Json] = []
        wrong: list[str] = []
        count = 0
        counting = Counting("namespaces")
        for name, view in every_namespace.views(mesh, options.after):
            found = view.verify()
            count += 1
            wrong += [] if found.ok else [name]
            if options.json:
                told.append(_plain(name, found))
            else:
                counting.end()
                part = "" if name == usual else _option_of(name)
                _show(name, found, options, part, counts=False)
            counting(count)
        counting.end()
        if not count and options.after is None:
            raise _no_store(mesh)
    if options.json:
        output.say_json(told)
    if not wrong:
        return 0
    are = "namespace is" if count == 1 else "namespaces are"
    raise MeshError(
        f"{len(wrong)} of {count} {are} damaged: {output.some(wrong)}. "
        f"{_next(mesh, ' --namespace NAME')}"
    )


def _next(mesh: MemoryMesh, of: str = "") -> str:
    """What to do about findings, in a folder or in a database."""
    return (_NEXT if mesh.config.store is None else _NEXT_IN_DATABASE).format(of=of)


def _option_of(name: str) -> str:
    """The option that names a namespace, or its user."""
    if name.startswith(PREFIX):
        return option("user", name.removeprefix(PREFIX))
    return option("namespace", name)


def _no_store(mesh: MemoryMesh) -> NotFound:
    folder = masked(store_folder.shown(mesh.config))
    return NotFound(f"there is no store in {folder}, so nothing to verify. Check --db-dir")


def _counted(found: Verification) -> str:
    return output.counted(len(found.findings), "finding")


def _plain(name: str, verification: Verification) -> Json:
    return {
        "namespace": name,
        "ok": verification.ok,
        "checked": dict(verification.checked),
        "findings": [
            {"check": finding.check, "detail": finding.detail} for finding in verification.findings
        ],
    }


def _show(
    name: str,
    verification: Verification,
    options: argparse.Namespace,
    part: str | None = None,
    *,
    counts: bool = True,
) -> None:
    said = safe_text(name, keep_newlines=False)
    print(output.bold(f"Namespace {said}: {_counted(verification)}"))
    checked = verification.checked if counts else {}
    width = max((len(str(number)) for number in checked.values()), default=0)
    for what, number in checked.items():
        print(f"  checked {number:>{width}}  {safe_text(what, keep_newlines=False)}")
    for finding in verification.findings:
        detail = safe_text(completed(finding.detail, options, part), keep_newlines=False)
        print(f"  {output.bold('wrong')} {safe_text(finding.check)}: {detail}")
