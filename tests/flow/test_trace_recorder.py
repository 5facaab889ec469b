"""The recorder: three lines make a run a trace, and memory never breaks a run."""

import asyncio
import logging
from collections.abc import Generator, Iterator
from contextvars import copy_context
from datetime import timedelta
from pathlib import Path

import pytest

import memory_mesh
from memory_mesh.model import Scope
from memory_mesh.model.errors import InvalidInput, NotFound
from memory_mesh.model.trace import Step, Trace, TraceStatus
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from memory_mesh.traces import Run, current, recorded, recording
from memory_mesh.write.rules.trace_checks import fitted, trace_with


@pytest.mark.req("R-002-001")
@pytest.mark.req("R-002-011")
def test_three_lines_make_a_run_a_trace(mesh: MemoryMesh) -> None:
    with recording(mesh, "Fix the login") as run:
        run.step("Read the log")
        run.tool("rg")
    (trace,) = mesh.traces()
    assert (trace.goal, trace.status) == ("Fix the login", TraceStatus.SUCCESS)
    assert (trace.steps, trace.tools_used) == ((Step("Read the log"),), ("rg",))


@pytest.mark.req("R-002-078")
def test_all_that_a_run_says_is_in_its_trace(mesh: MemoryMesh, clock: FrozenClock) -> None:
    began = clock.now()
    before = str(mesh.traces.record("Prepare").id)
    with recording(mesh, "  Deploy ", clock=clock, follows=[before]) as run:
        run.plan("Build, then copy")
        with run.doing("Build"):
            clock.advance(timedelta(seconds=2))
        run.step("Copy", "skipped")
        run.tool("make", "scp")
        run.tool("make")
        run.file(Path("dist/app.zip"))
        run.result("3 files")
        run.learned("Build first")
    assert run.trace_id is not None
    assert mesh.traces.get(run.trace_id) == Trace(
        "Deploy",
        TraceStatus.SUCCESS,
        2000,
        ("make", "scp"),
        ("dist/app.zip",),
        "Build, then copy",
        (Step("Build"), Step("Copy", "skipped")),
        "3 files",
        ("Build first",),
        began,
        run.trace_id,
        follows=(before,),
    )


def test_an_exception_makes_a_failure_and_goes_on(mesh: MemoryMesh) -> None:
    def deploy() -> None:
        with recording(mesh, "Deploy") as run:
            run.step("Build")
            with run.doing("Copy"):
                raise ValueError("no such host")

    with pytest.raises(ValueError, match="no such host"):
        deploy()
    (trace,) = mesh.traces()
    assert (trace.status, trace.results) == (TraceStatus.FAILURE, "ValueError: no such host")
    assert trace.steps == (Step("Build"), Step("Copy", "failure"))


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (KeyboardInterrupt(), "failure"),
        (SystemExit(1), "failure"),
        (SystemExit(0), "success"),
        (SystemExit(), "success"),
    ],
)
def test_the_end_of_the_process_ends_the_run(
    mesh: MemoryMesh, error: BaseException, status: str
) -> None:
    with pytest.raises(type(error)), recording(mesh, "Deploy"):
        raise error
    assert [trace.status for trace in mesh.traces()] == [status]


def test_a_run_can_say_that_it_failed(mesh: MemoryMesh) -> None:
    with recording(mesh, "Deploy") as run:
        run.fail("the host is down")
    (trace,) = mesh.traces()
    assert (trace.success, trace.results) == (False, "the host is down")


@pytest.mark.req("R-002-074")
def test_memory_is_asked_before_the_run_does_anything(mesh: MemoryMesh) -> None:
    with recording(mesh, "Deploy the shop") as first:
        assert first.advice.matches == ()
        first.step("Run the migration")
    with recording(mesh, "Deploy the shop") as second:
        assert second.advice.worked[0].text == "1. Run the migration"
        assert second.advice.worked[0].cites == (first.trace_id,)
    with recording(mesh, "Deploy the shop", advise=False) as third:
        assert third.advice.matches == ()


