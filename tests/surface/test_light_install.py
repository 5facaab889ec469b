"""A base installation has no numpy, onnxruntime or tokenizers: what works, and what it says."""

import subprocess
import sys
from pathlib import Path

import pytest

from memory_mesh.base.installed import install_command
from memory_mesh.sync import MemoryMesh

MISSING = ("numpy", "onnxruntime", "safetensors", "tokenizers", "wordllama")
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({MISSING}))\n"
EVERYDAY = """
from memory_mesh.sync import MemoryMesh
with MemoryMesh(db_dir={folder!r}) as mesh:
    first = mesh.add("The user prefers dark themes").id
    mesh.add("Deploys run on Fridays", tags=["ops"])
    mesh.update(first, "The user prefers light themes")
    assert mesh.search("themes")[0].content == "The user prefers light themes"
    assert mesh.context("Which themes does the user prefer?", max_tokens=200).items
    assert mesh.explain(first, query="themes").sentences
    mesh.reflect(topic="deploys")
    mesh.care.upkeep()
    assert mesh.care.verify().ok
"""


def run(code: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    home = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "PYTHONWARNINGS": "ignore", **variables}
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + code],
        env=home, cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_everyday_work_needs_no_numpy(tmp_path: Path) -> None:
    done = run(EVERYDAY.format(folder=str(tmp_path / "store")), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_scripted_model_needs_no_pytest(tmp_path: Path) -> None:
    script = "from memory_mesh.testing import ScriptedLLM; print(ScriptedLLM(['tea']).complete(''))"
    done = run(f"sys.modules['pytest'] = None\n{script}", tmp_path)
    assert (done.stdout, done.stderr) == ("tea\n", "")


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("MemoryMesh(embedder='openai', db_dir={0!r}).add('tea')", "api"),
        ("MemoryMesh(custom_embedder=Own(), db_dir={0!r}).add('tea')", "api"),
    ],
)
def test_an_embedder_without_its_extra_names_the_command(
    tmp_path: Path, code: str, extra: str
) -> None:
    start = "from memory_mesh.sync import MemoryMesh\nclass Own:\n    pass\n"
    done = run(start + code.format(str(tmp_path / "store")), tmp_path)
    last = done.stderr.strip().splitlines()[-1]
    assert "MissingExtra" in last
    assert install_command(extra) in last


def test_a_model_without_its_extra_leaves_keyword_search_and_says_so(
    tmp_path: Path, model_folder: Path
) -> None:
    code = f"""
from memory_mesh.sync import MemoryMesh
with MemoryMesh(db_dir={str(tmp_path / "store")!r}, model_dir={str(model_folder)!r}) as mesh:
    mesh.add("The user prefers dark themes")
    hits = mesh.search("dark themes")
    print(hits[0].content, "|", hits.explanation.note)
"""
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "dark themes |" in done.stdout
    assert install_command("onnx") in done.stdout


def test_a_store_with_vectors_is_kept_up_without_numpy(tmp_path: Path) -> None:
    with MemoryMesh(db_dir=tmp_path / "store", embedder="static") as mesh:
        mesh.add("The user prefers dark themes")
        mesh.add("The user prefers dark themes at night")
    code = f"""
from memory_mesh.sync import MemoryMesh
with MemoryMesh(db_dir={str(tmp_path / "store")!r}, link_similar=True) as mesh:
    mesh.care.upkeep()
    assert mesh.care.verify().ok
    assert len(mesh.search("dark themes")) == 2
"""
    done = run(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_evaluation_needs_no_numpy(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "{store: store, k: 1, questions: [{ask: tea, expect: tea}, {ask: clock, expect: tea}]}"
    )
    code = """
import sys
sys.modules["matplotlib"] = None
from memory_mesh import evaluation
from memory_mesh.sync import MemoryMesh
with MemoryMesh(db_dir="store") as mesh:
    mesh.add_many(["Ann drinks tea", "Ben repairs a clock", "Cleo paints"])
report = evaluation.run("mine.yaml", work="work", out="out", systems=["mesh", "keyword"])
print(report.figure("mesh", "all", "R@1"), len(report.failures), *report.lacking, sep="\\n")
"""
    done = run(code, tmp_path)
    assert done.stdout.splitlines() == [
        "0.5",
        "1",
        f"a chart needs the extra: {install_command('eval')}",
        f"a 95 % interval needs the extra: {install_command('eval')}",
    ]
    assert done.stderr == ""
    assert "| mesh | 2 | 0.500 |" in (tmp_path / "out/mine.md").read_text(encoding="utf-8")
