"""Record executions as traces, read them, and ask them about the next task."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from memory_mesh.base.typed import Annotated, TypedDict, Unpack, replace
from memory_mesh.mesh import flows
from memory_mesh.mesh.operation import reads
from memory_mesh.mesh.operations.system_memory import SystemMemoryVerbs
from memory_mesh.mesh.options import Across, Audience, Condition, Limit, Reader, Statuses
from memory_mesh.model import (
    Draft,
    InvalidInput,
    Kind,
    Lens,
    Origin,
    Outcome,
    Receipt,
    Scope,
    Status,
    Tier,
)
from memory_mesh.model.query import And, Compare, Filter, Sign
from memory_mesh.model.trace import (
    KEY,
    LABEL,
    PatternMatch,
    Plan,
    Steps,
    Trace,
    TracePage,
    TraceStatus,
    Window,
    is_trace,
    trace_json,
    trace_of,
)
from memory_mesh.rules.arguments import (
    MAX_RESULTS,
    check_limit,
    check_share,
    check_text,
    given,
    moment,
)
from memory_mesh.write.rules.trace_checks import milliseconds, recorder_goal, trace_with


class TraceDetails(TypedDict, total=False):
    """What `traces.record` takes beside the goal; None is as if it were not given."""

    status: Annotated[TraceStatus | str | None, "success or failure"]
    duration_ms: Annotated[int | None, "how long it took, in milliseconds"]
    tools_used: Annotated[Iterable[str] | None, "the names of the tools that it used"]
    files_created: Annotated[Iterable[str] | None, "the paths of the files that it created"]
    plan: Annotated[str | None, "what was planned"]
    steps: Annotated[Steps | None, "what was done: texts, or pairs of a text and its status"]
    results: Annotated[str | None, "what came out"]
    learnings: Annotated[Iterable[str] | None, "what worked and what to improve"]
    timestamp: Annotated[datetime | str | None, "when it began; by default now"]
    trace_id: Annotated[
        str | None, "an id of the form trace-{timestamp}-{random}; by default a new one"
    ]
    follows: Annotated[Iterable[str] | None, "ids of the traces that it follows"]
    part_of: Annotated[Iterable[str] | None, "ids of the traces that it is a part of"]
    depends_on: Annotated[Iterable[str] | None, "ids of the traces that it depends on"]


class TraceVerbs(SystemMemoryVerbs):
    """Executions on record, plans from them, and the log of all projects: `mesh.traces`."""

    def record(
        self,
        trace: Trace | str,
        *,
        scope: Audience = None,
        **details: Unpack[TraceDetails],
    ) -> Receipt:
        """Records one execution, given as its goal or as a Trace; the receipt has its trace id."""
        whole = trace_with(trace, given(details))
        return self._record_traces([whole], scope, all_known=True)[0]

    def record_many(self, traces: Iterable[Trace], *, scope: Audience = None) -> list[Receipt]:
        """Records many traces, as importers have them; a tie to an unknown trace makes no link.

        One that is not valid is refused, its receipt says why, and the others are recorded. If no
        trace at all is valid, the first error is raised.
        """
        read = [_valid(one) for one in traces]
        valid = [one for one in read if isinstance(one, Trace)]
        if read and not valid:
            raise next(one for one in read if isinstance(one, InvalidInput))
        receipts = iter(self._record_traces(valid, scope))
        return [
            next(receipts) if isinstance(one, Trace) else Receipt.not_read(f"traces[{at}]: {one}")
            for at, one in enumerate(read)
        ]

    @reads
    def get(self, trace_id: str, *, scope: Reader = None, include: Statuses = ()) -> Trace | None:
        """Returns one trace, or None if there is none or it is not visible; counts as a use."""
        lens = self._lens(scope, include=include)
        found = flows.recall.open_memories(self._access(), [trace_id], lens)
        return trace_of(found[0]) if found and is_trace(found[0]) else None

    @reads
    def get_all(
        self,
        *,
        limit: Limit = 100,
        cursor: str | None = None,
        time_window: Window | None = None,
        filter: Condition = None,
        scope: Reader = None,
        across: Across = (),
        include: Statuses = (),
    ) -> TracePage:
        """Lists traces, newest first, `limit` at a time; `cursor` gets the next page.

        Options:
            cursor: the cursor of the page before.
            time_window: only executions that began from the first to the second time.
        """
        lens = self._lens(scope, filter=filter, across=across, include=include)
        with self._read() as snapshot:
            page = snapshot.page(_lens_on_traces(lens, time_window), check_limit(limit), cursor)
        return TracePage(map(trace_of, page), page.cursor)

    @reads
    def similar(
        self,
        goal: str,
        *,
        limit: Limit = 3,
        min_similarity: float = 0.3,
        time_window: Window | None = None,
        scope: Reader = None,
    ) -> list[PatternMatch]:
        """Returns earlier executions with a similar goal, archived ones too, the best first.

        Options:
            min_similarity: leave out less similar goals, 0 to 1.
            time_window: only executions that began from the first to the second time.
        """
        from memory_mesh.learn.rules.trace_groups import match_of

        near = check_share(min_similarity, "min_similarity")
        found = self._similar(goal, check_limit(limit), near, time_window, scope)
        return [match_of(trace, similarity) for trace, similarity in found]

    @reads
    def plan(
        self,
        goal: str,
        *,
        limit: Limit = 5,
        min_similarity: float = 0.3,
        time_window: Window | None = None,
        scope: Reader = None,
    ) -> Plan:
        """Returns what memory says before a task: what worked, what failed and what to avoid.

        Each item cites the traces, learnings and lessons that say so. Ask it before any other
        step, and record what the execution taught with `traces.record`.

        Options:
            min_similarity: leave out less similar goals, 0 to 1.
            time_window: only executions that began from the first to the second time.
        """
        share, many = check_share(min_similarity, "min_similarity"), check_limit(limit)
        traces = self._similar(goal, min(MAX_RESULTS, 4 * many), share, time_window, scope)
        learned = flows.traces.learned(
            self._access(),
            recorder_goal(goal),
            self._lens(scope),
            limit=many,
            min_similarity=share,
        )
        from memory_mesh.learn.rules.planning import plan_of  # most calls plan nothing

        return plan_of(self._redacted(goal), traces, learned, many)

    __call__ = get_all

    def _similar(
        self,
        goal: str,
        limit: int,
        min_similarity: float,
        window: Window | None,
        scope: Scope | None,
    ) -> list[tuple[Trace, float]]:
        lens = _lens_on_traces(self._lens(scope, include=(Status.ARCHIVED,)), window)
        found = flows.traces.similar(
            self._access(),
            recorder_goal(check_text(goal, "goal")),
            lens,
            limit=limit,
            min_similarity=min_similarity,
        )
        return [(trace_of(memory), similarity) for memory, similarity in found]

    def _record_traces(
        self, traces: Sequence[Trace], scope: Scope | None, *, all_known: bool = False
    ) -> list[Receipt]:
        access, now = self._access(), self._now()
        drawn = [not trace.trace_id for trace in traces]
        named = [
            replace(trace, trace_id=flows.traces.draw_id(access)) if new else trace
            for trace, new in zip(traces, drawn, strict=True)
        ]
        new_ids = frozenset(trace.trace_id for trace, new in zip(named, drawn, strict=True) if new)
        drafts = [self._trace_draft(trace, scope, now) for trace in named]
        receipts = flows.traces.record(access, drafts, new_ids, all_known=all_known)
        stored = [
            trace
            for trace, receipt in zip(named, receipts, strict=True)
            if receipt.outcome is Outcome.STORED and not receipt.again
        ]
        self._log_if_on(stored, self._config.project if scope is None else scope.project)
        return receipts

    def _trace_draft(self, trace: Trace, scope: Scope | None, now: datetime) -> Draft:
        """The draft of a trace: for the whole project, so that it outlives its session."""
        own = Scope(self._config.project) if scope is None else scope
        draft = self._draft(trace.goal, None, {"scope": own})
        return replace(
            draft,
            kind=Kind.EVENT,
            label=LABEL,
            tier=Tier.SHORT_TERM,
            occurred_at=trace.timestamp or milliseconds(now),
            extra={KEY: trace_json(trace)},
            allow_duplicate=True,
            origin=Origin(trace.trace_id, now),
        )


def _lens_on_traces(lens: Lens, window: Window | None) -> Lens:
    """The same lens on traces only, of executions that began within the window."""
    tests: list[Filter] = [Compare("label", Sign.EQUAL, LABEL)]
    if window and len(window) != len(("start", "end")):
        raise InvalidInput("time_window must be two times, from and to")
    start, end = window or (None, None)
    if (first := moment("the start of time_window", start)) is not None:
        tests.append(Compare("occurred_at", Sign.AT_LEAST, first))
    if (last := moment("the end of time_window", end)) is not None:
        tests.append(Compare("occurred_at", Sign.AT_MOST, last))
    if lens.where is not None:
        tests.append(lens.where)
    return replace(lens, where=tests[0] if len(tests) == 1 else And(tuple(tests)))


def _valid(trace: Trace) -> Trace | InvalidInput:
    """The trace as it is recorded, or why it cannot be."""
    try:
        return trace_with(trace, {})
    except InvalidInput as error:
        return error
