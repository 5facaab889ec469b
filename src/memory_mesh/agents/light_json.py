"""JSON for processes that live for a few milliseconds: the standard library's C parts alone.

The package `json` loads `re`, which costs a third of a bare interpreter's start. Its C module needs
neither. Where that module is missing or differs, the package does the work.
"""

from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def dumps(value: object) -> str:
    """The value as ASCII JSON on one line; ValueError or TypeError if it is none."""
    if _encode is not None:
        return "".join(_encode(value, 0))
    import json

    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def loads(text: str) -> object:
    """The value of a JSON text; ValueError if it is none, or nested too deep."""
    if _scan is None:
        import json

        return json.loads(text)
    text = text.strip(" \t\r\n")
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("it holds no JSON value") from None
    except SystemError:  # the C reader finds no class for its error while `json` is not loaded
        raise ValueError("it is no valid JSON") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if end != len(text):
        raise ValueError("it goes on after its JSON value")
    return value


class _Rules:
    """What the C reader asks for: the same as `json.loads` without options."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float
    memo: "dict[str, str]" = {}  # noqa: RUF012  # the reader keeps a memo of its own


def _refused(value: object) -> object:
    raise TypeError(f"a {type(value).__name__} is no JSON value")


_scan: "Callable[[str, int], tuple[object, int]] | None"
_encode: "Callable[[object, int], tuple[str, ...]] | None"
try:
    import _json

    _scan = _json.make_scanner(_Rules)  # type: ignore[arg-type]  # any object with these names
    _encode = _json.make_encoder(
        None, _refused, _json.encode_basestring_ascii, None, ":", ",", *(False, False, False)
    )
except (ImportError, AttributeError, TypeError):  # another Python than CPython, or a later one
    _scan = _encode = None
