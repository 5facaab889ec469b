"""A web address that is sent JSON: one POST for each value, through the guarded client.

As a sink it is sent every commit at least once, signed as Standard Webhooks describes it.
"""

import base64
import hashlib
import hmac
import re
import time
from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.model import Block, InvalidInput, Json
from memory_mesh.models.http import address
from memory_mesh.models.http.client import Client, Limits
from memory_mesh.models.sinks.jsonl import block_row

_LIMITS = Limits(read_seconds=5.0, total_seconds=15.0, max_bytes=1 << 20)
_TELLING = 8  # characters: a shorter part of a path is no secret
_LEAST_KEY = 24  # bytes


class Webhook:
    """One address; its path, its query, its headers and its secret appear in no error."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        near_hosts: Iterable[str] = (),
        *,
        secret: str | None = None,
        name: str = "webhook",
    ) -> None:
        """Check the address; nothing is sent yet.

        A host that is not public by its own name is refused unless `near_hosts` lists it.

        Options:
            secret: what signs each message: 24 bytes or more in base64, with or without `whsec_`.
            name: the name that its cursor is kept under, as a sink.
        """
        target = address.parse(url)
        host = f"[{target.host}]" if ":" in target.host else target.host
        address.refuse_near(target, near_hosts, "a webhook reaches")
        self._path, self.name = target.path, name
        self._key = None if secret is None else _key(secret)
        secrets = [part for part in re.split("[/?&=]", target.path) if len(part) >= _TELLING]
        self._client = Client(
            f"{target.scheme}://{host}:{target.port}",
            headers=headers,
            secrets=[*secrets, *(headers or {}).values(), secret or ""],
            limits=_LIMITS,
        )

    def deliver(self, namespace: str, blocks: Sequence[Block]) -> None:
        """Post the blocks of one commit; every attempt has the same id, that of the first block."""
        rows: list[Json] = [block_row(namespace, block) for block in blocks]
        first = blocks[0].entry
        data: Json = {"namespace": namespace, "blocks": rows}
        self.post(
            {"type": "memory.commit", "timestamp": first.at.isoformat(), "data": data}, first.id
        )

    def post(self, payload: Json, message_id: str) -> None:
        """Send one value, with a few attempts; raises NetworkError if it cannot be sent."""

        def headers(body: bytes) -> dict[str, str]:
            at = str(int(time.time()))
            named = {"webhook-id": message_id, "webhook-timestamp": at}
            if self._key is not None:
                signed = f"{message_id}.{at}.".encode() + body
                digest = hmac.digest(self._key, signed, hashlib.sha256)
                named["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
            return named

        self._client.notify(self._path, payload, headers)


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    if len(key) < _LEAST_KEY:
        raise InvalidInput(f"a secret is {_LEAST_KEY} bytes or more in base64, as in whsec_…")
    return key
