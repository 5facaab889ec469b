"""Reads YAML frontmatter between `---` lines: plain values only, no aliases, dates as text."""

from collections.abc import Mapping, Sequence
from functools import cache

from memory_mesh.errors import InvalidInput
from memory_mesh.model import Json
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import yaml

MAX_CHARACTERS = 20_000


def read(text: str) -> dict[str, Json]:
    """Returns the mapping of a frontmatter; InvalidInput says where it is invalid."""
    import yaml

    if len(text) > MAX_CHARACTERS:
        raise InvalidInput(f"the frontmatter has more than {MAX_CHARACTERS} characters")
    if _aliased(text):
        raise InvalidInput("the frontmatter holds an anchor or alias, which is not read")
    try:
        found = yaml.load(text, _loader())  # noqa: S506  # a safe loader, and fewer types yet
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" in line {where.line + 1}" if where is not None else ""
        raise InvalidInput(f"the frontmatter is not valid YAML{line}") from None
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise InvalidInput("the frontmatter must be a map of names and values")
    return {str(key): _plain(value) for key, value in found.items()}


def _aliased(text: str) -> bool:
    import yaml

    try:
        events = list(yaml.parse(text, yaml.CSafeLoader))
    except yaml.YAMLError:
        return False  # loading says what is wrong
    return any(getattr(event, "anchor", None) for event in events)


@cache
def _loader() -> "type[yaml.CSafeLoader]":
    """PyYAML's safe loader without the conversion of dates."""
    import yaml

    class Loader(yaml.CSafeLoader):
        """Returns a date as text."""

    Loader.yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader


def _plain(value: object) -> Json:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    return str(value)
