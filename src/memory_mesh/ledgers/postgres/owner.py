"""What the owner of a fleet does: sets it up, adds servers, looks at it, shares places out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from memory_mesh.base.digests import keyed_digest
from memory_mesh.ledgers.postgres.departures import Departure
from memory_mesh.ledgers.postgres.moves import Move, Tell, quietly
from memory_mesh.ledgers.postgres.places import (
    DIRECTORY,
    SCHEMA,
    address_of,
    place_digest,
    plain_address,
    slot_of,
)
from memory_mesh.ledgers.postgres.pool import DatabaseRoute
from memory_mesh.ledgers.postgres.setup import (
    SetUp,
    newest,
    opening_key,
    set_up,
)
from memory_mesh.model.care import MovedPlace, PlaceProposal, PlaceShown
from memory_mesh.model.errors import InvalidInput, NotFound

_TABLES = Path(__file__).with_name("directory.sql")
_FLEET = b"a fleet"  # what shows that a set-up names its key
MOST_PLACES = 4_096
_LOADS = """
    SELECT n.nspname, coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint,
        coalesce(sum(pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid)
            + pg_stat_get_tuples_deleted(c.oid)), 0)::bigint
    FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r'
    WHERE n.nspname = ANY (%s) GROUP BY n.oid, n.nspname"""
_UNEVEN = 1.1  # times the mean share of a server: less is left alone


class FleetOwner:
    """The directory of a fleet, as its owner reaches it."""

    def __init__(self, url: str, secret: bytes) -> None:
        self._url, self._secret = url, secret
        self._db = psycopg.connect(url, autocommit=True)
        self._db.execute(f"SET search_path = {DIRECTORY}")
        if not is_directory(self._db):
            raise InvalidInput(
                "this database is no directory of a fleet; make one: memory-mesh --store URL "
                "setup-server --places N"
            )

    def close(self) -> None:
        """Closes the connection."""
        self._db.close()

    def add_servers(self, addresses: Sequence[str]) -> list[str]:
        """Takes servers in. The first ones get the places; what they hold already stays theirs."""
        added = [self._added(plain_address(address)) for address in addresses]
        places = self._one("SELECT places FROM fleet")
        if not self._one("SELECT count(*) FROM place WHERE slot IS NOT NULL"):
            with self._db.transaction():
                for turn, number in enumerate(added):
                    slots = range(turn, places, len(added))
                    names = [f"place_{slot:04}" for slot in slots]
                    set_up(self.at(number), self._secret, schemas=names)
                    for slot, name in zip(slots, names, strict=True):
                        self._db.execute(
                            "INSERT INTO place (name, slot, server) VALUES (%s, %s, %s)",
                            (name, slot, number),
                        )
        return [plain_address(address) for address in addresses]

    def move(self, place: str, server: str, tell: Tell = quietly) -> MovedPlace:
        """Moves a place, or goes on with a move that was begun."""
        return self._move(place).to(self._number(server), tell)

    def back(self, place: str) -> bool:
        """Takes a move back, if it is not decided yet; whether it was."""
        return self._move(place).back()

    def settle(self, namespace: str, server: str) -> str:
        """Gives a namespace a place of its own on a server; its name."""
        number, digest = self._number(server), self._digest(namespace)
        own = f"place_{digest.hex()[:16]}"
        row = self._db.execute("SELECT server FROM place WHERE name = %s", (own,)).fetchone()
        if row is None:
            set_up(self.at(number), self._secret, schemas=[own])
            self._db.execute("INSERT INTO place (name, server) VALUES (%s, %s)", (own, number))
        self._relocate(namespace, own)
        return own

    def unsettle(self, namespace: str) -> str:
        """Takes a namespace back to the place that the digest of its name says; its name."""
        slot = slot_of(self._digest(namespace), self._one("SELECT places FROM fleet"))
        place: str = self._one("SELECT name FROM place WHERE slot = %s", slot)
        self._relocate(namespace, place)
        return place

    def _relocate(self, namespace: str, place: str) -> None:
        digest = self._digest(namespace)
        slot = slot_of(digest, self._one("SELECT places FROM fleet"))
        self._db.execute(
            "INSERT INTO located SELECT %s, name FROM place WHERE slot = %s ON CONFLICT DO NOTHING",
            (digest, slot),
        )
        while True:
            old, heading = self._db.execute(
                "SELECT place, heading FROM located WHERE digest = %s", (digest,)
            ).fetchone() or ("", None)
            if heading is None:
                if old == place:
                    return
                heading = place
                self._db.execute(
                    "UPDATE located SET heading = %s WHERE digest = %s", (heading, digest)
                )
            with self._home(old) as source, self._home(heading) as target:
                departure = Departure(source, target, (old, heading), namespace)
                if not departure.is_decided():
                    departure.decide()
                departure.open()
            self._db.execute(
                "UPDATE located SET place = heading, heading = NULL WHERE digest = %s", (digest,)
            )

    def _home(self, place: str) -> psycopg.Connection[Any]:
        number: int = self._one("SELECT server FROM place WHERE name = %s", place)
        return psycopg.connect(self.at(number), autocommit=True)

    def _digest(self, namespace: str) -> bytes:
        return place_digest(opening_key(self._secret), namespace)

    def drain(self, server: str, tell: Tell = quietly) -> Iterator[MovedPlace]:
        """Moves every place of a server to the others, each to the one with the fewest."""
        number = self._number(server)
        self._db.execute("UPDATE server SET draining = true WHERE number = %s", (number,))
        while True:
            row = self._db.execute(
                "SELECT name, target FROM place WHERE server = %s LIMIT 1", (number,)
            ).fetchone()
            if row is None:
                break
            yield self._move(row[0]).to(row[1] or self._emptiest(), tell)

    def shown(self) -> list[PlaceShown]:
        """Every place."""
        loads = self._loads()
        rows = self._db.execute(
            "SELECT p.name, s.address, p.epoch, t.address, o.address "
            "FROM place p JOIN server s ON s.number = p.server "
            "LEFT JOIN server t ON t.number = p.target "
            "LEFT JOIN server o ON o.number = p.source ORDER BY p.name"
        )
        return [
            PlaceShown(
                name,
                server,
                epoch,
                f"moves to {target}" if target else f"left {source}" if source else "",
                *loads.get(name, (None, None)),
            )
            for name, server, epoch, target, source in rows
        ]

    def servers(self) -> list[tuple[str, bool]]:
        """The address of each server, and whether it is drained."""
        found = self._db.execute("SELECT address, draining FROM server ORDER BY number")
        return found.fetchall()

    def proposals(self) -> list[PlaceProposal]:
        """Moves after which each server has about the same share of bytes and of writes."""
        shown = [each for each in self.shown() if each.bytes is not None and not each.state]
        weights = _weights(shown)
        held: dict[str, list[PlaceShown]] = {
            address: [] for address, draining in self.servers() if not draining
        }
        for each in shown:
            held.setdefault(each.server, []).append(each)
        return list(_evened(held, weights))

    def upgrade(self, login: str | None = None) -> SetUp:
        """Runs missing migrations in every place, one server after another."""
        prepare(self._db, self._url, self._secret, login=login)
        ran: set[int] = set()
        for (number,) in self._db.execute("SELECT number FROM server").fetchall():
            places = self._db.execute(
                "SELECT name FROM place WHERE server = %s ORDER BY name", (number,)
            )
            names = [name for (name,) in places]
            done = set_up(self.at(number), self._secret, login=self._login(), schemas=names)
            ran.update(done.ran)
        return SetUp(tuple(sorted(ran)), newest())

    def at(self, number: int) -> str:
        """Where the owner reaches a server."""
        return address_of(
            self._url, self._one("SELECT address FROM server WHERE number = %s", number)
        )

    def _added(self, address: str) -> int:
        url = address_of(self._url, address)
        set_up(url, self._secret, login=self._login(), schemas=())
        with psycopg.connect(url, autocommit=True) as db:
            if db.execute("SHOW wal_level").fetchone() != ("logical",):
                raise InvalidInput(
                    f"{address} has no wal_level = logical, without which places cannot move. A "
                    "superuser runs: ALTER SYSTEM SET wal_level = logical, and starts it again"
                )
            there = db.execute("SELECT to_regclass('memory_mesh.store')").fetchone() != (None,)
        number: int = self._one(
            "INSERT INTO server (address) VALUES (%s) ON CONFLICT (address) "
            "DO UPDATE SET draining = false RETURNING number",
            address,
        )
        if there:
            self._adopt(url, number)
        return number

    def _adopt(self, url: str, number: int) -> None:
        """Takes a database of before the fleet as a place, with the namespaces that it has."""
        set_up(url, self._secret)
        key = opening_key(self._secret)
        with psycopg.connect(url, autocommit=True) as db:
            with db.transaction():  # once nobody begins a namespace there, it makes no more
                db.execute("LOCK TABLE memory_mesh.place IN EXCLUSIVE MODE")
                db.execute("UPDATE memory_mesh.place SET fleet = true")
            found = db.execute("SELECT name FROM memory_mesh.namespace")
            names = [name for (name,) in found]
            try:
                self._leave_to(names)
            except InvalidInput:
                db.execute("UPDATE memory_mesh.place SET fleet = false")
                raise
        with self._db.transaction():
            self._db.execute(
                "INSERT INTO place (name, server) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (SCHEMA, number),
            )
            self._db.cursor().executemany(
                "INSERT INTO located VALUES (%s, %s) ON CONFLICT DO NOTHING",
                [(place_digest(key, name), SCHEMA) for name in names],
            )

    def _leave_to(self, names: Sequence[str]) -> None:
        """Notes in the places of the fleet that these names are elsewhere."""
        slots = self._one("SELECT places FROM fleet")
        for number, name, slot in self._db.execute(
            "SELECT server, name, slot FROM place WHERE slot IS NOT NULL"
        ).fetchall():
            here = [each for each in names if slot_of(self._digest(each), slots) == slot]
            if not here:
                continue
            with psycopg.connect(self.at(number)) as db:
                asked = f"SELECT name FROM {name}.namespace WHERE name = ANY (%s)"  # noqa: S608
                if there := db.execute(asked, (here,)).fetchall():
                    raise InvalidInput(
                        f"the fleet has {len(there)} of its namespaces already; give them other "
                        "names first, by export and import"
                    )
                left = (
                    f"INSERT INTO {name}.departed SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING"
                )
                db.execute(left, (here,))

    def _loads(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for (number,) in self._db.execute("SELECT number FROM server").fetchall():
            places = self._db.execute("SELECT name FROM place WHERE server = %s", (number,))
            names = [name for (name,) in places]
            try:
                with psycopg.connect(self.at(number), connect_timeout=5) as db:
                    rows = db.execute(_LOADS, (names,)).fetchall()
            except psycopg.OperationalError:
                continue
            found |= {name: (size, written) for name, size, written in rows}
        return found

    def _move(self, place: str) -> Move:
        return Move(self._db, self._url, self._secret, place)

    def _number(self, server: str) -> int:
        found = self._db.execute(
            "SELECT number FROM server WHERE address = %s OR number::text = %s",
            (plain_address(server) if "=" in server or "://" in server else server, server),
        ).fetchone()
        if found is None:
            raise NotFound(f"this fleet has no server {server}")
        return int(found[0])

    def _emptiest(self) -> int:
        found = self._db.execute(
            "SELECT s.number FROM server s LEFT JOIN place p "
            "ON p.server = s.number WHERE NOT s.draining GROUP BY s.number "
            "ORDER BY count(p.name), s.number LIMIT 1"
        ).fetchone()
        if found is None:
            raise InvalidInput("no other server is left; add one first")
        return int(found[0])

    def _login(self) -> str | None:
        return self._one("SELECT login FROM fleet")  # type: ignore[no-any-return]

    def _one(self, statement: str, *values: object) -> Any:  # noqa: ANN401  # a value of any column
        row = self._db.execute(statement, values).fetchone()
        return None if row is None else row[0]


def is_directory(db: psycopg.Connection[Any]) -> bool:
    """Whether a database is the directory of a fleet."""
    found = db.execute("SELECT to_regclass(%s)", ("fleet",)).fetchone()
    return found != (None,)


def set_up_fleet(
    url: str, secret: bytes, *, login: str | None = None, places: int | None = None
) -> SetUp | None:
    """Makes a directory for so many places, or upgrades a fleet; None if there is none.

    The number of places cannot be changed: the digests of names are shared out among them.
    """
    if DatabaseRoute.of(url).pooled:
        return None  # it says so who makes the tables
    with psycopg.connect(url, autocommit=True) as db:
        if places is None and not is_directory(db):
            return None
        if places is not None and not 1 <= places <= MOST_PLACES:
            raise InvalidInput(f"places must be 1 to {MOST_PLACES}")
        prepare(db, url, secret, login=login, places=places)
    with _owner(url, secret) as owner:
        return owner.upgrade(login)


def prepare(
    db: psycopg.Connection[Any],
    url: str,
    secret: bytes,
    *,
    login: str | None = None,
    places: int | None = None,
) -> None:
    """The role, the rights and the tables of a directory."""
    set_up(url, secret, login=login, schemas=())
    db.execute("SET client_min_messages = warning")
    db.execute(_TABLES.read_text(encoding="utf-8"))
    db.execute(f"SET search_path = {DIRECTORY}")
    shown = keyed_digest(opening_key(secret), _FLEET)
    if places is not None:
        db.execute(
            "INSERT INTO fleet (places, shown, login) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            (places, shown, login),
        )
    if login is not None:
        db.execute("UPDATE fleet SET login = %s", (login,))
    found = db.execute("SELECT shown, places FROM fleet").fetchone()
    if found is None or bytes(found[0]) != shown:
        raise InvalidInput("this fleet was set up with another key; state that one")
    if places not in {None, found[1]}:
        raise InvalidInput(f"this fleet has {found[1]} places, and keeps so many")


@contextmanager
def _owner(url: str, secret: bytes) -> Iterator[FleetOwner]:
    owner = FleetOwner(url, secret)
    try:
        yield owner
    finally:
        owner.close()


def _weights(shown: Sequence[PlaceShown]) -> dict[str, float]:
    """The share of each place in all bytes and all writes, as one number."""
    size = sum(each.bytes or 0 for each in shown) or 1
    writes = sum(each.writes or 0 for each in shown) or 1
    return {each.name: (each.bytes or 0) / size + (each.writes or 0) / writes for each in shown}


def _evened(
    held: dict[str, list[PlaceShown]], weights: dict[str, float]
) -> Iterator[PlaceProposal]:
    """From the fullest server to the emptiest, as long as that makes them more even."""
    total = {server: sum(weights[each.name] for each in there) for server, there in held.items()}
    mean = sum(total.values()) / max(1, len(total))
    while total:
        most, least = (
            max(total, key=lambda each: total[each]),
            min(total, key=lambda each: total[each]),
        )
        gap = total[most] - total[least]
        fits = [each for each in held[most] if weights[each.name] < gap]
        if total[most] <= mean * _UNEVEN or not fits:
            return
        best = min(fits, key=lambda each: abs(weights[each.name] - gap / 2))
        held[most].remove(best)
        held[least].append(best)
        total[most] -= weights[best.name]
        total[least] += weights[best.name]
        yield PlaceProposal(best.name, most, least)
