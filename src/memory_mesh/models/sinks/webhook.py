"""A web address that is sent JSON: one POST for each value, through the guarded client."""

import re
from collections.abc import Iterable, Mapping

from memory_mesh.model import Json
from memory_mesh.models.http import address
from memory_mesh.models.http.client import Client, Limits

_LIMITS = Limits(read_seconds=5.0, total_seconds=15.0, max_bytes=1 << 20)
_TELLING = 8  # characters: a shorter part of a path is no secret


class Webhook:
    """One address; its path, its query and its headers appear in no error."""

    def __init__(
        self, url: str, headers: Mapping[str, str] | None = None, near_hosts: Iterable[str] = ()
    ) -> None:
        """Check the address; nothing is sent yet.

        A host that is not public by its own name is refused unless `near_hosts` lists it.
        """
        target = address.parse(url)
        host = f"[{target.host}]" if ":" in target.host else target.host
        address.refuse_near(target, near_hosts, "a webhook reaches")
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
