"""Runs attacks as the application's role, and counts what was seen or changed of others.

Each transaction enters the attacker's namespace as a process of ours does. Some attacks enter
nothing; some replay what `enter` set in earlier transactions of their own and of other
namespaces. Meanwhile somebody is inside another namespace, with a transaction open.
"""

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Self

import psycopg
from psycopg import sql

from memory_mesh.ledgers.postgres.setup import opening_key
from memory_mesh.ledgers.postgres.transactions import Transactions
from tests.faults.postgres_attacks import Attack, Attacker
from tests.faults.postgres_tenants import (
    DIGITS,
    MARK,
    OTHERS,
    OWN,
    World,
    lawful_tag,
)
from tests.faults.report import Progress, Report, Ticker, silent
from tests.postgres import SECRET

_SETUP = (
    "SET LOCAL ROLE memory_mesh_app; SET LOCAL search_path = memory_mesh, public, pg_temp; "
    "SET LOCAL lock_timeout = 10"  # some attacks wait for whoever is busy meanwhile
)
_SEEN, _CHANGED = "foreign rows seen", "foreign rows changed"
_ROUND = 250  # attacks on one connection, and between two looks at the others' rows
_NOUGHT = (0, None, False, "", b"")


def attacked(
    world: World,
    *,
    attacks: int,
    seed: int,
    way: str = "",
    families: Iterable[str] = (),
    progress: Progress = silent,
) -> Report:
    """So many attacks on a world; `way` is the URL that attackers use, else the usual one."""
    report = Report({"statements": 0, "refused": 0, "own rows seen": 0, _SEEN: 0, _CHANGED: 0})
    attacker, ticker, done = Attacker(world, seed, families), Ticker(progress, attacks), 0
    before = world.digests()
    with _busy(world):
        while done < attacks:
            with _Line(world, way or world.url, seed + done, report) as line:
                for _ in range(min(_ROUND, attacks - done)):
                    line.run(attacker.attack())
                    done += 1
            after = world.digests()
            for table in sorted(table for table in before if before[table] != after[table]):
                report.broken(_CHANGED, f"{table} within attacks up to {done}")
            before = after
            ticker.tick(done)
    report.count("attacks", attacks)
    return report


class _Line:
    """A connection of the application's role, used for many transactions."""

    def __init__(self, world: World, url: str, seed: int, report: Report) -> None:
        self._world, self._report, self._dice = world, report, random.Random(seed)
        self._told: list[str] = []
        self._keys = Transactions("", opening_key(SECRET), 1.0)
        self._raw = psycopg.connect(url, autocommit=True, prepare_threshold=None)
        self._raw.add_notice_handler(lambda notice: self._told.append(str(notice.message_primary)))

    def __enter__(self) -> Self:
        """Learns the tags that lawful transactions had on this connection before."""
        names = (OWN, *OTHERS)
        self._world.tags[:] = [lawful_tag(self._raw, name, self._keys) for name in names]
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    def run(self, attack: Attack) -> None:
        """One transaction; only the last step of a bare attack finds or changes nothing."""
        if self._dice.random() < 0.5:
            self._raw.execute("RESET ALL")  # else what an attack has set stays
        self._raw.execute(f"BEGIN; {_SETUP}")
        if self._dice.random() < 0.9:
            self._raw.execute("SELECT enter(%s, %s)", (OWN, self._world.capability))
            self._lawful()
        self._raw.execute("SAVEPOINT before_the_attack")
        for place, step in enumerate(attack.steps):
            bare = attack.bare and place == len(attack.steps) - 1
            self._try(attack, step, bare=bare)
            if self._raw.info.transaction_status == psycopg.pq.TransactionStatus.INERROR:
                self._raw.execute("ROLLBACK TO SAVEPOINT before_the_attack")
        self._raw.execute(self._dice.choice(("ROLLBACK", "COMMIT")))

    def _lawful(self) -> None:
        found = self._raw.execute("SELECT count(*) FROM text").fetchone()
        self._report.count("own rows seen", int(found is not None and found[0] > 0))

    def _try(self, attack: Attack, step: str, *, bare: bool) -> None:
        self._report.count("statements")
        self._told.clear()
        try:
            shown, rows = self._answer(step)
        except psycopg.Error as error:
            self._report.count("refused")
            shown, rows = [str(error), str(error.diag.message_detail)], 0
        told = " ".join([*shown, *self._told])
        if MARK in told or str(DIGITS) in told or (bare and rows):
            self._report.broken(_SEEN, f"{attack.family}: {step}: {told[:300]}")

    def _answer(self, step: str) -> tuple[list[str], int]:
        """What a statement shows, and how many rows of it are not nought."""
        with self._raw.cursor() as cursor:
            if step.startswith("COPY") and step.endswith(("STDOUT", "STDIN")):
                with cursor.copy(sql.SQL(step)) as copy:
                    found = [] if step.endswith("STDIN") else [bytes(part) for part in copy]
                return [repr(part) for part in found], len(found)
            cursor.execute(sql.SQL(step))
            if cursor.description is None:
                return [], max(0, cursor.rowcount)
            rows = cursor.fetchall()
        return [repr(row) for row in rows], sum(any(c not in _NOUGHT for c in row) for row in rows)


@contextmanager
def _busy(world: World) -> Iterator[None]:
    """Somebody inside another namespace, with values of theirs in statements, meanwhile."""
    others = Transactions(world.url, opening_key(SECRET), 1.0)
    try:
        with others.writing(OTHERS[0]) as db:
            db.own("SELECT 1 FROM text WHERE content = %s", (f"{MARK} in a statement",))
            yield
    finally:
        others.close()
