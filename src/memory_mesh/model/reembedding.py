"""Which models a namespace has vectors of, which of them searches use, and what a re-embed tells.

::

    (nothing stated)          each process searches by the model of its own settings
      │ begin
      ▼
    in use: old, beside: new  vectors of the new model are made; searches use the old one
      │ switch   ▲ roll back
      ▼          │
    in use: new, beside: old  both are kept up to date
      │ drop
      ▼
    in use: new               the old vectors are gone, and no process writes them again
"""

import json
from collections.abc import Mapping

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.model.memory import Json
from memory_mesh.model.query import Space

STATED = "space.in_use"  # the small value of a namespace that holds the statement


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A space, and the settings by which a process finds its model; names alone, no address."""

    space: str
    embedder: str | None = None  # None: it was handed over as an object, or lies in a stated folder
    model: str | None = None
    dimension: int | None = None


@dataclass(frozen=True, slots=True)
class ModelsInUse:
    """What a namespace states about its models."""

    in_use: NamedModel
    beside: NamedModel | None = None
    switched: bool = False  # the model beside is the former one
    dropped: tuple[str, ...] = ()  # names of spaces whose vectors nobody writes any more

    def of(self, space: str) -> NamedModel | None:
        """The model of a space, if the namespace keeps its vectors."""
        kept = (self.in_use, *((self.beside,) if self.beside is not None else ()))
        return next((each for each in kept if each.space == space), None)

    def swapped(self) -> "ModelsInUse":
        """The same with the two models in each other's place."""
        if self.beside is None:
            return self
        return replace(self, in_use=self.beside, beside=self.in_use, switched=not self.switched)

    def without_beside(self) -> "ModelsInUse":
        """The same after the vectors beside were given up."""
        if self.beside is None:
            return self
        gone = tuple(sorted({*self.dropped, self.beside.space}))
        return ModelsInUse(self.in_use, None, switched=False, dropped=gone)

    def beginning(self, beside: NamedModel) -> "ModelsInUse":
        """The same with a model whose vectors are made now."""
        rest = tuple(name for name in self.dropped if name != beside.space)
        return ModelsInUse(self.in_use, beside, switched=False, dropped=rest)


@dataclass(frozen=True, slots=True)
class ReembedState:
    """How far a re-embed has come."""

    in_use: str | None  # the space that searches use; None if nothing is stated
    beside: str | None = None  # the other space that is kept
    switched: bool = False  # searches use the new model, and the one beside is the former
    texts: int = 0  # of the namespace, of all versions
    vectors: int = 0  # in the space beside
    waiting: int = 0  # texts without a vector in the space beside
    waiting_in_use: int = 0  # texts without a vector in the space in use
    embedded: int = 0  # texts that this call embedded
    dropped: tuple[str, ...] = ()  # spaces whose vectors were given up


@dataclass(frozen=True, slots=True)
class ComparedQuery:
    """One query of the past, asked in both spaces."""

    query: str  # as it is on record
    same: int  # hits that both answers have
    of: int  # hits of the longer answer
    helped_in_use: tuple[int, ...] = ()  # ranks of memories that were voted helpful
    helped_beside: tuple[int, ...] = ()  # of the same memories, in the space beside

    @property
    def overlap(self) -> float:
        """The share of the hits that both answers have."""
        return self.same / self.of if self.of else 1.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the namespace's own recent queries find in the space in use and in the one beside."""

    in_use: str  # the space that searches use
    beside: str  # the space that is kept beside it
    depth: int  # hits of each answer that were compared
    queries: tuple[ComparedQuery, ...] = ()  # newest first
    waiting: int = 0  # texts without a vector in the space beside: the figures may still rise

    @property
    def overlap(self) -> float | None:
        """The mean share of hits that both answers have; None if there was no query."""
        shares = [each.overlap for each in self.queries]
        return sum(shares) / len(shares) if shares else None

    @property
    def helped_in_use(self) -> float | None:
        """The mean of 1 / rank of helpful memories in the space in use; None if there are none."""
        return _mean_reciprocal([rank for each in self.queries for rank in each.helped_in_use])

    @property
    def helped_beside(self) -> float | None:
        """The same for the space beside."""
        return _mean_reciprocal([rank for each in self.queries for rank in each.helped_beside])


def _mean_reciprocal(ranks: list[int]) -> float | None:
    """The mean of 1 / rank, where rank 0 stands for a memory that was not found."""
    return sum(1 / rank for rank in ranks if rank) / len(ranks) if ranks else None


def named(space: Space, settings: Mapping[str, object]) -> NamedModel:
    """A space with the settings that find its model, as far as they are names."""
    embedder, model = settings.get("embedder"), settings.get("embedder_model")
    dimension = settings.get("embedder_dimension")
    return NamedModel(
        space.name,
        embedder if isinstance(embedder, str) else None,
        model if isinstance(model, str) else None,
        dimension if isinstance(dimension, int) else None,
    )


def dumped(stated: ModelsInUse) -> str:
    """The statement as the ledger holds it."""
    found: dict[str, Json] = {"in_use": _plain(stated.in_use), "switched": stated.switched}
    if stated.beside is not None:
        found["beside"] = _plain(stated.beside)
    if stated.dropped:
        found["dropped"] = list(stated.dropped)
    return json.dumps(found, sort_keys=True)


def loaded(value: str | None) -> ModelsInUse | None:
    """The statement that the ledger holds; None where nothing is stated."""
    if value is None:
        return None
    found = json.loads(value)
    beside = found.get("beside")
    return ModelsInUse(
        NamedModel(**found["in_use"]),
        None if beside is None else NamedModel(**beside),
        found["switched"],
        tuple(found.get("dropped", ())),
    )


def _plain(model: NamedModel) -> dict[str, Json]:
    given: dict[str, Json] = {
        "space": model.space,
        "embedder": model.embedder,
        "model": model.model,
        "dimension": model.dimension,
    }
    return {name: value for name, value in given.items() if value is not None}
