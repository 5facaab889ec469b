"""The writes that decide what is true, each as its name, what is there before, and what is done."""

from collections.abc import Callable

from memory_mesh.sync import MemoryMesh

Step = Callable[[MemoryMesh], object]


def _port(mesh: MemoryMesh, value: str, kind: str = "user_explicit") -> str:
    claim = {"subject": "service", "predicate": "port", "value": value}
    return str(mesh.add(f"the port is {value}", claim=claim, source_kind=kind).id)


def _known(mesh: MemoryMesh) -> None:
    _port(mesh, "1")


def _waiting(mesh: MemoryMesh) -> None:
    _known(mesh)
    _port(mesh, "2", "inference")


def _let_in(mesh: MemoryMesh) -> None:
    _waiting(mesh)
    mesh.review(_who_waits(mesh), approve=True)


def _rejected(mesh: MemoryMesh) -> None:
    _waiting(mesh)
    mesh.review(_who_waits(mesh), approve=False)


def _doubted(mesh: MemoryMesh) -> None:
    _known(mesh)
    for _ in range(2):
        mesh.review.dispute(_first(mesh))


def _first(mesh: MemoryMesh) -> str:
    return mesh.get_all()[-1].id


def _who_waits(mesh: MemoryMesh) -> str:
    return mesh.review.waiting()[0].id


def _archived(mesh: MemoryMesh) -> str:
    found = mesh.get_all(include=["archived"])  # somebody else may add one meanwhile
    return next(memory.id for memory in found if memory.status == "archived")


def _resolve(resolution: str) -> Step:
    return lambda mesh: mesh.review.resolve(mesh.review.conflicts()[0].id, resolution)


TRUTH: tuple[tuple[str, Step, Step], ...] = (
    ("a value takes another's place", _known, lambda mesh: _port(mesh, "3")),
    ("a value has to wait", _known, lambda mesh: _port(mesh, "2", "inference")),
    (
        "values follow each other in a slice",
        _known,
        lambda mesh: mesh.add_many(f"The port of service is {value}" for value in (4, 5, 4)),
    ),
    ("reinforce", _known, lambda mesh: mesh.review.reinforce(_first(mesh))),
    ("the dispute that sends to review", _doubted, lambda mesh: mesh.review.dispute(_first(mesh))),
    ("approve a value", _waiting, lambda mesh: mesh.review(_who_waits(mesh), approve=True)),
    ("reject a value", _waiting, lambda mesh: mesh.review(_who_waits(mesh), approve=False)),
    ("undo an approval", _let_in, lambda mesh: mesh.review.undo(_first(mesh))),
    ("undo a rejection", _rejected, lambda mesh: mesh.review.undo(_archived(mesh))),
    ("resolve by superseding", _waiting, _resolve("supersede")),
    ("resolve by keeping both", _waiting, _resolve("keep_both")),
    (
        "register predicates",
        _known,
        lambda mesh: mesh.review.register_predicates({"port": {"cardinality": "multi"}}),
    ),
)
