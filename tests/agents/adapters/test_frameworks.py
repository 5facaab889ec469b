"""Adapters of frameworks: what needs no package, and the examples with the packages that are there.

The whole contract with every real package is `just prove frameworks`, after `.ci/frameworks all`.
"""

import asyncio
import subprocess
from pathlib import Path

import pytest

from memory_mesh.agents.adapters.openai_agents import MeshSession
from memory_mesh.agents.adapters.user_memory import Said, UserMemory
from memory_mesh.model import SourceKind
from memory_mesh.sync import MemoryMesh
from tests.faults import frameworks

KNOWS = (
    "ann: nothing yet\nann: nothing yet\nann: Remember that I drink green tea.\nbob: nothing yet\n",
    "ann: Remember that I drink green tea.\n" * 3 + "bob: nothing yet\n",
)
EXAMPLES = {  # framework: the script, and what it prints in its first and second run
    "pydantic-ai": ("pydantic_ai_memory", *KNOWS),
    "llama-index": ("llama_index_memory", *KNOWS),
    "google-adk": ("google_adk_memory", *KNOWS),
    "openai-agents": ("openai_agents_memory", "from before: 0", "from before: 8"),
    "anthropic": ("anthropic_memory_tool", "0\t/memories\n", "22\t/memories/ann.md\n"),
}


@pytest.fixture
def mesh(tmp_path: Path):
    with MemoryMesh(db_dir=tmp_path / "store") as opened:
        yield opened


@pytest.mark.parametrize("kind", EXAMPLES)
def test_an_example_knows_in_its_second_run_what_the_first_was_told(kind: str, tmp_path: Path):
    python = frameworks.python_of(kind)
    if not python.exists():
        pytest.skip(f"{kind} is not installed: run .ci/frameworks all")
    script, *expected = EXAMPLES[kind]
    path = frameworks.ROOT / "examples/agents" / f"{script}.py"
    for printed in expected:
        command = [str(python), "-W", "ignore", str(path), str(tmp_path / "store")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert printed in done.stdout


@pytest.mark.parametrize("user", [None, "ann"])
def test_a_session_keeps_its_items_in_order_and_to_the_letter(mesh: MemoryMesh, user: str | None):
    own = mesh if user is None else mesh.for_user(user)

    async def talk() -> None:
        session, other = MeshSession(own, "chat"), MeshSession(own, "other")
        call = {"type": "function_call", "call_id": "call_Ab3dEf9xQ2LmN8pR7s", "arguments": "{}"}
        said = [{"role": "user", "content": "hello"}, call, {"role": "user", "content": "hello"}]
        await session.add_items(said)
        await session.add_items(said[:1])
        await other.add_items([{"role": "user", "content": "elsewhere"}])
        again = MeshSession(own, "chat")
        assert await again.get_items() == [*said, said[0]]
        assert await again.get_items(2) == [said[2], said[0]]
        assert await again.get_items(0) == []
        assert await again.pop_item() == said[0]
        assert await session.get_items() == said
        await session.clear_session()
        assert await again.get_items() == []
        assert await again.pop_item() is None
        assert len(await other.get_items()) == 1

    asyncio.run(talk())
    assert not own.search("hello elsewhere")


def test_what_a_tool_stores_is_an_inference_and_what_a_user_says_is_the_users_word(
    mesh: MemoryMesh,
):
    memory = UserMemory(mesh)
    assert memory.recall_memories("tea") == "Nothing is remembered about that."
    assert memory.remember_memory("The staging server is called heron.").startswith("stored")
    assert "heron" in memory.recall_memories("staging server")
    said = [
        Said(by_user=True, text="Remember that I never drink coffee.", key="e1"),
        Said(by_user=False, text="Noted."),
    ]
    for _ in range(2):
        asyncio.run(memory.remember_all(said))
    kinds = {one.text: one.source.kind for one in mesh.get_all()}
    assert kinds == {
        "The staging server is called heron.": SourceKind.INFERENCE,
        "Remember that I never drink coffee.": SourceKind.USER_EXPLICIT,
    }


def test_private_words_are_neither_asked_for_nor_kept(mesh: MemoryMesh):
    memory = UserMemory(mesh)
    assert memory.exchange("<private>I drink gin.</private>") is None
    memory.remember_memory("Ann likes tea. <private>And gin.</private>")
    assert "gin" not in "".join(one.text for one in mesh.get_all())


def test_a_run_goes_on_when_memory_fails(mesh: MemoryMesh, capsys: pytest.CaptureFixture[str]):
    memory = UserMemory(mesh)
    exchange = memory.exchange("What do I drink?")
    mesh.close()
    assert asyncio.run(memory.recall(exchange)) == ""
    asyncio.run(memory.remember(exchange, "Tea."))
    assert memory.recall_memories("tea").startswith("Memory did not answer")
