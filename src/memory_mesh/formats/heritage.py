"""A heritage chain as RFC-0011's JSON (intentChain, hypotheses, rationales), and back."""

from collections.abc import Mapping, Sequence

from memory_mesh.errors import InvalidInput
from memory_mesh.model import Heritage, Json

_NAMES = {"intents": "intentChain", "hypotheses": "hypotheses", "rationales": "rationales"}
_MOST_CUT = 1_000_000
_SPELLINGS = {"intent_chain": "intentChain", "intents": "intentChain"}


def heritage_json(heritage: Heritage) -> dict[str, Json]:
    """The three lists; `cut` says how many older links were left out."""
    plain: dict[str, Json] = {key: list(getattr(heritage, name)) for name, key in _NAMES.items()}
    return plain | ({"cut": heritage.cut} if heritage.cut else {})


def read_heritage(plain: Mapping[str, Json]) -> Heritage:
    """A chain from its JSON or from what a caller gave; InvalidInput names what is wrong."""
    given = {_SPELLINGS.get(key, key): value for key, value in plain.items()}
    unknown = given.keys() - {*_NAMES.values(), "cut"}
    if unknown:
        message = f"a heritage chain has intentChain, hypotheses and rationales, not {min(unknown)}"
        raise InvalidInput(message)
    cut = given.get("cut", 0)
    return Heritage(
        **{name: _texts(key, given.get(key, ())) for name, key in _NAMES.items()},
        cut=cut if type(cut) is int and 0 <= cut < _MOST_CUT else 0,
    )


def cut_to(heritage: Heritage, depth: int) -> Heritage:
    """The newest `depth` links of each list; what goes is counted by the longest of them."""
    lists = {name: getattr(heritage, name) for name in _NAMES}
    gone = max(0, *(len(links) - depth for links in lists.values()))
    kept = {name: links[max(0, len(links) - depth) :] for name, links in lists.items()}
    return Heritage(**kept, cut=heritage.cut + gone)


def _texts(key: str, value: Json) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        message = f"{key} of a heritage chain must be a list of texts"
        raise InvalidInput(message)
    if not all(isinstance(item, str) for item in value):
        message = f"{key} of a heritage chain must hold texts only"
        raise InvalidInput(message)
    return tuple(str(item) for item in value)
