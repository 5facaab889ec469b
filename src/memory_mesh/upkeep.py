"""Keeping a store in order: feeding the sinks, holding the chain against a checkpoint."""

import time
from collections.abc import Sequence

from memory_mesh.errors import InvalidInput
from memory_mesh.model import Block, Finding, Verification
from memory_mesh.policy import audit
from memory_mesh.ports import Ledger, Sink

_COMMITS = 64  # blocks read per step


def drain(ledger: Ledger, namespace: str, sinks: Sequence[Sink], seconds: float) -> bool:
    """Hand every sink what it has not heard, for at most this long; True when all is told."""
    end = time.monotonic() + seconds
    told = [_drain_one(ledger, namespace, sink, end) for sink in sinks]
    return all(told)


def verify(ledger: Ledger, namespace: str, against: str | None) -> Verification:
    """The ledger's own check, and the chain held against a checkpoint kept elsewhere."""
    verification = ledger.verify(namespace)
    if against is None:
        return verification
    mark = audit.read_checkpoint(against)
    if mark.namespace != namespace:
        message = f"the checkpoint is of the namespace {mark.namespace!r}, not of {namespace!r}"
        raise InvalidInput(message)
    block = ledger.block_at(namespace, mark.position) if mark.position else None
    held = block.hash if block is not None else None
    if not mark.position:
        held = audit.genesis(namespace)
    checked = {**verification.checked, "checkpoint position": mark.position}
    if held == mark.hash:
        return Verification(namespace, checked, verification.findings, verification.head)
    detail = (
        f"the chain is shorter than the checkpoint at {mark.position}"
        if held is None
        else f"the block at {mark.position} is not the one that was checkpointed"
    )
    findings = (*verification.findings, Finding("checkpoint", detail))
    return Verification(namespace, checked, findings, verification.head)


def _drain_one(ledger: Ledger, namespace: str, sink: Sink, end: float) -> bool:
    cursor, _ = ledger.sink_cursor(namespace, sink.name)
    while blocks := ledger.blocks(namespace, cursor, _COMMITS):
        for commit in _by_commit(blocks):
            if time.monotonic() >= end:
                return False
            if not _deliver(ledger, namespace, sink, commit):
                return False
            cursor = commit[0].seq or cursor
    return True


def _deliver(ledger: Ledger, namespace: str, sink: Sink, commit: list[Block]) -> bool:
    """One commit to one sink; a failure is counted and never reaches the writer."""
    failure = None
    try:
        sink.deliver(namespace, commit)
    except Exception as error:  # noqa: BLE001  # whatever a sink does, writes go on
        failure = f"{type(error).__name__}: {error}"
    ledger.sink_moved(namespace, sink.name, commit[0].seq or 0, failure)
    return failure is None


def _by_commit(blocks: Sequence[Block]) -> list[list[Block]]:
    commits: dict[int, list[Block]] = {}
    for block in blocks:
        commits.setdefault(block.seq or 0, []).append(block)
    return list(commits.values())
