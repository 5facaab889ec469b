"""What an operator watches: sizes, figures for Prometheus, and every setting with what it does."""

import json
import re
from dataclasses import fields, replace
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from memory_mesh.config import Config
from memory_mesh.config.tables import ENVIRONMENT, VARIABLES, about
from memory_mesh.sync import MemoryMesh
from tests.surface.command import CommandLine

ROOT = Path(__file__).parent.parent.parent
FOR_TESTS = {"MEMORY_MESH_HOOK_LIFE_SECONDS"}


def metrics(text: str) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """The samples of each metric, by their labels, as Prometheus' own parser reads them."""
    return {
        family.name: {tuple(sample.labels.items()): sample.value for sample in family.samples}
        for family in text_string_to_metric_families(text)
    }


def test_stats_say_what_each_part_takes_on_disk(cli: CommandLine) -> None:
    cli.stored("Deploys go through staging first")
    namespaces = cli.store / "namespaces"
    (namespaces / "default.before-0011-1794861146882.bak").write_bytes(b"x" * 70)
    (namespaces / "other.before-0011-1794861146882.bak").write_bytes(b"x" * 70)
    index = cli.store / "index/default-37a8eec1ce19687d/space.lance"
    index.mkdir(parents=True)
    (index / "data").write_bytes(b"x" * 30)
    (namespaces / "default.db-wal").write_bytes(b"x" * 20)
    stats = json.loads(cli("stats", "--json").out)
    database = (namespaces / "default.db").stat().st_size
    whole = sum(path.lstat().st_size for path in cli.store.rglob("*") if path.is_file())
    sizes = stats["sizes"]
    assert sizes["store"] >= whole
    del sizes["store"], sizes["wal"]  # SQLite clears a log that holds nothing
    assert sizes == {"database": database, "spool": 0, "copies": 70, "index": 30, "vectors": 0}
    shown = cli("stats", "--verbose").out
    assert "[MemoryMesh] Bytes copies: 70\n" in shown
    assert "[MemoryMesh] Bytes index: 30\n" in shown


def test_the_log_and_the_spool_of_an_open_store_are_counted(tmp_path: Path) -> None:
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        mesh.add("Deploys go through staging first")
        (tmp_path / "namespaces/default.spool").write_bytes(b"x" * 50)
        sizes = mesh.stats().sizes
        assert sizes.wal == (tmp_path / "namespaces/default.db-wal").stat().st_size > 0
        assert sizes.spool == 50


def test_stats_of_a_store_that_is_not_there_yet_are_zero(cli: CommandLine) -> None:
    done = cli("stats", "--json")
    sizes = json.loads(done.out)["sizes"]
    assert sizes["database"] == sizes["wal"] == sizes["index"] == 0
    said = f"There is no store yet in {cli.store}."
    assert (done.code, json.loads(done.err)) == (0, {"note": said})
    assert cli("stats").err == f"[MemoryMesh] {said}\n"


def test_a_store_that_is_not_there_is_down(cli: CommandLine) -> None:
    done = cli("stats", "--format", "prometheus")
    assert metrics(done.out) == {"memory_mesh_up": {(): 0.0}}
    assert (done.code, "no store yet" in done.err) == (1, True)
    cli.stored("Deploys go through staging first")
    done = cli("stats", "--format", "prometheus", "--namespace", "another")
    assert metrics(done.out)["memory_mesh_up"] == {(): 1.0}
    assert (done.code, done.err) == (0, "")


def test_stats_are_read_by_prometheus(cli: CommandLine) -> None:
    cli.stored("Deploys go through staging first", "--namespace", 'a"b\\c')
    done = cli("stats", "--format", "prometheus", "--namespace", 'a"b\\c')
    assert (done.code, done.err) == (0, "")
    read = metrics(done.out)
    own = ("namespace", 'a"b\\c')
    assert read["memory_mesh_up"] == {(): 1.0}
    assert read["memory_mesh_memories"] == {(own, ("status", "active")): 1.0}
    parts = {dict(labels)["part"] for labels in read["memory_mesh_bytes"]}
    assert parts == {"database", "wal", "spool", "copies", "index", "vectors"}
    assert read["memory_mesh_bytes"][own, ("part", "database")] > 0
    assert read["memory_mesh_seq"][own,] >= 1
    assert all(name.startswith("memory_mesh_") for name in read)


def test_a_store_that_cannot_be_opened_is_down(cli: CommandLine) -> None:
    cli.stored("Deploys go through staging first")
    (cli.store / "namespaces/default.db").write_bytes(b"no database" * 1000)
    done = cli("stats", "--format", "prometheus")
    assert done.code == 1
    assert metrics(done.out) == {"memory_mesh_up": {(): 0.0}}
    assert done.err.startswith("[MemoryMesh Error] ")


def test_one_format_at_a_time(cli: CommandLine) -> None:
    done = cli("stats", "--format", "prometheus", "--json")
    assert (done.code, "not both" in done.err) == (2, True)


def test_config_says_what_each_setting_does(cli: CommandLine) -> None:
    stated = replace(cli, variables={"MEMORY_MESH_LOG": "info"})
    shown = json.loads(stated("config", "--json").out)
    names = {item.name for item in fields(Config)} - {"origins"}
    assert set(shown) == names | set(VARIABLES)
    assert all(shown[name]["about"] == about(name) for name in names)
    assert shown["MEMORY_MESH_LOG"]["origin"] == "environment MEMORY_MESH_LOG"
    assert shown["MEMORY_MESH_DEBUG"]["origin"] == "not set"
    lines = cli("config").out.splitlines()
    (line,) = [line for line in lines if line.startswith("lock_wait_seconds: ")]
    assert line.endswith(f" 10.0  (default)  {about('lock_wait_seconds')}")


def test_every_variable_that_the_product_reads_is_listed() -> None:
    files = (ROOT / "src").rglob("*.py")
    named = {
        found
        for path in files
        for found in re.findall(r"\bMEMORY_MESH_[A-Z_]*[A-Z]\b", path.read_text(encoding="utf-8"))
    }
    assert named - FOR_TESTS == {*ENVIRONMENT.values(), *VARIABLES}
