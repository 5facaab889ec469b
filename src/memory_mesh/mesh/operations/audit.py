"""Read and check the audit chain."""

from os import PathLike
from pathlib import Path

from memory_mesh.base.fastdataclass import replace
from memory_mesh.care import key_file
from memory_mesh.mesh import flows
from memory_mesh.mesh.options import AsOwner, Limit, Reader
from memory_mesh.mesh.view import View
from memory_mesh.model import (
    Block,
    Finding,
    Verification,
)
from memory_mesh.model.errors import InvalidInput, NotFound, StoreError
from memory_mesh.rules import audit
from memory_mesh.rules.arguments import check_limit
from memory_mesh.rules.users import shown_namespace


class AuditVerbs(View):
    """Methods that read and check the audit chain."""

    def blocks(
        self,
        *,
        after_seq: int = 0,
        limit: Limit = 100,
        scope: Reader = None,
        as_owner: AsOwner = False,
    ) -> list[Block]:
        """Returns blocks of the audit chain, oldest first; a write's blocks are never split.

        A block is shown if all that it is about, and all that it names, is visible. To go on, give
        the seq of the last one. The owner's chain has no gaps.

        Options:
            after_seq: start after the write with this number.
        """
        many = check_limit(limit)
        if as_owner:
            return self._opened().ledger.blocks(self._config.namespace, after_seq, many)
        sight = flows.explain.sight_of(self._lens(scope))
        return flows.records.blocks(self._access(), sight, after_seq, many)

    def recalls(
        self, *, limit: Limit = 100, scope: Reader = None, as_owner: AsOwner = False
    ) -> list[Block]:
        """Returns the latest records of searches by this reader, newest first.

        Those still buffered in another process are not included. Records of earlier versions, and
        of searches with `across`, name no reader: only the owner sees them.
        """
        many = check_limit(limit)
        if as_owner:
            return self._opened().ledger.recalls(self._config.namespace, many)
        return flows.records.recalls(self._access(), self._reader(scope), many)

    def verify(
        self,
        *,
        checkpoint: str | PathLike[str] | None = None,
        against: str | PathLike[str] | None = None,
    ) -> Verification:
        """Checks the audit chain and the store; can write a checkpoint or compare with one.

        Options:
            checkpoint: the file to write a checkpoint to.
            against: the file of an earlier checkpoint to compare with.
        """
        parts = self._opened()
        held = None if against is None else _read(against)
        verification = flows.upkeep.verify(parts.ledger, self._config.namespace, held)
        if (wrong := key_file.flaw(self._config.db_dir)) is not None:
            findings = (*verification.findings, Finding("key", wrong))
            verification = replace(verification, findings=findings)
        if checkpoint is not None:
            if verification.head is None or not verification.head.position:
                raise NotFound(
                    f"the namespace {shown_namespace(self._config.namespace)!r} is empty; "
                    "store a memory first"
                )
            mark = audit.checkpoint(verification.head, parts.clock.now())
            try:
                Path(checkpoint).write_text(mark + "\n", encoding="utf-8")
            except (OSError, ValueError) as error:
                raise StoreError(f"the checkpoint cannot be written: {error}") from error
        return verification


def _read(path: str | PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"the file {path} does not exist") from None
    except (OSError, ValueError) as error:  # a folder, no text, a name that no file can have
        raise InvalidInput(f"the checkpoint cannot be read: {error}") from error
