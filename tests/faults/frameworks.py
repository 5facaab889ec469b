"""Adapters of frameworks in the environments of .ci/frameworks, driven over a pipe."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, cast

from memory_mesh.testing.adapter_contract import Adapted, AdapterContract
from tests.faults.report import Progress, Report

ROOT = Path(__file__).parents[2]
KINDS = ("openai-agents", "pydantic-ai", "anthropic", "llama-index", "google-adk")


def python_of(kind: str) -> Path:
    """The interpreter that has the framework's package."""
    return ROOT / ".ci/tools/frameworks" / kind / "bin/python"


def are_there() -> bool:
    """Whether every framework is installed."""
    return all(python_of(kind).exists() for kind in KINDS)


class InFramework(AdapterContract):
    """The contract for one framework."""

    kind: str
    cwd = ROOT

    def open_adapter(self) -> AbstractContextManager[Adapted]:
        return self._opened()

    def command(self, told: Sequence[tuple[str, str]]) -> list[str]:
        said = [part for user, text in told for part in (user, text)]
        module = ["-W", "ignore", "-m", "tests.agents.adapters.in_framework"]
        return [str(python_of(self.kind)), *module, self.kind, str(self.folder), *said]

    @contextmanager
    def _opened(self) -> Iterator[Adapted]:
        with subprocess.Popen(
            self.command([]), cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            with process.stdin:
                yield cast("Adapted", _Piped(process.stdin, process.stdout))
            process.stdout.read()
        assert process.returncode == 0


class _Piped:
    """Sends each call as a line."""

    def __init__(self, calls: IO[str], answers: IO[str]) -> None:
        self._calls, self._answers = calls, answers

    def __getattr__(self, name: str) -> object:
        def call(user: str, text: str) -> object:
            self._calls.write(json.dumps([name, user, text]) + "\n")
            self._calls.flush()
            for line in self._answers:
                if line[0] in '"n':  # a text or null; some packages print lines of their own
                    return json.loads(line)
            raise AssertionError(f"{name} ended the program")

        return call


def kept(folder: Path, *, kinds: int, progress: Progress) -> Report:
    """The whole contract with so many frameworks."""
    report = Report()
    for kind in KINDS[:kinds]:
        contract = type("Kept", (InFramework,), {"kind": kind})()
        names = [name for name in dir(contract) if name.startswith("test_")]
        for name in names:
            contract.folder = folder / kind / name
            try:
                getattr(contract, name)()
            except (AssertionError, json.JSONDecodeError) as error:
                report.failures.append(f"{kind}: {name}: {error}")
            progress(f"{kind}: {name}")
        report.figures[kind] = len(names)
    return report
