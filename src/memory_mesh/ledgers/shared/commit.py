"""Writing one Commit inside an open transaction: every table it touches, in one file."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from memory_mesh.base.typed import Any, TypeAlias, replace
from memory_mesh.ledgers.shared import (
    conflicts,
    metadata_marks,
    named_values,
    named_values as states,
    rows,
    sums,
    vectors,
    visibility,
)
from memory_mesh.ledgers.shared.engine import LIVE, REST, Database, StatementResult, engine_of
from memory_mesh.model import (
    Commit,
    Entry,
    Head,
    Memory,
    Observation,
    Outcome,
    Put,
    Scope,
    Seen,
    Space,
    Standing,
    Status,
    TextVectors,
    Wanted,
    Wording,
)
from memory_mesh.model.commit import Erasing
from memory_mesh.platform import telemetry
from memory_mesh.rules import audit
from memory_mesh.rules.arguments import MAX_PROPOSALS

Row: TypeAlias = tuple[object, ...]
_VERSION_COLUMNS = rows.VERSION.count(",") + 1
_NUMBERS = (
    "SELECT (SELECT max(number) FROM memory), (SELECT max(number) FROM text), "
    "(SELECT max(number) FROM version)"
)
_INSERTS = {
    "memory": (
        f"INSERT INTO memory (number, id, created, status, crc, {sums.TALLIED}, tally) "  # noqa: S608
        f"VALUES ({rows.marks(17)})"
    ),
    "text": "INSERT INTO text (number, memory, content, hash, terms, echo, crc) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)",
    "version": (
        f"INSERT INTO version ({rows.VERSION}, audience, crc) "  # noqa: S608  # own names
        f"VALUES ({rows.marks(_VERSION_COLUMNS + 2)})"
    ),
}  # in the order in which they are written: a row names only rows of tables before its own

SET_BACK = timedelta(minutes=1)  # a clock that goes back this far was corrected, not wrong
_TICK = timedelta(microseconds=1)
_TWINS = 64  # of one text and audience that are compared: they differ in when they hold
_DRAWN = ("mem", "yamo_retain")  # kinds of ids that most writes draw
_TABLES = {"yamo": "block", "skill": "skill", "prop": "proposal"}  # of ids; "memory" of others
_ORIGINS = (
    "(SELECT count(DISTINCT origin) FROM observation WHERE observation.memory = memory.number)"
)
_FROM_MORE = sums.CounterChange({"origins": _ORIGINS}, f"id = ? AND origins < {_ORIGINS}")
USED = sums.CounterChange(
    {"uses": "uses + 1", "last_used": "max(coalesce(last_used, 0), ?1)"}, "id = ?2"
)
_BLOCKS = f"INSERT INTO block ({rows.BLOCK}) VALUES ({rows.marks(rows.BLOCK.count(',') + 1)})"  # noqa: S608
_RECALL = "INSERT INTO recall (id, agent, at, memories, wire, metadata) VALUES (?, ?, ?, ?, ?, ?)"


def decided(
    db: Database,
    head: Head,
    wanted: Wanted,
    decide: Callable[[Standing], Commit],
    now: datetime,
) -> Commit:
    """Reads what stands, lets `decide` decide, and writes it."""
    at = recorded_time(head, now)
    taken = _Taken(db)
    made = decide(standing(db, wanted, at, taken))
    if not _changes(made):
        return made
    from memory_mesh.text.analyzer import ANALYZER  # few reads need it

    if head.analyzer != ANALYZER:
        from memory_mesh.ledgers.shared import terms

        terms.adopt(db, head)
    return write(db, head, at, made, taken)


def standing(db: Database, wanted: Wanted, at: datetime, taken: "_Taken | None" = None) -> Standing:
    """What the ledger holds that bears on a write, read inside its transaction."""
    taken = taken or _Taken(db)
    engine_of(db).expect(
        db,
        partial(_twins, db, wanted.twins),
        *(partial(_seen, db, key) for key in wanted.keys),
        *(partial(_current, db, id_) for id_ in wanted.ids),
        *(partial(_lessons, db, *key) for key in wanted.patterns),
        partial(conflicts.standing, db, wanted),
        partial(conflicts.tombstoned, db),
        *(partial(taken.is_new, f"{kind}__") for kind in _DRAWN),
    )
    return Standing(
        at=at,
        twins=_twins(db, wanted.twins),
        keys={key: seen for key in wanted.keys if (seen := _seen(db, key)) is not None},
        memories={id_: found for id_ in wanted.ids if (found := _current(db, id_)) is not None},
        taken=taken,
        history=lambda id_: rows.history(db, id_),
        lessons={key: known for key in wanted.patterns if (known := _lessons(db, *key))},
        **(_skills(db, wanted) if wanted.skills or wanted.skill_names else {}),
        **(
            conflicts.standing(db, wanted)
            if wanted.claims or wanted.echoes or wanted.conflicts
            else {}
        ),
        proposals=conflicts.by_id(db, wanted.proposals),
        states=named_values.by_name(db, wanted.states) if wanted.states else {},
        waiting=0
        if wanted.space is None
        else vectors.pending(db, vectors.stored(db, wanted.space), 0).count,
        tombstoned=conflicts.tombstoned(db),
        claimed=lambda more: standing(db, more, at),
        proposed=lambda id_: conflicts.of_memory(db, id_, MAX_PROPOSALS),
        guessed=lambda ids: conflicts.guesses(db, ids, conflicts.MAX_GUESSES),
        erasing=lambda sought: _erasing().found(db, sought),
        remains=lambda gone: _erasing().remains(db, gone),
    )


def _skills(db: Database, wanted: Wanted) -> dict[str, Any]:
    from memory_mesh.ledgers.shared import skills

    return skills.standing(db, wanted)


def _erasing() -> Any:  # noqa: ANN401  # the module, which few writes need
    from memory_mesh.ledgers.shared import erasing

    return erasing


def _erase(db: Database, commit: Commit, gone: Erasing) -> Commit:
    """Takes rows away, and what quotes them; the first block says which others were emptied."""
    emptied = _erasing().sweep(db, _erasing().remove(db, gone))
    if not emptied:
        return commit
    first, *rest = commit.entries
    first = replace(first, metadata={**first.metadata, "blocks": emptied})
    return replace(commit, entries=(first, *rest))


def recorded_time(head: Head, now: datetime) -> datetime:
    """The clock's time, or just after the last commit's where the clock was set back a little.

    A last commit that is further ahead was made by a wrong clock, or this one is: the clock is
    believed, so that one wrong time fixes no later one. `seq` orders commits, not time.
    """
    return now if head.recorded_at - now > SET_BACK else max(now, head.recorded_at + _TICK)


def _in_order(db: Database, commit: Commit, at: datetime, known: Mapping[str, int]) -> Commit:
    """The commit with each new version after the one it closes, also where that lies ahead."""
    begun = {id_: _begun(db, number) for id_, number in known.items()}
    moved = {id_: latest + _TICK for id_, latest in begun.items() if latest >= at}
    if not moved:
        return commit
    after = commit.after
    return replace(
        commit,
        puts=tuple(replace(put, memory=_from(put.memory, moved)) for put in commit.puts),
        after=None if after is None else _from(after, moved),
        proposals=tuple(
            replace(asked, decided_at=moved[asked.memory])
            if asked.memory in moved and asked.decided_at == at
            else asked
            for asked in commit.proposals
        ),
    )


def _known(db: Database, puts: Sequence[Put]) -> dict[str, int]:
    """The numbers of those memories that are there already; most are new."""
    ids = [put.memory.id for put in puts]
    if len(ids) == 1:  # a list costs as much as three statements
        return dict(db.execute("SELECT id, number FROM memory WHERE id = ?", ids).fetchall())
    found = "SELECT id, number FROM memory WHERE id IN (SELECT value FROM json_each(?))"
    return dict(db.execute(found, (rows.dumped(ids),)).fetchall()) if ids else {}


def _begun(db: Database, number: int) -> datetime:
    """When the newest version of a memory begins."""
    (begun,) = db.execute(
        "SELECT max(recorded_from) FROM version WHERE memory = ?", (number,)
    ).fetchone()
    return rows.since_epoch(begun)


def _from(memory: Memory, moved: Mapping[str, datetime]) -> Memory:
    return replace(memory, recorded_from=moved.get(memory.id, memory.recorded_from))


def look(db: Database, scopes: Iterable[Scope], spaces: Iterable[Space]) -> None:
    """Looks up where new rows go: their numbers, and those of their audiences and spaces."""
    engine_of(db).expect(
        db,
        partial(NewRows, db, 0),
        partial(vectors.last_text, db),
        *(partial(visibility.Audiences(db).number, scope) for scope in scopes),
        *(partial(vectors.place, db, space) for space in spaces),
    )


def write(
    db: Database, head: Head, at: datetime, commit: Commit, taken: "_Taken | None" = None
) -> Commit:
    """Writes everything the commit changes, under the next seq; returns it with its times."""
    seq, audiences = head.seq + 1, visibility.Audiences(db)
    look(db, {put.memory.scope for put in commit.puts}, spaces_of(commit))
    taken = taken or _Taken(db)
    known = _known(db, [put for put in commit.puts if not taken.is_new(put.memory.id)])
    commit = _in_order(db, commit, at, known)
    before = vectors.last_text(db) if spaces_of(commit) else 0
    numbers = _put_all(db, commit.puts, (seq, audiences), known)
    audiences.write()
    _observe(db, commit.observations, at, numbers, known)
    visibility.record(db, commit, rows.micros(at) or 0)
    if commit.links or commit.unlinked or commit.relinked:
        from memory_mesh.ledgers.shared import neighbours  # few writes have any

        neighbours.write(db, commit, seq, at)
    vectors.add(db, commit.vectors, seq)
    vectors.keep_count(db, before, commit)
    if commit.dropped is not None:
        vectors.drop(db, *commit.dropped)
    if commit.skills or commit.skill_vectors:
        from memory_mesh.ledgers.shared import skills  # few writes have any

        skills.write(db, commit, seq)
    if commit.terms is not None:
        from memory_mesh.ledgers.shared import terms

        terms.rewrite(db, commit.terms)
    conflicts.write(db, commit, seq, at)
    if commit.proposals:
        conflicts.write_proposals(db, commit, seq)
    if commit.states:
        states.write(db, commit)
    if commit.erased is not None:
        commit = _erase(db, commit, commit.erased)
    position, hashed = chain(db, head, seq, commit.entries)
    db.execute(
        "UPDATE store SET seq = ?, recorded = ?, position = ?, head = ?",
        (seq, rows.micros(at), position, hashed),
    )
    engine_of(db).grow(db)
    return commit


def spaces_of(commit: Commit) -> set[Space]:
    """The spaces of the vectors that come with texts."""
    worded = (put.wording for put in commit.puts)
    return {each.space for each in worded if each is not None and each.space is not None}


def record_recalls(db: Database, entries: Iterable[Entry]) -> None:
    """Recall blocks: recorded, not chained. A taken id is drawn anew."""
    given = list(entries)
    taken = taken_recalls(db, [entry.id for entry in given])
    for entry in given:
        id_ = entry.id
        while id_ in taken:
            id_ = f"{id_[:-6]}{os.urandom(3).hex()}"
            taken |= taken_recalls(db, [id_])
        values = (
            entry.agent,
            rows.millis(entry.at),
            rows.dumped(entry.memories),
            entry.wire,
            audit.metadata_text(entry.metadata),
        )
        db.execute(_RECALL, (id_, *values))
        taken.add(id_)
        engine_of(db).grow(db)


def taken_recalls(db: Database, ids: Sequence[str]) -> set[str]:
    """Those of the ids that a recall block has."""
    if not ids:
        return set()
    found = db.execute(
        "SELECT id FROM recall WHERE id IN (SELECT value FROM json_each(?))", (rows.dumped(ids),)
    )
    return {id_ for (id_,) in found}


def prune_recalls(db: Database, before: datetime, limit: int) -> tuple[StatementResult, ...]:
    """Delete the oldest recall blocks and injections from before a moment, at most `limit` each."""
    injections = db.execute(
        "DELETE FROM injection WHERE number IN "
        "(SELECT number FROM injection WHERE at < ? ORDER BY at LIMIT ?)",
        (rows.micros(before), limit),
    )
    recalls = db.execute(
        "DELETE FROM recall WHERE number IN "
        "(SELECT number FROM recall WHERE at < ? ORDER BY at LIMIT ?)",
        (rows.millis(before), limit),
    )
    return injections, recalls


def _put_all(
    db: Database,
    puts: Sequence[Put],
    under: tuple[int, visibility.Audiences],
    known: Mapping[str, int],
) -> dict[str, int]:
    """New versions, and their memories' numbers; earlier versions are closed, never changed."""
    if not puts:
        return {}
    seq, audiences = under
    new, numbers = NewRows(db, seq), dict[str, int]()
    marking: list[tuple[int, Memory, set[int]]] = []
    for put in puts:
        audience, marked = audiences.number(put.memory.scope), set[int]()
        live = put.memory.status is Status.ACTIVE
        if put.memory.id in known:
            new.write()  # in the order of the puts
            number, text, before, said = _close(db, put, audiences)
            marked = metadata_marks.stored(*said)
            if before != audience and put.wording is None:
                vectors.redraw(db, text)
        else:
            number, text = new.begin(put.memory), 0
        numbers[put.memory.id] = number
        audiences.count(audience, int(live))
        if put.wording is not None:
            text = new.word(number, put.wording, live=live)
        new.open(put, number, text, audience)
        marking.append((number, put.memory, marked))
    new.write()
    metadata_marks.write(db, marking)
    return numbers


