"""Whole stores, by their folder: back up, restore, carry, move, mend and delete.

No mesh has to be open. Each function lies in a module that is loaded when it is first asked for;
the module has another name, or it would take the function's place in this package.
"""

from importlib import import_module
from os import fspath

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.platform.store_urls import is_server, refuse_service

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from memory_mesh.care.backups import backup as backup
    from memory_mesh.care.moves import (
        delete_namespace as delete_namespace,
        move_namespace as move_namespace,
        move_store as move_store,
    )
    from memory_mesh.care.repairs import repair as repair, salvage as salvage
    from memory_mesh.care.restores import restore as restore
    from memory_mesh.care.store_files import (
        key_state as key_state,
        replace_key as replace_key,
        rotate_key as rotate_key,
    )
    from memory_mesh.model.care import Exported, Imported

_FUNCTIONS: dict[str, str] = {  # name to module of this package
    "backup": "backups",
    "delete_namespace": "moves",
    "key_state": "store_files",
    "move_namespace": "moves",
    "move_store": "moves",
    "repair": "repairs",
    "replace_key": "store_files",
    "restore": "restores",
    "rotate_key": "store_files",
    "salvage": "repairs",
}


def export_archive(
    folder: "str | PathLike[str]",
    namespace: str,
    to: "str | PathLike[str]",
    *,
    with_vectors: bool = False,
    progress: "Callable[[int, int], None] | None" = None,
) -> "Exported":
    """Writes a namespace of a store to a new file, while others go on writing.

    `folder` is that of the store, or the address of its database. Vectors are left out unless they
    are asked for: they are made anew where the model is.
    """
    refuse_service(fspath(folder))
    if is_server(fspath(folder)):
        from memory_mesh.care.server import export_from_server, settings_of

        settings = settings_of(fspath(folder), namespace)
        return export_from_server(settings, to, with_vectors=with_vectors, progress=progress)
    from memory_mesh.care.archives import export_folder

    return export_folder(folder, namespace, to, with_vectors=with_vectors, progress=progress)


def import_archive(
    folder: "str | PathLike[str]",
    archive: "str | PathLike[str]",
    *,
    into: str | None = None,
    progress: "Callable[[int, int], None] | None" = None,
    as_document: bool = False,
) -> "Imported":
    """Brings a namespace from an archive into a store, whole or not at all.

    `folder` is that of the store, or the address of its database. The namespace keeps its name
    unless another is given. One that was written to is never changed. `as_document` trusts no
    memory of it more than a document, whoever the archive says that it is from.
    """
    refuse_service(fspath(folder))
    if is_server(fspath(folder)):
        from memory_mesh.care.server import import_to_server, settings_of

        settings = settings_of(fspath(folder))
        return import_to_server(
            settings, archive, into=into, progress=progress, as_document=as_document
        )
    from memory_mesh.care.archives import import_folder

    return import_folder(folder, archive, into=into, progress=progress, as_document=as_document)


def __getattr__(name: str) -> object:
    """The function of that name."""
    if name not in _FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
    return found
