"""Names of `typing` without its start-up price, which is a sixth of a bare interpreter's.

Type checkers read the real names. At run time annotations are evaluated, but nobody asks for them,
so each name is the cheapest thing that can stand in an annotation.
"""

__all__ = [
    "TYPE_CHECKING",
    "Any",
    "ClassVar",
    "Literal",
    "NoReturn",
    "Protocol",
    "Self",
    "TextIO",
    "TypeAlias",
    "TypeVar",
    "TypedDict",
]

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from typing import (
        Any,
        ClassVar,
        Literal,
        NoReturn,
        Protocol,
        Self,
        TextIO,
        TypeAlias,
        TypedDict,
        TypeVar,
    )
else:

    class _Form:
        """Takes any subscript: `Literal["a"]`, `ClassVar[int]`."""

        def __class_getitem__(cls, _item):
            return object

    class TypedDict(dict):
        """A base class that takes `total`."""

        def __init_subclass__(cls, *, total=True):
            """Accept what the real one accepts."""

    def TypeVar(_name, *_constraints, bound=None):  # noqa: N802  # the name in typing
        """A type that may be anything."""
        return object

    Any = NoReturn = Protocol = Self = TextIO = TypeAlias = object
    ClassVar = Literal = _Form
