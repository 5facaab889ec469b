"""The way to a database: directly, or through a pooler that shares connections."""

from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import dataclass

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
        place, _, query = url.partition("?")
        rest = [part for part in query.split("&") if not part.startswith(_PARAMETER)]
        stated = [part[len(_PARAMETER) :] for part in query.split("&") if part not in rest]
        if not stated:
            return cls(url, pooled=False)
        if stated[-1] not in _VALUES:
            raise InvalidInput(f"pooler is one of {', '.join(_VALUES)}, not {stated[-1]!r}")
        return cls("?".join([place, *filter(None, ["&".join(rest)])]), stated[-1] == "transaction")
