"""Triggers in natural language that a task meets by meaning: the setting trigger_min_similarity.

Off by default: it needs an embedder, and each pattern is embedded once per process. Vectors are
made between two read transactions, never inside one.
"""

from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.errors import EmbeddingError
from memory_mesh.flows.access import Access
from memory_mesh.flows.prepare import embedder_failed
from memory_mesh.model.trigger import Form, Strength, Triggered, TriggerMatch
from memory_mesh.policy.triggers import patterns, selecting
from memory_mesh.policy.triggers.matching import MAX_WORDS_TEXT

MOST_EMBEDDED = 200  # patterns that one call embeds, the newest; the next calls go on
MOST_KEPT = 4_096  # vectors that a process keeps


def by_meaning(
    access: Access, task: str, scanned: Iterable[Triggered], least: float
) -> dict[int, TriggerMatch]:
    """Returns the versions whose natural-language trigger means what the task means."""
    natural = {
        memory: [pattern for pattern in memory.triggers if _is_natural(pattern)]
        for memory in scanned
        if selecting.NEEDED[memory.level] <= Strength.CLOSE
    }
    wanted = list(dict.fromkeys(pattern for found in natural.values() for pattern in found))
    if not wanted or not task.strip():
        return {}
    near = _similarities(access, task[:MAX_WORDS_TEXT], wanted)
    found: dict[int, TriggerMatch] = {}
    for memory, said in natural.items():
        best = max(said, key=lambda pattern: near.get(pattern, -1.0), default="")
        if near.get(best, -1.0) >= least:
            shown = f"similarity {near[best]:.2f}"
            found[memory.version] = TriggerMatch(best, Form.MEANING, Strength.CLOSE, shown)
    return found


def _is_natural(pattern: str) -> bool:
    return any(part.form is Form.WORDS for part in patterns.read(pattern))


def _similarities(access: Access, task: str, wanted: Sequence[str]) -> Mapping[str, float]:
    """The cosine of each pattern and the task; without an embedder none."""
    if access.embedder is None:
        return {}
    kept = access.pattern_vectors
    try:
        asked = access.embedder.embed([task], query=True)
        space = asked.space.name
        missing = [text for text in wanted if (space, text) not in kept][:MOST_EMBEDDED]
        made = access.embedder.embed(missing) if missing else asked
    except EmbeddingError as error:
        embedder_failed(error)
        return {}
    if len(kept) + len(missing) > MOST_KEPT:
        kept.clear()
    if made.space == asked.space:
        new = zip(missing, made.vectors, strict=False)
        kept.update({(space, text): vectors[0] for text, vectors in new})
    known = {text: kept[space, text] for text in wanted if (space, text) in kept}
    return _cosines(asked.vectors[0][0], known)


def _cosines(task: bytes, known: Mapping[str, bytes]) -> dict[str, float]:
    import numpy as np  # most stores have this switched off

    if not known:
        return {}
    matrix = np.frombuffer(b"".join(known.values()), np.float32).reshape(len(known), -1)
    near = matrix @ np.frombuffer(task, np.float32)
    return {text: float(value) for text, value in zip(known, near, strict=True)}
