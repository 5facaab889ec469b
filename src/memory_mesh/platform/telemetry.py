"""Log records, and OpenTelemetry spans by the conventions for `gen_ai.memory.*`.

Records stand under the logger `memory_mesh`: ids, counts, durations and outcomes, never content.
Importing `logging` costs a short command a tenth of its time, so nothing here imports it at start:
a record is made only if something else has loaded `logging`, for nobody else could listen. A
warning loads it, and reaches standard error even where logging was never configured.

Nothing here loads OpenTelemetry either: a span is made only if something else has loaded its API
and has set up a tracer. A span holds ids, counts, outcomes and the kind of an error. Queries and
texts are in it only where the setting `span_content` says so.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from memory_mesh._version import __version__
from memory_mesh.base.masking import masked
from memory_mesh.base.typed import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    import logging
    from types import TracebackType

NAME = "memory_mesh"
_INFO, _DEBUG = 20, 10  # logging's own numbers
_warned: set[str] = set()  # kinds of warning that this process has given
SEARCH, UPSERT, UPDATE, DELETE = "search_memory", "upsert_memory", "update_memory", "delete_memory"
_API = "opentelemetry.trace"
_MOST_IDS = 100  # ids in one span
_MEMORY = "gen_ai.memory"
_OWN = "memory_mesh"  # attributes that the conventions do not have


def info(event: str, **facts: object) -> None:
    """Records what was done: a write, a search, a job."""
    _record(_INFO, event, facts)


def debug(event: str, **facts: object) -> None:
    """Records a detail, such as a retry."""
    _record(_DEBUG, event, facts)


def warn_once(kind: str, message: str) -> None:
    """Gives a warning of this kind, the first time in this process only."""
    if kind in _warned:
        return
    _warned.add(kind)
    import logging

    logging.getLogger(NAME).warning("memory-mesh: %s", masked(message))


def started() -> float:
    """The time at which something begins, for `milliseconds`."""
    return time.monotonic()


def milliseconds(start: float) -> float:
    """How long ago that was."""
    return round((time.monotonic() - start) * 1000, 1)


def show(level: str) -> None:
    """Prints the records of this level and above to standard error; for the command line."""
    import logging

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("[MemoryMesh] %(levelname)s %(message)s"))
    logger = logging.getLogger(NAME)
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False


def _record(level: int, event: str, facts: dict[str, object]) -> None:
    logger = _listening(level)
    if logger is not None:
        pairs = " ".join(f"{name}={value}" for name, value in facts.items())
        logger.log(level, "%s %s", event, masked(pairs))


def _listening(level: int) -> "logging.Logger | None":
    """The logger, if somebody may listen to records of this level."""
    module = sys.modules.get("logging")
    if module is None:
        return None
    logger: logging.Logger = module.getLogger(NAME)
    return logger if logger.isEnabledFor(level) else None


class TelemetryRecord(Protocol):
    """What was stored or found: a memory, a hit or a receipt."""

    @property
    def id(self) -> str | None:
        """Its id; None for what was refused."""

    @property
    def content(self) -> str:
        """Its text."""


class SilentSpan:
    """A span that records nothing, for a process in which nobody listens."""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: "TracebackType | None",
    ) -> None:
        """End."""

    def asked(self, query: str | None) -> None:
        """Say what was searched for."""

    def answered(self, records: Sequence[TelemetryRecord]) -> None:
        """Say what the operation stored, changed or found."""


NOTHING = SilentSpan()


def listening() -> bool:
    """Whether a tracer is set up in this process."""
    if _API not in sys.modules:
        return False
    from opentelemetry import trace

    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


@contextmanager
def trace_of(headers: Mapping[str, str]) -> Iterator[None]:
    """Spans of the block belong to the trace that the headers of a request name."""
    if not listening():
        yield
        return
    from opentelemetry import context, propagate

    token = context.attach(propagate.extract(headers))
    try:
        yield
    finally:
        context.detach(token)


def trace_headers() -> dict[str, str]:
    """The headers that name the trace of this thread, for a request to another process."""
    found: dict[str, str] = {}
    if listening():
        from opentelemetry import propagate

        propagate.inject(found)
    return found


class RecordedSpan(SilentSpan):
    """A span of the tracer that this process has set up.

    `store` returns the id of the memory store, asked for at the end: the first write makes it.
    `redacted` makes a query fit to be shown; without it the span holds no content.
    """

    def __init__(
        self,
        operation: str,
        store: Callable[[], str],
        *,
        ids: Sequence[str] = (),
        attempted: int | None = None,
        redacted: Callable[[str], str] | None = None,
    ) -> None:
        from opentelemetry import trace

        self._store, self._redacted, self._operation = store, redacted, operation
        self._ids, self._attempted = ids, attempted
        self._opening = trace.get_tracer(NAME, __version__).start_as_current_span(
            operation,
            kind=trace.SpanKind.INTERNAL,  # the memory is in this process
            attributes={"gen_ai.operation.name": operation},
            record_exception=False,  # a message may name what it is about
            set_status_on_exception=False,
        )

    def __enter__(self) -> Self:
        """Begin the span; what the operation calls on the way becomes its children."""
        self._span = self._opening.__enter__()
        if self._attempted is not None:
            self._span.set_attribute(f"{_MEMORY}.record.count", self._attempted)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: "TracebackType | None",
    ) -> None:
        """End the span, with the kind of the error that ended the operation."""
        from opentelemetry.trace import StatusCode

        if self._span.is_recording():
            if kind is None:
                self._name(self._ids)
            else:  # what the caller gave as an id may be no id
                self._span.set_attribute("error.type", kind.__name__)
                self._span.set_status(StatusCode.ERROR)
            if store := self._store():
                self._span.set_attribute(f"{_MEMORY}.store.id", store)
        self._opening.__exit__(None, None, None)

    def asked(self, query: str | None) -> None:
        """Say what was searched for, if content is wanted."""
        if query is not None and self._redacted is not None and self._span.is_recording():
            self._span.set_attribute(f"{_MEMORY}.query.text", self._redacted(query))

    def answered(self, records: Sequence[TelemetryRecord]) -> None:
        """Say how many were found, which ones, what became of them, and if wanted their texts."""
        if not self._span.is_recording():
            return
        if self._operation == SEARCH:
            self._span.set_attribute(f"{_MEMORY}.record.count", len(records))
        self._name([record.id for record in records if record.id is not None])
        outcomes = [getattr(record, "outcome", None) for record in records[:_MOST_IDS]]
        if told := [str(outcome) for outcome in outcomes if outcome is not None]:
            self._span.set_attribute(f"{_OWN}.outcomes", told)
        if self._redacted is not None:
            self._span.set_attribute(f"{_MEMORY}.records", _content(records))

    def _name(self, ids: Sequence[str]) -> None:
        """Names the memories: one by the attribute of the conventions, more by one of our own."""
        if len(ids) == 1:
            self._span.set_attribute(f"{_MEMORY}.record.id", ids[0])
        elif ids:
            self._span.set_attribute(f"{_OWN}.record.ids", list(ids[:_MOST_IDS]))


def _content(records: Sequence[TelemetryRecord]) -> str:
    """The texts as the conventions want them in a span: a JSON array of objects."""
    import json

    plain: list[dict[str, object]] = []
    for record in records[:_MOST_IDS]:
        score = getattr(record, "score", None)
        shown: dict[str, object] = {"id": record.id, "content": record.content}
        plain.append(shown if score is None else {**shown, "score": score})
    return json.dumps(plain, ensure_ascii=False)
