"""Why a search found nothing, for a person at a terminal; loaded only then."""

import argparse
from collections.abc import Iterator

from memory_mesh.cli import output
from memory_mesh.cli.misuse import near
from memory_mesh.cli.options import View
from memory_mesh.model.filter import MetadataKey
from memory_mesh.policy.filters import FIELDS, parse
from memory_mesh.sync import MemoryMesh


def reasons(mesh: MemoryMesh, options: argparse.Namespace, view: View) -> list[str]:
    """The most likely reason, and what to do about it; empty if none is known."""
    if mesh.config.store is None and not (mesh.config.db_dir / "namespaces").is_dir():
        folder = output.named(mesh.config.db_dir)
        makes = "memory-mesh store makes one there"
        other = "if yours is elsewhere, name it with --db-dir or MEMORY_MESH_DIR"
        return [f"There is no store in {folder} yet: {makes}; {other}."]
    if _holds_nothing(mesh, view):
        return [_empty(options, mesh)]
    return list(_unknown_keys(mesh, options.filter, view)) if options.filter else []


def _holds_nothing(mesh: MemoryMesh, view: View) -> bool:
    return not mesh.get_all(limit=1, scope=view["scope"], across=("project", "agent", "session"))


def _empty(options: argparse.Namespace, mesh: MemoryMesh) -> str:
    if options.user is not None:
        whose = f"The user {output.named(options.user)} has"
    else:
        whose = f"The namespace {output.named(mesh.config.namespace)} has"
    return f"{whose} no memories here. Who has some: memory-mesh namespaces"


def _unknown_keys(mesh: MemoryMesh, expression: str, view: View) -> Iterator[str]:
    """Names of the filter that are no field and that no memory has in its metadata."""
    for name in dict.fromkeys(_keys(parse(expression))):
        there = mesh.get_all(
            limit=1, scope=view["scope"], across=view["across"],
            filter={f"metadata.{name}": {"$exists": True}},
        )  # fmt: skip
        if not there:
            meant = near(name, list(FIELDS))
            hint = (
                f"did you mean the field {meant}?" if meant else "the fields are in docs/filters.md"
            )
            yield f"No memory has {output.named(name)!r} in its metadata; {hint}"


def _keys(node: object) -> Iterator[str]:
    field = getattr(node, "field", None)
    if isinstance(field, MetadataKey):
        yield field.name
    for part in (*getattr(node, "parts", ()), getattr(node, "part", None)):
        if part is not None:
            yield from _keys(part)
