"""`memory-mesh setup-server`."""

import argparse

from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.safekeeping.server import Prepared

EXAMPLE = "memory-mesh --store postgresql://owner@localhost/memories setup-server --login app"
_WHAT = """\
Run it as the owner of the database, once, and again after an upgrade; processes that
use the store go on meanwhile. They connect as another role, which owns nothing, and
need the same key: state it with MEMORY_MESH_KEY_FILE, MEMORY_MESH_KEY or
MEMORY_MESH_KEY_COMMAND on every machine."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.description = f"{parser.description or ''}\n\n{_WHAT}".strip()
    parser.add_argument(
        "--login", metavar="ROLE", help="the role that processes connect as; it must exist"
    )


def run(options: argparse.Namespace) -> int:
    """Runs the migrations that are missing and says where the key is."""
    from memory_mesh.safekeeping.server import set_up

    cli_options.refuse_agent("setup-server", "it changes the tables of a database")
    config = store_folder.config_of(options)
    done = set_up(config, login=options.login)
    where, ran = store_folder.shown(config), output.counted(len(done.ran), "migration")
    lines = [f"[MemoryMesh] {where} is ready: {ran} run, now at {done.newest}."]
    if options.login is not None:
        lines.append(f"The role {options.login} may use it.")
    lines += _about_key(done)
    return output.answer(
        {
            "store": where,
            "ran": list(done.ran),
            "newest": done.newest,
            "key_file": None if done.key_file is None else output.named(done.key_file),
            "key_variable": done.key_variable,
        },
        *lines,
        as_json=options.json,
    )


def _about_key(done: "Prepared") -> list[str]:
    """Where the key is, and what every process needs to find it."""
    back_up = "Back it up apart from the database."
    if done.key_variable is None:
        others = (
            "Processes of this machine find it by the address. Copy it to every other machine, and "
            "set MEMORY_MESH_KEY_FILE there."
        )
        return [f"Its key: {output.named(done.key_file or '')}. {back_up}", others]
    where = "" if done.key_file is None else f" ({output.named(done.key_file)})"
    keep = (
        f"Keep {done.key_variable} set in every process that uses the store, on every machine: "
        "shells, services, workers, agents. One without it is refused."
    )
    stated = f"Its key is stated by {done.key_variable}{where}; no copy of it was made."
    return [f"{stated} {back_up}", keep]
