"""The tools that read: search, get, context, explain and reflect."""

from collections.abc import Mapping

from memory_mesh.agents.mcp.calling import ToolCall
from memory_mesh.formats import tool_text
from memory_mesh.model import Explanation, Hit, Memory, record
from memory_mesh.policy.packing.counting import count
from memory_mesh.policy.ranking.profiles import MIN_RELEVANCE
from memory_mesh.typed import Any

_LIMIT = 10


def search(call: ToolCall, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Lists hits in short, and says what the threshold left out."""
    floor = float(given.get("min_relevance", MIN_RELEVANCE))
    hits = call.mesh().search(
        given["query"],
        limit=given.get("limit", _LIMIT),
        min_relevance=floor,
        filter=given.get("filter"),
        as_of=given.get("as_of"),
    )
    how = hits.explanation
    found = [_found(hit) for hit in hits]
    after = _after_search(how, floor, found=bool(found))
    answer = {
        "notice": tool_text.NOTICE,
        "memories": found,
        "below": how.below,
        "best_below": how.best_below,
        "min_relevance": floor,
        "next": after,
    }
    entries = [
        tool_text.entry(number, _facts(hit), tool_text.first_line(hit.excerpt))
        for number, hit in enumerate(hits, start=1)
    ]
    listed = tool_text.fenced(entries) or "No memory was found."
    return answer, f"{listed}\n{after}"


def get(call: ToolCall, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Reads memories in full."""
    asked = list(dict.fromkeys(given["ids"]))
    memories = call.mesh().get_many(asked)
    call.gave(memory.id for memory in memories)
    there = {memory.id for memory in memories}
    missing = [tool_text.named(id_) for id_ in asked if id_ not in there]
    after = "Find ids with memory_search." if missing else ""
    answer = {
        "notice": tool_text.NOTICE,
        "memories": [_read(memory) for memory in memories],
        "missing": missing,
        "next": after,
    }
    entries = [
        tool_text.entry(number, tool_text.heading(memory), memory.text)
        for number, memory in enumerate(memories, start=1)
    ]
    told = f"Not found, or not visible here: {', '.join(missing)}. {after}" if missing else ""
    return answer, "\n".join(part for part in (tool_text.fenced(entries), told) if part)


def context(call: ToolCall, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """What a prompt should have, fenced and under a budget."""
    pack = call.mesh().context(given.get("question"), max_tokens=given.get("max_tokens"))
    call.gave(item.id for item in pack)
    after = ""
    if not pack:
        after = "Nothing relevant is remembered. memory_search with min_relevance 0 shows more."
    answer = {
        "text": pack.text,
        "tokens": pack.tokens,
        "injection_id": pack.injection_id,
        "memories": [
            {"id": item.id, "section": item.section.value, "tokens": item.tokens} for item in pack
        ],
        "left_out": len(pack.left_out),
        "next": after,
    }
    return answer, pack.text or after


def explain(call: ToolCall, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Says why, in sentences."""
    why = call.mesh().explain(given["id"], query=given.get("query"))
    sentences = [" ".join(tool_text.said(each).split("\n")) for each in why.sentences]
    answer = {
        "notice": tool_text.NOTICE,
        "id": why.id,
        "subject": why.subject,
        "sentences": sentences,
        "gate": None if why.gate is None else why.gate.value,
        "place": None if why.rank is None else why.rank.place,
        "score": None if why.rank is None else why.rank.score,
    }
    return answer, tool_text.fenced([tool_text.barred("\n".join(sentences))])


def reflect(call: ToolCall, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Summarises what memories say together."""
    found = call.mesh().reflect(
        topic=given.get("topic"),
        lookback=given.get("lookback"),
        store=given.get("store", False),
    )
    text = tool_text.said(found.text)
    after = ""
    if not text:
        after = f"No two of {found.count} memories say the same; memory_search lists single ones."
    answer = {
        "notice": tool_text.NOTICE,
        "text": text,
        "count": found.count,
        "sources": list(found.sources),
        "confidence": found.confidence,
        "id": found.id,
        "next": after,
    }
    kept = f"\nKept as {found.id}." if found.id else ""
    return answer, f"{tool_text.fenced([tool_text.barred(text)])}{kept}" if text else after


def _found(hit: Hit) -> dict[str, Any]:
    memory = hit.memory
    return {
        "id": hit.id,
        "first_line": tool_text.first_line(hit.excerpt),
        "kind": tool_text.sort(memory),
        "date": f"{memory.created:%Y-%m-%d}",
        "trust": memory.source.kind.value,
        "tokens": count(memory.text),
        "score": round(hit.score, 4),
        "newer": hit.newer,
    }


def _facts(hit: Hit) -> list[str]:
    facts = [*tool_text.heading(hit.memory), f"score {hit.score:.2f}"]
    facts.append(f"{count(hit.memory.text)} tokens")
    return [*facts, f"updated by {hit.newer}"] if hit.newer else facts


def _after_search(how: Explanation, floor: float, *, found: bool) -> str:
    """What the list does not show, and how to get it."""
    told = []
    if found:
        told.append("Read what you need with memory_get.")
    if how.below:
        best = "" if how.best_below is None else f" (best score {how.best_below:.2f})"
        told.append(
            f"{how.below} more stood below the relevance threshold {floor:g}{best}; search with "
            "min_relevance 0 to see them."
        )
    elif not found:
        told.append("Nothing stood below the threshold either: try other words.")
    if how.pending:
        some = "1 text has" if how.pending == 1 else f"{how.pending} texts have"
        told.append(f"{some} no vector yet; such texts are found by their words only.")
    return " ".join(told)


def _read(memory: Memory) -> dict[str, Any]:
    source = memory.source.agent
    return {
        "id": memory.id,
        "content": tool_text.said(memory.text),
        "kind": tool_text.sort(memory),
        "status": memory.status.value,
        "trust": memory.source.kind.value,
        "source": None if source is None else tool_text.named(source),
        "project": None if memory.scope.project is None else tool_text.named(memory.scope.project),
        "tags": [tool_text.named(tag) for tag in memory.tags],
        "importance": memory.importance,
        "pinned": memory.pinned,
        "created_at": memory.created_at,
        "occurred_at": None if memory.occurred_at is None else record.iso(memory.occurred_at),
        "valid_until": None if memory.valid_until is None else record.iso(memory.valid_until),
        "tokens": count(memory.text),
    }