def _close(
    db: Database, put: Put, audiences: visibility.Audiences
) -> tuple[int, int, int, Sequence[str]]:
    """End a memory's open version; its number, and the text, audience, metadata and tags it had."""
    memory = put.memory
    number, today, version, text, was, audience, *said = db.execute(
        "SELECT m.number, m.status, v.number, v.text, v.status, v.audience, v.extra, v.tags "
        "FROM memory m JOIN version v ON v.memory = m.number AND v.recorded_until IS NULL "
        "WHERE m.id = ?",
        (memory.id,),
    ).fetchone()
    ended = rows.micros(memory.recorded_from)
    with sums.renewed(db, "version", version):
        db.execute("UPDATE version SET recorded_until = ? WHERE number = ?", (ended, version))
    if today != memory.status:
        with sums.renewed(db, "memory", number):
            db.execute("UPDATE memory SET status = ? WHERE number = ?", (memory.status, number))
    _settle(
        db, text, was=was == Status.ACTIVE, live=not put.wording and memory.status is Status.ACTIVE
    )
    audiences.count(audience, -int(was == Status.ACTIVE))
    return number, text, audience, said


def _settle(db: Database, text: int, *, was: bool, live: bool) -> None:
    """Terms of an earlier text move when a default read can no longer, or can again, return it."""
    if was == live:
        return
    source, target = (REST, LIVE) if live else (LIVE, REST)
    (terms,) = db.execute("SELECT terms FROM text WHERE number = ?", (text,)).fetchone()
    engine = engine_of(db)
    engine.unshelve(db, source, text, (terms,))
    engine.shelve(db, target, [(text, (terms,))])


