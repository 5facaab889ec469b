"""A search of the command line in the daemon, which has the model loaded already.

The command sends the question with who reads, and gets the same hits as from a search of its own.
Without a daemon, or if that one cannot answer in time, the command searches itself.
"""

import os
from collections.abc import Mapping

from memory_mesh.agents import request as requests
from memory_mesh.agents.daemon import client
from memory_mesh.agents.opening import PATIENT_SECONDS, Stores
from memory_mesh.base.typed import Any
from memory_mesh.formats import wire
from memory_mesh.mesh.operation import options_of
from memory_mesh.mesh.operations.search import SearchVerbs
from memory_mesh.model import Channel, Hits


def ask(view: SearchVerbs, query: str, options: Mapping[str, object]) -> Hits | None:
    """What the daemon of the view's store finds; None if no daemon answers."""
    config, environment = view._config, dict(os.environ)  # noqa: SLF001  # who reads, and where
    if config.store is None:  # the folder may be stated by an option
        environment.pop("MEMORY_MESH_STORE", None)
        environment["MEMORY_MESH_DIR"] = str(config.db_dir)
    given = {
        "namespace": config.namespace,
        "channel": view._channel.value,  # noqa: SLF001  # as above
        "options": {name: wire.encoded(value) for name, value in options.items()},
        "query": query,
    }
    request = requests.made("search", given, host=config.agent_id, environment=environment)
    try:
        reply = client.ask(request, seconds=PATIENT_SECONDS)
    except client.NoDaemon:
        return None
    hits: Hits | None = wire.decoded(Hits, reply["answer"]["hits"]) if reply.get("ok") else None
    return hits


def on_search(stores: Stores, request: Mapping[str, Any]) -> dict[str, Any]:
    """The hits of a question, as `ask` reads them."""
    given, known = request["input"], options_of(SearchVerbs.search)
    mesh = stores.mesh_for(request, channel=Channel(given["channel"]))
    view = mesh._of_same_store(given["namespace"], None, None)  # noqa: SLF001  # of its own class
    options = {
        name: wire.decoded(known[name].kind, value) for name, value in given["options"].items()
    }
    return {"hits": wire.encoded(view.search(given["query"], **options))}
