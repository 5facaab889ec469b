"""Answers a call of a tool, in the daemon or in the front: arguments in, content out.

An error is a result that the model can read, with what to do next.
"""

from collections.abc import Iterator, Mapping

from memory_mesh.agents.mcp.aliases import Tool, ToolSet, set_named
from memory_mesh.agents.mcp.caller import ToolCall
from memory_mesh.agents.mcp.schemas import Schema
from memory_mesh.agents.mcp.tools import TOOLS
from memory_mesh.agents.opening import Stores
from memory_mesh.base.typed import Any
from memory_mesh.context import fence
from memory_mesh.context.packing.choice import token_bound
from memory_mesh.formats.private import without_private
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import (
    Channel,
    Explanation,
    Hit,
    Memory,
    Outcome,
    Proposal,
    Receipt,
    Scope,
    Status,
    times,
)
from memory_mesh.model.errors import (
    InvalidInput,
    MayBeStored,
    MeshError,
    NotAllowed,
    NotFound,
    StoreIsAway,
    StoreIsBusy,
    StoreIsFull,
    shown,
)
from memory_mesh.rules.trust import ceiling
from memory_mesh.search.ranking.profiles import MIN_RELEVANCE

# The tools that write: store, forget and feedback.


_DETAILS = ("kind", "tags", "importance", "occurred_at", "valid_until", "expires_at")
_DECIDES = "The user decides: ask them to run `memory-mesh review --id {0} --approve`, or --reject."
_CORRECTED = "corrected by the agent"


