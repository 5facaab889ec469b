"""What the generators hand over."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Value:
    """A generated value; `leads` are the sentences it needs, with § where it stands."""

    kind: str
    raw: str
    leads: tuple[str, ...] = ()
    block: bool = False  # it spans lines, so it fits fewer places
    in_url: bool = True
