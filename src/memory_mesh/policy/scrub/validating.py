"""Stage 6, validation: no empty chunk, none too short where that is enforced, none too long."""

from collections.abc import Iterable

from memory_mesh.errors import InvalidInput
from memory_mesh.policy.scrub.parts import Chunk
from memory_mesh.policy.scrub.settings import Settings

_LEAST_MAXIMUM = 32  # below it a long word could not be cut


def checked(settings: Settings) -> Settings:
    """The settings, if they can be kept."""
    ordered = 0 <= settings.min_tokens <= settings.max_tokens <= settings.hard_max_tokens
    if not ordered or settings.max_tokens < _LEAST_MAXIMUM:
        raise InvalidInput(
            f"the limits of a chunk must increase: min_tokens, max_tokens (at least "
            f"{_LEAST_MAXIMUM}), hard_max_tokens; not {settings.min_tokens}, "
            f"{settings.max_tokens}, {settings.hard_max_tokens}"
        )
    return settings


def validated(chunks: Iterable[Chunk], settings: Settings) -> tuple[tuple[Chunk, ...], list[str]]:
    """The chunks that may be stored, and why the others may not."""
    kept: list[Chunk] = []
    refused: list[str] = []
    for chunk in chunks:
        if chunk.tokens > settings.hard_max_tokens:
            raise InvalidInput(
                f"a chunk has {chunk.tokens} tokens, more than the hard maximum of "
                f"{settings.hard_max_tokens}; it cannot be stored"
            )
        if not chunk.text.strip():
            refused.append("empty chunk")
        elif settings.enforce_min_length and chunk.tokens < settings.min_tokens:
            refused.append("chunk below the minimum length")
        else:
            kept.append(chunk)
    return tuple(kept), refused
