"""The way to a database: directly, or through a pooler that shares connections."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import dataclass

_UNREADABLE = (
    "the address of the store cannot be read; it is postgresql://USER@HOST/DATABASE, with "
    "parameters of libpq after `?`, and other characters than letters and digits in a password "
    "written as %XX"
)
_PARAMETER, _VALUES = "pooler=", ("none", "transaction")
_IN_HOME = {  # files that libpq looks for where nothing names others
    "passfile": ".pgpass",
    "sslcert": ".postgresql/postgresql.crt",
    "sslkey": ".postgresql/postgresql.key",
    "sslrootcert": ".postgresql/root.crt",
    "sslcrl": ".postgresql/root.crl",
}


@dataclass(frozen=True, slots=True)
class Route:
    """What psycopg connects to, and whether each transaction may have another connection.

    A URL with `?pooler=transaction` leads to a pooler such as PgBouncer in transaction mode. There
    nothing outlives a transaction, so no statement is prepared. A pooler that is not stated is
    noticed by the process number that it gives, which is not that of the server.
    """

    url: str
    pooled: bool

    @classmethod
    def of(cls, url: str) -> "Route":
        """The route that a URL states; our parameter is taken off, which psycopg does not know."""
        found = cls._of(url)
        try:
            conninfo_to_dict(found.url)
        except psycopg.ProgrammingError:  # its text may repeat a password
            raise InvalidInput(_UNREADABLE) from None
        return found

    @classmethod
    def _of(cls, url: str) -> "Route":
        place, _, query = url.partition("?")
        rest = [part for part in query.split("&") if not part.startswith(_PARAMETER)]
        stated = [part[len(_PARAMETER) :] for part in query.split("&") if part not in rest]
        if not stated:
            return cls(url, pooled=False)
        if stated[-1] not in _VALUES:
            raise InvalidInput(f"pooler is one of {', '.join(_VALUES)}, not {stated[-1]!r}")
        return cls("?".join([place, *filter(None, ["&".join(rest)])]), stated[-1] == "transaction")


def with_variables(url: str, environment: Mapping[str, str] | None) -> str:
    """The address with what the variables of libpq add to it; by default those of this process.

    libpq reads them from its process, which may answer for another one. One that names a service
    is left alone: what the service says counts more than other variables.
    """
    if environment is None:
        return url
    stated = conninfo_to_dict(Route.of(url).url)
    if "service" in stated or environment.get("PGSERVICE"):
        return url
    found = _in_home(environment)
    for option in Conninfo.get_defaults():
        value = environment.get(option.envvar.decode()) if option.envvar else None
        if value:
            found[option.keyword.decode()] = value
    added = [f"{name}={quote(value)}" for name, value in found.items() if name not in stated]
    if not added:
        return url
    return f"{url}{'&' if '?' in url else '?'}{'&'.join(added)}"


def _in_home(environment: Mapping[str, str]) -> dict[str, str]:
    home = environment.get("HOME")
    paths = {name: Path(home, path) for name, path in _IN_HOME.items()} if home else {}
    return {  # a file of passwords may come later; libpq does without one
        name: str(path) for name, path in paths.items() if name == "passfile" or path.is_file()
    }
