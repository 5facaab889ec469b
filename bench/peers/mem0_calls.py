"""The calls that programs make of mem0 most, over whichever package offers `Memory`.

    .venv-peers/bin/python -m bench.peers.mem0_calls > tests/corpora/mem0_calls.json
    python -m bench.peers.mem0_calls memory_mesh.compat.mem0

Prints each call's answer without what differs between two runs: ids become their number, times,
hashes and scores a letter. mem0 is given vectors by a hash of the text, so that it asks no service;
no question here depends on them.
"""

import importlib
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

_VARIES = {"created_at": "T", "updated_at": "T", "hash": "H", "score": "S"}
_TESTS: dict[str, dict[str, object]] = {
    "eq": {"topic": "drinks"},
    "in": {"topic": {"in": ["drinks", "food"]}},
    "gte": {"level": {"gte": 3}},
    "gt": {"level": {"gt": 3}},
    "and": {"AND": [{"topic": "drinks"}, {"level": {"lt": 9}}]},
}
_LEFT_OUT = ("actor_id", "role", "score_details")  # null, or ours has more


def calls(memory: Any) -> Iterator[tuple[str, Callable[[], object]]]:  # noqa: ANN401  # of either package
    """Each call with its name, made when it is asked for: later ones need ids of earlier ones."""
    alice, bot = {"user_id": "alice"}, {"user_id": "alice", "agent_id": "bot"}
    ids: list[str] = []

    def adding(*args: object, **named: object) -> Callable[[], object]:
        def call() -> object:
            done = memory.add(*args, infer=False, **named)
            ids.extend(one["id"] for one in done["results"])
            return done

        return call

    turns = [
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": "I moved to Lisbon"},
        {"role": "assistant", "content": "Lisbon it is"},
    ]
    drinks = {"topic": "drinks", "level": 3}
    yield "add a text", adding("Alice prefers tea over coffee", user_id="alice", metadata=drinks)
    yield "add turns", adding(turns, user_id="alice", agent_id="bot", run_id="r1")
    yield "add one turn", adding({"role": "user", "content": "Bob eats no nuts"}, user_id="bob")
    yield "get", lambda: memory.get(ids[0])
    yield "get of nothing", lambda: memory.get("00000000-0000-0000-0000-000000000000")
    yield "get_all of a user", lambda: _sorted(memory.get_all(filters=alice))
    yield "get_all of an agent", lambda: _sorted(memory.get_all(filters=bot))
    yield "get_all of a run", lambda: _sorted(memory.get_all(filters={**alice, "run_id": "r1"}))
    yield "get_all, at most one", lambda: len(memory.get_all(filters=alice, top_k=1)["results"])
    yield "get_all of nobody", lambda: memory.get_all(filters={"user_id": "zoe"})
    yield "search", lambda: memory.search("tea or coffee", filters=alice, top_k=1)["results"][:0]
    for name, test in _TESTS.items():
        filters = {**alice, **test}
        yield (
            f"search where {name}",
            partial(lambda given: _texts(memory.search("tea over coffee", filters=given)), filters),
        )
    yield "update", lambda: memory.update(ids[3], text="Bob eats no peanuts")
    yield "updated", lambda: memory.get(ids[3])
    yield "update metadata", lambda: memory.update(ids[3], metadata={"topic": "food"})
    yield "history", lambda: memory.history(ids[3])[:2]
    yield "delete", lambda: memory.delete(ids[2])
    yield "deleted", lambda: memory.get(ids[2])
    yield "delete again", lambda: memory.delete(ids[2])
    yield "update of nothing", lambda: memory.update("00000000-0000-0000-0000-000000000000", "x")
    yield "history of a deleted one", lambda: memory.history(ids[2])
    yield "search without a user", lambda: memory.search("tea", filters={})
    yield "search with a user beside", lambda: memory.search("tea", user_id="alice")
    yield "add nothing that can be read", lambda: memory.add(5, user_id="alice")
    yield "add of nobody", lambda: memory.add("tea")
    yield "delete_all of nobody", memory.delete_all
    yield "delete_all", lambda: memory.delete_all(user_id="alice")
    yield "all deleted", lambda: memory.get_all(filters=alice)
    yield "others stay", lambda: len(memory.get_all(filters={"user_id": "bob"})["results"])


def answers(memory: Any) -> dict[str, object]:  # noqa: ANN401  # of either package
    """What each call answers, without what differs between two runs."""
    numbers: dict[str, str] = {}
    done: dict[str, object] = {}
    for name, call in calls(memory):
        try:
            done[name] = _plain(call(), numbers)
        except Exception:  # noqa: BLE001  # whatever mem0 raises is an answer
            done[name] = "an error"
    return done


def _plain(value: object, numbers: dict[str, str], key: str = "") -> object:
    if isinstance(value, dict):
        kept = {name: one for name, one in value.items() if one is not None}
        if "memory_id" in kept:
            kept.pop("id", None)  # of the entry of a history, which nobody asks for
        return {
            name: _plain(one, numbers, name)
            for name, one in sorted(kept.items())
            if name not in _LEFT_OUT
        }
    if isinstance(value, list):
        return [_plain(one, numbers) for one in value]
    if key in {"id", "memory_id"} and isinstance(value, str):
        return numbers.setdefault(value, f"#{len(numbers) + 1}")
    return _VARIES.get(key, value)


def _sorted(answer: dict[str, Any]) -> list[Any]:
    return sorted(answer["results"], key=lambda one: str(one["memory"]))


def _texts(answer: dict[str, Any]) -> list[str]:
    return sorted(one["memory"] for one in answer["results"])


def _mem0(folder: Path) -> Any:  # noqa: ANN401  # mem0's own class
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder)}
    unused = {"provider": "openai", "config": {"api_key": "unused"}}
    place = {"path": str(folder / "qdrant"), "embedding_model_dims": 8}
    memory = importlib.import_module("mem0").Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": place},
            "embedder": unused,
            "llm": unused,
            "history_db_path": str(folder / "history.db"),
        }
    )
    memory.embedding_model = _ByHash()
    return memory


class _ByHash:
    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002
        rolled = random.Random(text)  # any vector will do
        return [rolled.random() for _ in range(8)]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:  # noqa: ARG002
        return [self.embed(text) for text in texts]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        if len(sys.argv) > 1:
            with importlib.import_module(sys.argv[1]).Memory({"store": made}) as opened:
                print(json.dumps(answers(opened), indent=1))
        else:
            print(json.dumps(answers(_mem0(Path(made))), indent=1))
