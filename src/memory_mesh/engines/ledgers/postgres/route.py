"""The way to a database: directly, or through a pooler that shares connections."""

import psycopg
from psycopg.conninfo import conninfo_to_dict

from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import dataclass

_UNREADABLE = (
    "the address of the store cannot be read; it is postgresql://USER@HOST/DATABASE, with "
    "parameters of libpq after `?`, and other characters than letters and digits in a password "
    "written as %XX"
)
_PARAMETER, _VALUES = "pooler=", ("none", "transaction")


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
