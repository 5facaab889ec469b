"""A store with terms of an earlier analyzer, as a user of the command line meets it."""

import json
import sqlite3
from contextlib import closing

from tests.surface.command import CommandLine


def test_commands_say_what_waits_until_upkeep_has_run(cli: CommandLine) -> None:
    cli.stored("臺灣的颱風季節從七月開始")
    _forget_analyzer(cli)
    told = "Note: 1 text has keyword terms of an earlier version; run `memory-mesh upkeep`."
    assert told in cli("search", "--explain", "--keyword", "七月").out.splitlines()
    assert json.loads(cli("stats", "--json").out)["to_reindex"] == 1
    verified = cli("verify")
    assert verified.code == 1
    assert "run `memory-mesh upkeep`" in verified.out
    assert cli("upkeep").out == "[MemoryMesh] Reindexed 1, embedded 0, indexed 0, pending 0.\n"
    assert told not in cli("search", "--explain", "--keyword", "七月").out.splitlines()
    assert cli("verify").code == 0
    assert json.loads(cli("upkeep", "--json").out)["reindexed"] == 0
    assert json.loads(cli("upkeep", "--rebuild-terms", "--json").out)["reindexed"] == 1


def _forget_analyzer(cli: CommandLine) -> None:
    """As a store says it that was written before the analyzer was kept."""
    (path,) = cli.store.rglob("*.db")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE store SET analyzer = 0")
