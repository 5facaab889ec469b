"""Which model answers a search, where the namespace states it (model/reembedding.py).

::

    the process's own model made the vector of the question
      │ the namespace states another model as in use
      ├─ this process can open that model ──▶ the question is asked in its space
      └─ it cannot ──▶ a note says so, and
                         own vectors are kept beside ──▶ the search goes on by them
                         own vectors were dropped ─────▶ the search goes on by words
"""

from memory_mesh.base.fastdataclass import replace
from memory_mesh.model import Query, Space
from memory_mesh.model.errors import EmbeddingError
from memory_mesh.model.ports import Embedder
from memory_mesh.model.reembedding import STATED, ModelsInUse, loaded
from memory_mesh.platform import telemetry
from memory_mesh.write.access import Access
from memory_mesh.write.prepare import PreparedQuery, embed_question

PROBE = "which space is this"


def stated_in(access: Access) -> ModelsInUse | None:
    """What the namespace states about its models."""
    with access.ledger.read(access.namespace) as snapshot:
        return loaded(snapshot.states(STATED).get(STATED))


def differs(access: Access, prepared: PreparedQuery, value: str | None) -> bool:
    """Whether the namespace states another model than the one that embedded the question.

    A fallback that answers for a service that is down says so itself.
    """
    if value is None or prepared.space is None or prepared.note is not None or access.stays:
        return False
    stated = loaded(value)
    return stated is not None and stated.in_use.space != prepared.space.name


def turn(
    access: Access, query: Query, prepared: PreparedQuery, value: str | None
) -> tuple[Access, PreparedQuery]:
    """The access and the question in the space in use; else as they were, with a note."""
    stated, own = loaded(value), prepared.space
    if stated is None or own is None:
        return access, prepared
    embedder = embedder_in_use(access, stated)
    if embedder is not None:
        turned = replace(access, embedder=embedder)
        asked = embed_question(turned, query, prepared.reading)
        if asked.space is not None and asked.space.name == stated.in_use.space:
            return turned, asked
    note = other_model(stated, own)
    telemetry.warn_once("model in use", note)
    if own.name in stated.dropped:
        return access, PreparedQuery(note=note, reading=prepared.reading)
    return access, replace(prepared, note=note)


def embedder_in_use(access: Access, stated: ModelsInUse) -> Embedder | None:
    """The model that the namespace states as in use, for this and all later calls; None if away."""
    found = None if access.models is None else access.models.find(stated.in_use)
    if found is not None and access.models is not None:
        access.models.use(access.namespace, found)
    return found


def space_of(embedder: Embedder) -> Space:
    """The space of an embedder's vectors."""
    return embedder.embed([PROBE], query=True).space


def away(access: Access) -> str | None:
    """Why this process does not search by the model in use; None if it does, or none is stated."""
    stated = stated_in(access)
    if stated is None or access.embedder is None:
        return None
    if embedder_in_use(access, stated) is not None:
        return None
    try:
        own = space_of(access.embedder)
    except EmbeddingError:  # the check of the embedder tells of it
        return None
    return other_model(stated, own)


def other_model(stated: ModelsInUse, own: Space) -> str:
    """The note for a process that cannot open the model in use."""
    rest = "words" if own.name in stated.dropped else f"words and by the vectors of {own.name}"
    return (
        f"searches of this namespace use the model {stated.in_use.space}, and this process has "
        f"{own.name}: it searches by {rest}. Set the embedder and its model to the one in use "
        "(memory-mesh reembed status), or roll back (memory-mesh reembed rollback)"
    )
