"""Requests carry what decides their meaning, and the modules that make them stay light."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_mesh._version import __version__
from memory_mesh.agents import request as requests
from memory_mesh.care import key_file
from memory_mesh.config import tables
from memory_mesh.platform import agent_shell

LIGHT = {
    "memory_mesh.base",
    "memory_mesh.base.masking",
    "memory_mesh",
    "memory_mesh._version",
    "memory_mesh.base.typed",
    "memory_mesh.agents",
    "memory_mesh.agents.request",
    "memory_mesh.agents.daemon",
    "memory_mesh.agents.daemon.client",
    "memory_mesh.agents.daemon.place",
    "memory_mesh.platform",
    "memory_mesh.platform.system",
}
STANDARD = {"_json", "_socket", "_blake2"}  # C modules of the standard library


def test_a_client_loads_only_the_light_part(tmp_path: Path) -> None:
    code = """
import sys
bare = set(sys.modules)
import os
from memory_mesh.agents import request
from memory_mesh.agents.daemon import client
made = request.made("ping")
try:
    client.ask(made, seconds=0.1)
except client.NoDaemon as refusal:
    assert refusal.reason == "not there", refusal.reason
print(*(set(sys.modules) - bare))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) <= LIGHT | STANDARD


def test_a_request_has_every_key_of_the_protocol(tmp_path: Path) -> None:
    made = requests.made(
        "hook", {"event": "Stop"}, environment={"HOME": "/home/x"}, cwd=str(tmp_path)
    )
    assert made["protocol"] == 1
    assert made["version"] == __version__
    assert len(made["id"]) == 32
    assert made["do"] == "hook"
    assert made["host"] == "claude-code"
    assert made["store"] == "/home/x/.local/share/memory-mesh"
    assert made["cwd"] == str(tmp_path)
    assert made["input"] == {"event": "Stop"}
    assert made["parents"][0] == os.getppid()
    assert requests.from_line(requests.to_line(made)) == made


def test_two_requests_have_different_ids() -> None:
    assert requests.made("ping")["id"] != requests.made("ping")["id"]


def test_all_that_settings_keys_and_shells_are_read_from_is_sent_and_nothing_else() -> None:
    read = {
        *tables.ENVIRONMENT.values(),
        *(name for names in tables.PROVIDER_KEYS.values() for name in names),
        *agent_shell._VARIABLES,
        *agent_shell._VALUES,
        *("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "MEMORY_MESH_CONFIG", key_file.KEY_FOLDER),
        *("LANG", "LC_ALL", "LC_TELEPHONE", "USER", "LOGNAME", "GIT_AUTHOR_NAME"),
        *("GIT_COMMITTER_NAME", "GIT_CONFIG_GLOBAL", "XDG_RUNTIME_DIR"),
    }
    given = dict.fromkeys(read, "/x") | {"AWS_SECRET_ACCESS_KEY": "s", "PATH": "/bin", "A": "b"}
    assert requests.kept(given, "/") == dict.fromkeys(read, "/x")


def test_a_relative_path_of_the_settings_file_is_made_absolute() -> None:
    kept = requests.kept({"MEMORY_MESH_CONFIG": "mesh.toml"}, "/home/x/work")
    assert kept["MEMORY_MESH_CONFIG"] == "/home/x/work/mesh.toml"


@pytest.mark.parametrize("line", [b"", b"[]\n", b"{\n", b"\xff\xfe\n", b"7\n"])
def test_a_line_that_holds_no_object_is_refused(line: bytes) -> None:
    with pytest.raises(requests.BadLine):
        requests.from_line(line)
