"""Records a run as a trace: as a context manager or as a decorator, blocking or awaited.

::

    with recording(mesh, goal) as run:      memory is asked first: run.advice
        run.step(…) run.tool(…)             what the run did
                                            an exception: status failure, and it goes on
    ──▶ one trace

A fault of the memory is logged and never takes the place of the run's own result or exception.
"""

import functools
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from types import TracebackType

from memory_mesh.base.typed import TYPE_CHECKING, Any, TypeVar
from memory_mesh.context.fence import filled
from memory_mesh.model import InvalidInput, Receipt, Scope
from memory_mesh.model.ports import Clock
from memory_mesh.model.trace import Plan, Step, Trace, TraceStatus
from memory_mesh.platform.ids import SystemClock
from memory_mesh.platform.telemetry import NAME
from memory_mesh.privacy import masked
from memory_mesh.write.rules.trace_checks import fitted, recorder_goal, trace_with

if TYPE_CHECKING:
    from memory_mesh import MemoryMesh as AsyncMesh
    from memory_mesh.sync import MemoryMesh

Function = TypeVar("Function", bound="Callable[..., Any]")
_current: "ContextVar[Run | None]" = ContextVar("memory_mesh_run", default=None)


class Run:
    """A run in progress: say what it does, and it becomes a trace when it ends."""

    def __init__(self, goal: str, clock: Clock) -> None:
        self.goal = goal
        self.advice: Plan = Plan(goal)  # what memory said before the run
        self.receipt: Receipt | None = None  # once the run is over and recorded
        self._clock, self._began, self._start = clock, clock.now(), clock.monotonic()
        self._status = TraceStatus.SUCCESS
        self._plan, self._results = list[str](), list[str]()
        self._steps, self._learnings = list[Step](), list[str]()
        self._tools, self._files = dict[str, None](), dict[str, None]()

    @property
    def trace_id(self) -> str | None:
        """The id of the trace, once it is recorded."""
        return None if self.receipt is None else self.receipt.id

    def plan(self, text: str) -> None:
        """Says what is planned."""
        self._plan.append(str(text))

    def step(self, text: str, status: str = "success") -> None:
        """Says what was done and how it ended."""
        self._steps.append(Step(str(text), str(status)))

    @contextmanager
    def doing(self, text: str) -> Iterator[None]:
        """Records a step around the code that does it: failure if the code raises."""
        try:
            yield
        except BaseException:
            self.step(text, "failure")
            raise
        self.step(text)

    def tool(self, *names: str) -> None:
        """Names tools that the run uses."""
        self._tools |= dict.fromkeys(map(str, names))

    def file(self, *paths: object) -> None:
        """Names files that the run created."""
        self._files |= dict.fromkeys(map(str, paths))

    def result(self, text: str) -> None:
        """Says what came out."""
        self._results.append(str(text))

    def learned(self, text: str) -> None:
        """Says what worked, or what to do better next time."""
        self._learnings.append(str(text))

    def fail(self, reason: str = "") -> None:
        """Says that the run did not reach its goal."""
        self._status = TraceStatus.FAILURE
        if reason:
            self.result(reason)

    def trace(self) -> Trace:
        """The trace of the run as it is now, cut to what a trace may hold."""
        return fitted(
            Trace(
                self.goal,
                self._status,
                max(0, round((self._clock.monotonic() - self._start) * 1000)),
                tuple(self._tools),
                tuple(self._files),
                "\n".join(self._plan),
                tuple(self._steps),
                "\n".join(self._results),
                tuple(self._learnings),
                self._began,
            )
        )


