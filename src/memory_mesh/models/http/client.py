"""The one outgoing HTTP client: nothing else in memory-mesh opens a connection to another host.

::

    base URL -> target -> resolve -> every address checked -> connect to a checked address
             -> request (TLS verified, proxies not used) -> redirect: refused, or checked anew
             -> answer (size capped, deadline kept) -> retried when that can help

Where a request may go is decided in `policy.address`, from the base URL alone: an answer or a name
server can never lead it nearer. No secret is in an error: what a server echoes is redacted.
"""

import io
import json
import math
import os
import re
import selectors
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path

from memory_mesh._version import __version__
from memory_mesh.base.typed import TypeVar, dataclass
from memory_mesh.model import InvalidInput, Json, NetworkError, RequestRefused
from memory_mesh.models.http import address
from memory_mesh.platform import locks, telemetry

_TELLING = 8  # so many characters of a secret in a row give it away
_LOOKS_SECRET = re.compile(
    r"(?:\bBearer\s+|\b(?:sk|pk)-|\bsb_(?:secret|publishable)_|\bapi[_-]?key[\"'=:\s]+)\S+"
    r"|\beyJ[\w-]{5,}(?:\.[\w-]*){0,2}",  # a JWT, whole or cut off
    re.IGNORECASE,
)

Resolve = Callable[[str, int], Sequence[str]]
Progress = Callable[[int, int | None], None]
Answer = TypeVar("Answer")

_BLOCK = 1 << 16
_BACKOFF = 0.25  # seconds before the second attempt; doubled for each further one
_LONGEST_WAIT = 10.0  # seconds; a server that asks for more is down for us
_KEPT_SECONDS = 20.0  # that an idle connection is used again; our service ends it after 30
_MOST_KEPT = 8
_OK, _PARTIAL, _RANGE_REFUSED = 200, 206, 416
_TAKEN = {_OK, 201, 202, 204, _PARTIAL}  # of a POST: what was sent has arrived
_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
_REDIRECTS = {301, 302, 303, 307, 308}
_REFUSED = {400, 413, 422}  # what was sent is the trouble, not the service
_SHOWN = 200  # characters of what a server says about an error
_PRINTABLE = re.compile(r"[\x20-\x7e]*")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a request may cost."""

    connect_seconds: float = 5.0
    read_seconds: float = 30.0
    total_seconds: float = 60.0
    attempts: int = 3
    max_bytes: int = 64 << 20


class _Transient(Exception):
    """A failure that may pass; the server may have said after how many seconds."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.wait = reason, wait