def test_a_mistake_shows_before_the_run(mesh: MemoryMesh) -> None:
    with pytest.raises(InvalidInput, match="needs a goal"):
        recording(mesh, " ")
    with pytest.raises(InvalidInput, match="a trace_id is like"):
        recording(mesh, "Deploy", follows=["x"])
    with pytest.raises(InvalidInput, match="needs a MemoryMesh"), recording(object(), "x"):  # type: ignore[arg-type]
        pass


def test_a_fault_of_the_memory_does_not_break_the_run(
    mesh: MemoryMesh, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "memory_mesh"):
        with recording(mesh, "Deploy", follows=["trace-1-none"]) as run:
            run.step("Build")
        assert run.receipt is None
        with recording(mesh, "Deploy") as run:
            mesh.close()
    assert ["not written" in record.getMessage() for record in caplog.records] == [True, True]


def test_the_exception_of_a_run_outlives_a_fault_of_the_memory(mesh: MemoryMesh) -> None:
    def deploy() -> None:
        with recording(mesh, "Deploy"):
            mesh.close()
            raise KeyError("x")

    with pytest.raises(KeyError):
        deploy()


def test_a_decorated_function_is_a_trace_for_each_call(mesh: MemoryMesh) -> None:
    @recorded(mesh, "Greet {name} {times} times")
    def greet(name: str, times: int = 2) -> str:
        """Greets somebody."""
        run = current()
        assert run is not None
        run.tool("print")
        return name * times

    assert greet("Bo") == "BoBo"
    assert greet(times=1, name="{name}") == "{name}"
    assert [trace.goal for trace in mesh.traces()] == ["Greet {name} 1 times", "Greet Bo 2 times"]
    assert greet.__name__ == "greet"


def test_the_goal_of_a_decorated_function_may_come_from_its_docstring_or_a_function(
    mesh: MemoryMesh,
) -> None:
    @recorded(mesh)
    def tidy_up() -> None:
        """Tidy the folder.

        And more.
        """

    @recorded(mesh)
    def count_words() -> None:
        raise NotFound("no words")

    @recorded(mesh, lambda path: f"Read {path}")
    def read(path: str) -> str:
        return path

    tidy_up()
    read("a.md")
    with pytest.raises(NotFound):
        count_words()
    goals = [(trace.goal, trace.success) for trace in mesh.traces()]
    assert goals == [("count words", False), ("Read a.md", True), ("Tidy the folder.", True)]


def test_runs_inside_runs_are_traces_of_their_own(mesh: MemoryMesh) -> None:
    assert current() is None
    with recording(mesh, "Release") as outer:
        with recording(mesh, "Build") as inner:
            assert current() is inner
        assert current() is outer
    assert current() is None
    assert [trace.goal for trace in mesh.traces()] == ["Release", "Build"]


def test_async_runs_are_recorded_by_the_async_mesh(tmp_path: Path) -> None:
    async def work() -> list[tuple[str, bool]]:
        async with memory_mesh.MemoryMesh(db_dir=tmp_path) as mesh:
            async with recording(mesh, "Fetch the page") as run:
                run.step("GET")

            @recorded(mesh, "Fetch {url}")
            async def fetch(url: str) -> str:
                await asyncio.sleep(0)
                assert isinstance(current(), Run)
                raise OSError(url)

            done = await asyncio.gather(fetch("a"), fetch("b"), return_exceptions=True)
            assert [str(error) for error in done] == ["a", "b"]
            with pytest.raises(InvalidInput, match="use `async with`"), recording(mesh, "x"):
                pass
            with pytest.raises(InvalidInput, match="needs the async"):
                recorded(mesh)(lambda: None)
            return [(trace.goal, trace.success) for trace in await mesh.traces()]

    found = asyncio.run(work())
    assert sorted(found) == [("Fetch a", False), ("Fetch b", False), ("Fetch the page", True)]


