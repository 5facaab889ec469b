"""Erase: memories go for good, and everything that we made of them.

::

    what goes with them ──▶ needles kept beside the database ──▶ noted in the erasure file
        ──▶ one transaction: rows gone, blocks emptied, words kept out      hidden
        ──▶ files beside it, mirrors, sessions, index ──▶ database written anew
        ──▶ every byte of it searched ──▶ needles overwritten ──▶ a block says so      done

A kill at any point leaves an erasure that the next call goes on with. What was to be found is kept
in `<name>.erasing-<id>` until the search found none of it; a reader that holds an earlier moment of
the file keeps the database's log from being emptied, and so an erasure from being done.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from memory_mesh.base.fastdataclass import dataclass, replace
from memory_mesh.base.typed import Any
from memory_mesh.care import backups, namespaces
from memory_mesh.care.sqlite import copies, rewriting
from memory_mesh.ledgers.shared.named_values import ERASED, ERASED_COUNT, ERASING
from memory_mesh.ledgers.shared.rows import micros
from memory_mesh.ledgers.sqlite import vector_file
from memory_mesh.model import BlockOperation, Commit, Entry, Json, Standing, Wanted
from memory_mesh.model.care import Erasure, ErasureState
from memory_mesh.model.commit import Erasing, Sought
from memory_mesh.model.errors import NotFound, shown
from memory_mesh.platform.durable_files import sync_folder
from memory_mesh.platform.private_files import make_file
from memory_mesh.rules import audience
from memory_mesh.rules.byte_pieces import BytePieces
from memory_mesh.rules.users import shown_namespace, user_namespace
from memory_mesh.write.access import Access, unused_id
from memory_mesh.write.rejected_values import erased_values

NEEDLES = ".erasing-"
_LEFT = (
    "backups, archives and exports of before: a restore or import into this store leaves it out",
    "copies that others made of the folder, such as clones, snapshots and standbys",
    "blocks of the disk that the file system has freed and not overwritten",
)
_LEFT_ON_SERVER = (
    "free space in pages, until it is rewritten: VACUUM FULL locks all whose memories are there",
    "what ANALYZE noted of values, until the next one",
    "the server's log, until it is recycled, and archives of it",
    "standbys, dumps, and exports that were made before",
)
_VACUUM = (
    "{} tables of the database hold deleted rows until their owner runs VACUUM, which locks nobody "
    "out; then run `memory-mesh upkeep`"
)
_KEPT_COPIES = (".bak", ".jsonl", ".partial")
_BLOCKS = 100  # about a memory that are looked at for an erasure of before


@dataclass(frozen=True, slots=True)
class Ground:
    """Where an erasure happens: who writes, and in which folder; a database has none."""

    access: Access
    store: Path | None

    @property
    def database(self) -> Path:
        """The file of the namespace."""
        assert self.store is not None  # noqa: S101  # asked for a folder alone
        return copies.place(self.store, self.access.namespace)


def plan(ground: Ground, sought: Sought) -> Erasure:
    """Returns what an erasure would take; nothing is changed."""
    with ground.access.ledger.read(ground.access.namespace) as snapshot:
        gone = _gone(ground.access, sought, snapshot.standing(_wanted(sought)))
    return _receipt(ground, "", ErasureState.PLANNED, gone)


def erase(ground: Ground, sought: Sought, reason: str) -> Erasure:
    """Hides memories at once and erases them; the receipt says whether it is done."""
    access, made = ground.access, list[str]()
    if found := _earlier(ground, sought):
        return found
    access.ledger.flush(access.namespace)  # records of reads wait for a write

    def decide(standing: Standing) -> Commit:
        gone = _gone(access, sought, standing)
        id_ = unused_id(access, "erase", standing)
        made.append(id_)
        assert standing.texts_of is not None  # noqa: S101  # every ledger gives it
        texts = standing.texts_of(gone.ids)
        digests = _digests(access, texts)
        if ground.store is not None:
            _keep_needles(ground, id_, standing, gone)
            identity = copies.standing(ground.database).identity
            backups.record_memories(ground.store, identity, gone.ids, digests)
        pending: dict[str, Json] = {**_said(gone), "at": standing.at.isoformat()}
        count = int(standing.states.get(ERASED_COUNT, "0")) + len(gone.ids)
        return Commit(
            erased=gone,
            tombstones=tuple((digest, "erased") for digest in digests),
            entries=(
                _entry(access, standing, gone, {"erasure": id_, "why": reason, **_said(gone)}),
            ),
            states={
                f"{ERASING}{id_}": json.dumps(pending),
                ERASED_COUNT: str(count),
                ERASED: str(micros(standing.at)),
            },
        )

    access.ledger.commit(access.namespace, _wanted(sought), decide)
    return next(each for each in finish(ground) if each.id == made[-1])


def erase_user(ground: Ground, address: str, user: str, *, dry_run: bool) -> Erasure:
    """Erases all of a user: the namespace goes, and its chain with it, so that no block says so."""
    name = user_namespace(user)
    nothing = Erasing(counts={"memory": ground.access.ledger.stats(name).memories})
    on = replace(ground, access=replace(ground.access, namespace=name))
    if dry_run:
        return _receipt(on, "", ErasureState.PLANNED, nothing)
    gone = namespaces.delete_namespace(address, user=user)
    state = ErasureState.HIDDEN if ground.store is None else ErasureState.DONE
    told = _receipt(on, "", state, Erasing(counts={"memory": gone.memories or 0}))
    return replace(told, left=(*gone.left, *told.left))


def unforget(ground: Ground, text: str) -> bool:
    """Lets erased words be stored again; False if they were not kept out."""
    access = ground.access
    digests = [
        digest
        for value in erased_values(text)
        for digest in (access.seal.under_each(value) if access.seal is not None else ())
    ]
    let_in: list[bool] = []

    def decide(standing: Standing) -> Commit:
        known = standing.tombstoned
        let_in.append(known is not None and any(map(known, digests)))
        if not let_in[-1]:
            return Commit()
        if ground.store is not None:
            identity = copies.standing(ground.database).identity
            backups.record_memories(ground.store, identity, (), digests, back=True)
        said = _entry(access, standing, Erasing(), {"type": "unforget"})
        return Commit(forgiven=tuple(digests), entries=(said,))

    access.ledger.commit(access.namespace, Wanted(), decide)
    return let_in[-1]


def finish(ground: Ground) -> list[Erasure]:
    """Goes on with every erasure that is hidden and not done; returns their receipts."""
    waiting = _pending(ground)
    if not waiting or ground.store is None:
        return [_finished_on_server(ground, id_, said) for id_, said in waiting.items()]
    pieces = BytePieces([needle for id_ in waiting for needle in _needles(ground, id_)])
    ids = frozenset(name for said in waiting.values() for name in _names(said))
    left = _clear_files(ground, ids, pieces)
    waits = [*filter(None, [rewriting.rewrite(ground.database, ground.access.namespace)])]
    searched, found = 0, list[str]()
    if not waits:
        searched, found = _search(ground, pieces)
        waits += (f"{path} still holds some of it" for path in found)
    return [
        _ended(ground, id_, said, searched, left)
        if not waits
        else replace(_told(ground, id_, said), waits=tuple(waits), left=(*left, *_LEFT))
        for id_, said in waiting.items()
    ]


# What is erased, and its records.


def _wanted(sought: Sought) -> Wanted:
    return Wanted(ids=sought.ids, states=(ERASED_COUNT,))


def _gone(access: Access, sought: Sought, standing: Standing) -> Erasing:
    """What goes; raises NotFound for an id that there is not, and where nothing is found."""
    for id_ in sought.ids:
        memory = standing.memories.get(id_)
        if memory is None or not audience.sees(access.reader, memory.scope):
            raise NotFound.of(id_)
    assert standing.erasing is not None  # noqa: S101  # every ledger gives it
    gone = standing.erasing(sought)
    if not gone.asked:
        what = "of the source" if sought.source is not None else "about"
        named = shown(sought.source or sought.subject or "")
        raise NotFound(
            f"nothing was erased: there is no memory {what} {named} in the namespace "
            f"{shown_namespace(access.namespace)}. Look for ids with `memory-mesh list` or "
            "`memory-mesh search`, then: memory-mesh erase ID"
        )
    return gone


def _digests(access: Access, texts: Iterable[str]) -> list[bytes]:
    seal = access.seal
    if seal is None:
        return []
    return [seal(value) for text in dict.fromkeys(texts) for value in erased_values(text)]


def _said(gone: Erasing) -> dict[str, Json]:
    return {
        "asked": list(gone.asked),
        "same": list(gone.same),
        "derived": list(gone.derived),
        "skills": list(gone.skills),
        "counts": dict(gone.counts),
    }


def _names(said: dict[str, Any]) -> tuple[str, ...]:
    return tuple(id_ for name in ("asked", "same", "derived", "skills") for id_ in said[name])


def _entry(access: Access, standing: Standing, gone: Erasing, metadata: dict[str, Json]) -> Entry:
    return Entry(
        id=unused_id(access, f"yamo_{BlockOperation.ERASE}", standing),
        operation=BlockOperation.ERASE,
        agent=access.agent,
        at=standing.at,
        memories=(*gone.ids, *gone.skills),
        wire=None,
        metadata={"type": "erase", "state": ErasureState.HIDDEN.value, **metadata},
    )


def _receipt(ground: Ground, id_: str, state: ErasureState, gone: Erasing) -> Erasure:
    return Erasure(
        id_,
        state,
        shown_namespace(ground.access.namespace),
        gone.asked,
        gone.same,
        gone.derived,
        gone.skills,
        gone.counts,
        left=_LEFT if ground.store is not None else _LEFT_ON_SERVER,
    )


def _told(ground: Ground, id_: str, said: dict[str, Any]) -> Erasure:
    return _receipt(ground, id_, ErasureState.HIDDEN, _erasing(said))


def _erasing(said: dict[str, Any]) -> Erasing:
    parts = (tuple(said[name]) for name in ("asked", "same", "derived", "skills"))
    return Erasing(*parts, counts=said["counts"])


def _pending(ground: Ground) -> dict[str, dict[str, Any]]:
    with ground.access.ledger.read(ground.access.namespace) as snapshot:
        found = snapshot.states(ERASING)
    return {name.removeprefix(ERASING): json.loads(value) for name, value in found.items()}


def _earlier(ground: Ground, sought: Sought) -> Erasure | None:
    """The receipt of an erasure that took just these memories before; it is gone on with."""
    if not sought.ids:
        return None
    with ground.access.ledger.read(ground.access.namespace) as snapshot:
        if snapshot.standing(Wanted(ids=sought.ids)).memories:
            return None
        blocks = snapshot.blocks_about(min(sought.ids), _BLOCKS)
    said = [
        block for block in blocks if block.entry.operation is BlockOperation.ERASE
        and set(sought.ids) <= set(block.entry.memories)
    ]  # fmt: skip
    if not said:
        return None
    last = said[-1].entry.metadata
    for each in finish(ground):
        if each.id == last["erasure"]:
            return each
    with ground.access.ledger.read(ground.access.namespace) as snapshot:
        block = snapshot.blocks_about(min(sought.ids), _BLOCKS)[-1]
    plain: dict[str, Any] = dict(block.entry.metadata)
    return replace(
        _receipt(ground, plain["erasure"], ErasureState(plain["state"]), _erasing(plain)),
        searched=plain.get("searched", 0),
        left=tuple(plain.get("left", ())),
        block_id=block.entry.id,
    )


def _ended(
    ground: Ground, id_: str, said: dict[str, Any], searched: int, left: Sequence[str]
) -> Erasure:
    """Overwrites the needles, then says that it is done."""
    access, name, gone = ground.access, f"{ERASING}{id_}", _erasing(said)
    told = replace(_told(ground, id_, said), left=(*left, *_LEFT), searched=searched)
    if "searched" in said:  # an earlier run found nothing, and was killed before it said so
        told = replace(told, searched=said["searched"], left=tuple(said["left"]))
    else:
        found = {**said, "searched": searched, "left": list(told.left)}
        states = {name: json.dumps(found)}
        access.ledger.commit(access.namespace, Wanted(), lambda _: Commit(states=states))
    _drop_needles(_needles_path(ground, id_))
    return _recorded(ground, told, gone)


def _recorded(ground: Ground, told: Erasure, gone: Erasing) -> Erasure:
    """Writes the block that says that an erasure is done, once."""
    access, name, blocks = ground.access, f"{ERASING}{told.id}", list[str]()

    def decide(standing: Standing) -> Commit:
        if name not in standing.states:  # another process was first
            return Commit()
        entry = _entry(
            access,
            standing,
            gone,
            {
                "state": ErasureState.DONE.value,
                "erasure": told.id,
                "searched": told.searched,
                "left": list(told.left),
                **_said(gone),
            },
        )
        blocks.append(entry.id)
        return Commit(entries=(entry,), states={name: None})

    access.ledger.commit(access.namespace, Wanted(states=(name,)), decide)
    return replace(told, state=ErasureState.DONE, block_id=blocks[-1] if blocks else None)


def _finished_on_server(ground: Ground, id_: str, said: dict[str, Any]) -> Erasure:
    access, told = ground.access, _told(ground, id_, said)
    since, tables = access.ledger.unswept(access.namespace, said.get("since"))
    if tables:
        states = {f"{ERASING}{id_}": json.dumps({**said, "since": since})}
        if since != said.get("since"):
            access.ledger.commit(access.namespace, Wanted(), lambda _: Commit(states=states))
        return replace(told, waits=(_VACUUM.format(tables),))
    return _recorded(ground, told, _erasing(said))


# Needles: what must not be found any more, beside the database until it is not.


def _needles_path(ground: Ground, id_: str) -> Path:
    return ground.database.with_suffix(f"{NEEDLES}{id_}")


def _keep_needles(ground: Ground, id_: str, standing: Standing, gone: Erasing) -> None:
    """Writes down what must not be found; removes what killed erasures left without a record.

    Inside the transaction, and so under the lock: nobody else begins an erasure now.
    """
    assert standing.remains is not None  # noqa: S101  # every ledger gives it
    known = {f"{ground.database.stem}{NEEDLES}{each}" for each in _pending(ground)}
    for path in ground.database.parent.glob(f"{ground.database.stem}{NEEDLES}erase_*"):
        if path.name not in known:
            _drop_needles(path)
    path = _needles_path(ground, id_)
    make_file(path)
    with path.open("wb") as file:  # in place: a draft of a killed process would keep them
        file.write(json.dumps([needle.hex() for needle in standing.remains(gone)]).encode())
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def _needles(ground: Ground, id_: str) -> list[bytes]:
    """What must not be found; nothing once it was searched for."""
    try:
        plain = json.loads(_needles_path(ground, id_).read_bytes())
    except FileNotFoundError:
        return []
    return [bytes.fromhex(needle) for needle in plain]


def _drop_needles(path: Path) -> None:
    """Overwrites a file and removes it."""
    with suppress(FileNotFoundError):
        with path.open("r+b", buffering=0) as file:
            file.write(bytes(path.stat().st_size))
            os.fsync(file.fileno())
        path.unlink()
        sync_folder(path.parent)


# Files beside the database, and the search through all of them.


def _clear_files(ground: Ground, ids: frozenset[str], pieces: BytePieces) -> list[str]:
    """Removes what other files hold of the erased memories; returns what is out of reach."""
    store, database = ground.store, ground.database
    assert store is not None  # noqa: S101  # asked for a folder alone
    naming = list(namespaces.naming(store, ids))
    states = [path for path in naming if path.suffix == ".sqlite"]
    left = list(namespaces.erased_in_mirrors(states, ids))
    for state in states:
        copies.forget_mirrored(state, ids)
    gone = [path for path in naming if path.suffix == ".jsonl"]
    named = [id_.encode() for id_ in ids]
    kept = copies.namespace_files(database.parent, ground.access.namespace)
    beside = [path for path in kept if path.suffix in _KEPT_COPIES]
    copies.remove([*gone, *(path for path in beside if _holds(path, named, pieces))])
    vector_file.remove(database)
    _drop_index(ground, store)
    return left


def _drop_index(ground: Ground, store: Path) -> None:
    """Removes the index with all its versions; upkeep makes it anew from what is left."""
    ledger, namespace = ground.access.ledger, ground.access.namespace
    for state in ledger.stats(namespace).spaces:
        if state.body is not None:
            ledger.absorbed(namespace, state.space, state.body, None)
    namespaces.drop_index(store, namespace)


def _holds(path: Path, named: Sequence[bytes], pieces: BytePieces) -> bool:
    data = path.read_bytes()
    return any(name in data for name in named) or bool(pieces.hits(data))


def _search(ground: Ground, pieces: BytePieces) -> tuple[int, list[str]]:
    """Searches every byte that we own of the namespace: how many, and the files that hold some.

    What a memory that stays says too may stand where it does.
    """
    store, searched, found = ground.store, 0, list[str]()
    assert store is not None  # noqa: S101  # asked for a folder alone
    for path in _owned(ground, store):
        hits, size = rewriting.hits_in(path, pieces)
        searched += size
        if hits and rewriting.unsaid(ground.database, hits):
            found.append(str(path))
    return searched, found


def _owned(ground: Ground, store: Path) -> Iterator[Path]:
    """The files of a namespace, and those of the store that are of no namespace."""
    database = ground.database
    for path in copies.namespace_files(database.parent, ground.access.namespace):
        if NEEDLES not in path.name and not path.name.endswith("-shm"):
            yield path
    for path in sorted(store.rglob("*")):
        inside = path.relative_to(store).parts[0]
        ours = inside != "index" or namespaces.is_index_of(path, store, ground.access.namespace)
        if ours and inside != "namespaces" and path.is_file() and not path.is_symlink():
            yield path
    for folder in namespaces.mirrored_folders(store):
        yield from namespaces.written_by_mirrors(folder)
