"""A small PostgREST on loopback over a real database: the part that `supabase_storage` uses."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import psycopg
from psycopg import sql

from tests.postgres import Server
from tests.servers import Reply, Request, serve

TABLES = Path("docs/supabase.sql")
KEY = "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoic2VydmljZV9yb2xlIn0.c2lnbmF0dXJlLW9mLXRoZS1rZXk"
_WORDS = {"select", "order", "limit", "offset", "on_conflict"}
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass
class FakeSupabase:
    """A project: what it was asked, and what it answers instead of the truth."""

    url: str
    db: psycopg.Connection[Any]
    asked: list[Request] = field(default_factory=list)
    next: list[Reply] = field(default_factory=list)
    most: int = 2  # rows in an answer, whatever was asked for

    def rows(self, question: str) -> list[Any]:
        """What the database holds."""
        return self.db.execute(question).fetchall()


@contextmanager
def fake_supabase(postgres: Server) -> Iterator[FakeSupabase]:
    """A project in a database of its own."""
    name = "supabase"
    with psycopg.connect(postgres.url(), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        with psycopg.connect(postgres.url(name), autocommit=True) as db:
            db.execute(TABLES.read_bytes())
            db.execute("SET timezone = 'UTC'")
            fake = FakeSupabase("", db)
            with serve(lambda request: _answer(fake, request)) as server:
                fake.url = server.url
                yield fake
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _answer(fake: FakeSupabase, request: Request) -> Reply:
    fake.asked.append(request)
    if fake.next:
        return fake.next.pop(0)
    headers = {name.lower(): value for name, value in request.headers.items()}
    if headers.get("apikey") != KEY or headers.get("authorization") != f"Bearer {KEY}":
        return _json({"message": f"no right for {headers.get('authorization')}"}, 401)
    parts = urlsplit(request.path)
    name = parts.path.removeprefix("/rest/v1/")
    asked = dict(parse_qsl(parts.query))
    try:
        return _done(fake, request, name, asked)
    except psycopg.Error as error:
        return _json({"message": str(error)}, 400)


def _done(fake: FakeSupabase, request: Request, name: str, asked: dict[str, str]) -> Reply:
    if name.startswith("rpc/"):
        return _called(fake, name.removeprefix("rpc/"), json.loads(request.body))
    if request.method == "POST":
        _insert(fake, name, asked, json.loads(request.body))
        return Reply(status=201)
    table, (test, values) = sql.Identifier(name), _tests(asked)
    if request.method == "DELETE":
        assert values, "this would delete every row"
        fake.db.execute(sql.SQL("DELETE FROM {} WHERE {}").format(table, test), values)
        return Reply(status=204)
    wanted = asked["select"]
    columns = sql.SQL("*") if wanted == "*" else _names(wanted)
    statement = sql.SQL(
        "SELECT coalesce(json_agg(t), '[]') FROM "
        "(SELECT {} FROM {} WHERE {} ORDER BY {} LIMIT {} OFFSET {}) t"
    ).format(
        columns, table, test, _names(asked["order"]) if "order" in asked else sql.SQL("1"),
        min(fake.most, int(asked["limit"])) if "limit" in asked else 1_000,
        int(asked.get("offset", 0)),
    )  # fmt: skip
    (found,) = fake.db.execute(statement, values).fetchone() or ([],)
    return _json(found)


def _insert(
    fake: FakeSupabase, name: str, asked: dict[str, str], rows: list[dict[str, Any]]
) -> None:
    assert all(row.keys() == rows[0].keys() for row in rows)  # as PostgREST asks for
    columns = list(rows[0])
    changes = [sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(each)) for each in columns]
    fake.db.execute(
        sql.SQL(
            "INSERT INTO {0} ({1}) SELECT {1} FROM json_populate_recordset(NULL::{0}, %s) "
            "ON CONFLICT ({2}) DO UPDATE SET {3}"
        ).format(
            sql.Identifier(name),
            _names(",".join(columns)),
            _names(asked["on_conflict"]),
            sql.SQL(", ").join(changes),
        ),
        (json.dumps(rows),),
    )


def _called(fake: FakeSupabase, name: str, arguments: dict[str, Any]) -> Reply:
    given = [sql.SQL("{} => %s").format(sql.Identifier(each)) for each in arguments]
    asked = sql.SQL("SELECT coalesce(json_agg(t), '[]') FROM {}({}) t").format(
        sql.Identifier(name), sql.SQL(", ").join(given)
    )
    (found,) = fake.db.execute(asked, list(arguments.values())).fetchone() or ([],)
    return _json(found)


def _tests(asked: dict[str, str]) -> tuple[sql.Composable, list[Any]]:
    """The conditions of an address."""
    parts: list[sql.Composable] = [sql.SQL("TRUE")]
    values: list[Any] = []
    for name, test in asked.items():
        if name in _WORDS:
            continue
        column, (sign, _, value) = sql.Identifier(name), test.partition(".")
        if test == "not.is.null":
            parts.append(sql.SQL("{} IS NOT NULL").format(column))
        elif sign == "in":
            parts.append(sql.SQL("{} = ANY(%s)").format(column))
            values.append([re.sub(r"\\(.)", r"\1", each) for each in _QUOTED.findall(value)])
        else:
            parts.append(sql.SQL({"eq": "{} = %s", "gt": "{} > %s"}[sign]).format(column))
            values.append(value)
    return sql.SQL(" AND ").join(parts), values


def _names(listed: str) -> sql.Composable:
    return sql.SQL(", ").join(sql.Identifier(each) for each in listed.split(","))


def _json(value: object, status: int = 200) -> Reply:
    return Reply(json.dumps(value).encode(), status, headers={"Content-Type": "application/json"})
