"""Another embedding model for a namespace, side by side with the one in use.

::

    begin ──▶ fill ──▶ compare ──▶ switch ──▶ drop
               │ ▲                   │ ▲
     killed ───┘ └─ any process      └─┴─ roll back: the same, the other way round

Each batch of vectors is a transaction of its own, so whoever calls `fill` again does what is left.
The switch is one write, and it is only made if no text lacks a vector at that moment.
"""

from collections.abc import Callable, Iterator, Sequence

from memory_mesh.base.typed import replace
from memory_mesh.formats import yamo
from memory_mesh.model import (
    Block,
    BlockError,
    Commit,
    Embedding,
    EmbeddingError,
    InvalidInput,
    Lens,
    Query,
    Scope,
    SkillQuery,
    SkillVector,
    Space,
    Standing,
    Status,
    StoreError,
    Wanted,
)
from memory_mesh.model.ports import Embedder
from memory_mesh.model.reembedding import (
    STATED,
    ComparedQuery,
    Comparison,
    ModelsInUse,
    NamedModel,
    ReembedState,
    dumped,
    loaded,
)
from memory_mesh.platform import telemetry
from memory_mesh.rules.trust import AUDIENCE
from memory_mesh.search.recall import PROBE, embedder_in_use, find, space_of, stated_in
from memory_mesh.write.access import Access
from memory_mesh.write.late_vectors import embed_all
from memory_mesh.write.prepare import embed_one

BATCH_CHARS = 10_000  # of the texts of one transaction: other writers wait no longer
DROPPED_AT_ONCE = 5_000  # vectors that one transaction deletes
SKILLS_AT_ONCE = 64
READ_RECORDS = 20  # records of searches that are read for each query that is asked for
ATTEMPTS = 50  # after which a switch gives up: others write faster than it embeds
_NONE_BESIDE = (
    "no other model is being made; begin by naming one: memory-mesh reembed start --model NAME, "
    "--model-dir FOLDER or --embedder NAME"
)
Between = Callable[[], None]
Progress = Callable[[int], None]


def begin(access: Access, new: NamedModel, own: Callable[[Space], NamedModel]) -> ModelsInUse:
    """States that vectors of a model are made beside those in use; the same again changes nothing.

    `own` names the model of this process, which is in use where nothing is stated yet.
    """
    stated = stated_in(access)
    if stated is None and access.embedder is None:
        raise InvalidInput(
            "this process searches by words only, so there is nothing to keep in use meanwhile. "
            "Set the model (MEMORY_MESH_EMBEDDER) and run: memory-mesh upkeep"
        )
    in_use = own(_own_space(access.embedder)) if stated is None and access.embedder else None
    made: list[ModelsInUse] = []
    if stated is not None and new.space in stated.dropped:
        _empty(access, new.space)  # what a drop that was interrupted has left

    def decide(standing: Standing) -> Commit:
        known = loaded(standing.states.get(STATED))
        made.append(_begun(known, in_use, new))
        return Commit() if made[-1] == known else Commit(states={STATED: dumped(made[-1])})

    access.ledger.commit(access.namespace, Wanted(states=(STATED,)), decide)
    return made[-1]


def _own_space(embedder: Embedder) -> Space:
    """The space of the model that searches use now; a fallback must not take its place."""
    found = embedder.embed([PROBE], query=True)
    if found.note is not None:
        raise EmbeddingError(f"the model in use does not answer: {found.note}")
    return found.space


def _begun(known: ModelsInUse | None, own: NamedModel | None, new: NamedModel) -> ModelsInUse:
    """The statement with a new model beside the one in use."""
    if known is None:
        assert own is not None  # noqa: S101  # `begin` asked
        known = ModelsInUse(own)
    if known.in_use.space == new.space:
        raise InvalidInput(f"searches use the model {new.space} already")
    if known.beside is None:
        return known.beginning(new)
    if known.beside.space != new.space:
        raise InvalidInput(
            f"the vectors of {known.beside.space} are kept beside those in use; take them away "
            "first: memory-mesh reembed drop"
        )
    return known


def fill(
    access: Access,
    embedder: Embedder,
    progress: Progress | None = None,
    between: Between | None = None,
) -> int:
    """Makes every vector that a space lacks, in small transactions; returns how many texts."""
    space = space_of(embedder)
    strict = replace(access, embedder=_OneSpace(embedder, space))
    others = any(
        state.space.name == space.name and state.vectors
        for state in access.ledger.stats(access.namespace).spaces
    )
    done = embed_all(strict, progress, between, chars=BATCH_CHARS, others=others)
    _embed_skills(access, embedder, space)
    return done


