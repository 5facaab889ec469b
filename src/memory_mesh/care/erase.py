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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from memory_mesh.base.typed import Any, dataclass, fields, replace
from memory_mesh.care import backups, moves
from memory_mesh.care.sqlite import copies, pages
from memory_mesh.learn.jobs.worksite import NEW, TRACE
from memory_mesh.ledgers.shared.erasing import GRAM, BytePieces
from memory_mesh.ledgers.shared.named_values import ERASED, ERASED_COUNT, ERASING
from memory_mesh.ledgers.shared.rows import micros
from memory_mesh.ledgers.sqlite import namespace_places, vector_file
from memory_mesh.model import Block, BlockOperation, Commit, Entry, Kind, Standing, Status, Wanted
from memory_mesh.model.care import Erasure, ErasureState
from memory_mesh.model.commit import Erasing, Sought
from memory_mesh.model.errors import NotFound, shown
from memory_mesh.model.times import EXPIRES
from memory_mesh.platform.durable_files import sync_folder
from memory_mesh.platform.store_urls import is_server
from memory_mesh.platform.system import make_file
from memory_mesh.rules import trust
from memory_mesh.rules.arguments import shown_namespace, user_namespace
from memory_mesh.write.access import Access, Seal, unused_id
from memory_mesh.write.audit_entries import Change, decided, turned
from memory_mesh.write.rejected_values import erased_value

NEEDLES = ".erasing-"
TAKEN_FROM = "erased.from/"  # begins the names of what lets in again what came from a source
_LEFT = (
    "backups, archives and exports of before: a restore or import into this store leaves it out",
    "copies that others made of the folder, such as clones, snapshots and standbys",
    "blocks of the disk that the file system has freed and not overwritten",
)
_LEFT_ON_SERVER = (
    "free space in pages, until it is rewritten: VACUUM FULL locks all whose memories are there",
    "what ANALYZE noted of values, until the next one",
    "the server's log, until it is recycled, and archives of it",
    "standbys, dumps, exports, files of mirrors and of agents' sessions",
    "archives of when it was cold, until upkeep removes them from object storage",
)
_VACUUM = (
    "{} tables of the database hold deleted rows until their owner runs VACUUM, which locks nobody "
    "out; then run `memory-mesh upkeep`"
)
_KEPT_COPIES = (".bak", ".jsonl", ".partial")
_FOLDERS = 32  # above a source, by whose names it is let in again too
_BLOCKS = 100  # about a memory that are looked at for an erasure of before
_DATABASES = (".db", ".sqlite")
_PART, _OVERLAP = 1 << 20, 4 * GRAM  # bytes that are searched at once, and those that follow


@dataclass(frozen=True, slots=True)
class Ground:
    """Where an erasure happens: who writes, and the folder or address of the store."""

    access: Access
    address: str

    @property
    def store(self) -> Path | None:
        """The folder; a database has none."""
        return None if is_server(self.address) else Path(self.address)

    @property
    def database(self) -> Path:
        """The file of the namespace."""
        return copies.place(self.store or Path(), self.access.namespace)


def plan(ground: Ground, sought: Sought) -> Erasure:
    """Returns what an erasure would take; nothing is changed."""
    with ground.access.ledger.read(ground.access.namespace) as snapshot:
        gone = _gone(ground.access, sought, snapshot.standing(Wanted(ids=sought.ids)))
    return _receipt(ground, "", _said(gone), ErasureState.PLANNED)


def erase(ground: Ground, sought: Sought, reason: str) -> Erasure:
    """Hides memories at once and erases them; the receipt says whether it is done."""
    access, made, told = ground.access, list[str](), _said(Erasing())
    if found := _earlier(ground, sought):
        return found
    access.ledger.flush(access.namespace)  # records of reads wait for a write

    def decide(standing: Standing) -> Commit:
        gone = _gone(access, sought, standing)
        if not gone.asked:
            return Commit()
        made.append(unused_id(access, "erase", standing))
        texts = dict.fromkeys(memory.text for id_ in gone.ids for memory in standing.history(id_))
        seal = access.seal if sought.ended is None else None  # what expired may be said again
        digests = [] if seal is None else [seal(erased_value(text)) for text in texts]
        if ground.store is not None:
            _keep_needles(ground, made[-1], standing.remains(gone))
            identity = copies.standing(ground.database).identity
            names = (*gone.ids, *gone.skills)
            backups.record_memories(ground.store, identity, names, digests)
        told.update(_said(gone))
        said = {"erasure": made[-1], "why": reason, **told}
        back, marks = _to_derive_again(access, standing, gone)
        return Commit(
            puts=back.puts,
            erased=gone,
            tombstones=tuple((digest, "erased") for digest in digests),
            entries=(*back.entries, _entry(access, standing, gone, said)),
            states={
                **marks,
                **_taken_from(seal, sought, gone, standing, made[-1]),
                f"{ERASING}{made[-1]}": json.dumps(_said(gone)),
                ERASED_COUNT: str(int(standing.states.get(ERASED_COUNT, "0")) + len(gone.ids)),
                ERASED: str(micros(standing.at)),
            },
        )

    wanted = Wanted(ids=sought.ids, states=(ERASED_COUNT,))
    access.ledger.commit(access.namespace, wanted, decide)
    done = (each for each in (finish(ground) if made else ()) if each.id == made[-1])
    ended = _receipt(ground, "".join(made[-1:]), told, ErasureState.DONE)  # by another process
    return next(done, ended)


