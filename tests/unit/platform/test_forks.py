"""A fork waits for threads that would leave their locks to the child."""

import importlib
import sys
import threading
from pathlib import Path

import pytest

from memory_mesh.platform import forks
from tests.faults.processes import Child

_SLOW = """
import threading
threading.main_thread().importing.set()
threading.main_thread().forking.wait(60)
import json.scanner
value = 7
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_can_import_what_another_thread_was_importing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_slowly.py").write_text(_SLOW)
    monkeypatch.syspath_prepend(tmp_path)
    importing, forking = threading.Event(), threading.Event()
    monkeypatch.setattr(threading.main_thread(), "importing", importing, raising=False)
    monkeypatch.setattr(threading.main_thread(), "forking", forking, raising=False)
    imported_elsewhere = forks._imported_elsewhere

    def looks() -> bool:
        found = imported_elsewhere()
        if found:  # the fork waits for the import
            forking.set()
        return found

    monkeypatch.setattr(forks, "_imported_elsewhere", looks)
    thread = threading.Thread(target=importlib.import_module, args=("imported_slowly",))
    thread.start()
    assert importing.wait(300)
    assert Child(_value).result(300) == 7
    thread.join()
    assert not forks._imports._held
    sys.modules.pop("imported_slowly")


def _value() -> int:
    value: int = importlib.import_module("imported_slowly").value
    return value
