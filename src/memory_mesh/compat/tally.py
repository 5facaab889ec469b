"""What becomes of the rows of an import: how many are stored, merged or refused, and why."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from memory_mesh.base.typed import dataclass
from memory_mesh.model import Draft, InvalidInput
from memory_mesh.privacy import masked
from memory_mesh.sync import MemoryMesh
from memory_mesh.write.rules.receipts import ReceiptCounts

Progress = Callable[[int], None]
MOST_REFUSALS = 1_000  # named in the report; all are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What became of the rows of one table; `merged` are those that were here already."""

    read: int = 0
    stored: int = 0
    merged: int = 0
    quarantined: int = 0
    refused: int = 0
    skipped: int = 0


class Importer:
    """Stores rows, counts along, and keeps the first refusals in words."""

    def __init__(self, progress: Progress | None) -> None:
        self.refusals: list[tuple[str, str]] = []
        self.more: ReceiptCounts = ReceiptCounts()
        self._progress = progress
        self._read = 0

    def counts(self, batches: Iterable[tuple[int, Sequence[str]]]) -> Counter[str]:
        """Rows by what became of them, from how many rows each batch had and their outcomes."""
        counts: Counter[str] = Counter()
        for read, outcomes in batches:
            counts.update(outcomes)
            counts["read"] += read
            self._read += read
            if self._progress is not None:
                self._progress(self._read)
        return counts

    def store(
        self, mesh: MemoryMesh, drafts: Sequence[Draft], *, vouched: bool = False
    ) -> list[str]:
        """The outcome of each draft; where one spoils the batch, the others go on alone.

        `vouched` drafts are of the user's own export: their seals were checked.
        """
        try:
            receipts = mesh._add_vouched(drafts) if vouched else mesh.add_many(drafts)
        except InvalidInput as error:
            if len(drafts) == 1:
                return [self.refuse(origin_id(drafts[0]), str(error))]
            alone = ([draft] for draft in drafts)
            return [each for one in alone for each in self.store(mesh, one, vouched=vouched)]
        for draft, receipt in zip(drafts, receipts, strict=True):
            if not receipt.again:
                self.more.count(receipt)
            if receipt.id is None:
                self.refuse(origin_id(draft), "; ".join(receipt.reasons))
        return [receipt.outcome.value for receipt in receipts]

    def refuse(self, id_: object, reason: str, place: int | None = None) -> str:
        """Note one row that is not taken; its outcome. A row without id is named by its place."""
        if len(self.refusals) < MOST_REFUSALS:
            unnamed = id_ in (None, "") and place is not None
            named = f"row {self._read + place + 1}" if unnamed and place is not None else str(id_)
            self.refusals.append((masked(named), masked(reason)))
        return "refused"


def origin_id(draft: Draft) -> str | None:
    """The id that the row had in the other store."""
    return None if draft.origin is None else draft.origin.id