def _observe(
    db: Database,
    observations: Sequence[Observation],
    at: datetime,
    numbers: Mapping[str, int],
    known: Mapping[str, int],
) -> None:
    """Observations of memories that this commit put, or that were there."""
    when, seen_rows = rows.micros(at), list[tuple[object, ...]]()
    for seen in observations:
        number = numbers.get(seen.memory) or _number(db, seen.memory)
        reasons = rows.dumped(seen.reasons)
        values = (number, when, seen.hash, seen.outcome.value, seen.origin, seen.key, reasons)
        seen_rows.append((*values, sums.of(*values)))
    db.executemany(
        "INSERT INTO observation (memory, at, hash, outcome, origin, key, reasons, crc) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        seen_rows,
    )
    new = numbers.keys() - known.keys()
    again = [(seen.memory,) for seen in observations if seen.memory not in new]
    if again:
        _FROM_MORE.run(db, again)


def _number(db: Database, memory_id: str) -> int:
    number: int = db.execute("SELECT number FROM memory WHERE id = ?", (memory_id,)).fetchone()[0]
    return number


def chain(db: Database, head: Head, seq: int, entries: Sequence[Entry]) -> tuple[int, bytes]:
    """Seal the entries one after another; the new end of the chain."""
    position, hashed = head.position, head.hash
    salts, sealed = os.urandom(audit.SALT * len(entries)), list[tuple[object, ...]]()
    for number, entry in enumerate(entries):
        salt = salts[number * audit.SALT : (number + 1) * audit.SALT]
        about, made = rows.dumped(entry.memories), rows.millis(entry.at)
        said, before, position = audit.metadata_text(entry.metadata), hashed, position + 1
        digest = audit.digest(entry.wire, said, salt)
        hashed = audit.block_hash(entry, position, seq, digest, before)
        wire, metadata = rows.packed(entry.wire, about, made), rows.packed(said, about, made)
        sealed.append(
            (position, entry.id, seq, entry.operation.value, entry.agent, made, about, wire, salt,
             0, metadata, digest, before, hashed)
        )  # fmt: skip  # as in rows.BLOCK
    db.executemany(_BLOCKS, sealed)
    return position, hashed


