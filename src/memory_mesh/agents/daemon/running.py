"""Runs a daemon from its lock to its end."""

import os

from memory_mesh.agents import request as requests
from memory_mesh.agents.daemon import client, holding
from memory_mesh.agents.daemon.holding import Held
from memory_mesh.agents.daemon.replies import Desk
from memory_mesh.agents.daemon.server import Server
from memory_mesh.agents.opening import Stores

_PING_SECONDS = 1.0


def serve(store: str, idle: float) -> int:
    """Serves a store until the end; gives way at once if another daemon does it."""
    store = os.path.realpath(store)
    os.chdir("/")
    os.umask(0o077)
    held = Held.taken(store, seconds=0.0)
    if held is None:
        if _answers(store):
            return 0
        holding.nudge(store)
        held = Held.taken(store, seconds=holding.PATIENCE_SECONDS)
        if held is None:
            return 0
    try:
        Server(Desk(store, Stores()), held, idle=idle).run()
    finally:
        held.release()
    return 0


def _answers(store: str) -> bool:
    ping = requests.made("ping", environment=os.environ) | {"store": store}
    try:
        client.ask(ping, seconds=_PING_SECONDS)
    except client.NoDaemon:
        return False
    return True