def store(call: ToolCall, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Stores a text; in the user's name if it stands in a prompt of theirs."""
    content = given["content"]
    channel = call.channel_of(content)
    details = {name: given[name] for name in _DETAILS if name in given}
    if "replaces" in given:
        return _replaced(call, channel, given, details)
    if given.get("scope") == "everywhere":
        details["scope"] = Scope()
    receipt = call.mesh(channel).add(content, key=call.key, **details)
    if receipt.outcome is Outcome.REFUSED:
        raise InvalidInput(f"nothing was stored: {'; '.join(receipt.reasons)}")
    call.stored(receipt.id)
    return _stored(receipt, channel)


def forget(call: ToolCall, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Deletes a memory, or proposes to if it is the user's own word."""
    mesh, id_ = call.mesh(), given["id"]
    outcome, proposal = "deleted", None
    try:
        proposal = mesh.delete(id_, reason=given.get("reason", "forgotten by the agent"))
    except NotFound:
        if mesh.get(id_, include=[Status.DELETED]) is None:
            raise
        outcome = "already_deleted"
    name = fence.named(id_)
    said, after = (
        f"{name} is deleted.",
        "The user can bring it back for 30 days: memory-mesh restore",
    )
    if proposal is not None:
        outcome, said, after = "proposed", f"{name} stays for now.", _waits(proposal)
    answer = {
        "outcome": outcome,
        "id": name,
        "proposal_id": None if proposal is None else proposal.id,
        "next": after,
    }
    return answer, f"{said} {after}"


def feedback(call: ToolCall, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Counts a vote."""
    memory = call.mesh().rate(given["id"], helpful=given["helpful"])
    answer = {
        "id": memory.id,
        "helpful": memory.helpful,
        "unhelpful": memory.harmful,
        "usefulness": memory.usefulness,
    }
    votes = f"{memory.helpful} for and {memory.harmful} against it"
    return answer, f"Counted: {votes}; usefulness {memory.usefulness:.2f}."


def _stored(receipt: Receipt, channel: Channel) -> tuple[dict[str, Any], str]:
    after = ""
    if receipt.outcome is Outcome.QUARANTINED:
        after = _DECIDES.format(receipt.id)
    elif receipt.for_review:
        after = "Something now waits for the user's decision: `memory-mesh review` lists it."
    answer: dict[str, Any] = {
        "outcome": receipt.outcome.value,
        "id": receipt.id,
        "proposal_id": None,
        "trust": ceiling(channel).value,
        "reasons": [fence.said(reason) for reason in receipt.reasons],
        "superseded": list(receipt.superseded),
        "newer_than": list(receipt.newer_than),
        "for_review": list(receipt.for_review),
        "redacted": dict(receipt.redacted),
        "next": after,
    }
    said = {
        Outcome.STORED: "Remembered as",
        Outcome.MERGED: "Already known; merged with",
        Outcome.QUARANTINED: "Kept for review as",
    }[receipt.outcome]
    why = [reason for reason in answer["reasons"] if reason != receipt.outcome.value]
    lines = [f"{said} {receipt.id} (trust: {answer['trust']}).", *why, after]
    return answer, "\n".join(line for line in lines if line)


def _replaced(
    call: ToolCall, channel: Channel, given: Mapping[str, Any], details: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """Changes a memory, or proposes to if it is the user's own word and this text is not."""
    if "scope" in given:
        raise InvalidInput("a text that replaces another keeps its scope: leave scope out")
    mesh, id_, content = call.mesh(channel), given["replaces"], given["content"]
    proposal = None
    try:
        mesh.update(id_, content, reason=_CORRECTED, **details)
    except NotAllowed:
        proposal = mesh.review.propose_update(id_, content, reason=_CORRECTED, **details)
    name = fence.named(id_)
    after = "" if proposal is None else _waits(proposal)
    answer: dict[str, Any] = {
        "outcome": "changed" if proposal is None else "proposed",
        "id": name,
        "proposal_id": None if proposal is None else proposal.id,
        "trust": ceiling(channel).value,
        "reasons": [],
        "next": after,
    }
    said = "says this from now on." if proposal is None else "stays as it is for now."
    return answer, f"{name} {said} {after}".rstrip()


def _waits(proposal: Proposal) -> str:
    """What became of a proposal: it waits, or was decided already."""
    if proposal.pending:
        return f"It is the user's own word. {_DECIDES.format(proposal.id)}"
    return "The user was asked before and said no. Do not ask again."


# The tools that read: search, get, context, explain and reflect.


def search(call: ToolCall, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Lists hits in short, and says what the threshold left out."""
    floor = float(given.get("min_relevance", MIN_RELEVANCE))
    hits = call.mesh().search(**{**given, "min_relevance": floor})
    how = hits.explanation
    found = [_found(hit) for hit in hits]
    after = _after_search(how, floor, found=bool(found))
    answer = {
        "notice": fence.TOOL_NOTICE,
        "memories": found,
        "below": how.below,
        "best_below": how.best_below,
        "min_relevance": floor,
        "next": after,
    }
    entries = [
        fence.entry(number, _facts(hit), fence.first_line(hit.excerpt))
        for number, hit in enumerate(hits, start=1)
    ]
    listed = fence.fenced_for_tool(entries) or "No memory was found."
    return answer, f"{listed}\n{after}"


def get(call: ToolCall, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Reads memories in full."""
    asked = list(dict.fromkeys(given["ids"]))
    memories = call.mesh().get_many(asked)
    call.gave(memory.id for memory in memories)
    there = {memory.id for memory in memories}
    missing = [fence.named(id_) for id_ in asked if id_ not in there]
    after = "Find ids with memory_search." if missing else ""
    answer = {
        "notice": fence.TOOL_NOTICE,
        "memories": [_read(memory) for memory in memories],
        "missing": missing,
        "next": after,
    }
    entries = [
        fence.entry(number, fence.heading(memory), memory.text)
        for number, memory in enumerate(memories, start=1)
    ]
    told = f"Not found, or not visible here: {', '.join(missing)}. {after}" if missing else ""
    return answer, "\n".join(part for part in (fence.fenced_for_tool(entries), told) if part)


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
    sentences = [" ".join(fence.said(each).split("\n")) for each in why.sentences]
    answer = {
        "notice": fence.TOOL_NOTICE,
        "id": why.id,
        "subject": why.subject,
        "sentences": sentences,
        "gate": None if why.gate is None else why.gate.value,
        "place": None if why.rank is None else why.rank.place,
        "score": None if why.rank is None else why.rank.score,
    }
    return answer, fence.fenced_for_tool([fence.barred("\n".join(sentences))])


def reflect(call: ToolCall, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Summarises what memories say together."""
    found = call.mesh().reflect(
        topic=given.get("topic"),
        lookback=given.get("lookback"),
        store=given.get("store", False),
    )
    text = fence.said(found.text)
    after = ""
    if not text:
        after = f"No two of {found.count} memories say the same; memory_search lists single ones."
    answer = {
        "notice": fence.TOOL_NOTICE,
        "text": text,
        "count": found.count,
        "sources": list(found.sources),
        "confidence": found.confidence,
        "id": found.id,
        "next": after,
    }
    kept = f"\nKept as {found.id}." if found.id else ""
    return answer, f"{fence.fenced_for_tool([fence.barred(text)])}{kept}" if text else after


def _found(hit: Hit) -> dict[str, Any]:
    memory = hit.memory
    return {
        "id": hit.id,
        "first_line": fence.first_line(hit.excerpt),
        "kind": fence.sort(memory),
        "date": f"{memory.created:%Y-%m-%d}",
        "trust": memory.source.kind.value,
        "tokens": token_bound(memory.text),
        "score": round(hit.score, 4),
        "newer": hit.newer,
    }


def _facts(hit: Hit) -> list[str]:
    facts = [*fence.heading(hit.memory), f"score {hit.score:.2f}"]
    facts.append(f"{token_bound(hit.memory.text)} tokens")
    facts += [f"updated by {hit.newer}"] if hit.newer else []
    return [*facts, f"conflicts with {hit.conflict}"] if hit.conflict else facts


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
        "content": fence.said(memory.text),
        "kind": fence.sort(memory),
        "status": memory.status.value,
        "trust": memory.source.kind.value,
        "source": None if source is None else fence.named(source),
        "project": None if memory.scope.project is None else fence.named(memory.scope.project),
        "tags": [fence.named(tag) for tag in memory.tags],
        "importance": memory.importance,
        "pinned": memory.pinned,
        "created_at": memory.created_at,
        "occurred_at": None if memory.occurred_at is None else times.iso(memory.occurred_at),
        "valid_until": None if memory.valid_until is None else times.iso(memory.valid_until),
        "tokens": token_bound(memory.text),
    }


_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}

_ANSWERS: Mapping[str, Tool] = {
    "memory_store": store,
    "memory_search": search,
    "memory_get": get,
    "memory_context": context,
    "memory_forget": forget,
    "memory_feedback": feedback,
    "memory_explain": explain,
    "memory_reflect": reflect,
}
_OWN = ToolSet(TOOLS, _ANSWERS, "memory_search")
_ADVICE: tuple[tuple[type[MeshError], str], ...] = (
    (NotFound, "No such memory is visible here; find ids with {finder}."),
    (StoreIsBusy, "Nothing was done. Call the tool again in a moment."),
    (StoreIsAway, "Nothing was stored. Call the tool again in a moment."),
    (MayBeStored, "It may be stored: look for it with {finder} before you store it again."),
    (StoreIsFull, "Tell the user that the disk is full; nothing was stored."),
    (InvalidInput, "Correct the arguments and call the tool again."),
    (MeshError, "Ask the user to run `memory-mesh doctor`, which says what is wrong."),
)
_PRIVATE = "nothing was done: the text repeats what the user marked as private in this session"


def call_tool(stores: Stores, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the result of a call: content, structured content, and whether it failed."""
    given, offered = request["input"], _OWN
    name, stated = str(given.get("name")), given.get("arguments") or {}
    try:
        if given.get("compat") is not None:
            offered = set_named(given["compat"])
        schema = offered.schema(name)
        known = checked(schema, {each: _public(each, stated[each]) for each in stated})
        call = ToolCall(stores, request)
        if not schema["annotations"]["readOnlyHint"] and call.hides(_texts(known)):
            raise InvalidInput(_PRIVATE)
        answer, said = offered.answers[name](call, known)
    except MeshError as error:
        return failed(error, offered.finder)
    texts = [said] if isinstance(said, str) else said
    content = [_block(text) for text in texts]
    return {"content": content, "structuredContent": answer, "isError": False}


def failed(error: MeshError, finder: str = _OWN.finder) -> dict[str, Any]:
    """The result of a call that failed: what happened, and what to do next."""
    advice = next(said for kind, said in _ADVICE if isinstance(error, kind)).format(finder=finder)
    text = advice if isinstance(error, NotFound) else f"{safe_text(str(error))}\n{advice}"
    return {"content": [_block(text)], "isError": True}


def _public(name: str, value: object) -> object:
    """Texts without what the user marked as private: it is neither stored nor looked for."""
    if isinstance(value, list):
        return [_public(name, each) for each in value]
    if isinstance(value, dict):
        return {key: _public(name, each) for key, each in value.items()}
    if not isinstance(value, str):
        return value
    public = without_private(value)
    if value.strip() and not public.strip():
        raise InvalidInput(f"all of {name} is marked as private, so nothing was done with it")
    return public


def _texts(value: object) -> Iterator[str]:
    """Every text in the arguments of a call."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


# Checks the arguments of a tool against its input schema; says what is wrong and what it takes.
#
# Knows the parts of JSON Schema that our tools use (schemas.py). Pure.


def checked(tool: Schema, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without those that are null; InvalidInput names the first that is wrong."""
    return _checked(tool["name"], tool["inputSchema"], given)


def _checked(name: str, schema: Schema, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a closed object does not know is refused; any other object is read without it."""
    known: Mapping[str, Schema] = schema["properties"]
    unknown = sorted(set(given) - set(known))
    if unknown and schema.get("additionalProperties") is False:
        named = ", ".join(shown(each) for each in unknown[:5])
        raise InvalidInput(f"{name} does not take {named}; it takes: {', '.join(known)}")
    stated = {each: given[each] for each in given if each in known and given[each] is not None}
    for required in schema.get("required", ()):
        if required not in stated:
            about = known[required].get("description", "")
            raise InvalidInput(f"{name} needs {required}: {about}".rstrip(": "))
    for each, value in stated.items():
        _check(each, known[each], value)
    return stated


def _check(name: str, schema: Schema, value: object) -> None:
    named = schema["type"]
    wanted = [named] if isinstance(named, str) else list(named)
    wrong = isinstance(value, bool) and "boolean" not in wanted
    if wrong or not any(isinstance(value, _TYPES[each]) for each in wanted):
        said = " or ".join(_WORDS[each] for each in wanted)
        raise InvalidInput(f"{name} must be {said}, not {shown(value)}")
    if "enum" in schema and value not in schema["enum"]:
        raise InvalidInput(
            f"{name} must be one of: {', '.join(schema['enum'])}; not {shown(value)}"
        )
    if isinstance(value, int | float):
        _check_size(name, schema, value, ("minimum", "maximum"), "")
    elif isinstance(value, str):
        _check_size(name, schema, len(value.strip()), ("minLength", "maxLength"), " characters")
    elif isinstance(value, list):
        _check_size(name, schema, len(value), ("minItems", "maxItems"), " entries")
        for each in value:
            _check(f"each of {name}", schema["items"], each)
    elif isinstance(value, dict) and "properties" in schema:
        _checked(name, schema, value)


def _check_size(name: str, schema: Schema, size: float, limits: tuple[str, str], unit: str) -> None:
    least, most = (schema.get(limit) for limit in limits)
    verb = "has" if unit else "is"
    if least is not None and size < least:
        raise InvalidInput(f"{name} {verb} {size}{unit}; the least is {least}")
    if most is not None and not size <= most:  # of a NaN neither holds
        raise InvalidInput(f"{name} {verb} {size}{unit}; the most is {most}")
