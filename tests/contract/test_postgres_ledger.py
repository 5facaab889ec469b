import pytest

from memory_mesh.engines.ledgers.postgres.ledger import PostgresLedger
from memory_mesh.ports import Clock
from memory_mesh.testing import LedgerContract
from memory_mesh.testing.calling_contract import CallingContract
from memory_mesh.testing.keyword_contract import KeywordContract
from memory_mesh.testing.relations_contract import RelationsContract
from memory_mesh.testing.search_contract import SearchContract

URL = os.environ.get("MEMORY_MESH_TEST_POSTGRES", "")
pytestmark = pytest.mark.skipif(not URL, reason="MEMORY_MESH_TEST_POSTGRES names no database")


class TestPostgresLedger(
    LedgerContract, RelationsContract, CallingContract, SearchContract, KeywordContract
):
    """The PostgreSQL ledger keeps every promise of the five contracts."""

    @pytest.fixture(autouse=True)
    def _database(self):
        import psycopg

        with psycopg.connect(URL, autocommit=True) as c:
            names = [
                n
                for (n,) in c.execute(
                    "select relname from pg_class where relnamespace='memory_mesh'::regnamespace and relkind='p'"
                )
            ]
            c.execute("TRUNCATE " + ",".join(f"memory_mesh.{n}" for n in [*names, "namespace"]))

    def open_ledger(self, clock: Clock) -> PostgresLedger:
        return PostgresLedger(URL, clock, key=b"k" * 32)
