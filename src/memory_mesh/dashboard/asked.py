"""What a page is asked, and what it answers: a page is a function from one to the other."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from urllib.parse import quote, urlencode

from memory_mesh.base.typed import Any, Protocol, TypeAlias, dataclass, field
from memory_mesh.care.access_keys import READ
from memory_mesh.model import Memory, NotFound, Status
from memory_mesh.rules.arguments import user_of
from memory_mesh.sync import MemoryMesh

EVERYONE = ("project", "agent", "session")  # the page shows what is for each of them
EVERY_STATUS = tuple(Status)
FEW_BLOCKS = 5_000  # of a chain: there are at most as many memories
PLACES = 200  # namespaces to choose from
Fields: TypeAlias = "Mapping[str, Sequence[str]]"


class Reader(Protocol):
    """Who looks at the page: what they may do where, and the memories as they see them."""

    name: str

    def may(self, scope: str, namespace: str) -> bool:
        """Whether they may do this there; scope is one of `care.access_keys.SCOPES`."""

    def namespaces(self, after: str | None = None) -> list[str]:
        """The first namespaces that they may read, after a name."""

    def view(self, namespace: str) -> MemoryMesh:
        """The memories of a namespace."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a page, or an action."""

    reader: Reader
    namespace: str
    mesh: MemoryMesh
    now: datetime
    root: str  # where the application is mounted
    path: Mapping[str, str] = field(default_factory=dict)  # of the route, such as {id}
    query: Fields = field(default_factory=dict)
    form: Fields = field(default_factory=dict)

    def may(self, scope: str) -> bool:
        """Whether the reader may do this here."""
        return self.reader.may(scope, self.namespace)

    def one(self, name: str, otherwise: str = "") -> str:
        """The last value of a field, of the form or of the query."""
        found = self.form.get(name) or self.query.get(name) or (otherwise,)
        return found[-1].strip()

    def many(self, name: str) -> list[str]:
        """Every value of a field that is not empty."""
        found = self.form.get(name) or self.query.get(name) or ()
        return [value for value in found if value]

    def number(self, name: str, otherwise: int, most: int) -> int:
        """A field that is a whole number, from 1 to a most."""
        said = self.one(name)
        number = int(said) if said.isascii() and said.isdigit() else otherwise
        return max(1, min(most, number))

    def here(self, path: str, **query: object) -> str:
        """The address of another page of the same namespace; values of None are left out."""
        return address(self.root, self.namespace, path, **query)

    def at(self, namespace: str) -> str:
        """The address of another namespace."""
        return address(self.root, namespace, "/memories")

    def back(self, otherwise: str = "/memories") -> str:
        """The page that a form was on, else another one of this namespace."""
        return inside(self.one("back"), self.root) or self.here(otherwise)

    def is_in(self, path: str, shown: str) -> bool:
        """Whether the page that is shown is this one or below it."""
        whole = address("", self.namespace, path)
        return shown == whole or shown.startswith(f"{whole}/")

    def is_small(self) -> bool:
        """Whether all of the store may be read for one page; else the reader asks for that."""
        return self.mesh.stats(counted=False).blocks <= FEW_BLOCKS

    def memory(self, memory_id: str, **at: Any) -> Memory:  # noqa: ANN401  # as_of of get_all
        """A memory of any project, agent, session and status, which does not count as its use."""
        found = self.mesh.get_all(
            filter={"id": memory_id}, across=EVERYONE, include=EVERY_STATUS, limit=1, **at
        )
        if not found:
            raise NotFound(f"there is no memory {memory_id} here, or it was forgotten for good")
        return found[0]


@dataclass(frozen=True, slots=True)
class Shown:
    """The answer of a page: its template, and what that shows."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Drawing:
    """The answer of a page that is a picture: an SVG document."""

    svg: str


@dataclass(frozen=True, slots=True)
class Undo:
    """What takes an action back: the path of another action, and its fields."""

    path: str
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GoTo:
    """The answer of an action: the page to go back to, what to say there, and what undoes it."""

    to: str
    said: str = ""
    undo: Undo | None = None


Answer: TypeAlias = "Shown | GoTo | Drawing"


@dataclass(frozen=True, slots=True)
class PageRoute:
    """One page, or with POST one action."""

    path: str
    run: Callable[[Asked], Answer]
    needs: str = READ
    method: str = "GET"
    title: str = ""  # in the navigation; empty: it is not there
    icon: str = ""  # beside it: a drawing of parts.html


def address(root: str, namespace: str, path: str, **query: object) -> str:
    """The address of a page of a namespace; a value may be a list, and None is left out."""
    stated = {name: value for name, value in query.items() if value not in (None, "", [])}
    tail = f"?{urlencode(stated, doseq=True)}" if stated else ""
    return f"{root}/{quote(namespace, safe=':@')}{path}{tail}"


def inside(to: str, root: str) -> str | None:
    """An address of this application; None for one of anywhere else."""
    fits = to.startswith(f"{root}/") and not to.startswith(("//", "/\\"))
    return to if fits else None


def view_of(mesh: MemoryMesh, namespace: str) -> MemoryMesh:
    """The view of a namespace, of a user's as well."""
    user = user_of(namespace)
    return mesh.view(namespace=namespace) if user is None else mesh.for_user(user)