def resolve(host: str, port: int) -> list[str]:
    """Every address of a host, best first."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Kept:
    """Open connections to one service, for its next request; safe in threads and after a fork."""

    def __init__(self) -> None:
        self._idle: list[tuple[HTTPConnection, float, int]] = []

    def take(self) -> HTTPConnection | None:
        """A connection that the service has not ended; None if there is none."""
        while self._idle:
            with suppress(IndexError):  # another thread took the last one
                connection, since, process = self._idle.pop()
                is_fresh = time.monotonic() - since < _KEPT_SECONDS and process == os.getpid()
                if is_fresh and not is_readable(connection.sock, 0):  # not even its end
                    return connection
                connection.close()
        return None

    def give(self, connection: HTTPConnection, is_whole: bool) -> None:  # noqa: FBT001  # as called
        """Takes back a connection; it is closed unless its answer was read to the end."""
        if is_whole and len(self._idle) < _MOST_KEPT:
            self._idle.append((connection, time.monotonic(), os.getpid()))
        else:
            connection.close()

    def close(self) -> None:
        """Ends all of them; a later request opens another one."""
        while self._idle:
            self._idle.pop()[0].close()

    __del__ = close


class _Response(HTTPResponse):
    """An answer; when it is closed, its connection is kept or closed as well."""

    ended: Callable[[bool], None] | None = None

    def close(self) -> None:
        ended, self.ended = self.ended, None
        is_whole = self.isclosed() and not self.will_close
        super().close()
        if ended is not None:
            ended(is_whole)


class Client:
    """Requests to one base URL; safe in threads. Without `kept` nothing stays open."""

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        secrets: Sequence[str] = (),
        limits: Limits | None = None,
        redirects: int = 0,
        kept: Kept | None = None,
        resolve: Resolve = resolve,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._base = address.parse(base_url.rstrip("/"))
        if "?" in self._base.path:
            raise InvalidInput("a base address ends before the question mark")
        self._reach = address.reach_of(self._base.host)
        self._headers = {name: _header(name, value) for name, value in (headers or {}).items()}
        self._secrets = tuple(secret for secret in secrets if secret)
        self._limits = limits or Limits()
        self._redirects, self._resolve, self._sleep = redirects, resolve, sleep
        self._tls: ssl.SSLContext | None = None
        self._kept = kept

    def __repr__(self) -> str:
        return f"Client({str(self._base)!r})"

    def post_json(self, path: str, payload: Json) -> Json:
        """What the service answers to a JSON payload; anything but a JSON answer is an error."""
        answer = self._post(path, payload)
        try:
            parsed: Json = json.loads(answer)
        except (ValueError, RecursionError):
            raise NetworkError(f"{self._base} answered with something that is not JSON") from None
        return parsed

    def request(
        self,
        method: str,
        path: str,
        payload: Json = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """The body that answers one request; without a payload nothing is sent along.

        A request that may have arrived is sent again: it must be one that can be repeated.
        """
        body = None if payload is None else _written(payload)
        return self._asked(method, path, body, dict(headers or {}))

    def notify(
        self,
        path: str,
        payload: Json,
        headers: Callable[[bytes], dict[str, str]] = lambda _: {},
    ) -> None:
        """Post a JSON payload to a service whose answer says nothing but that it has arrived.

        `headers` is called with the bytes that are sent, such as to sign them.
        """
        body = _written(payload)
        self._asked("POST", path, body, headers(body))

    def download(self, path: str, file: Path, *, progress: Progress | None = None) -> None:
        """Fetch a file; what is there already is taken for its beginning and not fetched again."""
        failures = 0
        while True:
            before = file.stat().st_size if file.exists() else 0
            try:
                self._fetch(path, file, before, progress or _silent)
                return
            except _Transient as failure:
                failures = 1 if file.exists() and file.stat().st_size > before else failures + 1
                self._wait(failure, failures, math.inf)

    def _post(self, path: str, payload: Json) -> bytes:
        return self._asked("POST", path, _written(payload), {})

    def _asked(self, method: str, path: str, body: bytes | None, extra: dict[str, str]) -> bytes:
        deadline = time.monotonic() + self._limits.total_seconds

        def ask() -> bytes:
            with closing(self._send(method, path, body, extra, deadline)) as response:
                return b"".join(_blocks(response, self._limits.max_bytes))

        return self._persist(ask, deadline)

    def _persist(self, ask: Callable[[], Answer], deadline: float) -> Answer:
        failures = 0
        while True:
            try:
                return ask()
            except _Transient as failure:
                failures += 1
                self._wait(failure, failures, deadline)

    def _wait(self, failure: _Transient, failures: int, deadline: float) -> None:
        """Wait before the next attempt, or give up when there is none."""
        wait = _BACKOFF * 2 ** (failures - 1) if failure.wait is None else failure.wait
        late = time.monotonic() + wait >= deadline or locks.hurried(wait)
        if failures >= self._limits.attempts or wait > _LONGEST_WAIT or late:
            raise NetworkError(self._redacted(f"{self._base} {failure.reason}")) from None
        telemetry.debug("http retry", attempt=failures, wait_seconds=round(wait, 2))
        self._sleep(wait)

    def _fetch(self, path: str, file: Path, offset: int, progress: Progress) -> None:
        wanted = {"Range": f"bytes={offset}-"} if offset else {}
        with closing(self._send("GET", path, None, wanted, math.inf)) as response:
            start, total = _range(response)
            if response.status == _RANGE_REFUSED and total == offset:
                progress(offset, total)
                return
            if response.status == _RANGE_REFUSED or start not in {0, offset}:
                file.unlink(missing_ok=True)
                raise _Transient("has another file than before")
            with file.open("ab" if start else "wb") as out:
                for block in _blocks(response, self._limits.max_bytes - start):
                    out.write(block)
                    progress(out.tell(), total)

    def _send(
        self, method: str, path: str, body: bytes | None, extra: dict[str, str], deadline: float
    ) -> HTTPResponse:
        """The answer with its body unread; every redirect is one more target to check."""
        target = address.parse(f"{self._base.scheme}://{_netloc(self._base)}{self._path(path)}")
        for _ in range(self._redirects + 1):
            headers = extra | {"Accept-Encoding": "identity", "Host": _netloc(target)}
            headers["User-Agent"] = f"memory-mesh/{__version__}"
            if body is not None:
                headers["Content-Type"] = "application/json"
            if target.origin == self._base.origin:
                headers |= self._headers
            response = self._exchange(target, method, body, headers, deadline)
            done = {_OK, _PARTIAL} if method == "GET" else _TAKEN
            if response.status in done or ("Range" in extra and response.status == _RANGE_REFUSED):
                return response
            with closing(response):
                if response.status not in _REDIRECTS or not self._redirects:
                    raise self._refusal(response)
                before, target = target, _next(target, response.getheader("Location") or "")
            if body is not None and target.origin != before.origin:
                raise NetworkError(f"{self._base} redirects to another server; no text goes there")
        raise NetworkError(f"{self._base} redirects in circles")

    def _exchange(
        self,
        target: address.Target,
        method: str,
        body: bytes | None,
        headers: dict[str, str],
        end: float,
    ) -> HTTPResponse:
        kept = self._kept if target.origin == self._base.origin else None
        connection = (kept and kept.take()) or HTTPConnection(target.host, target.port)
        connection.auto_open = 0
        try:
            channel = connection.sock or self._connect(target, end)
            connection.sock = channel
            connection.response_class = partial(_paced_response, self._limits.read_seconds, end)  # type: ignore[assignment]  # called like the class
            last = {} if kept else {"Connection": "close"}
            connection.request(method, target.path, body, headers | last)
            self._wait_for_answer(channel)
            response = connection.getresponse()
        except (OSError, HTTPException) as error:
            connection.close()
            raise self._trouble(error) from None
        if kept:
            response.ended = partial(kept.give, connection)  # type: ignore[attr-defined]  # of ours
        else:
            channel.close()  # in name only: the response reads on, and closes it at its end
        return response

    def _wait_for_answer(self, channel: socket.socket) -> None:
        """Waits for the first byte of an answer; here the limits of a read say how long."""

    def _connect(self, target: address.Target, deadline: float) -> socket.socket:
        """A connection to one of the target's addresses, all of which were checked."""
        near = target.origin == self._base.origin
        reach = self._reach if near else address.reach_of(target.host) & {address.Zone.PUBLIC}
        addresses = self._resolve(target.host, target.port)
        address.check(target, addresses, reach)
        failure = OSError()
        for ip in addresses:
            patience = min(self._limits.connect_seconds, deadline - time.monotonic())
            if patience <= 0:
                raise TimeoutError
            try:
                channel = socket.create_connection((ip, target.port), patience)
                # Head and body are sent apart: a kept connection would wait 40 ms between them.
                channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return self._secured(channel, target)
            except OSError as error:
                failure = error
        raise failure

    def _secured(self, channel: socket.socket, target: address.Target) -> socket.socket:
        if target.scheme == "http":
            return channel
        try:
            self._tls = self._tls or ssl.create_default_context()
            return self._tls.wrap_socket(channel, server_hostname=target.host)
        except BaseException:
            channel.close()
            raise

    def _refusal(self, response: HTTPResponse) -> Exception:
        """What an answer that is no success means, in the server's own words where it has any."""
        said = self._redacted(_said(response))[:_SHOWN]
        reason = f"answered {response.status} {response.reason}".rstrip() + (said and f": {said}")
        if response.status in _TRANSIENT:
            return _Transient(reason, _retry_after(response))
        if response.status in _REDIRECTS:
            reason = f"answered {response.status}, a redirect, which is not followed"
        kind = RequestRefused if response.status in _REFUSED else NetworkError
        return kind(self._redacted(f"{self._base} {reason}"))

    def _trouble(self, error: Exception) -> Exception:
        match error:
            case ssl.SSLCertVerificationError():
                reason = f"has no certificate that can be trusted: {error.verify_message}"
                return NetworkError(self._redacted(f"{self._base} {reason}"))
            case TimeoutError():
                return _Transient("did not answer in time")
            case socket.gaierror():
                return _Transient("cannot be found: its name has no address")
            case ConnectionRefusedError():
                return _Transient("refuses the connection: is the service running?")
            case OSError() if error.strerror:
                return _Transient(f"cannot be reached: {error.strerror}")
        return _Transient("broke off")

    def _path(self, path: str) -> str:
        return f"{self._base.path.rstrip('/')}/{path.lstrip('/')}"

    def _redacted(self, text: str) -> str:
        return redacted(text, self._secrets)


