"""`memory-mesh project`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, UsageError, argument
from memory_mesh.model import Json, NotFound, Project
from memory_mesh.platform.projects import work_tree_of
from memory_mesh.sync import MemoryMesh

_HOW = {
    "set": "the name that was set in git's configuration (memory-mesh.project)",
    "remote": "the repository's remote",
    "root": "the repository's root commit; it has no remote",
    "path": "the repository's path; it has no remote and no whole history",
    "folder": "the name that was set for the folder in this store",
    "stated": "the option --project or a setting",
}
_NEIGHBOUR = "the repository on this machine that its remote leads to (its root commit or path)"
_NOWHERE = (
    "this folder belongs to no project: it is in no git repository and has no name. To give it "
    "one: memory-mesh project set NAME"
)
_LISTED = 5  # other projects that an error names


def _run_project(options: argparse.Namespace) -> int:
    """Shows, names, merges or splits the project of the current folder."""
    needs_name = options.action in {"set", "merge", "split"}
    if needs_name == (options.name is None):
        raise UsageError(
            f"project {options.action} "
            + ("needs a NAME" if needs_name else "takes no name")
            + ". See: memory-mesh project --help"
        )
    with cli_options.mesh_of(options) as mesh:
        if options.action in {"set", "unset"}:
            return _named(mesh, options)
        found = _here(mesh)
        if options.action == "show":
            return _shown(mesh, found, options)
        other = _other(mesh, found, options)
        if options.action == "merge":
            now = mesh.care.projects.merge(other, project=found.name)
            done = f"[MemoryMesh] {found.name} reads {other} from now on."
            output.hint(f"To undo it: memory-mesh project split {other}")
        else:
            now = mesh.care.projects.split(other, project=found.name)
            done = f"[MemoryMesh] {found.name} reads {other} no longer."
        return output.answer(_plain(mesh, now), done, as_json=options.json)


def _here(mesh: MemoryMesh) -> Project:
    """The project that the options name, or that of the current folder."""
    if "project" in mesh.config.origins and mesh.config.project:
        return mesh.care.projects.stated(mesh.config.project)
    folder = cli_options.here()
    found = None if folder is None else mesh.care.projects.at(folder)
    if found is None:
        raise NotFound(_NOWHERE)
    return found


def _named(mesh: MemoryMesh, options: argparse.Namespace) -> int:
    folder = cli_options.here()
    if folder is None:
        raise NotFound("the current folder was removed; change to one that is there")
    if "project" in mesh.config.origins:
        raise UsageError(
            "--project or MEMORY_MESH_PROJECT names the project, whatever is set here; leave it out"
        )
    now = mesh.care.projects.name(folder, options.name)
    if now is None:
        done = "[MemoryMesh] this folder belongs to no project now."
        return output.answer(None, done, as_json=options.json)
    done = f"[MemoryMesh] the project of {now.place} is {now.name}."
    return output.answer(_plain(mesh, now), done, as_json=options.json)


def _shown(mesh: MemoryMesh, found: Project, options: argparse.Namespace) -> int:
    if options.json:
        return output.answer(_plain(mesh, found), as_json=True)
    counts = mesh.care.projects.counts(
        names=[found.name, *found.former, *found.merged, *found.others], as_owner=True
    )
    how = _NEIGHBOUR if found.is_named_by_a_neighbour else _HOW[found.how]
    lines = {"project": found.name, "named by": how}
    if found.place:
        lines["folder"] = found.place
        if (tree := _work_tree()) is not None:
            lines["work tree"] = output.named(tree)
    lines["memories"] = str(counts.get(found.name, 0))
    for line in output.pairs(lines):
        print(line)
    listed = [(name, "a former name") for name in found.former if counts.get(name, 0)]
    listed += [(name, "merged") for name in found.merged]
    if listed:
        output.say("it also reads:")
        for name, why in listed:
            output.say(f"  {name}  ({why}, memories: {counts.get(name, 0)})")
    for name in found.others:
        if counts.get(name, 0) and name not in found.merged:
            output.hint(
                f"Another remote is {name} (memories: {counts.get(name, 0)}). It is a project of "
                f"its own; to read it here: memory-mesh project merge {name}"
            )
    return 0


def _work_tree() -> str | None:
    """The linked work tree that the current folder is in."""
    folder = cli_options.here()
    return None if folder is None else work_tree_of(str(folder))


def _other(mesh: MemoryMesh, found: Project, options: argparse.Namespace) -> str:
    """The other project: by its name, or by a folder that it is in."""
    name: str = options.name
    counts = mesh.care.projects.counts(as_owner=True)
    if name in counts or name in (*found.former, *found.merged):
        return name
    folder = Path(name)
    there = mesh.care.projects.at(folder) if folder.is_dir() else None
    if there is not None and (there.name in counts or options.action == "split"):
        return there.name
    raise NotFound(
        f"nothing is stored under {output.named(name)} in this namespace. {_known(counts, found)}"
    )


def _known(counts: dict[str, int], found: Project) -> str:
    others: Sequence[str] = sorted(
        (name for name in counts if name != found.name), key=lambda name: -counts[name]
    )
    if not others:
        return "There is no other project with memories."
    more = ", …" if len(others) > _LISTED else ""
    return f"Projects with memories: {', '.join(others[:_LISTED])}{more}"


def _plain(mesh: MemoryMesh, found: Project) -> dict[str, Json]:
    counts = mesh.care.projects.counts(
        names=[found.name, *found.former, *found.merged], as_owner=True
    )
    return {
        "project": found.name,
        "named_by": found.how,
        "folder": found.place or None,
        "former": list(found.former),
        "merged": list(found.merged),
        "other_remotes": list(found.others),
        "memories": dict(counts),
    }


PROJECT = Command(
    "memory-mesh project merge /home/ada/old-place/app",
    (
        argument(
            "action",
            nargs="?",
            choices=("show", "set", "unset", "merge", "split"),
            default="show",
            help="show what this folder's project is called and what it reads (default); set "
            "or unset "
            "its name; read another project's memories (merge), or no longer (split)",
        ),
        argument(
            "name",
            nargs="?",
            metavar="NAME",
            help="set: the new name; merge and split: the other project, as `project` or "
            "`list --all-projects --json` names it, or the folder it is in",
        ),
    ),
    _run_project,
)
