"""Checks the predicate schemas that callers register."""

from collections.abc import Mapping
from enum import StrEnum

from memory_mesh.base.typed import TypeVar
from memory_mesh.model import Cardinality, ConflictPolicy, DedupPolicy, PredicateSchema
from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.write.claims import NORMALIZERS, keyed, stated

Member = TypeVar("Member", bound=StrEnum)
_SPELLINGS = {"conflictPolicy": "conflict_policy", "dedupPolicy": "dedup_policy"}
_FIELDS = ("cardinality", "conflict_policy", "normalize", "dedup_policy")


def schema_of(name: str, given: PredicateSchema | Mapping[str, str]) -> PredicateSchema:
    """Builds a schema from a mapping (snake_case or camelCase); InvalidInput says what is wrong."""
    if isinstance(given, PredicateSchema):
        return given
    said = {_SPELLINGS.get(key, key): value for key, value in given.items()}
    unknown = said.keys() - set(_FIELDS)
    if unknown:
        raise InvalidInput(
            f"the predicate {name!r}: unknown field {min(unknown)!r}; the fields are: {_FIELDS}"
        )
    normalize = said.get("normalize", "none")
    if normalize not in NORMALIZERS:
        raise InvalidInput(f"normalize of {name!r} must be one of: {', '.join(NORMALIZERS)}")
    return PredicateSchema(
        cardinality=_member(name, Cardinality, said.get("cardinality", "single")),
        conflict_policy=_member(name, ConflictPolicy, said.get("conflict_policy", "supersede")),
        normalize=normalize,
        dedup_policy=_member(name, DedupPolicy, said.get("dedup_policy", "corroborate")),
    )


def predicate_key(name: str) -> str:
    """Returns the key under which a predicate's schema is looked up."""
    return keyed(stated("x", name, "x")).predicate


def _member(name: str, kind: type[Member], value: str) -> Member:
    try:
        return kind(value)
    except ValueError:
        raise InvalidInput(
            f"the predicate {name!r}: {shown(value)} must be one of: {', '.join(kind)}"
        ) from None