def erase_user(ground: Ground, user: str, *, dry_run: bool) -> Erasure:
    """Erases all of a user: the namespace goes, and its chain with it, so that no block says so."""
    name = user_namespace(user)
    on = replace(ground, access=replace(ground.access, namespace=name))
    if on.store is None and not dry_run:  # one that is cold is not brought back for it
        gone = moves.delete_namespace(on.address, user=user)
        counts = {"memory": gone.memories or 0} | ({"archive": gone.files} if gone.files else {})
        said = {**_said(Erasing(counts=counts)), "left": gone.left}
        return _receipt(on, "", said, ErasureState.HIDDEN)
    stats = ground.access.ledger.stats(name)
    said = _said(Erasing(counts={"memory": stats.memories}))
    if dry_run or on.store is None:
        if not stats.seq:
            raise NotFound(
                f"there is no user {shown(user)}. List those there are: memory-mesh namespaces"
            )
        return _receipt(on, "", said, ErasureState.PLANNED)
    ids = tuple(copies.last_look(on.database).ids) if on.database.exists() else ()
    with on.access.ledger.read(name) as snapshot:
        needles = snapshot.standing(Wanted()).remains(Erasing(ids, skills=ids))
    left = moves.delete_namespace(on.address, user=user).left
    said["searched"], found = _search(on, on.store, BytePieces(needles))
    said["left"] = [*left, *(f"{path} holds words that were this user's, too" for path in found)]
    return _receipt(on, "", said, ErasureState.DONE)


def unforget(ground: Ground, text: str) -> bool:
    """Lets erased words be stored again; False if they were not kept out."""
    seal = ground.access.seal
    return _let_in(ground, () if seal is None else seal.under_each(erased_value(text)), {})


def unforget_source(ground: Ground, source: str) -> bool:
    """Lets in again what was erased of a source; False if it was let in before.

    Of a folder it is all below it, by whatever name it was erased.
    """
    access = ground.access
    if access.seal is None:
        return False
    taken, digests = dict[str, str](), access.seal.under_each(TAKEN_FROM + source)
    with access.ledger.read(access.namespace) as snapshot:
        for digest in digests:
            taken |= snapshot.states(f"{TAKEN_FROM}{digest.hex()}/")
    if not taken:
        raise NotFound(
            f"nothing was erased from the source {shown(source)} in the namespace "
            f"{shown_namespace(access.namespace)}. Words that were erased elsewhere are let in "
            "with: memory-mesh erase --unforget TEXT"
        )
    words = {digest for value in taken.values() for digest in json.loads(value)}
    done = dict.fromkeys(taken, "[]")  # a later call still knows that something was erased
    return _let_in(ground, [bytes.fromhex(digest) for digest in sorted(words)], done)


def _let_in(ground: Ground, digests: Sequence[bytes], done: Mapping[str, str]) -> bool:
    access, let_in = ground.access, list[bool]()

    def decide(standing: Standing) -> Commit:
        known = standing.tombstoned
        let_in.append(known is not None and any(map(known, digests)))
        if not let_in[-1]:
            return Commit()
        if ground.store is not None:
            identity = copies.standing(ground.database).identity
            backups.record_memories(ground.store, identity, (), digests, back=True)
        said = _entry(access, standing, Erasing(), {"type": "unforget"})
        return Commit(forgiven=tuple(digests), entries=(said,), states=done)

    access.ledger.commit(access.namespace, Wanted(), decide)
    return let_in[-1]