def _twins(
    db: Database, twins: Sequence[tuple[bytes, Scope]]
) -> dict[tuple[bytes, Scope], tuple[Memory, ...]]:
    """Memories in use or quarantine with the same text for the same audience, oldest first."""
    if not twins:
        return {}
    hashes = [hashed for hashed, _ in twins]
    known = db.execute(
        f"SELECT hash FROM text WHERE substr(hash, 1, 3) IN ({rows.marks(len(hashes))})",  # noqa: S608
        [hashed[: rows.KEY_BYTES] for hashed in hashes],
    )
    seen = {hashed for (hashed,) in known}  # most texts are new: one look for all of them
    stored = [twin for twin in twins if twin[0] in seen]
    engine_of(db).expect(db, *(partial(_same, db, *twin) for twin in stored))
    return {twin: same for twin in stored if (same := _same(db, *twin))}


def _same(db: Database, hashed: bytes, scope: Scope) -> tuple[Memory, ...]:
    return tuple(
        rows.memory(row)
        for each in conflicts.same_audience(db, scope)
        for row in db.execute(
            f"SELECT {rows.MEMORY} FROM {rows.JOINED} WHERE substr(t.hash, 1, 3) = ? "  # noqa: S608
            "AND t.hash = ? AND v.project IS ? AND v.agent IS ? AND v.session IS ? "
            "AND v.recorded_until IS NULL AND v.status IN ('active', 'quarantined') "
            "ORDER BY v.number LIMIT ?",
            (hashed[: rows.KEY_BYTES], hashed, *each.parts, _TWINS),
        )
    )


