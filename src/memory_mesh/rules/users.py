"""Users as namespaces: `user.` and the user's id, encoded so that it names a file anywhere.

Lower-case letters, digits, `-` and `.` of a short id stay as they are; every other byte becomes `_`
and two hexadecimal digits. A long id becomes `__` and its bytes in base 32. Two ids never have the
same name, on file systems that ignore case either, and the id can be read back. A plain namespace
must not begin with `user.`, so that none of them is a user's.
"""

from collections.abc import Mapping

from memory_mesh.model.errors import InvalidInput
from memory_mesh.rules.arguments import check_text

PREFIX = "user."
USER_WORDS = ("user_id", "userId", "user")  # as others name a user: options, keys of metadata
MAX_USER_BYTES = 128  # of an id in UTF-8; in base 32 it still fits into a file name
_READABLE_CHARS = 75  # an encoded id longer than this is written in base 32
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-.")
_LONG = "__"  # in a readable id two hexadecimal digits follow each _


def user_namespace(user_id: object) -> str:
    """Returns the namespace of a user; any text of 1 to 128 bytes is a user id, case matters."""
    data = check_text(user_id, "user_id").encode()
    if not 1 <= len(data) <= MAX_USER_BYTES:
        advice = "use a shorter id of the same user, such as a number or a hash"
        raise InvalidInput(
            f"a user id has 1 to {MAX_USER_BYTES} bytes in UTF-8, not {len(data)}; "
            f"{advice if data else 'leave the user out for memories of nobody in particular'}"
        )
    return PREFIX + _encoded(data)


def user_of(namespace: str) -> str | None:
    """Returns the id of the user whose namespace this is, or None if it is nobody's."""
    if not namespace.startswith(PREFIX):
        return None
    try:
        data = _decoded(namespace.removeprefix(PREFIX))
        user_id = data.decode()
    except ValueError:
        return None
    proper = 1 <= len(data) <= MAX_USER_BYTES and PREFIX + _encoded(data) == namespace
    return user_id if proper and "\0" not in user_id else None


def shown_namespace(namespace: str) -> str:
    """Returns the name for people: of a user `user.` and the id as it was given."""
    user_id = user_of(namespace)
    return namespace if user_id is None else PREFIX + user_id


def check_plain_namespace(name: object) -> str:
    """Returns the name of a plain namespace; refuses one that begins as a user's does."""
    namespace = check_text(name, "namespace")
    if namespace.startswith(PREFIX):
        user_id = user_of(namespace) or namespace.removeprefix(PREFIX)
        raise InvalidInput(
            f"a namespace must not begin with {PREFIX!r}: such names belong to users. "
            f"Use {for_user_call(user_id)}, or --user on the command line"
        )
    return namespace


def refuse_user_option(options: Mapping[str, object]) -> None:
    """Refuses options that name a user, and says what to call instead."""
    for word in USER_WORDS:
        if word in options:
            raise InvalidInput(
                f"{word} is not an option here. Use {for_user_call(options[word])} to read and "
                f"write this user's memories; to only note who it was, put {word} into metadata"
            )


def for_user_call(user_id: object) -> str:
    """Returns the call that opens a user's memories, for messages."""
    import json

    shown = json.dumps(user_id, ensure_ascii=False) if isinstance(user_id, str) else repr(user_id)
    return f"mesh.for_user({shown[:99]})"


def _encoded(data: bytes) -> str:
    readable = "".join(chr(byte) if chr(byte) in _PLAIN else f"_{byte:02x}" for byte in data)
    if len(readable) <= _READABLE_CHARS:
        return readable
    from base64 import b32encode

    return _LONG + b32encode(data).decode().rstrip("=").lower()


def _decoded(name: str) -> bytes:
    """Returns the bytes behind an encoded id; raises ValueError for anything else."""
    if name.startswith(_LONG):
        from base64 import b32decode

        digits = name.removeprefix(_LONG).upper()
        return b32decode(digits + "=" * (-len(digits) % 8))
    plain, *escaped = name.split("_")
    return plain.encode() + b"".join(
        bytes([int(part[:2], 16)]) + part[2:].encode() for part in escaped
    )
