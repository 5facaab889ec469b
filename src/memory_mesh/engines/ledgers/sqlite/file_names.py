"""Namespace names as file names, and back: readable, reversible, safe on every file system."""

from memory_mesh.errors import InvalidInput, shown
from memory_mesh.policy.users import user_of

SUFFIX = ".db"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
)
_MAX_NAME_CHARS = 80  # characters; percent-encoded UTF-8 stays under the usual 255 bytes for most


def file_name(namespace: str) -> str:
    """The file a namespace lives in; capitals are encoded, so that case cannot collide."""
    too_long = len(namespace) > _MAX_NAME_CHARS and user_of(namespace) is None
    if not namespace or too_long or not namespace.isprintable():
        raise InvalidInput(
            f"a namespace is 1 to {_MAX_NAME_CHARS} printable characters, not "
            f"{shown(namespace, 99)}"
        )
    encoded = _percent(namespace, _PLAIN)
    if encoded[0] == "." or encoded.partition(".")[0] in _RESERVED:
        encoded = f"%{ord(encoded[0]):02x}{encoded[1:]}"
    name = encoded + SUFFIX
    if len(name) > 240:  # noqa: PLR2004  # a file name has 255 bytes, and "-wal" follows
        raise InvalidInput(f"the namespace {shown(namespace, 20)}… is too long for a file name")
    return name


def namespace(entry: str) -> str | None:
    """The namespace a file holds, or None for any other file."""
    if not entry.endswith(SUFFIX):
        return None
    try:
        name = _plain_name(entry.removesuffix(SUFFIX))
        return name if file_name(name) == entry else None
    except (ValueError, InvalidInput):  # somebody else's file
        return None


def _plain_name(raw: str) -> str:
    """Percent signs and two digits as the bytes they stand for."""
    out = bytearray()
    while raw:
        head, _, raw = raw.partition("%")
        out += head.encode()
        if raw:
            out.append(int(raw[:2], 16))
            raw = raw[2:]
    return out.decode()


def quoted(path: str) -> str:
    """A path for SQLite's file: URI."""
    return _percent(path, _PLAIN | {"/"})


def _percent(text: str, plain: frozenset[str]) -> str:
    return "".join(chr(byte) if chr(byte) in plain else f"%{byte:02x}" for byte in text.encode())
