r"""Decide what a document and its memory should become, from what both sides last agreed on.

::

    file \ store      unchanged         changed            gone
    unchanged         nothing           take the store     remove the document
    changed           take the file     agree | disagree   disagree
    gone              delete            disagree           forget

Both changed is an agreement only if both now say the same. Pure: no I/O.
"""

from enum import Enum

from memory_mesh.fastdataclass import dataclass


class Act(Enum):
    """What to do with one document and its memory."""

    NOTHING = "nothing"
    AGREE = "agree"  # both say the same: remember that
    TAKE_FILE = "take the file"
    TAKE_STORE = "take the store"
    DELETE_MEMORY = "delete the memory"
    REMOVE_DOCUMENT = "remove the document"
    DISAGREE = "disagree"
    FORGET = "forget"  # both are gone


@dataclass(frozen=True, slots=True)
class Sides:
    """Digests of a document and of its memory; None where a side is gone."""

    file: str | None
    store: str | None


def decide(base: Sides | None, now: Sides, *, same: bool = False) -> Act:
    """The act for one document; without a base both sides must say the same.

    `same` is True if the document says what the memory says.
    """
    if now.file is None and now.store is None:
        return Act.FORGET
    file_changed = base is None or now.file != base.file
    store_changed = base is None or now.store != base.store
    if not file_changed:
        if not store_changed:
            return Act.NOTHING
        return Act.REMOVE_DOCUMENT if now.store is None else Act.TAKE_STORE
    if not store_changed:
        return Act.DELETE_MEMORY if now.file is None else Act.TAKE_FILE
    return Act.AGREE if same and None not in {now.file, now.store} else Act.DISAGREE