def _lessons(db: Database, pattern: str, scope: Scope) -> tuple[Memory, ...]:
    """Lessons of a pattern for the same audience that are active or wait for review."""
    return tuple(
        rows.memory(row)
        for each in conflicts.same_audience(db, scope)
        for row in db.execute(
            f"SELECT {rows.MEMORY} FROM {rows.JOINED} WHERE v.pattern = ? AND v.project IS ? "  # noqa: S608
            "AND v.agent IS ? AND v.session IS ? AND v.recorded_until IS NULL "
            "AND v.status IN ('active', 'quarantined') ORDER BY v.number",
            (pattern, *each.parts),
        )
    )


def _seen(db: Database, key: str) -> Seen | None:
    row = db.execute(
        "SELECT o.hash, o.outcome, m.id FROM observation o JOIN memory m ON m.number = o.memory "
        "WHERE o.key = ?",
        (key,),
    ).fetchone()
    if row is None:
        return None
    memory = _current(db, row[2])
    return Seen(row[0], Outcome(row[1]), memory) if memory is not None else None


def _current(db: Database, id_: str) -> Memory | None:
    row = db.execute(
        f"SELECT {rows.MEMORY} FROM {rows.JOINED} WHERE m.id = ? AND v.recorded_until IS NULL",  # noqa: S608
        (id_,),
    ).fetchone()
    return None if row is None else rows.memory(row)


