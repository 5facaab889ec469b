"""Runs the Python of mem0's own README against our `compat.mem0`, with one import line changed.

    python -m bench.peers.mem0_readme FOLDER    site-packages with mem0ai, from PyPI

The README is read from the metadata of the installed package. The service of the chat model that it
calls is not ours: a stand-in answers in its place and notes what it was given.
"""

import re
import sys
import tempfile
from functools import partial
from importlib.metadata import MetadataPathFinder
from types import ModuleType, SimpleNamespace
from typing import Any

from memory_mesh.compat import mem0

SAID = ("I always prefer tea over coffee", "Do I prefer tea or coffee?", "exit")


class _Chat:
    """Stands for the client of the chat model."""

    def __init__(self, asked: list[str]) -> None:
        self._asked = asked
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))

    def _create(self, *, model: str, messages: list[dict[str, str]]) -> Any:  # noqa: ANN401
        del model
        self._asked.append(messages[0]["content"])
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content="Noted."))])


def readme(folder: str) -> tuple[str, str]:
    """The version of mem0 and its README."""
    (found,) = MetadataPathFinder.find_distributions(
        MetadataPathFinder.Context(name="mem0ai", path=[folder])
    )
    return found.version, found.read_text("METADATA") or ""


def main(folder: str) -> int:
    """Runs each block of Python; says what the model was given of earlier turns."""
    version, text = readme(folder)
    sys.modules["openai"] = ModuleType("openai")
    asked: list[str] = []
    sys.modules["openai"].OpenAI = partial(_Chat, asked)  # type: ignore[attr-defined]
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for block in blocks:
        waiting = iter(SAID)
        with tempfile.TemporaryDirectory() as store:
            made = mem0.Memory({"store": store}, embedder="none")
            moved = block.replace("from mem0 import", "from memory_mesh.compat.mem0 import")
            moved = moved.replace("Memory()", "made")
            names = {"__name__": "__main__", "made": made, "input": lambda _, of=waiting: next(of)}
            exec(moved, names)  # noqa: S102  # the README
            found = made.get_all(filters={"user_id": "default_user"})["results"]
            kept = [one["memory"] for one in found]
            made.close()
        print(f"mem0 {version}: ran {len(block.splitlines())} lines; stored {kept}")
    print("the second question came with:", asked[-1].splitlines()[-1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
