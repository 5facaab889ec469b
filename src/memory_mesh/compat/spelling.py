"""The documents' own spelling: camelCase names for what Python spells with underscores."""

from collections.abc import Callable, Mapping

from memory_mesh.base.typed import Any
from memory_mesh.rules.arguments import snake_case


class DocumentNames:
    """A face whose methods may be called by their camelCase names."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever it is called
        """The method of that name as Python writes it."""
        found = snake_case(name)
        if found == name or name.startswith("_") or not hasattr(type(self), found):
            said = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(said, name=name, obj=self)
        return getattr(self, found)


def by_other_names(module: str, names: Mapping[str, Any]) -> Callable[[str], Any]:
    """A module's `__getattr__`: its public functions by their camelCase names."""

    def found(name: str) -> Any:  # noqa: ANN401  # whatever it is called
        read = snake_case(name)
        if name.startswith("_") or read == name or read not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        return names[read]

    return found
