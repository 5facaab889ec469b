"""`memory-mesh reembed`: each step says what it did and what comes next."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.surface.command import CommandLine


def test_every_step_from_the_model_to_static_vectors_and_back(
    cli: CommandLine, model_folder: Path
) -> None:
    model = {"MEMORY_MESH_EMBEDDER": "local", "MEMORY_MESH_MODEL_DIR": str(model_folder)}
    meaning = replace(cli, variables=model)
    meaning("store", "The user prefers dark themes")
    meaning("search", "dark mode")
    assert json.loads(meaning("reembed", "--json").out)["in_use"] is None
    begun = json.loads(meaning("reembed", "start", "--embedder", "static", "--json").out)
    assert (begun["embedded"], begun["waiting"], begun["switched"]) == (1, 0, False)
    assert "1 query, the first 10 hits: 100% are the same" in meaning("reembed", "compare").out
    assert "In use: static/" in meaning("reembed", "switch").out
    assert meaning("reembed", "switch").code == 1
    assert "In use: local/" in meaning("reembed", "rollback").out
    unsure = meaning("reembed", "drop")
    assert unsure.code == 2
    assert "this deletes 1 vectors of static/" in unsure.err
    assert "Beside it" not in meaning("reembed", "drop", "--yes").out


@pytest.mark.parametrize("action", ["compare", "switch", "rollback", "drop"])
def test_an_agent_may_not_change_every_search(cli: CommandLine, action: str) -> None:
    agent = replace(cli, variables={"CLAUDECODE": "1"})
    refused = agent("reembed", action)
    assert refused.code == 1
    assert f"an agent may not run reembed {action}" in refused.err


def test_without_vectors_there_is_nothing_to_keep_in_use(cli: CommandLine) -> None:
    cli("store", "a text")
    done = cli("reembed", "start", "--embedder", "static")
    assert done.code == 1
    assert "searches by words only" in done.err
