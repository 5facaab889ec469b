"""What a daemon under test can do beside its own: store, wait for a file, break, show modules."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memory_mesh.agents.opening import Stores
from memory_mesh.model import Channel


def note(stores: Stores, request: Mapping[str, Any]) -> dict[str, Any]:
    """Stores a text once per request."""
    mesh = stores.mesh_for(request, channel=Channel.HOOK)
    receipt = mesh.add(request["input"]["text"], key=request["id"])
    return {"id": receipt.id, "namespace": mesh.config.namespace, "agent": mesh.config.agent_id}


def slow(stores: Stores, request: Mapping[str, Any]) -> dict[str, Any]:
    """Says that it began, waits until a file is there, then stores."""
    Path(request["input"]["begun"]).touch()
    while not Path(request["input"]["gate"]).exists():
        time.sleep(0.01)
    return note(stores, request)


def fail(stores: Stores, request: Mapping[str, Any]) -> dict[str, Any]:
    """Fails as no verb should, or answers what is no JSON."""
    if request["input"].get("how") == "answer":
        return {"bytes": b"x"}
    raise RuntimeError("a bug with a key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789")


def loaded(stores: Stores, request: Mapping[str, Any]) -> dict[str, Any]:
    """Says whether a module is loaded."""
    return {"loaded": request["input"]["module"] in sys.modules}
