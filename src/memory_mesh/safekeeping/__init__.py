"""Whole stores, by their folder: back up, restore, carry, move, mend and delete.

No mesh has to be open. Each function lies in a module that is loaded when it is first asked for;
the module has another name, or it would take the function's place in this package.
"""

from importlib import import_module

from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.safekeeping.archive import (
        export_archive as export_archive,
        import_archive as import_archive,
    )
    from memory_mesh.safekeeping.backups import backup as backup
    from memory_mesh.safekeeping.keys import (
        key_state as key_state,
        replace_key as replace_key,
        rotate_key as rotate_key,
    )
    from memory_mesh.safekeeping.move import (
        move_namespace as move_namespace,
        move_store as move_store,
    )
    from memory_mesh.safekeeping.namespaces import delete_namespace as delete_namespace
    from memory_mesh.safekeeping.repairing import repair as repair
    from memory_mesh.safekeeping.restoring import restore as restore
    from memory_mesh.safekeeping.salvaging import salvage as salvage

_FUNCTIONS: dict[str, str] = {  # name to module of this package
    "backup": "backups",
    "delete_namespace": "namespaces",
    "export_archive": "archive",
    "import_archive": "archive",
    "key_state": "keys",
    "move_namespace": "move",
    "move_store": "move",
    "repair": "repairing",
    "replace_key": "keys",
    "restore": "restoring",
    "rotate_key": "keys",
    "salvage": "salvaging",
}


def __getattr__(name: str) -> object:
    """The function of that name."""
    if name not in _FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
    return found
