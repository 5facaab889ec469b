"""Shipped with the product for those who test against it, or write an engine for it."""

from memory_mesh.testing.adapter_contract import AdapterContract
from memory_mesh.testing.clock import FrozenClock
from memory_mesh.testing.embedder_contract import EmbedderContract
from memory_mesh.testing.index_contract import IndexContract
from memory_mesh.testing.keyword_contract import KeywordContract
from memory_mesh.testing.ledger_contract import LedgerContract
from memory_mesh.testing.llm import ScriptedLLM
from memory_mesh.testing.search_contract import SearchContract

__all__ = [
    "AdapterContract",
    "EmbedderContract",
    "FrozenClock",
    "IndexContract",
    "KeywordContract",
    "LedgerContract",
    "ScriptedLLM",
    "SearchContract",
]
