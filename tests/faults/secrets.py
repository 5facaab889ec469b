"""Plants a secret in every text argument that a caller can reach, then searches every byte.

::

    signatures ──▶ shapes with secrets ──▶ calls ──▶ answers, errors, log records
                                                └──▶ store, index, key folder, files, sinks

The library's faces are walked here, the command line and files in `secrets_cli`. An argument that
takes text and has neither a shape nor a reason is a failure of the walk itself.
"""

import inspect
import logging
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import Parameter
from itertools import islice
from pathlib import Path
from random import Random
from typing import TypeVar

from memory_mesh.model.errors import MeshError
from memory_mesh.platform import telemetry
from tests.faults.planted import KINDS, Planted, Secret, everything_in
from tests.faults.report import Report
from tests.faults.sample import points
from tests.faults.secret_shapes import Say, Targets, is_text, shapes
from tests.operations import operations

Method = Callable[..., object]
T = TypeVar("T")
READABLE = {  # files whose names and contents say what the caller named
    r"mirrors/\w+\.sqlite": r"file name$|memory-mesh mirror",  # which file holds which memory
}


@dataclass(frozen=True)
class Face:
    """Something with public methods: how to get at one, and what each cannot be called without."""

    name: str
    methods: Mapping[str, Method]  # as declared: their signatures are walked
    bound: Callable[[str], Method]  # the method of an open object, ready to be called
    needed: Callable[[str, str, Targets], object]  # method, argument, targets
    targets: Callable[[str], Targets] = lambda _method: Targets()
    reasons: Mapping[str, str] = field(default_factory=dict)  # of arguments that are not planted


@dataclass
class Walk:
    """One walk over everything, with what it planted and what it found."""

    folder: Path
    kinds: tuple[str, ...] = KINDS
    share: float = 1.0  # of the arguments of each method, one at least, with one kind of secret
    dice: Random = field(default_factory=lambda: Random(0))
    planted: Planted = field(default_factory=Planted)
    report: Report = field(default_factory=lambda: Report({"arguments": 0, "calls": 0}))
    records: list[str] = field(default_factory=list)
    _turn: int = 0

    def face(self, face: Face) -> None:
        """Plant secrets in every text argument of every public method of a face."""
        for name, method in sorted(face.methods.items()):
            planted = [
                parameter
                for parameter in parameters(method)
                if is_text(parameter) and reason_for(face, name, parameter) is None
            ]
            for parameter in self.chosen(planted):
                self.argument(face, name, parameter, f"{face.name}.{name}({parameter.name})")

    def argument(self, face: Face, name: str, parameter: Parameter, place: str) -> None:
        """Call a method with each shape of one argument."""
        self.report.count("arguments")
        for kind in self.kinds_here():
            say, targets = self.say(kind, place), face.targets(name)
            shaped = len(list(shapes(parameter, say, targets)))
            if not shaped:
                self.report.broken("no plan", f"{place}: {parameter.annotation}")
            for number in range(shaped):
                targets = face.targets(name)
                given = {
                    each.name: face.needed(name, each.name, targets)
                    for each in parameters(face.methods[name])
                    if each.default is Parameter.empty and each.name != parameter.name
                }
                value = next(islice(shapes(parameter, say, targets), number, None))
                self.call(place, face.bound(name), given | {parameter.name: value})

    def chosen(self, places: Sequence[T]) -> list[T]:
        """The places of one method or command that this walk plants: all of them, or a share."""
        if self.share == 1:
            return list(places)
        return [places[point - 1] for point in points(len(places), self.share, self.dice)]

    def say(self, kind: str, place: str) -> Say:
        """Makes the secrets of one argument."""

        def said(part: str) -> Secret:
            return self.planted.secret(kind, f"{place} {part}".strip())

        return said

    def call(self, place: str, method: Method, given: Mapping[str, object]) -> None:
        """Call once; what it answers or raises must not hold a secret."""
        self.report.count("calls")
        try:
            answer = method(**given)
            said = repr(list(answer)) if isinstance(answer, Iterator) else repr(answer)
        except MeshError as error:
            self.report.count("refused")
            said = "".join(traceback.format_exception(error)) + repr(error)
            self.searched(f"an error of {place}", said)
        except (TypeError, ValueError, AttributeError) as error:
            self.report.broken("no error of ours", f"{place}: {error!r}")
        else:
            self.searched(f"the answer of {place}", said)

    def finish(self) -> Report:
        """Search the records and every byte below the folder."""
        for record in self.records:
            self.searched("a log record", record)
        for name, data in everything_in(self.folder):
            self.report.count("bytes searched", len(data))
            for place in self.planted.found(data):
                if not _readable(name, place):
                    self.report.broken("found in a file", f"{name}: {place}")
        self.report.figures["secrets"] = len(self.planted.places)
        return self.report

    def searched(self, where: str, said: str) -> None:
        """Say where a secret was found in what was said."""
        for place in self.planted.found(said.encode("utf-8", "surrogatepass")):
            self.report.broken("found in words", f"{where}: {place}")

    def kinds_here(self) -> tuple[str, ...]:
        """Every kind, or one of them in turn."""
        if self.share == 1:
            return self.kinds
        self._turn += 1
        return (self.kinds[self._turn % len(self.kinds)],)


def _readable(name: str, place: str) -> bool:
    return any(re.search(file, name) and re.search(what, place) for file, what in READABLE.items())


def parameters(method: Method) -> list[Parameter]:
    """The parameters of a method but `self`."""
    found = inspect.signature(method).parameters.values()
    return [each for each in found if each.name not in {"self", "cls"}]


def public(face: type) -> dict[str, Method]:
    """The public methods of a class."""
    return operations(face)


def reason_for(face: Face, method: str, parameter: Parameter) -> str | None:
    """Why an argument is not planted."""
    for name in (f"{method}({parameter.name})", parameter.name):
        if name in face.reasons:
            return face.reasons[name]
    return None


@contextmanager
def listening(walk: Walk) -> Iterator[None]:
    """Every log record of the package, details too, goes to the walk."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            walk.records.append(self.format(record))

    logger, handler = logging.getLogger(telemetry.NAME), Handler()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