def _written(payload: Json) -> bytes:
    return json.dumps(payload, ensure_ascii=True, allow_nan=False).encode()


def _header(name: str, value: str) -> str:
    if not _PRINTABLE.fullmatch(value):
        raise InvalidInput(f"the value for {name} holds a character that no request can carry")
    return value


def _netloc(target: address.Target) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if target.port == address.PORTS[target.scheme] else f"{host}:{target.port}"


def _next(target: address.Target, location: str) -> address.Target:
    """Where a redirect leads; it never leads from https to http."""
    if location.startswith("//"):
        location = f"{target.scheme}:{location}"
    elif location.startswith("/"):
        location = f"{target.scheme}://{_netloc(target)}{location}"
    following = address.parse(location)
    if target.scheme == "https" and following.scheme == "http":
        raise NetworkError(f"{target} redirects to an address without encryption")
    return following


class _Paced(io.RawIOBase):
    """A socket's bytes; each read waits no longer than the deadline allows."""

    def __init__(self, channel: socket.socket, read_seconds: float, deadline: float) -> None:
        self._channel, self._raw = channel, channel.makefile("rb", buffering=0)
        self._read_seconds, self._deadline = read_seconds, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]  # what a reader hands in
        patience = min(self._read_seconds, self._deadline - time.monotonic())
        if patience <= 0:
            raise TimeoutError
        self._channel.settimeout(patience)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def is_readable(channel: socket.socket, seconds: float) -> bool:
    """Whether something arrives within so many seconds, be it the end of the connection."""
    with selectors.DefaultSelector() as ready:
        ready.register(channel, selectors.EVENT_READ)
        return bool(ready.select(seconds))


