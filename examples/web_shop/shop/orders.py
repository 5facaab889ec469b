"""Orders in SQLite. The same order sent twice is one order."""

import sqlite3

SCHEMA = "CREATE TABLE IF NOT EXISTS orders (key TEXT PRIMARY KEY, cents INTEGER NOT NULL)"


def place(database: sqlite3.Connection, key: str, cents: int) -> bool:
    """Stores an order under the key that the browser made; False if it is there already."""
    database.execute(SCHEMA)
    with database:
        done = database.execute("INSERT OR IGNORE INTO orders VALUES (?, ?)", (key, cents))
    return done.rowcount == 1
