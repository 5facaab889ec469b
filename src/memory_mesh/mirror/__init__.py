"""Keep the memories of a project as Markdown files in a folder, in both directions.

::

    folder ── scan ──▶ changed files ── read ──▶ documents ──┐
                                                             ├─ match, decide ──▶ next version,
    state (what both sides last agreed on) ──────────────────┤                    proposal, delete
                                                             │
    store ── blocks since the last run ──▶ changed memories ─┘──▶ document appended or replaced

`Mirror` (mirror.py) runs both halves. `match_documents.py` decides without I/O.
"""

from memory_mesh.mirror.authors import Author
from memory_mesh.mirror.mirror import Mirror
from memory_mesh.mirror.report import MirrorReport

__all__ = ["Author", "Mirror", "MirrorReport"]
