"""A record as a file: signed by its machine, sealed for the machines that are paired.

::

    memory-mesh segment 1
    {"fingerprint": sealed file key, …}      one for each machine that may read it
    nonce and box                             the compressed record, under the file key

Ed25519 signs the header; the same key, as X25519, opens the file key. The signature is of the
header alone. So any machine can take an erased body out of any file, and seal a file for a machine
that was paired later. PyNaCl is loaded when a file is opened.
"""

import base64
import binascii
import json
import os
import re
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from memory_mesh.base.digests import sha256
from memory_mesh.base.typed import TYPE_CHECKING, Any, dataclass, replace
from memory_mesh.machines import records
from memory_mesh.machines.records import Change, Record, RecordHeader
from memory_mesh.model import InvalidInput, MissingExtra
from memory_mesh.platform import durable_files

if TYPE_CHECKING:
    from nacl.public import PrivateKey
    from nacl.signing import SigningKey

MAGIC = b"memory-mesh segment 1\n"
SUFFIX = ".segment"
NAMED = re.compile(r"([a-z2-7]{16}-[0-9a-f]{8})-(\d{8})\.segment")
_SIGNED = b"memory-mesh record 1\0"
_FINGERPRINT = 16  # letters of a fingerprint
_NEWLINE = b"\n"
NOT_PAIRED = "its machine is not paired with this one"
REVOKED = "its machine was revoked before"
_MOST_BYTES = 64 << 20  # of a file and of what it holds: more is no record of ours
_KEY_TEXT = re.compile(r"mm1-([a-z0-9-]{1,40})-([a-z2-7]{56})")
_KEY_BYTES = 32
_CHECK_BYTES = 3  # of a key's text: a letter that was typed wrong is noticed


class FileRefused(Exception):  # a file, not a fault of this program
    """Why a file of the shared folder is not taken in, in words for `sync status`."""


class KeyRevoked(FileRefused):
    """Its key counts no more."""

    def __init__(self) -> None:
        super().__init__(REVOKED)


class NotReadableYet(FileRefused):
    """It is not sealed for this machine, or its machine is not known here: both may change."""


@dataclass(frozen=True, slots=True)
class MachineKey:
    """The secret key of this machine, and those that it had before."""

    seeds: tuple[bytes, ...]  # the last is in use

    @property
    def public(self) -> str:
        """The public key, in hexadecimal digits."""
        return bytes(self._signing(self.seeds[-1]).verify_key).hex()

    def sign(self, data: bytes) -> bytes:
        """The signature of a header."""
        return self._signing(self.seeds[-1]).sign(_SIGNED + data).signature

    def openers(self) -> "dict[str, PrivateKey]":
        """What opens a file key, by the fingerprint under which it stands."""
        found = (self._signing(seed) for seed in self.seeds)
        return {
            fingerprint(bytes(key.verify_key).hex()): key.to_curve25519_private_key()
            for key in found
        }

    def _signing(self, seed: bytes) -> "SigningKey":
        need_nacl()
        from nacl.signing import SigningKey

        return SigningKey(seed)


@dataclass(frozen=True, slots=True)
class Segment:
    """A record as its file holds it."""

    header: bytes
    signature: bytes
    bodies: tuple[str | None, ...]
    readers: frozenset[str]  # fingerprints

    def record(self) -> Record:
        """The header and the changes."""
        changes = tuple(None if each is None else records.read_body(each) for each in self.bodies)
        return Record(records.read_header(self.header), changes)


def need_nacl() -> None:
    """Raises MissingExtra where PyNaCl is not installed."""
    try:
        import nacl.bindings  # noqa: F401
    except ImportError:
        raise MissingExtra.of("sync", "sync") from None


def fingerprint(public: str) -> str:
    """A short name of a public key; nothing is trusted because of it."""
    return base64.b32encode(bytes.fromhex(sha256(bytes.fromhex(public)).hexdigest()))[
        :_FINGERPRINT
    ].decode().lower()  # fmt: skip


def key_text(name: str, public: str) -> str:
    """A public key as people carry it from one machine to the other, whole."""
    data = bytes.fromhex(public)
    whole = data + sha256(data).digest()[:_CHECK_BYTES]
    return f"mm1-{name}-{base64.b32encode(whole).decode().lower().rstrip('=')}"


def read_key_text(text: str) -> tuple[str, str]:
    """Name and public key; InvalidInput for a text that is none, or has a wrong letter."""
    found = _KEY_TEXT.fullmatch("".join(text.split()).lower())
    whole = b"" if found is None else base64.b32decode(found[2].upper())
    data = whole[:_KEY_BYTES]
    if found is None or whole[_KEY_BYTES:] != sha256(data).digest()[:_CHECK_BYTES]:
        raise InvalidInput(
            "this is not a whole key of a machine: it begins with mm1- and ends with 56 letters "
            "and digits. Print it there with: memory-mesh sync status"
        )
    return found[1], data.hex()