class _Taken:
    """Says which ids are in use, before a transaction writes any.

    An id begins with its kind and the time, so that a new one is above all others of its kind: the
    highest of them is read once for all new ids of a load.
    """

    def __init__(self, db: Database) -> None:
        self._db, self._highest = db, dict[str, str]()

    def is_new(self, id_: str) -> bool:
        """Whether an id is above all others of its kind."""
        kind, *rest = id_.rsplit("_", 2)
        highest = self._highest.get(kind) if rest else id_
        if highest is None:
            bounds = (f"{kind}_", f"{kind}`")  # the sign after "_"
            found = self._first(id_, "max(id)", "id >= ? AND id < ?", *bounds)
            highest = self._highest[kind] = found or ""
        return id_ > highest

    def __call__(self, id_: str) -> bool:
        return not self.is_new(id_) and self._first(id_, "id", "id = ?", id_) is not None

    def _first(self, id_: str, column: str, condition: str, *values: str) -> str | None:
        table = _TABLES.get(id_.partition("_")[0], "memory")
        found = self._db.execute(f"SELECT {column} FROM {table} WHERE {condition}", values)  # noqa: S608  # own names
        row: tuple[str | None] | None = found.fetchone()
        return None if row is None else row[0]


# The rows of new memories: gathered, numbered as SQLite would number them, written table by table.
#
# ::
#
#     puts, in order ──▶ memory | text | live or rest | version      one statement per table
#                        before a version of an earlier memory, what was gathered is written
#
# So the rows of a load of hundreds are those of as many single writes, in the same order.


class NewRows:
    """New rows of one transaction, not yet written."""

    def __init__(self, db: Database, seq: int) -> None:
        self._db, self._seq = db, seq
        self._rows: dict[str, list[Row]] = {table: [] for table in _INSERTS}
        self._terms: dict[str, list[tuple[int, Sequence[str]]]] = {LIVE: [], REST: []}
        self._vectors: list[TextVectors] = []
        self.memory, self.text, self.version = (
            number or 0 for number in db.execute(_NUMBERS).fetchone()
        )  # the highest numbers, those of gathered rows among them

    def begin(self, memory: Memory) -> int:
        """A new memory; returns its number."""
        self.memory += 1
        created, status = rows.micros(memory.created), memory.status.value
        counted = (
            memory.uses, rows.micros(memory.last_used), memory.origins, *rows.vote_values(memory),
        )  # fmt: skip  # as in sums.COUNTERS
        self._rows["memory"].append(
            (
                self.memory,
                memory.id,
                created,
                status,
                sums.of(memory.id, created, status),
                *counted,
                sums.of(*counted),
            )
        )
        return self.memory

    def word(self, memory: int, wording: Wording, *, live: bool) -> int:
        """A new text with its terms in the keyword table they belong to; returns its number."""
        self.text += 1
        values = (memory, wording.text, wording.hash, wording.terms, wording.echo or None)
        self._rows["text"].append((self.text, *values, sums.of(*values)))
        self._terms[LIVE if live else REST].append((self.text, (wording.terms,)))
        if wording.space is not None:
            made = TextVectors(self.text, wording.space, wording.vectors, wording.spans)
            self._vectors.append(made)
        return self.text

    def open(self, put: Put, memory: int, text: int, audience: int) -> None:
        """A memory's new version."""
        self.version += 1
        values = rows.version_values(put.memory, memory, text, self._seq)
        checked = (*values[1:], rows.dumped(put.reasons))
        self._rows["version"].append((self.version, *checked, audience, sums.of(*checked)))

    def write(self) -> None:
        """Writes what was gathered."""
        for table, gathered in self._rows.items():
            if gathered:
                self._db.executemany(_INSERTS[table], gathered)
                gathered.clear()
        for shelf, terms in self._terms.items():
            if terms:
                engine_of(self._db).shelve(self._db, shelf, terms)
                terms.clear()
        vectors.add(self._db, self._vectors, self._seq)
        self._vectors.clear()


def tell(commit: Commit, start: float) -> None:
    """Logs one write: what it changed, and how long it took, waiting included."""
    changed = [put.memory.id for put in commit.puts] + [put.skill.id for put in commit.skills]
    telemetry.info(
        "write",
        outcomes=",".join(receipt.outcome for receipt in commit.receipts) or "none",
        changed=",".join(changed) or "none",
        blocks=len(commit.entries),
        vectors=len(commit.vectors) + len(commit.skill_vectors),
        terms=0 if commit.terms is None else len(commit.terms.fields),
        ms=telemetry.milliseconds(start),
    )
    if commit.counted:
        telemetry.info("vote", ids=",".join(memory.id for memory in commit.counted))


def _changes(commit: Commit) -> bool:
    """Whether a commit has anything to write: receipts and the answer are for its caller."""
    return commit != Commit(receipts=commit.receipts, after=commit.after)
