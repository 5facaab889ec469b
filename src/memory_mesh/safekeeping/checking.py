"""Whether the copy of a namespace is sound."""

import shutil
from pathlib import Path

from memory_mesh import flows
from memory_mesh.engines.ledgers.sqlite import schema
from memory_mesh.engines.ledgers.sqlite.keeping import copying
from memory_mesh.engines.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.errors import StoreIsDamaged
from memory_mesh.process.clock import SystemClock
from memory_mesh.process.private import make_folder

_NO_DAMAGE = frozenset(
    {
        "analyzer of the keyword terms",  # that upkeep has to write anew
        "missing head file",  # that a copy gets in its place
    }
)
_CHECKED = "check"  # the folder of a copy that is migrated to be read


def findings(store: Path, namespace: str, version: int) -> tuple[str, ...]:
    """What `verify` finds wrong in a namespace of a store that nobody else uses.

    A file of an earlier schema is checked as its migrated copy and stays as it is.
    """
    if version >= schema.NEWEST:
        return _found(store, namespace)
    migrated = store / _CHECKED
    make_folder(migrated / "namespaces")
    try:
        copying.copied(copying.place(store, namespace), copying.place(migrated, namespace))
        return _found(migrated, namespace)
    finally:
        shutil.rmtree(migrated)


def _found(store: Path, namespace: str) -> tuple[str, ...]:
    ledger = SqliteLedger(store, SystemClock(), allow_network=True)
    try:
        verification = flows.upkeep.verify(ledger, namespace, None)
    except StoreIsDamaged as error:
        return (str(error),)
    finally:
        ledger.close()
    return tuple(
        f"{finding.check}: {finding.detail}"
        for finding in verification.findings
        if finding.check not in _NO_DAMAGE
    )
