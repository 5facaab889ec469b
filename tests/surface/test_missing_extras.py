"""A package of an extra that is not installed: the message names the extra that pyproject has."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from memory_mesh.base.installed import install_command
from memory_mesh.models import model_files
from memory_mesh.sync import MemoryMesh
from tools.house_imports import statements

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {
    extra: {Requirement(text).name for text in texts}
    for extra, texts in PROJECT["optional-dependencies"].items()
}
BASE = {"Stemmer", "markdown_it", "pathspec", "phonenumbers", "re2", "selectolax", "stdnum", "yaml"}
BASE |= {"shtab", "mdurl"}
FRAMEWORKS = {"agents", "anthropic", "google", "llama_index", "pydantic_ai"}  # of who uses them
DISTRIBUTIONS = {  # module -> distribution, where the names differ
    "lance": "pylance",
    "nacl": "pynacl",
    "opentelemetry": "opentelemetry-api",
    **dict.fromkeys(["anyio", "mcp_types", "pydantic", "starlette"], "mcp"),  # which requires them
    "jwt": "pyjwt",
    "psycopg_pool": "psycopg",
    "pyarrow": "pylance",
}
OPEN = "from memory_mesh.sync import MemoryMesh\nmesh = MemoryMesh(db_dir='store', {0})\n"
RUN = "from memory_mesh.cli.main import main\nsys.argv[1:] = {0!r}\nmain()\n"
EMBED = "mesh.add('tea'); mesh.care.upkeep()"
CHART = """
from memory_mesh.evaluation import charts
charts.bars_to_files([], "a title", [], [], most=1.0)
"""
RERANK = """
from memory_mesh.models.rerankers.services import FastembedReranker
FastembedReranker('m').rank('a', ['b'])
"""
PDF = "open('a.pdf', 'w').write('%PDF-1.4')\n"
STORAGE = """
from memory_mesh.models.object_storage import ObjectStorage, StorageAddress
ObjectStorage(StorageAddress.of('s3://archives/mesh')).remove('one')
"""
DATABASE = ("--store", "postgresql://mesh@localhost/memories")
CASES = [  # what is missing, what asks for it, the extra
    ("numpy", OPEN.format("embedder='openai'") + "mesh.add('tea')", "api"),
    ("matplotlib", CHART, "eval"),
    ("wordllama", OPEN.format("embedder='static'") + "mesh.add('tea')", "local"),
    ("safetensors", OPEN.format("embedder='static'") + EMBED, "local"),
    ("tokenizers", OPEN.format("embedder='static'") + EMBED, "local"),
    ("fastembed", OPEN.format("embedder='fastembed', embedder_model='m'") + EMBED, "fastembed"),
    ("fastembed", RERANK, "fastembed"),
    ("lance", OPEN.format("") + "mesh.care.rebuild_index()", "lance"),
    ("lance", RUN.format(["import-tables", "tables"]), "lance"),
    ("botocore", STORAGE, "cold"),
    ("mcp", RUN.format(["mcp", "--http"]), "mcp"),
    ("uvicorn", RUN.format(["mcp", "--http"]), "mcp"),
    ("jinja2", RUN.format(["ui", "--port", "0"]), "ui"),
    ("markupsafe", RUN.format(["ui", "--port", "0"]), "ui"),
    ("pypdf", PDF + RUN.format(["ingest-dir", "a.pdf"]), "documents"),
    ("nacl", RUN.format(["sync", "init", "shared"]), "sync"),
    ("langgraph", "import memory_mesh.agents.adapters.langgraph", "langgraph"),
    ("psycopg", RUN.format([*DATABASE, "list"]), "postgres"),
    ("psycopg_pool", RUN.format([*DATABASE, "setup-server"]), "postgres"),
    ("procrastinate", RUN.format([*DATABASE, "setup-server"]), "postgres"),
]  # fmt: skip


def run(module: str, code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A new process that lacks the module."""
    variables = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "PYTHONWARNINGS": "ignore"}
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.modules[{module!r}] = None\n{code}"],
        env=variables, cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def said(module: str, code: str, folder: Path) -> str:
    """What such a process prints last, on either stream."""
    done = run(module, code, folder)
    return (done.stdout + done.stderr).strip().rpartition("\n")[2]


