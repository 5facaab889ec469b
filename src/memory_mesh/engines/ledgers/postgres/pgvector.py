"""Vectors as pgvector keeps them: little-endian float32 here, its own binary form on the wire."""

import struct
import sys
from array import array
from typing import Any

import psycopg
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo

_FLOAT = 4  # bytes of a number
_HEAD = struct.Struct(">HH")  # how many numbers, and nothing


class Vector:
    """A vector to be written or compared with."""

    __slots__ = ("data",)

    def __init__(self, data: object) -> None:
        if not isinstance(data, bytes):
            raise TypeError("a vector is bytes")
        self.data = data


def register(raw: psycopg.Connection[Any]) -> bool:
    """Lets a connection write and read vectors; False where the extension is not installed."""
    info = TypeInfo.fetch(raw, "vector")
    if info is None:
        return False
    dumper: type[Dumper] = type("VectorDumper", (_Dumper,), {"oid": info.oid})
    raw.adapters.register_dumper(Vector, dumper)
    raw.adapters.register_loader(info.oid, _Loader)
    return True


class _Dumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Vector) -> bytes:
        return _HEAD.pack(len(obj.data) // _FLOAT, 0) + _swapped(obj.data)


class _Loader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return _swapped(bytes(data)[_HEAD.size :])


def _swapped(data: bytes) -> bytes:
    """The same numbers with their bytes in the other order."""
    numbers = array("f", data)
    numbers.byteswap()
    return numbers.tobytes()


if array("f").itemsize != _FLOAT or sys.byteorder != "little":  # pragma: no cover
    raise ImportError("vectors need a little-endian machine with floats of four bytes")