def keep_up(
    access: Access,
    progress: Progress | None = None,
    between: Between | None = None,
    waiting_first: Progress | None = None,
) -> int:
    """Makes the vectors that texts wait for: of the model in use, then of the one beside.

    `waiting_first` is called with the number of texts that wait for those of the model in use.
    """
    stated = stated_in(access)
    if stated is None:
        return embed_all(access, progress, between, waiting_first=waiting_first)
    in_use = embedder_in_use(access, stated)
    own = access if in_use is None else replace(access, embedder=in_use)
    done = embed_all(own, progress, between, waiting_first=waiting_first)
    beside = find_model(access, stated.beside)
    if beside is None or access.embedder is None:
        return done
    return done + fill(access, beside, progress, between)


def to_embed(access: Access) -> int:
    """How many vectors of texts `keep_up` would make now."""
    stated = stated_in(access)
    own = access.embedder if stated is None else embedder_in_use(access, stated) or access.embedder
    named = None if stated is None or access.embedder is None else stated.beside
    beside = find_model(access, named)
    spaces = {space_of(model) for model in (own, beside) if model is not None}
    with access.ledger.read(access.namespace) as snapshot:
        return sum(snapshot.pending(space, 0).count for space in spaces)


def find_model(access: Access, named: NamedModel | None) -> Embedder | None:
    """The embedder of a model, if this process can open it."""
    return None if named is None or access.models is None else access.models.find(named)


def beside(access: Access, stated: ModelsInUse | None) -> tuple[NamedModel, Embedder]:
    """The model beside the one in use; raises where there is none, or it cannot be opened here."""
    if stated is None or stated.beside is None:
        raise InvalidInput(_NONE_BESIDE)
    found = find_model(access, stated.beside)
    if found is None:
        raise InvalidInput(
            f"this process cannot open the model {stated.beside.space}; name it as for "
            "`memory-mesh reembed start`: --model NAME of an installed one, --embedder NAME, or "
            "--model-dir FOLDER"
        )
    return stated.beside, found


def swap(
    access: Access, *, back: bool, progress: Progress | None = None, between: Between | None = None
) -> int:
    """Lets searches use the model beside, or the former one again; returns how many were embedded.

    What it lacks is made first. The write happens only if no text waits inside its transaction.
    """
    stated, done = stated_in(access), 0
    _check_direction(stated, back=back)
    _, embedder = beside(access, stated)
    space = space_of(embedder)
    for _ in range(ATTEMPTS):
        done += fill(access, embedder, progress, between)
        if _swapped(access, space, back=back):
            if access.models is not None:
                access.models.use(access.namespace, embedder)
            telemetry.info("switch model", back=back, texts=done)
            return done
    raise StoreError(
        f"texts are written faster than {space.name} embeds them; run this again when fewer are"
    )


def _check_direction(stated: ModelsInUse | None, *, back: bool) -> None:
    if stated is None or stated.beside is None:
        raise InvalidInput(_NONE_BESIDE)
    if back and not stated.switched:
        raise InvalidInput("searches use the model from before already; there was no switch")
    if stated.switched and not back:
        raise InvalidInput(
            f"searches use {stated.in_use.space} already; to go back: memory-mesh reembed rollback"
        )


def _swapped(access: Access, space: Space, *, back: bool) -> bool:
    """Writes the switch; False where a text came in that has no vector yet."""
    done: list[bool] = []

    def decide(standing: Standing) -> Commit:
        known = loaded(standing.states.get(STATED))
        _check_direction(known, back=back)
        if known is None or known.beside is None or known.beside.space != space.name:
            raise InvalidInput("another process changed the models meanwhile; run this again")
        done.append(not standing.waiting)
        return Commit(states={STATED: dumped(known.swapped())}) if done[-1] else Commit()

    access.ledger.commit(access.namespace, Wanted(states=(STATED,), space=space), decide)
    return done[-1]


def drop(access: Access) -> str:
    """Deletes the vectors beside those in use, in slices; returns the name of their space.

    The statement comes first: from then on no process writes such vectors. A drop that was
    interrupted is finished by the next one.
    """
    gone: list[str] = []

    def decide(standing: Standing) -> Commit:
        known = loaded(standing.states.get(STATED))
        gone[:] = [] if known is None else known.dropped
        if known is None or (known.beside is None and not known.dropped):
            raise InvalidInput("only the vectors in use are kept; there is nothing to drop")
        if known.beside is None:
            return Commit()
        gone.append(known.beside.space)
        return Commit(states={STATED: dumped(known.without_beside())})

    access.ledger.commit(access.namespace, Wanted(states=(STATED,)), decide)
    for name in gone:
        _empty(access, name)
    return gone[-1]


def _empty(access: Access, name: str) -> None:
    """Deletes every vector of a space, a slice per transaction."""
    for state in access.ledger.stats(access.namespace).spaces:
        if state.space.name != name:
            continue
        index = access.index()
        if index is not None:
            index.drop(access.namespace, name)
        while next(access.ledger.vectors(access.namespace, state.space, 0), None) is not None:
            slice_ = Commit(dropped=(name, DROPPED_AT_ONCE))
            access.ledger.commit(access.namespace, Wanted(), lambda _, slice_=slice_: slice_)  # type: ignore[misc]


