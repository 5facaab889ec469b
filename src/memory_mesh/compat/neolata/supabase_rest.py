"""Requests to Supabase's REST interface (PostgREST): tables, functions, errors without secrets.

A request that is limited (429) or that meets a server in trouble is sent again a few times, after
the time that the server asks for. All requests here can be repeated: rows are written by their key.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from urllib.parse import quote, urlencode

from memory_mesh.engines.http.masking import redacted
from memory_mesh.errors import ForbiddenAddress, InvalidInput, NetworkError
from memory_mesh.model import Json
from memory_mesh.typed import TypeAlias

# method, address, headers, body; answers status, headers, body
Fetch: TypeAlias = Callable[
    [str, str, Mapping[str, str], bytes | None], tuple[int, Mapping[str, str], bytes]
]
Row: TypeAlias = dict[str, Json]

_ROWS = 500  # in one request
_NAMED = 100  # ids in one address
_PAGE = 1_000
_ATTEMPTS = 4
_BACKOFF, _LONGEST_WAIT = 0.25, 10.0  # seconds
_REPEATED = {408, 425, 429, 500, 502, 503, 504}
_GOOD = range(200, 300)
_SHOWN = 200  # characters of what a server says about an error


class Rest:
    """The tables and functions of one Supabase project."""

    def __init__(
        self,
        url: str,
        key: str,
        fetch: Fetch | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Check the address; nothing is sent yet."""
        from memory_mesh.engines.http.client import Client, Limits  # few graphs have one

        if not key:
            raise InvalidInput("supabase_storage needs the key of the project")
        self._base, self._key = f"{url.rstrip('/')}/rest/v1", key
        self._headers = {"apikey": key, "Authorization": f"Bearer {key}"}
        self._client = Client(
            self._base,
            headers=self._headers,
            secrets=[key],
            limits=Limits(attempts=_ATTEMPTS),
            sleep=sleep,
        )
        self._fetch, self._sleep = fetch, sleep

    def __repr__(self) -> str:
        return f"Rest({self._base!r})"

    def pages(self, table: str, wanted: str, key: Sequence[str], **tests: str) -> list[Row]:
        """All rows that meet the tests, page by page, in the order of their key."""
        found = list[Row]()
        while True:
            asked = {"select": wanted, "order": ",".join(key), "limit": str(_PAGE)}
            page = self.rows(table, **asked, offset=str(len(found)), **tests)
            found += page
            if not page:  # a server may give fewer rows than were asked for
                return found

    def rows(self, table: str, **asked: str) -> list[Row]:
        """The rows of one request."""
        return self._read(self._send("GET", f"{table}?{_query(asked)}"))

    def write(self, table: str, rows: Sequence[Row], key: Sequence[str]) -> None:
        """Insert rows, or change those that have the same key."""
        wish = {"Prefer": "resolution=merge-duplicates,return=minimal"}
        path = f"{table}?{_query({'on_conflict': ','.join(key)})}"
        for start in range(0, len(rows), _ROWS):
            self._send("POST", path, list(rows[start : start + _ROWS]), wish)

    def remove(self, table: str, column: str, values: Iterable[str], **tests: str) -> None:
        """Delete the rows whose column has one of the values."""
        for part in named(values):
            self._send("DELETE", f"{table}?{_query({column: part, **tests})}")

    def call(self, function: str, arguments: Mapping[str, Json]) -> list[Row]:
        """The rows that a function answers with."""
        return self._read(self._send("POST", f"rpc/{function}", dict(arguments)))

    def _send(
        self,
        method: str,
        path: str,
        payload: Json = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """The answer; ConnectionError without a secret if there is none."""
        try:
            if self._fetch is None:
                return self._client.request(method, path, payload, headers)
            body = None if payload is None else json.dumps(payload, allow_nan=False).encode()
            return self._fetched(self._fetch, method, path, body, headers or {})
        except ForbiddenAddress:
            raise
        except NetworkError as error:
            raise ConnectionError(redacted(str(error), [self._key])) from None

    def _fetched(
        self, fetch: Fetch, method: str, path: str, body: bytes | None, more: Mapping[str, str]
    ) -> bytes:
        """The same by a function of the caller's own."""
        kind = {} if body is None else {"Content-Type": "application/json"}
        headers = {**self._headers, **kind, **more}
        for attempt in range(1, _ATTEMPTS + 1):
            status, said, answer = fetch(method, f"{self._base}/{path}", headers, body)
            if status in _GOOD:
                return answer
            wait = _wait(said, attempt)
            if status not in _REPEATED or attempt == _ATTEMPTS or wait > _LONGEST_WAIT:
                break
            self._sleep(wait)
        told = redacted(_told(answer), [self._key])[:_SHOWN]
        raise NetworkError(f"{self._base} answered {status}{told and f': {told}'}")

    def _read(self, answer: bytes) -> list[Row]:
        try:
            found = json.loads(answer)
        except (ValueError, RecursionError):
            raise ConnectionError(
                f"{self._base} answered with something that is not JSON"
            ) from None
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            raise ConnectionError(f"{self._base} answered with something that is no list of rows")
        return found


def named(values: Iterable[str]) -> list[str]:
    """The test that a column is one of the values, in parts that fit into an address."""
    held = list(values)
    quoted = ['"{}"'.format(each.replace("\\", "\\\\").replace('"', '\\"')) for each in held]
    starts = range(0, len(quoted), _NAMED)
    return [f"in.({','.join(quoted[start : start + _NAMED])})" for start in starts]


def _query(asked: Mapping[str, str]) -> str:
    return urlencode(asked, quote_via=quote)


def _wait(headers: Mapping[str, str], attempt: int) -> float:
    """The seconds until the next attempt, as the server says or as we do."""
    said = next((headers[name] for name in headers if name.lower() == "retry-after"), "")
    return float(said) if said.isascii() and said.isdigit() else _BACKOFF * 2 ** (attempt - 1)


def _told(answer: bytes) -> str:
    """The message of an error, on one line."""
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return ""
    message = found.get("message") if isinstance(found, dict) else None
    return " ".join(message.split()) if isinstance(message, str) else ""
