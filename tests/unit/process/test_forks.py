"""A fork waits for threads that would leave their locks to the child."""

import importlib
import sys
import threading
from pathlib import Path

import pytest

from memory_mesh.process import forks
from tests.faults.processes import Child

_SLOW = """
import threading, time
threading.main_thread().importing.set()
time.sleep(0.5)
import json.scanner
value = 7
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_can_import_what_another_thread_was_importing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_slowly.py").write_text(_SLOW)
    monkeypatch.syspath_prepend(tmp_path)
    importing = threading.Event()
    monkeypatch.setattr(threading.main_thread(), "importing", importing, raising=False)
    thread = threading.Thread(target=importlib.import_module, args=("imported_slowly",))
    thread.start()
    assert importing.wait(20)
    assert Child(_value).result(20) == 7
    thread.join()
    assert not forks._imports._held
    sys.modules.pop("imported_slowly")


def _value() -> int:
    value: int = importlib.import_module("imported_slowly").value
    return value
