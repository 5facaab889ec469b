from pathlib import Path

import pytest

from memory_mesh.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.model.ports import Clock
from tests.contract.keyword_contract import KeywordContract
from tests.contract.ledger_contract import LedgerContract, RelationsContract
from tests.contract.search_contract import BodyContract, CallingContract, SearchContract


class TestSqliteLedger(
    LedgerContract,
    RelationsContract,
    CallingContract,
    SearchContract,
    KeywordContract,
    BodyContract,
):
    """The SQLite ledger keeps every promise of the six contracts."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def open_ledger(self, clock: Clock) -> SqliteLedger:
        return SqliteLedger(self.folder, clock)
