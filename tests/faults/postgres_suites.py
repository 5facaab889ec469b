"""The suites about PostgreSQL with their full counts, each on a server of its own."""

from collections.abc import Callable
from pathlib import Path

from tests.faults import postgres_crash, postgres_proxy, postgres_race, postgres_tamper
from tests.faults.report import Progress, Report
from tests.postgres import APP, Server


def crash(folder: Path, seed: int, progress: Progress) -> Report:
    """A hundred kills of the server, of its processes and of writers."""
    return postgres_crash.killed(folder, rounds=100, writers=3, seed=seed, progress=progress)


def race(_folder: Path, seed: int, progress: Progress) -> Report:
    """Eight processes of ten threads."""
    return _on_server(
        lambda server, url, owner: postgres_race.race(
            url, owner, processes=8, threads=10, writes=25, seed=seed, progress=progress
        )
    )


def proxy(_folder: Path, seed: int, progress: Progress) -> Report:
    """Two hundred faults of the network."""
    return _on_server(
        lambda server, url, owner: postgres_proxy.struck(
            postgres_proxy.Place(server.folder, url, owner, server.folder / "proxy"),
            rounds=200,
            seed=seed,
            progress=progress,
        )
    )


def tamper(_folder: Path, seed: int, progress: Progress) -> Report:
    """A thousand changes behind the ledger's back."""
    return _on_server(
        lambda server, url, owner: postgres_tamper.tampered(
            url, owner, mutations=1_000, seed=seed, progress=progress
        )
    )


def _on_server(suite: Callable[[Server, str, str], Report]) -> Report:
    server = Server()
    try:
        name = server.database()
        return suite(server, server.url(name, APP), server.url(name))
    finally:
        server.stop()
