"""The write operations that are killed in the middle: what is there before, and what is done."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memory_mesh.model import Status
from memory_mesh.model.learning import LessonContext
from memory_mesh.models.sinks.jsonl import JsonLinesSink
from memory_mesh.rules.arguments import WRITE_SLICE
from memory_mesh.sync import MemoryMesh
from tests.faults.truthcases import TRUTH

NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Case:
    """One write operation: what is there before, what is done, and where it may stop halfway."""

    name: str
    prepare: Callable[[MemoryMesh], object]
    act: Callable[[MemoryMesh], object]
    stops: tuple[Callable[[MemoryMesh], None], ...] = ()  # each reaches a state between commits
    sink: bool = False


def act(here: Path, case: Case) -> None:
    """Do it."""
    mesh = MemoryMesh(db_dir=here, sinks=_sinks(here) if case.sink else ())
    case.act(mesh)
    mesh.close()


def prepared(template: Path, case: Case) -> None:
    """Make the store that it is done to."""
    with MemoryMesh(db_dir=template) as mesh:
        case.prepare(mesh)


def _sinks(here: Path) -> tuple[JsonLinesSink]:
    return (JsonLinesSink(here / "sink.jsonl"),)


def _only(mesh: MemoryMesh, text: str = "first") -> str:
    """The id of the prepared memory."""
    return next(m.id for m in mesh.get_all(include=list(Status)) if m.text.startswith(text))


def _two(mesh: MemoryMesh) -> None:
    mesh.add("first memory about tea", {"topic": "tea"}, key="first")
    mesh.add("second memory about coffee")


def _two_one_deleted(mesh: MemoryMesh) -> None:
    _two(mesh)
    mesh.delete(_only(mesh))


def _drafts(count: int) -> list[str]:
    return [f"draft number {number} of a load" for number in range(count)]


def _fill_recalls(mesh: MemoryMesh) -> None:
    for _ in range(64):
        mesh.search("tea")


def _search_then(mesh: MemoryMesh) -> None:
    mesh.search("tea")
    mesh.add("third memory about water")


def _told(count: int) -> Callable[[MemoryMesh], None]:
    """A sink's cursor after this many commits."""

    def stop(mesh: MemoryMesh) -> None:
        ledger = mesh._opened().ledger
        for seq in range(1, count + 1):
            ledger.sink_moved(NAMESPACE, "jsonl", seq, None)

    return stop


def lesson(name: str = "lock", confidence: float = 0.7) -> LessonContext:
    """A failure that teaches something."""
    return LessonContext(
        situation="a report hung",
        error_pattern=name,
        oversight="nobody waited for the lock",
        fix="a timeout",
        preventative_rule="Always set a timeout",
        severity="high",
        applicable_scope="reports",
        confidence=confidence,
    )


def _two_and_a_skill(mesh: MemoryMesh) -> None:
    _two(mesh)
    mesh.ingest_skill(SKILL)


def _a_skill_that_failed(mesh: MemoryMesh) -> None:
    _two_and_a_skill(mesh)
    for _ in range(2):
        mesh.update_skill_reliability(_skill(mesh), success=False)


def _a_lesson_that_waits(mesh: MemoryMesh) -> None:
    _two(mesh)
    mesh.lessons.receive(mesh.distill_lesson(lesson()).wire_format.replace("reports", "exports"))


def _skill(mesh: MemoryMesh) -> str:
    return mesh.list_skills()[0].id


def _approve(mesh: MemoryMesh) -> None:
    mesh.review(mesh.review.waiting()[0].id, approve=True)


SKILL = "name; Make tea;\nintent; boil water and wait;\n"
CASES = (
    Case("first write", lambda mesh: None, lambda mesh: void(mesh.add("the very first"))),
    Case("add", _two, lambda mesh: void(mesh.add("third memory about water", {"topic": "w"}))),
    Case("add with a key", _two, lambda mesh: void(mesh.add("third memory", key="third"))),
    Case(
        "add many over a slice",
        _two,
        lambda mesh: void(mesh.add_many(_drafts(WRITE_SLICE + 2))),
        stops=(lambda mesh: void(mesh.add_many(_drafts(WRITE_SLICE))),),
    ),
    Case("merge", _two, lambda mesh: void(mesh.add("first memory about tea"))),
    Case("repeat a key", _two, lambda mesh: void(mesh.add("first memory about tea", key="first"))),
    Case("update text", _two, lambda mesh: void(mesh.update(_only(mesh), "first, about cocoa"))),
    Case(
        "update metadata",
        _two,
        lambda mesh: void(mesh.update(_only(mesh), metadata={"topic": "green tea"})),
    ),
    Case(
        "change validity",
        _two,
        lambda mesh: void(mesh.update(_only(mesh), valid_until="2099-01-01T00:00:00Z")),
    ),
    Case("pin", _two, lambda mesh: void(mesh.pin(_only(mesh)))),
    Case("delete", _two, lambda mesh: mesh.delete(_only(mesh))),
    Case("restore", _two_one_deleted, lambda mesh: void(mesh.restore(_only(mesh)))),
    Case("get", _two, lambda mesh: void(mesh.get(_only(mesh)))),
    Case("rate", _two, lambda mesh: mesh.rate(_only(mesh), helpful=True)),
    Case("teach a lesson", _two, lambda mesh: void(mesh.distill_lesson(lesson()))),
    Case(
        "a lesson takes another's place",
        lambda mesh: void(mesh.distill_lesson(lesson())),
        lambda mesh: void(mesh.distill_lesson(lesson(confidence=0.9))),
    ),
    Case("approve a lesson", _a_lesson_that_waits, _approve),
    Case(
        "heritage",
        _two,
        lambda mesh: void(mesh.insert_heritage(_only(mesh), {"intentChain": ["drink"]})),
    ),
    Case("ingest a skill", _two, lambda mesh: void(mesh.ingest_skill(SKILL))),
    Case(
        "a skill takes another's place",
        _two_and_a_skill,
        lambda mesh: void(mesh.ingest_skill(SKILL + "description; slowly;\n")),
    ),
    Case(
        "rely on a skill",
        _two_and_a_skill,
        lambda mesh: void(mesh.update_skill_reliability(_skill(mesh), success=True)),
    ),
    Case("prune skills", _a_skill_that_failed, lambda mesh: void(mesh.prune_skills())),
    Case("recall flush", _two, _fill_recalls),
    Case("recall with the next write", _two, _search_then),
    Case("close with a recall waiting", _two, lambda mesh: void(mesh.search("tea"))),
    Case("close with a sink", _two, lambda mesh: mesh.init(), (_told(1), _told(2)), sink=True),
    *(Case(*each) for each in TRUTH),
)


def void(_value: object) -> None:
    """Take a value and say nothing: an operation is judged by what it leaves."""
