"""Wire text and metadata of a block as bytes: most of it is the same in every block.

A packed text begins with a byte that says how. After 1 follows a raw deflate stream that knows the
words below. After 2 the same, of a text in which one character stands for the block's memory and
one for its time. After 3 as after 2, with the 32 bytes of a SHA-256 in front: one character stands
for its 64 digits. A column that holds text instead of bytes was never packed and is read as it is.
"""

import re
import zlib
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_PLAIN, _NAMED, _HASHED = 1, 2, 3
_HASH, _MEMORY, _TIME = "\x00", "\x01", "\x02"  # a text that holds one of them is packed plain
_SHA256 = re.compile(r'"([0-9a-f]{64})"')  # found by its first character, so that it costs little
_ID = re.compile(r'"([a-z]+_[0-9]+_[0-9a-f]{6})"')
_SHORT = 128  # characters of a text that may be that of other blocks too
_BITS = -12  # a window of 4 KiB without a header: it is copied for each text
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What a stored text was packed with is needed to read it: other words need another first byte.
_WORDS = (
    b'{"changed":["text"],"content_sha256":"\x00","outcome":"confirmed","reasons":["'
    b'{"content_sha256":"\x00","outcome":"stored","reasons":["stored"],"tags":[]}'
    b'","type":"update","why":"updated by the caller"}'
    b"handoff: SubconsciousReflector;\n  hypothesis_confidence;0.7;\n  lesson_id;\x01;\n"
    b"intent: distill_wisdom_from_execution;\n  original_context;\n  error_pattern;\n"
    b"  pattern_id;\n  severity;high;\npriority: high;\n  oversight_description;\n"
    b"  preventative_rule;\n  rule_confidence;0.7;\n  resolution;\n  applicability_scope;\n"
    b"log: lesson_learned;timestamp;\x02;pattern;severity;\n  memory_type;session;agent;\n"
    b"intent: change_memory;\n  change;update;\noutput:\n  memory_changed;\x01\nmeta:\n"
    b"  rationale;updated by the caller;\n  confidence;1.0;\n"
    b"log: memory_changed;timestamp;\x02;id;\x01;change;update;\n"
    b"agent: MemoryMesh_YAMO_AGENT;\nintent: store_memory_for_future_retrieval;\ncontext:\n"
    b"  memory_id;\x01;\n  memory_type;global;\n  timestamp;\x02;\n  content_length;\n"
    b"constraints:\n  hypothesis;This memory will be relevant to future queries;\n"
    b"priority: medium;\noutput:\n  memory_stored;\x01;\n  content_preview;\nmeta:\n"
    b"  rationale;Memory persisted for semantic search and retrieval;\n"
    b"  observation;Content vectorized and stored in LanceDB;\n  confidence;1.0;\n"
    b"log: memory_retained;timestamp;\x02;id;\x01;type;global;\nhandoff: End;\n"
)


def packed(text: str | None, memories: str, at: int) -> bytes | None:
    """Returns a block's text in few bytes; nothing stays nothing.

    `memories` and `at` are the block's columns: the text mostly repeats them.
    """
    if text is None:
        return None
    if _HASH in text or _MEMORY in text or _TIME in text:
        return bytes((_PLAIN,)) + _deflated(text)
    text = _named(text, memories, at)
    if (found := _SHA256.search(text)) is None:
        return bytes((_NAMED,)) + _deflated(text)
    text = f"{text[: found.start(1)]}{_HASH}{text[found.end(1) :]}"
    shrunk = _often_deflated(text) if len(text) <= _SHORT else _deflated(text)
    return bytes((_HASHED,)) + bytes.fromhex(found[1]) + shrunk


def unpacked(stored: str | bytes | None, memories: str, at: int) -> str | None:
    """Returns the text that a column holds; ValueError if its bytes are not of a packed text."""
    if not isinstance(stored, bytes):
        return stored
    form, rest = stored[:1], stored[1:]
    if form == bytes((_PLAIN,)):
        return _inflated(rest)
    if form == bytes((_NAMED,)):
        return _spelled(_inflated(rest), memories, at)
    if form == bytes((_HASHED,)):
        return _spelled(_inflated(rest[32:]), memories, at).replace(_HASH, rest[:32].hex())
    raise ValueError("the text is packed in a way that this version does not know")


def _named(text: str, memories: str, at: int) -> str:
    """The text with a character for the block's first memory and one for its time."""
    if (found := _ID.search(memories)) is not None:
        text = text.replace(found[1], _MEMORY)
    return text.replace(_time(at), _TIME)


def _spelled(text: str, memories: str, at: int) -> str:
    """The text that `_named` made shorter."""
    if (found := _ID.search(memories)) is not None:
        text = text.replace(_MEMORY, found[1])
    return text.replace(_TIME, _time(at))


@lru_cache(maxsize=64)
def _time(at: int) -> str:
    """A time as blocks write it: ISO 8601 in UTC with milliseconds and Z."""
    moment = _EPOCH + timedelta(milliseconds=at)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _deflated(text: str) -> bytes:
    stream = _primed().copy()
    return stream.compress(text.encode()) + stream.flush()


@lru_cache(maxsize=64)
def _often_deflated(text: str) -> bytes:
    """The same for a text that many blocks have once their hash is left out of it."""
    return _deflated(text)


def _inflated(packed_: bytes) -> str:
    stream = zlib.decompressobj(_BITS, _WORDS)
    try:
        text = stream.decompress(packed_) + stream.flush()
    except zlib.error as error:
        raise ValueError("the packed text cannot be read") from error
    if not stream.eof or stream.unused_data:
        raise ValueError("the packed text ends too early or too late")
    return text.decode()


@lru_cache(maxsize=1)
def _primed() -> "zlib._Compress":
    """A stream that knows the words; a copy of it costs a fifth of a new one."""
    return zlib.compressobj(6, zlib.DEFLATED, _BITS, 3, zlib.Z_DEFAULT_STRATEGY, _WORDS)