def finish(ground: Ground) -> list[Erasure]:
    """Goes on with every erasure that is hidden and not done; returns their receipts."""
    with ground.access.ledger.read(ground.access.namespace) as snapshot:
        found = snapshot.states(ERASING)
    waiting = {name.removeprefix(ERASING): json.loads(value) for name, value in found.items()}
    waits = _unfinished(ground, waiting) if waiting else []
    return [
        _receipt(ground, id_, said, ErasureState.HIDDEN, waits)
        if waits
        else _recorded(ground, id_, said)
        for id_, said in waiting.items()
    ]


def _unfinished(ground: Ground, waiting: dict[str, dict[str, Any]]) -> list[str]:
    """Takes away what is left of these erasures; returns what keeps them from being done."""
    if ground.store is None:
        return _unswept(ground, waiting)
    pieces = BytePieces([needle for id_ in waiting for needle in _needles(ground, id_)])
    gone = [_of(said) for said in waiting.values()]
    names = frozenset(name for each in gone for name in (*each.ids, *each.skills))
    if left := _clear_files(ground, ground.store, names, pieces):
        _note(ground, waiting, "left", left)
    copies.forget_mirrored(_mirrors(ground.store, names), names)
    if why := copies.rewrite(ground.database, ground.access.namespace):
        return [why]
    searched, found = _search(ground, ground.store, pieces)
    if found:
        return [f"{path} still holds some of it" for path in found]
    _note(
        ground,
        {id_: said for id_, said in waiting.items() if "searched" not in said},
        "searched",
        searched,
    )
    for id_ in waiting:
        _drop_needles(_needles_path(ground, id_))
    return []


def _unswept(ground: Ground, waiting: dict[str, dict[str, Any]]) -> list[str]:
    """What a database still holds, until its owner runs a vacuum."""
    tables = 0
    for id_, said in waiting.items():
        since, tables = ground.access.ledger.unswept(ground.access.namespace, said.get("since"))
        if since != said.get("since"):
            _note(ground, {id_: said}, "since", since)
    return [_VACUUM.format(tables)] if tables else []


def _note(ground: Ground, waiting: dict[str, dict[str, Any]], name: str, value: object) -> None:
    """Keeps what is known of erasures, for the run that ends them."""
    for said in waiting.values():
        said[name] = value
    states = {f"{ERASING}{id_}": json.dumps(said) for id_, said in waiting.items()}
    if states:
        ground.access.ledger.commit(
            ground.access.namespace, Wanted(), lambda _: Commit(states=states)
        )


def _recorded(ground: Ground, id_: str, said: dict[str, Any]) -> Erasure:
    """Writes the block that says that an erasure is done, once."""
    name, blocks = f"{ERASING}{id_}", list[str]()
    told = _receipt(ground, id_, said, ErasureState.DONE)

    def decide(standing: Standing) -> Commit:
        if name not in standing.states:  # another process was first
            return Commit()
        known = {**said, "left": list(told.left), "erasure": id_, "state": told.state.value}
        entry = _entry(ground.access, standing, _of(said), known)
        blocks.append(entry.id)
        return Commit(entries=(entry,), states={name: None})

    ground.access.ledger.commit(ground.access.namespace, Wanted(states=(name,)), decide)
    return replace(told, block_id=blocks[-1] if blocks else None)


# What is erased, and its records.


def _gone(access: Access, sought: Sought, standing: Standing) -> Erasing:
    """What goes; raises NotFound for an id that there is not, and where nothing is found.

    Of what expired goes what is still past its moment, whoever sees it.
    """
    if sought.ended is not None:
        ends = {id_: each.extra.get(EXPIRES) for id_, each in standing.memories.items()}
        past = (id_ for id_, end in ends.items() if isinstance(end, str) and end <= sought.ended)
        return standing.erasing(replace(sought, ids=tuple(past)))
    for id_ in sought.ids:
        memory = standing.memories.get(id_)
        if memory is None or not trust.sees(access.reader, memory.scope):
            raise NotFound.of(id_)
    gone = standing.erasing(sought)
    if not gone.asked:
        what = "of the source" if sought.source is not None else "about"
        raise NotFound(
            f"nothing was erased: there is no memory {what} "
            f"{shown(sought.source or sought.subject or '')} in the namespace "
            f"{shown_namespace(access.namespace)}. Look for ids with `memory-mesh list` or "
            "`memory-mesh search`, then: memory-mesh erase ID"
        )
    return gone


