"""Where an item of a LangGraph store lies in a mesh.

::

    ("memories", "alice", "work"), "k1"     LangGraph's namespace and key
       default.langgraph.memories.alice     our namespace: the first two labels, so a file
       langgraph:<work>/#<k1>               source_ref in it, which has an index

A text in a source_ref is spelled with the letters a to p, two for each byte. So no rule of privacy
takes a key for a phone number, a key comes back as it was put, and the items below a label are one
range of the index.
"""

from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import dataclass
from memory_mesh.policy.users import user_of
from memory_mesh.policy.writing.limits import NAME_CHARS
from memory_mesh.typed import TypeAlias

Labels: TypeAlias = tuple[str, ...]

OF_A_FILE = 2  # labels that name a file; the others are inside it
_SCHEME = "langgraph:"
_AFTER = "~"  # after every character that a source_ref has
_LETTERS = "abcdefghijklmnop"
_MOST_NAMESPACE_CHARS = 80  # of a namespace of ours


@dataclass(frozen=True, slots=True)
class Base:
    """The namespace of the mesh that a store was made for."""

    namespace: str

    @property
    def is_one_file(self) -> bool:
        """True for the mesh of one user: what it stores stays in the namespace of that user."""
        return user_of(self.namespace) is not None

    def file_of(self, labels: Labels) -> str:
        """Our namespace that holds the items of a LangGraph namespace."""
        if self.is_one_file:
            return self.namespace
        name = ".".join((self.namespace, "langgraph", *labels[:OF_A_FILE]))
        if len(name) > _MOST_NAMESPACE_CHARS or not name.isprintable():
            room = _MOST_NAMESPACE_CHARS - len(f"{self.namespace}.langgraph..")
            raise InvalidInput(
                f"the first two labels of a namespace have at most {room} printable characters "
                "together here; use a shorter id, such as a number or a hash"
            )
        return name

    def labels_of(self, namespace: str) -> Labels | None:
        """The labels that a namespace of ours stands for; None if it is not of this store."""
        if self.is_one_file:
            return () if namespace == self.namespace else None
        start = f"{self.namespace}.langgraph."
        labels = tuple(namespace.removeprefix(start).split("."))
        proper = 1 <= len(labels) <= OF_A_FILE and all(labels)
        return labels if namespace.startswith(start) and proper else None

    def inside(self, labels: Labels) -> Labels:
        """The labels that are told apart inside the file."""
        return labels if self.is_one_file else labels[OF_A_FILE:]


def reference(inside: Labels, key: str) -> str:
    """The source_ref of an item."""
    found = f"{_path(inside)}#{_spelled(key)}"
    if len(found) > NAME_CHARS:
        raise InvalidInput(
            f"the key and the labels after the second have at most "
            f"{(NAME_CHARS - len(_SCHEME)) // 2 - 1} bytes together; use a shorter key, such as a "
            "hash of it"
        )
    return found


def read_reference(ref: str | None) -> tuple[Labels, str] | None:
    """The labels inside the file and the key; None for a source_ref of something else."""
    if ref is None or not ref.startswith(_SCHEME) or "#" not in ref:
        return None
    path, _, key = ref.removeprefix(_SCHEME).partition("#")
    try:
        return tuple(map(_read, path.split("/")[:-1])), _read(key)
    except ValueError:  # somebody else's, in our form
        return None


def one(ref: str) -> str:
    """The filter for the item with this source_ref."""
    return f"source_ref = '{ref}'"


def below(inside: Labels) -> str | None:
    """The filter for items whose namespace begins with these labels; None if all do."""
    start = _path(inside)
    return f"source_ref BETWEEN '{start}' AND '{start}{_AFTER}'" if inside else None


def digest(text: str) -> str:
    """A digest in the same letters, for a key of a write."""
    from hashlib import sha256

    return _letters(sha256(text.encode()).digest())


def _path(labels: Labels) -> str:
    return _SCHEME + "".join(f"{_spelled(label)}/" for label in labels)


def _spelled(text: str) -> str:
    return _letters(text.encode())


def _letters(data: bytes) -> str:
    return "".join(_LETTERS[byte >> 4] + _LETTERS[byte & 15] for byte in data)


def _read(letters: str) -> str:
    """The text behind the letters; ValueError for anything else."""
    digits = [_LETTERS.index(letter) for letter in letters]
    if len(digits) % 2:
        raise ValueError(letters)
    return bytes(
        high << 4 | low for high, low in zip(digits[::2], digits[1::2], strict=True)
    ).decode()
