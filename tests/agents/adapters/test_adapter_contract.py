"""Both adapters keep every promise of the one contract, with the real packages."""

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from memory_mesh.testing.adapter_contract import Adapted, AdapterContract
from tests.agents.adapters import on_langgraph, on_openai

ROOT = Path(__file__).parents[3]


class OfKind(AdapterContract):
    kind: str
    cwd = ROOT

    def command(self, told: Sequence[tuple[str, str]]) -> list[str]:
        module = f"tests.agents.adapters.on_{self.kind}"
        said = [part for user, text in told for part in (user, text)]
        return [sys.executable, "-m", module, str(self.folder), *said]


class TestLangGraph(OfKind):
    kind = "langgraph"

    def open_adapter(self) -> AbstractContextManager[Adapted]:
        return on_langgraph.opened(self.folder)


class TestOpenAI(OfKind):
    kind = "openai"

    def open_adapter(self) -> AbstractContextManager[Adapted]:
        return on_openai.opened(self.folder)