def _to_derive_again(
    access: Access, standing: Standing, gone: Erasing
) -> tuple[Commit, dict[str, str | None]]:
    """What lets jobs derive from what is left: traces are new, originals of digests are back."""
    with access.ledger.read(access.namespace) as snapshot:
        marks, names = snapshot.states(TRACE), frozenset(gone.ids)
        links = snapshot.links(gone.derived, None, ["derived_from"]) if gone.derived else []
    there = Wanted(ids=tuple({id_ for link in links for id_ in (link.source, link.target)}))
    known = standing.claimed(there).memories if standing.claimed and links else {}
    left = {
        link.target: known[link.target]
        for link in links
        if link.source in gone.derived and link.target not in names
        if known[link.source].kind is Kind.DIGEST and known[link.target].status is Status.ARCHIVED
    }
    why = Change("restore", "what said it in fewer words was erased with another of its sources")
    back = [(turned(each, Status.ACTIVE, standing), why) for each in left.values()]
    return decided(access, standing, back), {
        name: None if name.removeprefix(TRACE) in names else NEW
        for name, learning in marks.items()
        if not names.isdisjoint((learning, name.removeprefix(TRACE)))
    }


def _taken_from(
    seal: Seal | None, sought: Sought, gone: Erasing, standing: Standing, erasure: str
) -> dict[str, str | None]:
    """What `unforget_source` goes by: digests of words, under those of where they came from.

    What says the same or was made of them goes with the name that was erased, or with every source
    of what was asked for.
    """
    if seal is None:
        return {}
    versions = {id_: standing.history(id_) for id_ in gone.ids}
    own = {
        id_: {name for each in of for name in _names(each.source.ref)}
        for id_, of in versions.items()
    }
    named, asked = set(_names(sought.source)), frozenset(gone.asked)
    beside = named or {name for id_ in asked for name in own[id_]}
    taken: dict[str, dict[str, None]] = {}
    for id_ in gone.ids:
        words = dict.fromkeys(seal(erased_value(each.text)).hex() for each in versions[id_])
        for name in own[id_] | (named if id_ in asked else beside):
            taken.setdefault(name, {}).update(words)
    return {
        f"{TAKEN_FROM}{seal(TAKEN_FROM + name).hex()}/{erasure}": json.dumps([*words])
        for name, words in taken.items()
    }


def _names(source: str | None) -> list[str]:
    """A source, and the folders above it, the nearest first."""
    ends = [end for end, at in enumerate(source or "") if at == "/" and end]
    folders = [(source or "")[:end] for end in ends[: -_FOLDERS - 1 : -1]]
    return [source, *folders] if source else []


def _said(gone: Erasing) -> dict[str, Any]:
    return {field.name: getattr(gone, field.name) for field in fields(Erasing)}


def _of(said: dict[str, Any]) -> Erasing:
    asked, same, derived, skills, counts = (said[field.name] for field in fields(Erasing))
    return Erasing(tuple(asked), tuple(same), tuple(derived), tuple(skills), counts)


def _entry(access: Access, standing: Standing, gone: Erasing, metadata: dict[str, Any]) -> Entry:
    return Entry(
        id=unused_id(access, f"yamo_{BlockOperation.ERASE}", standing),
        operation=BlockOperation.ERASE,
        agent=access.agent,
        at=standing.at,
        memories=(*gone.ids, *gone.skills),
        wire=None,
        metadata={"type": "erase", "state": ErasureState.HIDDEN.value, **metadata},
    )


def _receipt(
    ground: Ground,
    id_: str,
    said: dict[str, Any],
    state: ErasureState,
    waits: Sequence[str] = (),
) -> Erasure:
    gone, always = _of(said), _LEFT_ON_SERVER if ground.store is None else _LEFT
    return Erasure(
        id_,
        state,
        shown_namespace(ground.access.namespace),
        gone.asked,
        gone.same,
        gone.derived,
        gone.skills,
        gone.counts,
        said.get("searched", 0),
        tuple(waits),
        tuple(dict.fromkeys((*said.get("left", ()), *always))),
    )


def _earlier(ground: Ground, sought: Sought) -> Erasure | None:
    """The receipt of an erasure that took just these memories before; it is gone on with."""
    if not sought.ids or not (erasure := _last_erasure(ground, sought)):
        return None
    hidden = {each.id: each for each in finish(ground)}
    block = _last_erasure(ground, sought) or erasure
    said: dict[str, Any] = dict(block.entry.metadata)
    told = _receipt(ground, said["erasure"], said, ErasureState(said["state"]))
    return hidden.get(told.id, replace(told, block_id=block.entry.id))


def _last_erasure(ground: Ground, sought: Sought) -> Block | None:
    """The last block that says that these memories, which are gone, were erased."""
    with ground.access.ledger.read(ground.access.namespace) as snapshot:
        if snapshot.standing(Wanted(ids=sought.ids)).memories:
            return None
        blocks = snapshot.blocks_about(min(sought.ids), _BLOCKS)
    of = [block for block in blocks if "erasure" in block.entry.metadata]
    return of[-1] if of and set(sought.ids) <= set(of[-1].entry.memories) else None


