"""The routes of the service, derived from the operations of a mesh: one rule for all of them.

`mesh.review.decide(id, …)` is `POST /v1/review/decide` with the options as a JSON object, and
answers what the method returns. Beside the operations this file holds only what a face may say
differently: what is not offered. What a call needs is marked on the operation, `reads` or `needs`.
"""

from collections.abc import Iterator, Mapping, Sequence
from inspect import getattr_static
from os import PathLike

from memory_mesh.base.typed import Any, dataclass
from memory_mesh.care.access_keys import ADMIN, WRITE
from memory_mesh.mesh.document_names import ASIDE, Families
from memory_mesh.mesh.operation import Operation, Option
from memory_mesh.sync import MemoryMesh

PREFIX = "/v1/"
_OF_MODELS = (
    f"care.models.{name}" for name in ("compare", "drop", "reembed", "roll_back", "state", "switch")
)
NOT_OFFERED = frozenset(  # they need files, folders or functions, or cross namespaces
    (
        *("init", "close", "view", "for_user", "export", "import_", "skills.vectors", "bisect"),
        *(
            "care.vectors",
            *_OF_MODELS,
            "care.projects.at",
            "care.projects.name",
            "review.check",
            "traces.write_memory_log",
        ),
        *("traces.log_experience", "traces.experiences", "traces.search_experiences"),
        *("traces.experience_summary", "traces.roll_experiences", "traces.erase_experiences"),
    )
)
_SHUT = frozenset(("progress", "between", "count_tokens", "model", "rerank"))  # functions, models
VIEWS = "also"
_NAMED_VIEWS = Option(VIEWS, Sequence[Mapping[str, str]], (), positional=False)
_NAMED_VIEWS.about = (
    'further views to ask, each named by its headers: `[{"Memory-Mesh-Namespace": "team"}]`'
)
_FAMILIES = ("lessons", "learn", "skills", "graph", "traces", "review", "care")


@dataclass(frozen=True, slots=True)
class ServiceRoute:
    """An operation as the service offers it."""

    name: str  # as Python calls it: `review.decide`
    operation: Any  # declared with its options
    needs: str  # of the key's scopes
    options: Mapping[str, Option]

    @property
    def path(self) -> str:
        """Where it is."""
        return PREFIX + self.name.rstrip("_").replace(".", "/")

    @property
    def tells_progress(self) -> bool:
        """Whether it says how far it is."""
        return "progress" in self.operation.options

    def of(self, mesh: MemoryMesh) -> Any:  # noqa: ANN401  # a bound method
        """The method of a view."""
        found: object = mesh
        for part in self.name.split("."):
            found = getattr(found, part)
        return found


def routes() -> dict[str, ServiceRoute]:
    """Every route by its path."""
    found = [*_of_class(MemoryMesh, "")]
    for family in _FAMILIES:
        kind = getattr(Families, family)
        found += _of_class(kind, f"{family}.")
    for name in ("projects", "access_keys"):
        found += _of_class(getattr(Families.care, name), f"care.{name}.")
    return {route.path: route for route in found}


def _of_class(kind: type, family: str) -> Iterator[ServiceRoute]:
    for name in dir(kind):
        operation = getattr_static(kind, name)
        whole = f"{family}{name}"
        aside = not family and name in ASIDE
        if not isinstance(operation, Operation) or name.startswith("_") or aside:
            continue
        if whole in NOT_OFFERED:
            continue
        options = {
            each.name: _NAMED_VIEWS if each.name == VIEWS else each
            for each in operation.options.values()
            if each.name not in _SHUT and PathLike not in each.classes
        }
        needs = operation.needs or (ADMIN if whole.startswith("care.") else WRITE)
        yield ServiceRoute(whole, operation, needs, options)
