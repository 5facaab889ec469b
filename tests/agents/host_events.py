"""What each host sends, as it was recorded from a real one or as its makers publish it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "fixtures/hosts"


def read(host: str) -> Mapping[str, Any]:
    """The version, which events were not seen but published, and each by the host's own name."""
    found: Mapping[str, Any] = json.loads((FOLDER / f"{host}.json").read_text(encoding="utf-8"))
    return found


NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.json")))
EVENTS: Mapping[str, Mapping[str, Any]] = {host: read(host)["events"] for host in NAMES}


def sent(host: str, event: str, folder: str, **facts: object) -> bytes:
    """One event of a host on its standard input, from a folder of this machine."""
    text = json.dumps({**EVENTS[host][event], **facts})
    return text.replace("/home/you/shop", folder).encode()