# Needles: what must not be found any more, beside the database until it is not.


def _needles_path(ground: Ground, id_: str) -> Path:
    return ground.database.with_suffix(f"{NEEDLES}{id_}")


def _keep_needles(ground: Ground, id_: str, needles: Sequence[bytes]) -> None:
    """Writes down what must not be found; removes what killed erasures left without a record.

    Inside the transaction, and so under the lock: nobody else begins an erasure now.
    """
    with ground.access.ledger.read(ground.access.namespace) as snapshot:
        known = {name.removeprefix(ERASING) for name in snapshot.states(ERASING)}
    for path in ground.database.parent.glob(f"{ground.database.stem}{NEEDLES}*"):
        if path.name.rpartition("-")[2] not in known:
            _drop_needles(path)
    path = _needles_path(ground, id_)
    make_file(path)
    with path.open("wb") as file:  # in place: a draft of a killed process would keep them
        file.write(json.dumps([needle.hex() for needle in needles]).encode())
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
    """Overwrites a file and removes it; a link or a pipe in its place is not ours to write to."""
    with suppress(FileNotFoundError):
        if namespace_places.no_file(path) is None:
            with path.open("r+b", buffering=0) as file:
                file.write(bytes(path.stat().st_size))
                os.fsync(file.fileno())
        path.unlink()
        sync_folder(path.parent)


# Files beside the database, and the search through all of them.


def _clear_files(
    ground: Ground, store: Path, names: frozenset[str], pieces: BytePieces
) -> list[str]:
    """Removes what other files hold of the erased memories; returns what is out of reach."""
    left = list(moves.erased_in_mirrors(_mirrors(store, names), names))
    ledger, namespace, database = ground.access.ledger, ground.access.namespace, ground.database
    gone = [path for path in moves.naming(store, names) if path.suffix == ".jsonl"]
    cases = moves.cases(store, namespace)
    beside = [cases] if cases.is_file() else []
    for path in (*copies.namespace_files(database.parent, namespace), *beside):
        kept = path.suffix in _KEPT_COPIES or path == cases
        data = path.read_bytes() if kept else b""
        if pieces.hits(data) or any(name.encode() in data for name in names):
            gone.append(path)
    copies.remove(gone)
    vector_file.remove(database)
    for state in ledger.stats(namespace).spaces:
        if state.body is not None:  # upkeep makes the index anew from what is left
            ledger.absorbed(namespace, state.space, state.body, None)
    moves.drop_index(store, namespace)
    return left


def _mirrors(store: Path, names: frozenset[str]) -> list[Path]:
    """The states of mirrors that name the erased memories."""
    return [path for path in moves.naming(store, names) if path.suffix == ".sqlite"]


def _search(ground: Ground, store: Path, pieces: BytePieces) -> tuple[int, list[str]]:
    """Searches every byte that we own of the namespace: how many, and the files that hold some.

    What a memory that stays says too may stand where it does.
    """
    searched, found = 0, list[str]()
    for path in _owned(ground, store):
        hits, size = _hits_in(path, pieces)
        searched += size
        if hits and copies.unsaid(ground.database, hits):
            found.append(str(path))
    return searched, found


def _owned(ground: Ground, store: Path) -> Iterator[Path]:
    """The files of a namespace, and those of the store that are of no namespace."""
    database = ground.database
    for path in copies.namespace_files(database.parent, ground.access.namespace):
        if NEEDLES not in path.name and not path.name.endswith("-shm"):
            yield path
    for path in sorted(store.rglob("*")):  # the index was removed, with all its versions
        apart = path.relative_to(store).parts[0] in {"namespaces", "index"}
        if not apart and path.is_file() and not path.is_symlink():
            yield path
    for folder in moves.mirrored_folders(store):
        yield from moves.written_by_mirrors(folder)


def _hits_in(path: Path, pieces: BytePieces) -> tuple[set[bytes], int]:
    """The pieces that stand in a file, and how large it is.

    A database stays open: closing it would drop every lock that SQLite has on it in this process.
    """
    found, size = set[bytes](), 0
    with suppress(FileNotFoundError):
        parts = pages.parts(path, _PART, _OVERLAP) if path.suffix in _DATABASES else ()
        for part in parts or [path.read_bytes()]:
            found, size = found | pieces.hits(part), size + len(part)
    return found, size