def test_async_code_does_not_take_the_blocking_mesh(mesh: MemoryMesh) -> None:
    async def work() -> None:
        async with recording(mesh, "x"):
            pass

    with pytest.raises(InvalidInput, match="use `with`"):
        asyncio.run(work())


def test_a_run_of_another_scope_is_recorded_there(tmp_path: Path) -> None:
    with MemoryMesh(db_dir=tmp_path, project="web") as mesh:
        with recording(mesh, "Deploy", scope=Scope("shop")):
            pass
        assert mesh.traces() == []
        assert len(mesh.view(scope=Scope("shop")).traces()) == 1


def test_a_run_that_says_too_much_is_cut_and_recorded(mesh: MemoryMesh) -> None:
    with recording(mesh, "g" * 200_000, advise=False) as run:
        for number in range(5_000):
            run.step(f"{number} " + "s" * 900)
        run.result("r\0\ud800" * 50_000)
        run.learned("l" * 70_000)
    (trace,) = mesh.traces()
    assert trace.steps[0].text.startswith("0 ")
    assert trace.steps[-1].text.startswith("4999 ")
    assert len(trace.steps) == 200
    assert trace.learnings[0].endswith("…")


def test_a_trace_that_fits_is_not_cut() -> None:
    trace = Trace("Deploy", plan="p", steps=(Step("s", "done"),), tools_used=("x",) * 200)
    assert fitted(trace) == trace
    assert trace_with(fitted(Trace("x", results="ü" * 100_000)), {}).results.endswith("…")


class Mute(Exception):
    """An exception that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_exception_without_words_is_not_replaced(mesh: MemoryMesh) -> None:
    with pytest.raises(Mute), recording(mesh, "Deploy"):
        raise Mute
    assert mesh.traces()[0].results == "Mute"


@pytest.mark.parametrize("given", ["", " \n", "a\0b", "\ud800", "long words " * 100_000, Mute()])
def test_no_argument_breaks_a_recorded_call(mesh: MemoryMesh, given: object) -> None:
    @recorded(mesh, "{what}")
    def handle(what: object) -> bool:
        return what is given

    assert handle(given)
    (trace,) = mesh.traces()
    assert trace.goal
    assert len(trace.goal) <= 10_002


def test_a_generator_function_is_refused_with_what_to_do(mesh: MemoryMesh) -> None:
    with pytest.raises(InvalidInput, match="inside the function"):

        @recorded(mesh, "Count")
        def count() -> Iterator[int]:
            yield 1


def test_a_generator_may_record_and_be_left_early_or_elsewhere(mesh: MemoryMesh) -> None:
    def count() -> Generator[int, None, None]:
        with recording(mesh, "Count"):
            yield from (1, 2)

    counted = count()
    copy_context().run(next, counted)
    counted.close()
    assert mesh.traces()[0].status is TraceStatus.SUCCESS


def test_one_recording_can_be_used_inside_itself(mesh: MemoryMesh) -> None:
    again = recording(mesh, "Deploy")
    with again as outer:
        with again as inner:
            inner.step("Build")
        assert current() is outer
        outer.step("Copy")
    assert current() is None
    assert [trace.steps[0].text for trace in mesh.traces()] == ["Copy", "Build"]


def test_any_fault_of_the_memory_leaves_the_run_alone(
    mesh: MemoryMesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(type(mesh.traces), "plan", full)
    monkeypatch.setattr(type(mesh.traces), "record", full)
    with recording(mesh, "Deploy") as run:
        run.step("Build")
    assert run.trace_id is None


def test_a_run_that_is_interrupted_while_memory_is_asked_is_not_current(
    mesh: MemoryMesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(mesh.traces), "plan", interrupted)
    with pytest.raises(KeyboardInterrupt), recording(mesh, "Deploy"):
        pass
    assert current() is None
