"""The command line is the user's, unless an agent's shell started it."""

import json
from dataclasses import replace

import pytest


def stored(cli, *words):
    """The id of what `store` made, and its source kind."""
    id_ = cli.stored(*words)
    return id_, kind(cli, id_)


def kind(cli, id_):
    known = ("user_explicit", "system", "tool_output", "user_implicit", "document", "inference")
    for word in known:
        done = cli("list", "--filter", f"source_kind = '{word}' AND id = '{id_}'", "--json")
        if json.loads(done.out)["items"]:
            return word
    raise AssertionError(id_)


def test_what_a_person_types_or_pipes_is_the_users(cli):
    assert stored(cli, "tea is hot")[1] == "user_explicit"
    done = cli("store", "--content", "-", stdin=b"coffee is hot")
    assert kind(cli, done.out.split()[-1]) == "user_explicit"
    assert stored(cli, "milk is cold", "--role", "assistant")[1] == "inference"
    assert stored(cli, "ice is cold", "--source", "https://ice.example")[1] == "document"


def test_the_name_of_an_agent_in_the_settings_does_not_say_who_speaks(cli):
    named = replace(cli, variables={"MEMORY_MESH_AGENT_ID": "laptop"})
    assert stored(named, "tea is hot")[1] == "user_explicit"
    assert stored(named, "tea is cold", "--role", "assistant")[1] == "inference"
    assert stored(named, "tea is warm", "--source", "MyAgent")[1] == "inference"


@pytest.mark.parametrize(
    "variables", [{"CLAUDECODE": "1"}, {"CODEX_THREAD_ID": "0199"}, {"OPENCODE": "1"}]
)
def test_in_an_agents_shell_the_agent_speaks(cli, variables):
    agent = replace(cli, variables=variables)
    id_, found = stored(agent, "tea is hot", "--role", "user", "--importance", "critical")
    assert found == "inference"
    memory = json.loads(cli("get", "--id", id_, "--json").out)
    assert memory["metadata"]["importance_score"] == 0.5
    done = agent("pin", "--id", id_)
    assert done.code == 1
    (name,) = variables
    assert f"env -u {name} memory-mesh" in done.err
    assert cli("pin", "--id", id_).code == 0
    assert f"env -u {name}" in agent.on_terminal("store", "--content", "coffee is hot").out


def test_files_that_an_agent_hands_in_are_the_agents(cli):
    folder = cli.home / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("The port is 1.")
    agent = replace(cli, variables={"GEMINI_CLI": "1"})
    assert agent("ingest-dir", "docs", "--extension", ".md").code == 0
    (memory,) = json.loads(cli("list", "--json").out)["items"]
    assert kind(cli, memory["id"]) == "inference"


def test_a_variable_that_is_switched_off_is_no_agent(cli):
    person = replace(cli, variables={"CLAUDECODE": "0"})
    assert stored(person, "tea is hot")[1] == "user_explicit"