def _paced_response(
    read_seconds: float, deadline: float, channel: socket.socket, **options: object
) -> HTTPResponse:
    response = _Response(channel, **options)  # type: ignore[arg-type]  # passed on as it came
    response.fp.close()
    response.fp = io.BufferedReader(_Paced(channel, read_seconds, deadline))
    return response


def _blocks(response: HTTPResponse, limit: int) -> Iterator[bytes]:
    """The body, whole or not at all."""
    if response.getheader("Content-Encoding", "identity").lower() != "identity":
        raise NetworkError("the service compresses its answers although it was asked not to")
    expected, received = response.length, 0
    if expected is not None and expected > limit:
        raise NetworkError(f"the answer is longer than the {limit:,} bytes that are taken")
    try:
        while block := response.read(_BLOCK):
            received += len(block)
            if received > limit:
                raise NetworkError(f"the answer is longer than the {limit:,} bytes that are taken")
            yield block
    except TimeoutError:
        raise _Transient("did not answer in time") from None
    except (OSError, HTTPException):
        raise _Transient("broke off in the middle of its answer") from None
    if expected is not None and received < expected:
        raise _Transient("broke off in the middle of its answer")


def _range(response: HTTPResponse) -> tuple[int, int | None]:
    """Where the body starts within the file, and how long the file is."""
    if response.status == _OK:
        return 0, response.length
    found = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+)", response.getheader("Content-Range") or "")
    return (int(found[1] or -1), int(found[2])) if found else (-1, None)


def _retry_after(response: HTTPResponse) -> float | None:
    """The seconds that the server asks us to wait."""
    value = response.getheader("Retry-After")
    if not value:
        return None
    if value.isascii() and value.isdigit():
        return float(value)
    from email.utils import mktime_tz, parsedate_tz

    moment = parsedate_tz(value)
    return max(mktime_tz(moment) - time.time(), 0.0) if moment else None


def _said(response: HTTPResponse) -> str:
    """The message in the body of an error, on one line; nothing when there is none."""
    try:
        answer = json.loads(response.read(_BLOCK))
    except (OSError, HTTPException, ValueError, RecursionError):
        return ""
    for key in ("error", "message", "detail"):
        if isinstance(answer, dict) and answer.get(key):
            answer = answer[key]
    return " ".join(answer.split()) if isinstance(answer, str) else ""


def _silent(_done: int, _total: int | None) -> None:
    """Show no progress."""


# Keeping secrets out of what is shown: no part of a known one, and nothing that looks like one.


def redacted(text: str, secrets: Sequence[str]) -> str:
    """The text with three asterisks for each secret, also where an echo was cut off."""
    for secret in secrets:
        size = min(_TELLING, len(secret))
        parts = {secret[at : at + size] for at in range(len(secret) - size + 1)}
        if any(part in text for part in parts):
            starts = "|".join(re.escape(part) for part in sorted(parts))
            text = re.sub(rf"(?:(?={starts}).)+.{{{size - 1}}}", "***", text, flags=re.DOTALL)
    return _LOOKS_SECRET.sub("***", text)
