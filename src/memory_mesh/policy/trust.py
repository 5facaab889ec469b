"""What a source may claim to be: stated provenance is lowered, never raised.

Each channel has a ceiling, and what is derived sinks to its least trusted source.
"""

from collections.abc import Iterable

from memory_mesh.model import Channel, SourceKind

_MOST_TRUSTED_FIRST = tuple(SourceKind)
_CEILINGS = {
    Channel.TOOL: SourceKind.TOOL_OUTPUT,
    Channel.FILE: SourceKind.DOCUMENT,
    Channel.IMPORT: SourceKind.DOCUMENT,
    Channel.WEB: SourceKind.DOCUMENT,
    Channel.MCP: SourceKind.INFERENCE,
    Channel.ASSISTANT: SourceKind.INFERENCE,
    Channel.EXTRACTION: SourceKind.INFERENCE,
}  # library, command line and the hook of a user's prompt speak for the user


def lowered(stated: SourceKind, channel: Channel) -> SourceKind:
    """The stated kind, or the channel's ceiling where that is lower."""
    return lowest((stated, _CEILINGS.get(channel, SourceKind.USER_EXPLICIT)))


def lowest(kinds: Iterable[SourceKind]) -> SourceKind:
    """The least trusted of some sources."""
    return max(kinds, key=_MOST_TRUSTED_FIRST.index)


def speaks_for_itself(kind: SourceKind) -> bool:
    """True where a lesson or skill is used at once; from any other source it waits for review."""
    return kind in {SourceKind.USER_EXPLICIT, SourceKind.SYSTEM}
