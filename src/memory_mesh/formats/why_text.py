"""Renders an explanation as lines: the sentences first, the numbers under them."""

from collections.abc import Iterator, Mapping

from memory_mesh.model import record
from memory_mesh.model.why import Rank, Recorded, Version, Why


def lines(why: Why) -> list[str]:
    """Returns the lines of an explanation; texts of memories are cut by who prints them.

    A reason or a name in them adds no line of its own.
    """
    numbers = [_line(number) for number in _numbers(why)]
    return [*map(_line, why.sentences), *(["", *numbers] if numbers else [])]


def _line(text: str) -> str:
    return " ".join(text.splitlines()) if text else text


def _numbers(why: Why) -> Iterator[str]:
    if why.rank is not None:
        yield from _rank(why.rank)
    if why.trust:
        parts = {name: part for name, part in why.trust.items() if name != "trust"}
        yield f"trust {why.trust['trust']:.4g} = {_summed(parts)}"
    yield from map(_version, why.versions)
    yield from _beside(why)
    yield from map(_block, why.blocks)
    yield from _prompts(why)


def _beside(why: Why) -> Iterator[str]:
    """Links, conflicts and what superseded what."""
    for link in why.links:
        near = "" if link.similarity is None else f" {link.similarity:.2f}"
        yield f"link {link.source} -> {link.target}  {link.type}{near}"
    for conflict in why.conflicts:
        ended = conflict.resolution or "pending"
        yield f"conflict {conflict.id}  {conflict.new} / {conflict.existing}  {ended}"
    for older, reasons in why.rationale.items():
        yield f"superseded {older}  {'; '.join(reasons)}"


def _prompts(why: Why) -> Iterator[str]:
    """The prompts that a memory entered, or the memories that entered a prompt."""
    if why.subject != "injection":
        for injection in why.injections:
            yield f"prompt {injection.id}  {record.iso(injection.at)}  {injection.tokens} tokens"
    for entered in why.entered:
        at = entered.injected
        score = "" if at.score is None else f"  score {at.score:.2f}"
        yield f"entered {at.memory}  {at.section}  {at.tokens} tokens{score}"


def _rank(rank: Rank) -> Iterator[str]:
    place = f"place {rank.place}" + (f" of {rank.candidates}" if rank.candidates else "")
    yield f"{place}  score {rank.score:.6g}  profile {rank.profile}"
    if rank.shares:
        yield f"margin {rank.margin:.6f} = base {rank.base:.6f} and these shares:"
    for name, share in sorted(rank.shares.items(), key=lambda pair: (-abs(pair[1]), pair[0])):
        value = rank.features.get(name)
        yield f"  {share:+.6f}  {name}" + ("" if value is None else f" = {value:g}")
    for name, lift in rank.lifts.items():
        yield f"score {lift:+.6f}  by {name}"


def _summed(parts: Mapping[str, float]) -> str:
    return " ".join(f"{part:+.4g} {name}" for name, part in parts.items() if part)


def _version(version: Version) -> str:
    memory = version.memory
    until = "now" if memory.recorded_until is None else record.iso(memory.recorded_until)
    why = f"  {'; '.join(version.reasons)}" if version.reasons else ""
    return f"version {record.iso(memory.recorded_from)} .. {until}  {memory.status}{why}"


def _block(block: Recorded) -> str:
    return f"block {block.id}  {block.what}  {record.iso(block.at)}"