class recording:  # noqa: N801  # used like a function
    """Records the code inside `with`, or `async with`, as one trace.

    Args:
        mesh: the memory; for `async with` the async one.
        goal: what the run was asked to do.
        advise: ask memory first; the answer is `run.advice`.
        follows, part_of, depends_on: ids of traces that this one is tied to.
        scope: the project, agent and session that may see the trace; by default the mesh's project.
        clock: the clock to use instead of the system's.
    """

    def __init__(
        self,
        mesh: "MemoryMesh | AsyncMesh",
        goal: str,
        *,
        advise: bool = True,
        follows: Iterable[str] = (),
        part_of: Iterable[str] = (),
        depends_on: Iterable[str] = (),
        scope: Scope | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._ties = {
            "follows": tuple(follows),
            "part_of": tuple(part_of),
            "depends_on": tuple(depends_on),
        }
        # a mistake shows at once, not at the end
        checked = trace_with(recorder_goal(goal), self._ties)
        self._mesh: Any = mesh
        self._goal, self._advise, self._scope = checked.goal, advise, scope
        self._clock = clock or SystemClock()
        self._open: list[tuple[Run, Token[Run | None]]] = []

    def __enter__(self) -> Run:
        """Begins the run."""
        _check_face(self._mesh, awaited=False, hint="use `async with` for the async MemoryMesh")
        run = Run(self._goal, self._clock)
        if self._advise:
            with _memory_may_fail("asked"):
                run.advice = self._mesh.traces.plan(run.goal, scope=self._scope)
        return self._begun(run)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Records the run; an exception goes on."""
        run = self._ended(error)
        with _memory_may_fail("written"):
            run.receipt = self._mesh.traces.record(run.trace(), scope=self._scope, **self._ties)

    async def __aenter__(self) -> Run:
        """Begins the run."""
        _check_face(self._mesh, awaited=True, hint="use `with` for the blocking MemoryMesh")
        run = Run(self._goal, self._clock)
        if self._advise:
            with _memory_may_fail("asked"):
                run.advice = await self._mesh.traces.plan(run.goal, scope=self._scope)
        return self._begun(run)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Records the run; an exception goes on."""
        run = self._ended(error)
        with _memory_may_fail("written"):
            run.receipt = await self._mesh.traces.record(
                run.trace(), scope=self._scope, **self._ties
            )

    def _begun(self, run: Run) -> Run:
        self._open.append((run, _current.set(run)))
        return run

    def _ended(self, error: BaseException | None) -> Run:
        run, token = self._open.pop()
        with suppress(ValueError):  # a generator may end in another context than it began in
            _current.reset(token)
        if error is not None and not _is_plain_exit(error):
            run.fail(_in_words(error))
        return run


def recorded(
    mesh: "MemoryMesh | AsyncMesh",
    goal: str | Callable[..., str] | None = None,
    *,
    advise: bool = True,
    scope: Scope | None = None,
    clock: Clock | None = None,
) -> Callable[[Function], Function]:
    """Decorates a function so that each call is a trace.

    The goal is a text, in which `{name}` stands for an argument, or a function of the arguments; by
    default it is the first line of the docstring. Inside, `current()` is the run.

    Args:
        mesh: the memory; for an async function the async one.
        goal: what a call is asked to do.
        advise: ask memory first; the answer is `current().advice`.
        scope: the project, agent and session that may see the trace; by default the mesh's project.
        clock: the clock to use instead of the system's.
    """
    started = functools.partial(recording, mesh, advise=advise, scope=scope, clock=clock)

    def decorate(function: Function) -> Function:
        _refuse_generator(function)
        awaited = inspect.iscoroutinefunction(function)
        hint = (
            "an async function needs the async MemoryMesh, a blocking function the one of "
            "memory_mesh.sync"
        )
        _check_face(mesh, awaited=awaited, hint=hint)
        signature = inspect.signature(function)

        def goal_of(arguments: Sequence[object], named: Mapping[str, object]) -> str:
            if callable(goal):
                return goal(*arguments, **named)
            if goal is None:
                return _title(function)
            bound = signature.bind(*arguments, **named)
            bound.apply_defaults()
            return recorder_goal(
                filled(goal, {name: _as_text(value) for name, value in bound.arguments.items()})
            ) or _title(function)

        if awaited:

            @functools.wraps(function)
            async def call_async(*arguments: object, **named: object) -> object:
                async with started(goal_of(arguments, named)):
                    return await function(*arguments, **named)

            return call_async  # type: ignore[return-value]  # the same signature

        @functools.wraps(function)
        def call(*arguments: object, **named: object) -> object:
            with started(goal_of(arguments, named)):
                return function(*arguments, **named)

        return call  # type: ignore[return-value]  # the same signature

    return decorate


def current() -> Run | None:
    """Returns the run that the calling code is part of, or None."""
    return _current.get()


@contextmanager
def _memory_may_fail(what: str) -> Iterator[None]:
    """Logs an error of the memory instead of raising it."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  # whatever it is, the run goes on
        reason = masked(str(error))
        logging.getLogger(NAME).warning("memory-mesh: the trace was not %s: %s", what, reason)


def _check_face(mesh: object, *, awaited: bool, hint: str) -> None:
    record = getattr(getattr(mesh, "traces", None), "record", None)
    if record is None:
        raise InvalidInput("a recording needs a MemoryMesh")
    if inspect.iscoroutinefunction(record) is not awaited:
        raise InvalidInput(hint)


def _refuse_generator(function: Callable[..., Any]) -> None:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidInput(
            "a call of a generator function ends before its work begins; use `with recording(mesh, "
            "goal)` inside the function"
        )


def _is_plain_exit(error: BaseException) -> bool:
    """True if nothing failed: a wanted exit, or a generator whose caller needs no more of it."""
    wanted = isinstance(error, SystemExit) and error.code in {0, None}
    return wanted or isinstance(error, GeneratorExit)


def _in_words(error: BaseException) -> str:
    said = _as_text(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _title(function: Callable[..., Any]) -> str:
    """What a function does: the first line of its docstring, else its name in words."""
    lines = (inspect.getdoc(function) or "").strip().splitlines()
    return lines[0] if lines else function.__name__.replace("_", " ").strip()


def _as_text(value: object) -> str:
    """What a value says of itself; nothing where it cannot."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001  # code of anybody; it must not break the run
        return ""
