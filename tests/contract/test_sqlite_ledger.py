from pathlib import Path

import pytest

from memory_mesh.ledgers.sqlite import SqliteLedger
from memory_mesh.ports import Clock
from memory_mesh.testing import LedgerContract


class TestSqliteLedger(LedgerContract):
    """The SQLite ledger keeps every promise of the contract."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def open_ledger(self, clock: Clock) -> SqliteLedger:
        return SqliteLedger(self.folder, clock)
