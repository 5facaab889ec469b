"""Computes and checks the hashes of audit blocks.

digest = HMAC-SHA256(salt, wire text + LF + metadata); hash = SHA-256 of one JSON array: version,
id, position, seq, operation, agent, milliseconds, memory ids, digest, previous hash. The first
block follows SHA-256 of the namespace, so no two namespaces share a chain. Erasing a block drops
wire text, metadata and salt: the digest then proves nothing of the text, and the chain holds.
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from json import encoder as standard

from memory_mesh.base.digests import keyed_digest, sha256
from memory_mesh.model import Block, BlockOperation, Checkpoint, Entry, Head, InvalidInput, Json

SALT = 16  # bytes
_SIZE = 32  # bytes of SHA-256
_FORM = 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def writer(
    *,
    ascii_only: bool = False,
    sort_keys: bool = False,
    default: Callable[..., object] | None = None,
) -> Callable[[object], str]:
    """Returns the function that writes a value as compact JSON, by one encoder that is kept.

    `json` makes one for each text: `json.JSONEncoder(separators=(",", ":"), …).encode` gives the
    same for twice the time.
    """
    usual = json.JSONEncoder(
        ensure_ascii=ascii_only, sort_keys=sort_keys, separators=(",", ":"), default=default
    )
    make = getattr(standard, "c_make_encoder", None)
    if make is None:  # an interpreter without it
        return usual.encode
    text = standard.encode_basestring_ascii if ascii_only else standard.encode_basestring
    skip_keys, allow_nan = False, True  # as usual
    encode = make(None, usual.default, text, None, ":", ",", sort_keys, skip_keys, allow_nan)

    def written(value: object) -> str:
        return text(value) if isinstance(value, str) else "".join(encode(value, 0))

    return written


_compact = writer(ascii_only=True)
_sorted = writer(sort_keys=True)


def genesis(namespace: str) -> bytes:
    """Returns the previous hash of a namespace's first block."""
    return sha256(namespace.encode()).digest()


def metadata_text(metadata: Mapping[str, Json]) -> str:
    """Returns a block's metadata as canonical JSON, the form that is stored and hashed."""
    return _sorted(dict(metadata))


def digest(wire: str | None, metadata: str, salt: bytes) -> bytes:
    """Returns the salted digest of a block's content."""
    return keyed_digest(salt, f"{wire or ''}\n{metadata}".encode())


def block_hash(
    entry: Entry, position: int, seq: int | None, digested: bytes, prev_hash: bytes
) -> bytes:
    """Returns a block's hash over its header, its digest and the previous hash."""
    form = [
        _FORM,
        entry.id,
        position,
        seq,
        entry.operation,
        entry.agent,
        (entry.at - _EPOCH) // _MILLISECOND,
        entry.memories,
        digested.hex(),
        prev_hash.hex(),
    ]
    return sha256(_compact(form).encode()).digest()


def seal(entry: Entry, seq: int, position: int, prev_hash: bytes, salt: bytes) -> Block:
    """Returns the entry as a block at a position in the chain."""
    digested = digest(entry.wire, metadata_text(entry.metadata), salt)
    return Block(
        entry=entry,
        position=position,
        seq=seq,
        salt=salt,
        digest=digested,
        prev_hash=prev_hash,
        hash=block_hash(entry, position, seq, digested, prev_hash),
    )


def flaw(block: Block, position: int, prev_hash: bytes, *, stored: str | None = None) -> str | None:
    """Returns what is wrong with the block at this position, or None.

    `stored` is its metadata as the ledger holds it, where that need not be written anew.
    """
    if block.position != position:
        return f"expected position {position}, found {block.position}"
    if block.prev_hash != prev_hash:
        return "does not follow the block before it"
    if block.digest is None or len(block.digest) != _SIZE:
        return "has no digest"
    said = block.entry.wire is not None or bool(block.entry.metadata)
    if block.erased and (said or block.salt is not None):
        return "is marked erased and still says something"
    if not block.erased:
        if block.salt is None or len(block.salt) != SALT:  # HMAC pads a short key with zeros
            return "its salt was changed"
        metadata = metadata_text(block.entry.metadata) if stored is None else stored
        if digest(block.entry.wire, metadata, block.salt) != block.digest:
            return "its text or metadata was changed"
    if block_hash(block.entry, position, block.seq, block.digest, prev_hash) != block.hash:
        return "its header or hash was changed"
    return None


def lost_texts(entry: Entry) -> list[tuple[str, str]]:
    """Returns the texts that a salvage says are lost: each memory's id and the text's SHA-256."""
    listed = entry.metadata.get("lost_texts")
    if entry.operation is not BlockOperation.CHANGE or not isinstance(listed, list):
        return []
    return [(str(each[0]), str(each[1])) for each in listed if isinstance(each, list)]


def checkpoint(head: Head, at: datetime) -> str:
    """Returns the last block of the chain as the text of a checkpoint."""
    return json.dumps(
        {
            "namespace": head.namespace,
            "position": head.position,
            "hash": head.hash.hex(),
            "time": at.isoformat(),
        },
        ensure_ascii=False,
        indent=2,
    )


def read_checkpoint(text: str) -> Checkpoint:
    """Parses the text of a checkpoint."""
    try:
        plain = json.loads(text)
        return Checkpoint(
            str(plain["namespace"]), int(plain["position"]), bytes.fromhex(plain["hash"])
        )
    except (ValueError, KeyError, TypeError):
        raise InvalidInput(
            "that file is not a checkpoint; write one with: memory-mesh verify --checkpoint FILE"
        ) from None
