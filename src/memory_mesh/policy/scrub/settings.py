"""The settings of the scrubber: chunk sizes and what is kept."""

from memory_mesh.fastdataclass import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """How the scrubber works; the defaults are those of its use on its own."""

    enabled: bool = True  # off: no cleaning, but private data is still hidden and chunks still made
    min_tokens: int = 10
    max_tokens: int = 500
    hard_max_tokens: int = 2_000
    enforce_min_length: bool = True
    min_signal: float = 0.3  # of the characters of a document's line


STANDALONE = Settings()
IN_MESH = Settings(min_tokens=1, enforce_min_length=False)
