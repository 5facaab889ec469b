"""Writes the text of a skill made from memories: one YAMO block, one constraint per step."""

import hashlib
import re
from collections.abc import Sequence

from memory_mesh.formats.yamo import YamoBlock, render
from memory_mesh.formats.yamo_learning import number

_LONGEST_NAME = 60


def skill_text(
    title: str, steps: Sequence[str], *, topic: str, sources: Sequence[str], confidence: float
) -> str:
    """Returns the skill as YAMO; the same steps and memories give the same text."""
    name = slug(title)
    block = YamoBlock(
        agent=name,
        intent=name.lower(),
        context=(("title", title), ("topic", topic), ("source_count", str(len(sources)))),
        constraints=tuple((f"step_{place}", step) for place, step in enumerate(steps, start=1)),
        priority="medium",
        meta=(
            ("rationale", "Steps as memories tell them, staged for review"),
            ("sources", ", ".join(sources)),
            ("confidence", number(confidence)),
        ),
        log=("skill_synthesized", "steps", str(len(steps)), "sources", str(len(sources))),
    )
    return render(block)


def slug(title: str) -> str:
    """Returns a name of letters, digits and _ for a title in any script."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", title).strip("_")[:_LONGEST_NAME].strip("_")
    return name or f"Procedure_{hashlib.sha256(title.encode()).hexdigest()[:8]}"
