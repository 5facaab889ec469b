"""A web address that is sent JSON: one POST for each value, through the guarded client."""

import re
from collections.abc import Mapping

from memory_mesh.engines.http import address
from memory_mesh.engines.http.client import Client, Limits
from memory_mesh.errors import ForbiddenAddress
from memory_mesh.model import Json

_LIMITS = Limits(read_seconds=5.0, total_seconds=15.0, max_bytes=1 << 20)
_TELLING = 8  # characters: a shorter part of a path is no secret


class Webhook:
    """One address; its path, its query and its headers appear in no error."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        """Check the address; nothing is sent yet."""
        target = address.parse(url)
        if not address.reach_of(target.host):
            raise ForbiddenAddress(f"requests to {target.host} are not allowed: use another host")
        host = f"[{target.host}]" if ":" in target.host else target.host
        self._path = target.path
        secrets = [part for part in re.split("[/?&=]", target.path) if len(part) >= _TELLING]
        self._client = Client(
            f"{target.scheme}://{host}:{target.port}",
            headers=headers,
            secrets=[*secrets, *(headers or {}).values()],
            limits=_LIMITS,
        )

    def post(self, payload: Json) -> None:
        """Send one value, with a few attempts; raises NetworkError if it cannot be sent."""
        self._client.notify(self._path, payload)
