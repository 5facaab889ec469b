"""`memory-mesh keys`."""

import argparse
from pathlib import Path

from memory_mesh.cli import options as cli_options, output
from memory_mesh.errors import MeshError
from memory_mesh.model import Json
from memory_mesh.process.stated_keys import STATED
from memory_mesh.safekeeping import keys

EXAMPLE = "memory-mesh keys rotate"
_WHAT = """\
A store's key makes its placeholders and keeps out what was rejected. It lies in a
file outside the store: back that up apart from the store. It encrypts nothing."""

_OTHERS = (
    "No other machine has the new key. Copy {path} to each that uses the database, in the place of "
    "its own, and start its processes again. Until then a value has another placeholder there, and "
    "what is rejected here is not kept out there"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.description = f"{parser.description or ''}\n\n{_WHAT}".strip()
    parser.add_argument(
        "action", nargs="?", choices=("show", "rotate", "replace"), default="show",
        help="show where the keys lie and whether they are the right ones (default); use a new "
        "key beside the old ones (rotate); go on with a new key after the old one was lost "
        "(replace)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Shows, rotates or replaces the store's key."""
    if options.action != "show":
        cli_options.refuse_agent(f"keys {options.action}")
    with cli_options.mesh_of(options) as mesh:
        folder, shared = mesh.config.db_dir, mesh.config.store is not None
    if options.action == "rotate":
        return _rotated(folder, options, shared=shared)
    if options.action == "replace":
        return _replaced(folder, options)
    return _shown(folder, options)


def _shown(folder: Path, options: argparse.Namespace) -> int:
    found = keys.key_state(folder)
    if options.json:
        output.say_json(
            {
                "file": found.path,
                "stated_by": found.stated_by,
                "keys": [{"id": id_, "made": made} for id_, made in found.keys],
                "written_with": list(found.recorded),
                "missing": list(found.missing),
                "problem": found.problem,
            }
        )
    else:
        in_use = found.keys[-1][0] if found.keys else None
        stated = {} if found.stated_by is None else {"stated by": found.stated_by}
        file = {} if stated and not found.path else {"key file": found.path or "none yet"}
        print(*output.pairs(stated | file), sep="\n")
        for id_, made in found.keys:
            when = "" if made == STATED else f"  made {made}"
            output.say(f"  {id_}{when}{'  in use' if id_ == in_use else ''}")
        for id_ in found.missing:
            output.say(f"  {id_}  the store was written with it, and it is not here")
        if not found.keys and found.problem is None:
            output.say("  none yet: the first memory that needs one makes it")
    if found.problem is not None:
        raise MeshError(found.problem)
    return 0


def _rotated(folder: Path, options: argparse.Namespace, *, shared: bool) -> int:
    new = keys.rotate_key(folder)
    path = keys.key_state(folder).path
    output.hint(f"Back up {path} now: the copies made before lack the new key")
    if shared:
        output.tell([_OTHERS.format(path=path)])
    where = "in use on this machine" if shared else "in use"
    return output.answer(
        {"key": new, "file": path},
        f"[MemoryMesh] The key {new} is {where}. Older keys stay in {path}: what was rejected "
        "stays out. A value gets a new placeholder from now on.",
        as_json=options.json,
    )


def _replaced(folder: Path, options: argparse.Namespace) -> int:
    done = keys.replace_key(folder)
    lost = ", ".join(done.lost) or "none that the store knows of"
    tombstones = output.counted(done.tombstones, "tombstone")
    texts = output.counted(done.placeholders, "text")
    lines = [
        f"[MemoryMesh] The key {done.key} is in use, in {done.path}. Lost: {lost}.",
        "No memory is lost: the key encrypts nothing. What no longer matches, at most:",
        f"  {tombstones}: values that were rejected may be stored again",
        f"  {texts} with placeholders: a search for the value finds them no more",
        "What was erased stays erased.",
    ]
    lines += [f"  not counted, it cannot be read: {name}" for name in done.unread]
    plain: dict[str, Json] = {
        "key": done.key,
        "file": done.path,
        "lost": list(done.lost),
        "tombstones": done.tombstones,
        "placeholders": done.placeholders,
        "unread": list(done.unread),
    }
    return output.answer(plain, *lines, as_json=options.json)