def made(key: MachineKey, header: RecordHeader, changes: Sequence[Change]) -> Segment:
    """A new record, signed; `header` gets the lines of the changes."""
    bodies = [records.body(change, os.urandom(12).hex()) for change in changes]
    lines = tuple(records.line(change, text) for change, text in zip(changes, bodies, strict=True))
    data = records.header_bytes(replace(header, lines=lines))
    return Segment(data, key.sign(data), tuple(bodies), frozenset())


def sealed(segment: Segment, readers: Iterable[str]) -> bytes:
    """The bytes of a file that these public keys open."""
    from nacl.public import SealedBox
    from nacl.secret import SecretBox
    from nacl.signing import VerifyKey

    secret = os.urandom(SecretBox.KEY_SIZE)
    plain = {
        "header": segment.header.decode(),
        "signature": base64.b64encode(segment.signature).decode(),
        "bodies": list(segment.bodies),
    }
    box = SecretBox(secret).encrypt(
        zlib.compress(json.dumps(plain, ensure_ascii=False).encode(), 9)
    )
    keys = {
        fingerprint(public): base64.b64encode(
            SealedBox(VerifyKey(bytes.fromhex(public)).to_curve25519_public_key()).encrypt(secret)
        ).decode()
        for public in sorted(readers)
    }
    return MAGIC + json.dumps(keys).encode() + _NEWLINE + bytes(box)


def opened(data: bytes, key: MachineKey) -> Segment:
    """A file's segment, its own parts checked against each other; raises FileRefused."""
    from nacl.exceptions import CryptoError
    from nacl.public import SealedBox
    from nacl.secret import SecretBox

    if not data.startswith(MAGIC) or len(data) > _MOST_BYTES:
        raise FileRefused("it is no segment of memory-mesh, or its beginning was altered")
    head, _, box = data.removeprefix(MAGIC).partition(_NEWLINE)
    try:
        keys: dict[str, str] = json.loads(head)
        own = key.openers()
        mine = [name for name in keys if name in own]
        if not mine:
            raise NotReadableYet("it is not sealed for this machine yet")
        secret = SealedBox(own[mine[-1]]).decrypt(base64.b64decode(keys[mine[-1]], validate=True))
        plain = json.loads(_inflated(SecretBox(secret).decrypt(box)))
        segment = Segment(
            plain["header"].encode(),
            base64.b64decode(plain["signature"], validate=True),
            tuple(plain["bodies"]),
            frozenset(keys),
        )
    except (
        CryptoError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        binascii.Error,
        zlib.error,
    ):
        raise FileRefused("it was altered, or is only a part of a file") from None
    _check_bodies(segment)
    return segment


def _inflated(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    plain = unpacker.decompress(data, _MOST_BYTES)
    if not unpacker.eof:
        raise ValueError
    return plain


def _check_bodies(segment: Segment) -> None:
    try:
        header = records.read_header(segment.header)
        fits = len(header.lines) == len(segment.bodies) and all(
            text is None or records.fits(line, text)
            for line, text in zip(header.lines, segment.bodies, strict=False)
        )
        segment.record()
    except InvalidInput as error:
        raise FileRefused(str(error)) from None
    if not fits:
        raise FileRefused("its changes are not those that its machine signed")


def check_signature(
    segment: Segment, trusted: Mapping[str, str], ended: Collection[str] = ()
) -> None:
    """Raises FileRefused unless a machine that is paired signed the header."""
    from nacl.exceptions import BadSignatureError
    from nacl.signing import VerifyKey

    public = records.read_header(segment.header).key
    if public not in trusted and public in ended:
        raise KeyRevoked
    if public not in trusted:
        raise NotReadableYet(NOT_PAIRED)
    try:
        VerifyKey(bytes.fromhex(public)).verify(_SIGNED + segment.header, segment.signature)
    except (BadSignatureError, ValueError, TypeError):
        raise FileRefused("its signature is not its machine's") from None


def without(segment: Segment, gone: Collection[int]) -> Segment | None:
    """The segment without the bodies of these changes; None where it has none of them."""
    bodies = tuple(None if at in gone else text for at, text in enumerate(segment.bodies))
    return None if bodies == segment.bodies else replace(segment, bodies=bodies)


def read_by(segment: Segment, readers: Iterable[str]) -> Segment:
    """The segment as it is once it is sealed for these public keys."""
    return replace(segment, readers=frozenset(map(fingerprint, readers)))


def file_name(origin: str, seq: int) -> str:
    """The name of a record's file."""
    return f"{origin}-{seq:08d}{SUFFIX}"


def write(folder: Path, name: str, data: bytes) -> None:
    """Makes or replaces a file: under another name first, so that nobody reads half of it."""
    durable_files.write_atomically(folder / name, data, private=True)


def state_json(path: Path) -> dict[str, Any]:
    """A file of JSON of ours; empty where there is none, InvalidInput for a damaged one."""
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError:
        raise InvalidInput(
            f"{path} is damaged; remove it, then run: memory-mesh sync now"
        ) from None
    return found
