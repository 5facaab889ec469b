"""`memory-mesh reembed`: each step says what it did and what comes next."""

import json
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from memory_mesh.care.sqlite import copies
from memory_mesh.platform.locks import locked
from tests.surface.command import CommandLine
from tests.until import until, waits_in_line


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


def test_the_next_step_names_the_store_and_the_model_as_they_were_given(
    cli: CommandLine, model_folder: Path
) -> None:
    meaning = replace(cli, variables={"MEMORY_MESH_EMBEDDER": "static"})
    meaning("store", "The user prefers dark themes", "--namespace", "shop")
    named = f"--model-dir {model_folder}"
    shop = ("--store", str(cli.store), "--namespace", "shop", "reembed")
    said = " ".join(meaning.on_terminal(*shop, "start", *named.split()).out.split())
    reembed = f"memory-mesh --store {cli.store} --namespace shop reembed"
    assert f"Compare: {reembed} compare {named}. Then: {reembed} switch {named}" in said
    switched = " ".join(meaning.on_terminal(*shop, "switch", *named.split()).out.split())
    assert f"Go back: {reembed} rollback. " in switched  # which names the former model


def test_an_interrupted_step_says_how_to_go_on(cli: CommandLine, model_folder: Path) -> None:
    (cli.home / "new model").symlink_to(model_folder)
    static = {"MEMORY_MESH_EMBEDDER": "static", "MEMORY_MESH_LOCK_WAIT_SECONDS": "60"}
    meaning = replace(cli, variables=static)
    meaning("store", "The user prefers dark themes")
    meaning("upkeep")
    lock = copies.place(cli.store, "default").with_suffix(".lock")
    with locked(lock):
        process = subprocess.Popen(
            [*cli.start, "reembed", "start", "--embedder", "local", "--model-dir", "new model"],
            cwd=cli.home, env=meaning.environment, stdout=-1, stderr=-1, text=True,
        )  # fmt: skip
        until(lambda: waits_in_line(lock))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
    again = "memory-mesh reembed start --embedder local --model-dir 'new model'"
    assert f"What was embedded stays. To go on from here: {again}" in said


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
