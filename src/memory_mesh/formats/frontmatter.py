"""Reads YAML frontmatter between `---` lines: plain values only, no aliases, dates as text."""

from memory_mesh.errors import InvalidInput
from memory_mesh.formats import yaml_text
from memory_mesh.model import Json

MAX_CHARACTERS = 20_000


def read(text: str, *, max_characters: int = MAX_CHARACTERS) -> dict[str, Json]:
    """Returns the mapping of a frontmatter; InvalidInput says where it is invalid."""
    if len(text) > max_characters:
        raise InvalidInput(f"the frontmatter has more than {max_characters} characters")
    try:
        return yaml_text.read_map(text).values
    except yaml_text.YamlFault as fault:
        raise InvalidInput(f"line {fault.line + 1} of the frontmatter: {fault}") from None