@pytest.mark.parametrize(
    ("module", "code", "extra"), CASES, ids=[f"{each[0]}-{each[2]}" for each in CASES]
)
def test_what_is_missing_is_said_with_the_command(
    tmp_path: Path, module: str, code: str, extra: str
) -> None:
    (tmp_path / "tables").mkdir()
    last = said(module, code, tmp_path)
    assert any(install_command(extra, again=again) in last for again in (False, True)), last
    assert DISTRIBUTIONS.get(module, module) in EXTRAS[extra]


@pytest.mark.parametrize("module", ["onnxruntime", "tokenizers", "numpy"])
def test_a_model_says_what_it_needs(tmp_path: Path, model_folder: Path, module: str) -> None:
    code = OPEN.format(f"model_dir={str(model_folder)!r}") + EMBED
    assert install_command("onnx") in said(module, code, tmp_path)
    assert module in EXTRAS["onnx"]


def test_an_installed_model_that_cannot_run_leaves_meaning_to_the_static_vectors(
    tmp_path: Path, model_folder: Path
) -> None:
    """Another environment installed the model; this one lacks onnxruntime."""
    model_files.install(model_folder, tmp_path / ".local/share/memory-mesh/models")
    store = ["--db-dir", str(tmp_path / "store")]

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return run("onnxruntime", RUN.format([*store, *words]), tmp_path)

    command("store", "The user prefers dark themes")
    command("store", "Deploys run on Fridays")
    command("store", "The office is in Porto")
    found = command("search", "--all", "--json", "When do we ship?")
    assert json.loads(found.stdout)["items"][0]["content"] == "Deploys run on Fridays"
    (line,) = found.stderr.splitlines()
    assert f"{install_command('onnx')}; answered by static" in line
    assert command("upkeep").returncode == 0
    listed = json.loads(command("models", "list", "--json").stdout)["items"]
    used = {one["name"]: one["in_use"] for one in listed}
    assert used == {"all-MiniLM-L6-v2": False, model_files.STATIC: True}
    assert f"To use it: {install_command('onnx')}" in command("models", "list").stdout
    (embedder,) = (one for one in command("doctor").stdout.splitlines() if " embedder: " in one)
    assert embedder.endswith(f"answered by static l2_supercat_256 | fix: {install_command('onnx')}")


