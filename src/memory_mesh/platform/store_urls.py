"""Names of stores: a folder, `sqlite:///FOLDER`, the address of a database or of a service.

As elsewhere, `sqlite:///notes` is a folder in the current one, and `sqlite:////srv/notes` is
/srv/notes.
This module is light: a hook loads it at every prompt.
"""

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path

from memory_mesh.model.errors import InvalidInput

SERVERS = "servers"  # a folder that holds one of this machine for each database that is used
_SERVICE = "services"  # the same of each service
_SQLITE = "sqlite://"
_POSTGRES = ("postgresql://", "postgres://")
_SERVICES = ("https://", "http://")
_MEANT = ("postgresql:/", "postgres:/", "sqlite:/")  # where a slash is missing
_SHOWN = 4  # bytes of the digest in the name of a folder


def is_server(store: str) -> bool:
    """Whether this is the address of a database or of a service, and no folder."""
    return store.startswith((*_POSTGRES, *_SERVICES))


def is_service(store: str) -> bool:
    """Whether this is the address of a service over HTTP."""
    return store.startswith(_SERVICES)


def refuse_service(store: str | None) -> None:
    """Raises InvalidInput for the address of a service, where the store itself is needed."""
    if store is not None and is_service(store):
        raise InvalidInput(
            f"this needs the store itself, and yours is behind {store}; do it where the store is, "
            "without its URL"
        )


def folder_in(store: str) -> str | None:
    """The folder that a store is in; None for the address of a database."""
    if is_server(store):
        return None
    if store.startswith(_SQLITE):
        rest = store.removeprefix(_SQLITE)
        if not rest.startswith("/") or rest == "/":
            raise InvalidInput(
                "must be written sqlite:///FOLDER, or sqlite:////FOLDER from the root of the file "
                "system"
            )
        return rest[1:]
    if store.startswith(_MEANT) and "://" not in store:
        raise InvalidInput(
            "must be written with two slashes: postgresql://USER@HOST/DATABASE, sqlite:///FOLDER"
        )
    if "dbname=" in store:
        raise InvalidInput("must be written as an address: postgresql://USER@HOST/DATABASE")
    if "://" in store:
        kind = store.partition("://")[0]
        raise InvalidInput(
            "must be a folder, sqlite:///FOLDER or postgresql://USER@HOST/DATABASE, not an address "
            f"that begins with {kind}://"
        )
    return store


def need_folder(store: str | PathLike[str]) -> str:
    """The folder of a store; the address of a database is refused."""
    named = fspath(store)
    folder = folder_in(named)
    if folder is None:
        raise InvalidInput(
            f"this is about stores in a folder, and {shown(named)} is a database: carry a "
            "namespace there or back with memory-mesh export and memory-mesh import"
        )
    return folder


def own_folder(store: str) -> str:
    """Where files of this machine for a database or a service are, in the data folder."""
    return f"{_SERVICE if is_service(store) else SERVERS}/{local_name(store)}"


def local_name(store: str) -> str:
    """The name of the folder for files of this machine that belong to a database."""
    from memory_mesh.base.digests import keyed_digest

    host, port, database = _place(store)
    place = f"{host}\0{port}\0{database}".encode()
    digest = keyed_digest(b"place of a database", place)[:_SHOWN].hex()
    plain = "".join(
        sign if sign.isalnum() or sign in "-_" else "-" for sign in database.strip("/") or host
    )
    return f"{plain}-{digest}"


def shown(store: str) -> str:
    """The address without a password."""
    from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

    parts = urlsplit(store)
    user, at, where = parts.netloc.rpartition("@")
    named = user.partition(":")[0]
    asked = [(name, value) for name, value in parse_qsl(parts.query) if name != "password"]
    return urlunsplit(
        parts._replace(netloc=f"{named}{at}{where}", query=urlencode(asked, safe="/"))
    )


def _place(store: str) -> tuple[str, str, str]:
    """The host, the port and the name of a database."""
    from urllib.parse import parse_qsl, unquote, urlsplit

    parts = urlsplit(store)
    asked = dict(parse_qsl(parts.query))
    where = parts.netloc.rpartition("@")[2]
    database = unquote(parts.path.removeprefix("/")) or asked.get("dbname", "")
    if not database and not is_service(store):
        raise InvalidInput("must name a database: postgresql://USER@HOST/DATABASE")
    host, _, port = where.rpartition(":") if ":" in where.rpartition("]")[2] else (where, "", "")
    return (
        asked.get("host", unquote(host)).lower().rstrip("/") or "localhost",
        asked.get("port", port) or "5432",
        database,
    )


# Paths that begin with ~, in the home that an environment names and not in this process's own.


def expanded(path: str, environment: Mapping[str, str]) -> Path:
    """The path with the home folder in place of ~; `~name` is the home of that account."""
    home = environment.get("HOME")
    if home and (path == "~" or path.startswith("~/")):
        return Path(home, path[2:])
    return Path(path).expanduser()
