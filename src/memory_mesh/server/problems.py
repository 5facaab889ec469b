"""Errors of the service as problem details (RFC 9457): what went wrong, and what to do."""

from collections.abc import Mapping

from starlette.responses import JSONResponse

from memory_mesh.model import Json, errors
from memory_mesh.model.errors import MeshError

_STATUS: Mapping[type[MeshError], int] = {  # the nearest class of an error's own counts
    errors.NotAllowed: 403,
    errors.InvalidInput: 400,
    errors.NotFound: 404,
    errors.IdempotencyConflict: 409,
    errors.NotRestorable: 409,
    errors.VersionConflict: 412,
    errors.MissingExtra: 501,
    errors.StoreIsBusy: 503,
    errors.StoreIsAway: 503,
    errors.Closed: 503,
    errors.StoreIsFull: 507,
    errors.LLMError: 502,
    errors.EmbeddingError: 502,
    errors.NetworkError: 502,
    MeshError: 500,
}
_PASSING = frozenset((503, 507))
TYPE = "urn:memory-mesh:error:"


class Problem(Exception):
    """An answer that is no success."""

    def __init__(
        self, status: int, name: str, said: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(said)
        self.status, self.name, self.said, self.headers = status, name, said, headers

    def response(self) -> JSONResponse:
        """The answer."""
        headers = dict(self.headers or {})
        kind = "application/problem+json"
        return JSONResponse(self.plain(), self.status, headers, media_type=kind)

    def plain(self) -> dict[str, Json]:
        """The same as JSON."""
        return {
            "type": f"{TYPE}{self.name}",
            "title": self.name,
            "status": self.status,
            "detail": self.said,
        }


def of_error(error: MeshError) -> Problem:
    """The problem of one of our errors, whose messages hold no secret."""
    status = next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)
    headers = {"retry-after": "1"} if status in _PASSING else None
    return Problem(status, type(error).__name__, str(error), headers)
