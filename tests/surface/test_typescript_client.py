"""The TypeScript client as it is packed, in Node, against a real `memory-mesh serve`."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memory_mesh import __version__
from tests.faults.sample import is_whole

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients/typescript"
MODULES = CLIENT / "node_modules"
if not (MODULES / "typescript").is_dir():
    pytest.skip("no TypeScript: run .ci/agents, which needs npm", allow_module_level=True)


@contextmanager
def serving(folder: Path) -> Iterator[dict[str, str]]:
    """A service of its own process; what a client has to know of it."""
    plain = {name: text for name, text in os.environ.items() if not name.startswith("MEMORY_MESH")}
    plain |= dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), str(folder))
    plain["MEMORY_MESH_EMBEDDER"] = "none"
    command = [sys.executable, "-m", "memory_mesh", "serve", "--port", "0"]
    command += ["--store", str(folder / "store")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=plain, stdout=pipe, stderr=pipe, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stderr is not None
            key = server.stdout.readline().strip()
            line = next(line for line in server.stderr if "Serving" in line)
            url = line.split(" at ")[1].split(";")[0]
            yield {"MEMORY_MESH_STORE": url, "MEMORY_MESH_ACCESS_KEY": key}
        finally:
            server.terminate()


def node(folder: Path, *words: str, **stated: str) -> str:
    done = subprocess.run(
        ["node", *words], cwd=folder, env=os.environ | stated, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has installed what `npm pack` makes, beside it the AI SDK."""
    folder = tmp_path_factory.mktemp("project")
    packing = ["npm", "pack", "--silent", "--pack-destination", str(folder)]
    done = subprocess.run(packing, cwd=CLIENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with tarfile.open(next(folder.glob("*.tgz"))) as file:
        file.extractall(folder, filter="data")
    modules = folder / "node_modules"
    modules.mkdir()
    (folder / "package").rename(modules / "memory-mesh")
    (modules / "ai").symlink_to(MODULES / "ai")
    return folder


def test_the_client_works_in_node(packed: Path, tmp_path: Path) -> None:
    shutil.copy(CLIENT / "test/client.test.mjs", packed)
    first = re.search(r"```js\n(.*?)```", (CLIENT / "README.md").read_text("utf-8"), re.DOTALL)
    assert first is not None
    (packed / "readme.mjs").write_text(first[1], "utf-8")
    with serving(tmp_path) as stated:
        said = node(packed, "--test", "--test-reporter=tap", "client.test.mjs", **stated)
        assert re.search(r"^# pass 6$", said, re.MULTILINE), said
        assert re.search(r"^# skipped 0$", said, re.MULTILINE), said
        said = node(packed, "readme.mjs", **stated)
        assert said == "Ann prefers dark themes true Ann prefers light themes\n"


def test_what_is_packed(packed: Path) -> None:
    here = packed / "node_modules/memory-mesh"
    about = json.loads((here / "package.json").read_text("utf-8"))
    assert about["version"] == __version__
    assert "dependencies" not in about
    names = {path.relative_to(here).as_posix() for path in here.rglob("*") if path.is_file()}
    made = {f"dist/{name}.{end}" for name in ("index", "ai", "openapi") for end in ("js", "d.ts")}
    assert names == made | {"package.json", "README.md"}


def test_the_types_are_those_of_the_description(tmp_path: Path) -> None:
    """The file says of which description it was made; the night makes it anew and compares."""
    openapi = ROOT / "docs/reference/openapi.json"
    types = (CLIENT / "src/openapi.ts").read_text("utf-8")
    made, of = types.partition("\n")[2], hashlib.sha256(openapi.read_bytes()).hexdigest()
    assert types.startswith(f"// {of}\n"), "run npm run generate in clients/typescript"
    if is_whole():
        target = tmp_path / "openapi.ts"
        command = [str(MODULES / ".bin/openapi-typescript"), str(openapi), "--output", str(target)]
        subprocess.run(command, check=True, capture_output=True)
        assert made == target.read_text("utf-8")
