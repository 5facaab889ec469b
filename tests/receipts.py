"""What tests ask of a receipt and of a memory that must be there."""

from memory_mesh.model import Memory, Receipt
from memory_mesh.sync import MemoryMesh


def id_of(receipt: Receipt) -> str:
    """The id of what was stored."""
    assert receipt.id is not None, receipt.reasons
    return receipt.id


def memory_of(mesh: MemoryMesh, receipt: Receipt) -> Memory:
    """The memory that was stored."""
    memory = mesh.get(id_of(receipt))
    assert memory is not None
    return memory
