"""`memory-mesh wipe`: delete what a project, a user or a namespace holds, after a backup."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator

from memory_mesh.care.backups import backup
from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.command_table import Command, UsageError, about, argument
from memory_mesh.cli.progress import Counting, Telling
from memory_mesh.model import InvalidInput, Memory, NotFound, Scope, Status
from memory_mesh.rules.arguments import shown_namespace
from memory_mesh.rules.trust import AUDIENCE
from memory_mesh.sync import MemoryMesh

_ABOUT = """\
The memories are counted and shown, the store is backed up, and you are asked for the
number of memories before anything is deleted. What is deleted can be brought back one by
one for 30 days (memory-mesh restore ID), and all of it from the backup. Skills stay."""
_HERE = "\0"  # --project without a name
_KEPT = [status for status in Status if status is not Status.DELETED]


def _run_wipe(options: argparse.Namespace) -> int:
    """Counts, backs up, asks and deletes."""
    cli_options.refuse_agent("wipe", "only the user decides that")
    of_project, options.project = options.project, None
    if of_project is not None and of_project != _HERE:
        options.project = of_project
    with cli_options.opened(options) as (mesh, reader):
        if of_project is None and not options.all and options.user is None:
            raise UsageError(_scopes(mesh, reader))
        if of_project is not None and reader.project is None:
            raise NotFound("this folder belongs to no project; name one: --project NAME")
        only = None if of_project is None else reader.project
        found = list(_memories(mesh, only))
        whose = f"the namespace {shown_namespace(mesh.config.namespace)}"
        if only or options.user:
            asked = output.named(only or options.user)
            whose = f"the project {asked}" if only else f"the user {asked}"
        if not found:
            return output.answer(
                {"deleted": 0}, f"[MemoryMesh] There are no memories of {whose}.",
                as_json=options.json,
            )  # fmt: skip
        count = output.counted(len(found), "memory")
        kinds = Counter(memory.kind.value for memory in found)
        said = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
        _confirm(options, f"{count} of {whose}: {said}", len(found))
        kept = _backed_up(mesh, options)
        counting = Counting("memories deleted", len(found))
        for number, memory in enumerate(found, start=1):
            mesh.delete(memory.id, scope=memory.scope, reason="wiped by the user")
            counting(number)
        counting.end()
    back = output.completed(f"memory-mesh restore --from {kept} --replace", options)
    return output.answer(
        {"deleted": len(found), "kinds": dict(kinds), "backup": kept, "restore": back},
        f"[MemoryMesh] Deleted {count} of {whose}.",
        f"[MemoryMesh] The store as it was: {kept}. To go back to it: {back}",
        as_json=options.json,
    )


def _scopes(mesh: MemoryMesh, reader: Scope) -> str:
    """What can be wiped from here, with the number of memories of each."""
    everything = Counter(memory.scope.project for memory in _memories(mesh, None))
    name = reader.project
    lines = [] if name is None else [f"  wipe --project       {everything[name]} of {name}"]
    projects = [project for project in everything if project not in {None, name}]
    lines += [f"  wipe --project NAME  {everything[each]} of {each}" for each in projects]
    lines.append("  wipe --user ID       those of a user")
    whose = shown_namespace(mesh.config.namespace)
    lines.append(f"  wipe --all           {everything.total()} of the namespace {whose}")
    return "nothing was deleted: say whose memories are meant\n" + "\n".join(lines)


def _memories(mesh: MemoryMesh, project: str | None) -> Iterator[Memory]:
    """Every memory that is not deleted, of one project or of all, whoever may see it."""
    where = None if project is None else {"project": project}
    cursor = None
    while True:
        page = mesh.get_all(
            limit=1_000, cursor=cursor, filter=where, scope=Scope(project), across=AUDIENCE,
            include=_KEPT,
        )  # fmt: skip
        yield from page
        cursor = page.cursor
        if cursor is None:
            return


def _confirm(options: argparse.Namespace, what: str, count: int) -> None:
    """Asks on a terminal for the number of memories; anywhere else --yes is needed."""
    if options.yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise InvalidInput(f"nothing was deleted: this is no terminal, so add --yes for {what}")
    output.note(f"[MemoryMesh] This deletes {what}.")
    if cli_options.asked(f"Type {count} to go on: ") != str(count):
        raise InvalidInput("nothing was deleted: that was another number")


def _backed_up(mesh: MemoryMesh, options: argparse.Namespace) -> str:
    """Backs the store up beside its folder; the folder of the backup."""
    folder = store_folder.need_folder(
        mesh.config,
        "write it to a file (memory-mesh export), then delete it with memory-mesh namespaces "
        "delete",
    )
    done = backup(folder, folder.with_name(f"{folder.name}-backups"), tell=Telling())
    if not done.ok:
        raise InvalidInput(
            "nothing was deleted: the backup lacks something. See what is wrong: memory-mesh "
            "verify --all"
            + ("" if options.db_dir is None else output.option("db-dir", options.db_dir))
        )
    return output.named(done.folder)


WIPE = Command(
    "memory-mesh memory wipe --project",
    (
        about(_ABOUT),
        argument(
            "--project",
            metavar="NAME",
            nargs="?",
            const=_HERE,
            help="the memories of this project; without a name: that of the current folder",
        ),
        argument(
            "--all", action="store_true", help="every memory of the namespace, or of the --user"
        ),
        argument("--yes", action="store_true", help="delete without a question"),
    ),
    _run_wipe,
)