def state(access: Access, embedded: int = 0) -> ReembedState:
    """How far the namespace has come with another model."""
    stated = stated_in(access)
    spaces = {each.space.name: each for each in access.ledger.stats(access.namespace).spaces}
    with access.ledger.read(access.namespace) as snapshot:
        texts = snapshot.pending(_NOWHERE, 0).count
    if stated is None:
        return ReembedState(None, texts=texts)
    own = spaces.get(stated.in_use.space)
    other = None if stated.beside is None else spaces.get(stated.beside.space)
    waiting = 0 if stated.beside is None else texts
    return ReembedState(
        stated.in_use.space,
        None if stated.beside is None else stated.beside.space,
        switched=stated.switched,
        texts=texts,
        vectors=0 if other is None else other.vectors,
        waiting=waiting if other is None else other.pending,
        waiting_in_use=texts if own is None else own.pending,
        embedded=embedded,
        dropped=stated.dropped,
    )


_NOWHERE = Space("", "", "", 1, 1)  # no text has a vector in it, so all of them are counted


def compare(
    access: Access, lens: Lens, records: Sequence[Block], size: tuple[int, int]
) -> Comparison:
    """Asks the queries of these records in both spaces, and records nothing.

    `size`: how many distinct queries are asked, and how many hits of each are compared.
    """
    limit, depth = size
    stated = stated_in(access)
    named, other = beside(access, stated)
    assert stated is not None  # noqa: S101  # `beside` asked
    own = embedder_in_use(access, stated)
    if own is None:
        raise InvalidInput(f"this process cannot open the model in use, {stated.in_use.space}")
    asked = list(_recent(records, limit))
    with access.ledger.read(access.namespace) as snapshot:
        waiting = snapshot.pending(space_of(other), 0).count
    return Comparison(
        stated.in_use.space,
        named.space,
        depth,
        tuple(_compared(access, (own, other), each, (lens, depth)) for each in asked),
        waiting,
    )


def _recent(records: Sequence[Block], limit: int) -> Iterator[tuple[str, Sequence[str]]]:
    """The first distinct queries of some records, each with the memories it found."""
    seen: set[str] = set()
    for block in records:
        query = _query_of(block)
        if query and query not in seen and len(seen) < limit:
            seen.add(query)
            yield query, block.entry.memories


def _query_of(block: Block) -> str | None:
    """The query of a record of a search; None for another record, or one that cannot be read."""
    entry = block.entry
    if entry.wire is None or entry.metadata.get("use") != "search":
        return None
    try:
        return dict(yamo.parse(entry.wire).context).get("query")
    except BlockError:
        return None


def _compared(
    access: Access,
    embedders: tuple[Embedder, Embedder],
    asked: tuple[str, Sequence[str]],
    how: tuple[Lens, int],
) -> ComparedQuery:
    """One query in both spaces: how many hits agree, and where helpful memories stand."""
    (query, recorded), (lens, depth) = asked, how
    answers = []
    for embedder in embedders:
        one = replace(access, embedder=embedder, yamo=False, stays=True)
        answers.append([hit.id for hit in find(one, Query(query, lens, depth), use_cache=False)[1]])
    with access.ledger.read(access.namespace) as snapshot:
        known = snapshot.get(list(dict.fromkeys([*recorded, *answers[0], *answers[1]])), lens)
    helped = [memory.id for memory in known if memory.helpful > memory.harmful]
    own, other = (
        [answer.index(id_) + 1 if id_ in answer else 0 for id_ in helped] for answer in answers
    )
    same = len({*answers[0]} & {*answers[1]})
    return ComparedQuery(query, same, max(map(len, answers)), tuple(own), tuple(other))


def _embed_skills(access: Access, embedder: Embedder, space: Space) -> None:
    """Makes the vectors that active skills lack in a space."""
    everyone = frozenset(AUDIENCE)
    asked = SkillQuery(
        Scope(), SKILLS_AT_ONCE, statuses=frozenset(Status), waiting=space, across=everyone
    )
    while True:
        with access.ledger.read(access.namespace) as snapshot:
            waiting = snapshot.skills(asked)
        late = tuple(
            SkillVector(each.skill.id, *found)
            for each in waiting
            if (found := embed_one(embedder, each.skill.intent)) is not None
        )
        if not late:
            return
        access.ledger.commit(
            access.namespace,
            Wanted(),
            lambda _, late=late: Commit(skill_vectors=late),  # type: ignore[misc]
        )
        if len(late) < len(waiting):  # those that the model does not take stay first in line
            return


class _OneSpace:
    """An embedder that answers in one space only: no fallback may take its place midway."""

    def __init__(self, embedder: Embedder, space: Space) -> None:
        self._embedder, self._space = embedder, space

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """The embedder's vectors, if they are of the space."""
        found = self._embedder.embed(texts, query=query)
        if found.space != self._space:
            reason = found.note or f"{found.space.name} answered"
            raise EmbeddingError(f"the model {self._space.name} does not answer: {reason}")
        return found

    def close(self) -> None:
        """Leave the embedder open: its store owns it."""
