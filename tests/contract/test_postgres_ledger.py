"""The PostgreSQL ledger keeps every promise that the SQLite ledger keeps."""

import pytest

from memory_mesh.ledgers.postgres.ledger import PostgresLedger
from memory_mesh.model.ports import Clock
from tests.contract.keyword_contract import KeywordContract
from tests.contract.ledger_contract import LedgerContract, RelationsContract
from tests.contract.search_contract import CallingContract, SearchContract
from tests.postgres import SECRET


class TestPostgresLedger(
    LedgerContract, RelationsContract, CallingContract, SearchContract, KeywordContract
):
    """It keeps every promise of the five contracts."""

    @pytest.fixture(autouse=True)
    def _database(self, database: str) -> None:
        self.url = database

    def open_ledger(self, clock: Clock) -> PostgresLedger:
        return PostgresLedger(self.url, clock, secret=SECRET)