BOTH = """
from memory_mesh.cli.main import run
asked, store = sys.argv[1:]
run(["search", asked, "--db-dir", store])
run(["doctor", "--db-dir", store])
"""
NO_EXTRA = ("numpy", "onnxruntime", "safetensors", "tokenizers", "wordllama")
ENVIRONMENTS = {  # what is missing, the model that is installed, the setting, what answers
    "base": (NO_EXTRA, "no model", "", "search goes by words only"),
    "local": (("onnxruntime",), "no model", "", "static/l2_supercat_256/"),
    "onnx": ((), "MiniLM", "", "local/all-MiniLM-L6-v2/"),
    "onnx, model missing": ((), "no model", "", "static/l2_supercat_256/"),
    "another model": ((), "MiniLM", "static", "static/l2_supercat_256/"),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_five_environments_search_one_store_and_say_what_they_use(
    tmp_path: Path, model_folder: Path, name: str
) -> None:
    missing, model, setting, answers_as = ENVIRONMENTS[name]
    store = tmp_path / "store"
    with MemoryMesh(db_dir=store, model_dir=model_folder) as mesh:
        mesh.add_many(["My boss is Tom", "Deploys run on Fridays", "The office is in Porto"])
    home = tmp_path / "home"
    if model == "MiniLM":
        model_files.install(model_folder, home / ".local/share/memory-mesh/models")
    home.mkdir(exist_ok=True)
    variables = {"HOME": str(home), "PATH": "/usr/bin:/bin", "MEMORY_MESH_EMBEDDER": setting}
    code = f"import sys; sys.modules.update(dict.fromkeys({missing}))\n{BOTH}"
    done = subprocess.run(
        [sys.executable, "-c", code, "Who is my boss?", str(store)],
        env=variables, cwd=home, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    found = done.stdout
    assert "My boss is Tom" in found
    (embedder,) = (one for one in found.splitlines() if " embedder: " in one)
    assert answers_as in embedder


def _came_from(folder: Path, direct_url: object) -> str:
    """The advice of a copy whose installer wrote this."""
    about = folder / "site/memory_mesh-0.1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: memory-mesh\nVersion: 0.1\n")
    if direct_url is not None:
        (about / "direct_url.json").write_text(json.dumps(direct_url))
    code = f"sys.path.insert(0, {str(folder / 'site')!r})\nfrom memory_mesh.base import installed"
    return said("nothing", f"{code}\nprint(installed.install_command('local'))", folder)


def test_the_advice_works_for_how_this_copy_was_installed(tmp_path: Path) -> None:
    checkout, wheel = tmp_path / "my checkout", tmp_path / "memory_mesh-0.1-py3-none-any.whl"
    checkout.mkdir()
    wheel.touch()
    folder = {"url": checkout.as_uri(), "dir_info": {"editable": True}}
    archive = {"url": wheel.as_uri(), "archive_info": {}}
    gone = {"url": (tmp_path / "gone.whl").as_uri(), "archive_info": {}}
    git = {"url": "https://example.com/mesh.git", "vcs_info": {"vcs": "git"}}
    from_index = "pip install 'memory-mesh[local]'"
    assert _came_from(tmp_path / "1", folder) == f"pip install -e '{checkout}[local]'"
    assert _came_from(tmp_path / "2", folder | {"dir_info": {}}).endswith(f" '{checkout}[local]'")
    assert _came_from(tmp_path / "3", archive).endswith(f"'memory-mesh[local] @ {wheel.as_uri()}'")
    assert _came_from(tmp_path / "4", None) == _came_from(tmp_path / "5", gone) == from_index
    assert _came_from(tmp_path / "6", git).endswith("[local] @ git+https://example.com/mesh.git'")


def test_every_extra_that_a_text_names_is_declared() -> None:
    named = {
        (extra, path.relative_to(ROOT).as_posix())
        for folder in ("src", "docs", "examples")
        for path in sorted((ROOT / folder).rglob("*.*"))
        if path.suffix in {".py", ".md"}
        for extras in re.findall(r"(?:memory-mesh|\.)\[([a-z,]+)\]'", path.read_text("utf-8"))
        for extra in extras.split(",")
    }
    assert len(named) > 10
    assert {extra for extra, _ in named} - EXTRAS.keys() == set(), named


def test_every_package_that_is_imported_is_declared() -> None:
    imported = set()
    package = ROOT / "src/memory_mesh"
    for path in set(package.rglob("*.py")) - set((package / "testing").rglob("*")):
        for node in statements(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.partition(".")[0])
    foreign = imported - set(sys.stdlib_module_names) - {"_sha2", "memory_mesh"} - BASE - FRAMEWORKS
    declared = set().union(*EXTRAS.values())
    assert {name for name in foreign if DISTRIBUTIONS.get(name, name) not in declared} == set()
    blocked = {module for module, _, _ in CASES} | {"onnxruntime", "opentelemetry"}
    blocked |= {
        name
        for name, needed_by in DISTRIBUTIONS.items()
        if needed_by in {"mcp", "pyjwt", "pylance"}
    }
    assert foreign <= blocked  # a new package needs a case; without a tracer there are no spans


def test_the_extra_of_all_has_all() -> None:
    (all_of_it,) = PROJECT["optional-dependencies"]["all"]
    assert Requirement(all_of_it).extras == EXTRAS.keys() - {"all"}
