"""onnxruntime as we want it: silent towards the network.

Since 1.29 its wheels for Linux and macOS report their use to Microsoft and leave a device id in the
user's home, unless ORT_DISABLE_TELEMETRY is set before the first import.
"""

import os
from types import ModuleType


def onnxruntime() -> ModuleType:
    """The library, with its reporting switched off; always imported through here."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime as library  # type: ignore[import-untyped]  # ships no types

    library.disable_telemetry_events()  # Windows, and where somebody else imported it first
    found: ModuleType = library
    return found
