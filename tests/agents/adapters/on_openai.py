"""A chat with the openai client as the contract drives it; as a command, another process.

python -m tests.agents.adapters.on_openai FOLDER USER TEXT [USER TEXT ...]
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openai import OpenAI

from memory_mesh.agents.adapters.openai import settle, with_memory
from memory_mesh.sync import MemoryMesh
from tests.agents.fake_openai import FakeOpenAI, fake_openai


class OnOpenAI:
    """A chat with the real client; what the model is given is what the server is sent."""

    def __init__(self, mesh: MemoryMesh, fake: FakeOpenAI) -> None:
        self._mesh, self._fake = mesh, fake
        self._client = with_memory(OpenAI(base_url=fake.url, api_key="none", max_retries=0), mesh)

    def tell(self, user: str, text: str) -> None:
        self._say(user, text)
        assert settle(self._client)

    def ask(self, user: str, question: str) -> str:
        self._say(user, question)
        *memories, _question = self._fake.asked[-1]["messages"]
        return json.dumps(memories)

    def forget(self, user: str, text: str) -> None:
        own = self._mesh.for_user(user)
        for memory in own.get_all():
            if memory.text == text:
                own.delete(memory.id)

    def _say(self, user: str, text: str) -> None:
        self._client.chat.completions.create(
            model="fake", messages=[{"role": "user", "content": text}], user=user
        )


@contextmanager
def opened(folder: Path) -> Iterator[OnOpenAI]:
    with MemoryMesh(db_dir=folder) as mesh, fake_openai() as fake:
        yield OnOpenAI(mesh, fake)


if __name__ == "__main__":
    folder, *told = sys.argv[1:]
    with opened(Path(folder)) as adapted:
        for user, text in zip(told[::2], told[1::2], strict=True):
            adapted.tell(user, text)
